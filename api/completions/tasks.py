"""What chat apps ask of the chosen model on their own account: a title for the chat, tags, follow-ups, search queries.

Such a prompt is no question to argue about. It is answered at once from the person's question that stands in it, in the
form that it asks for, and begins no run. It is known by its structure and not by one product's sentence: either it
shows a JSON form with a member such as `title` beside a chat's history, or such a thing is all that an instruction asks
for, and it is one of a conversation. A question is neither.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from textwrap import shorten
from typing import NamedTuple

from api.completions.frames import LABEL, TALK, TURN, blocks, data_in, outside, unframed
from api.completions.schemas import Message
from tools.language.words import QUERY_FILLERS


class Kind(NamedTuple):
    """`member`: what it is called in a JSON form, `thing`: in an instruction; `many`: whether it is a list."""

    name: str
    member: str
    thing: str = "(?!)"
    make: Callable[[str], list[str]] = lambda _: []
    many: bool = False


def _title(question: str) -> list[str]:
    return [shorten(re.split("[?？]", question)[0], 60, placeholder="…") or "New question"]


def _tags(question: str) -> list[str]:
    words = [w for w in re.findall(r"[^\W\d_]{4,}", question) if w.casefold() not in QUERY_FILLERS]
    return [w.capitalize() for w in sorted(dict.fromkeys(words), key=len, reverse=True)[:3]] or ["General"]


def _itself(question: str) -> list[str]:
    return [question] if question else []


_TITLES = r"titles?|name(?! of| for the (?!chat|conv))|description(?= of this (?:session|chat))|t[ií]tulo|titre|titel"
_QUERIES = "(?:search|standalone|web|retrieval) (?:quer(?:y|ies)|questions?)"
KINDS = (
    Kind("tool_calls", "tool_calls", many=True),
    Kind("title", r"\w*title", _TITLES, _title),
    Kind("queries", r"(?:search_?)?quer(?:y|ies)", _QUERIES, _itself, many=True),
    Kind("follow_ups", r"follow_?ups?\w*|suggest\w*|(?:related_?)?questions", many=True),
    Kind("tags", "tags|keywords|categories", make=_tags, many=True),
    Kind("text", "text|completion"),
    Kind("prompt", "prompt", "(?:image|picture) (?:generation )?prompt", _itself),
    Kind("emoji", "emoji", "facial expression|emoji", lambda _: ["🤔"]),
    Kind("summary", "summary", make=_itself),
)
_FORM = re.compile(r"\{\s*[\"'“](\w+)[\"'”]\s*:(?!\s*[\"“][^\"”{}]*[\"”]\s*,)\s*(\[|[\"'“<{])")
_ITEM = re.compile(r"\s*(?:\d+[.)]|[-*•])\s+")
_ENDS = re.compile(r"(?<=[.!?:])\s+|(?<=[。！？])")
_LEAD = (
    r"^\W*(?:goal: )?(?:you (?:will |must )?|your?\b.{0,120}?\b(?:to|that|who|which|and|you|with|in)\s+)?"
    r"(?:(?:given|based|going|judging|in|from|using|after|analy[sz]e|read|review|look)\b[^,.]{0,160}(?:,| and)\s+)?"
    r"(?:(?:please|now|then|also)\s+)*"
)
_VERB = (
    r"(?:(?:g[ée]n[éèe]r|creat|writ|provid|suggest|produc|propos|craft|mak|compos|return|reflect|extract|formulat|summari[sz]|"
    r"assign|erzeug|rédig)\w*|giv(?:e|es|ing)|find|pick|choose|(?:come|coming) up with|output|"
    r"(?:respond|reply|answer) with|erstelle|schreibe?|gib|crée|donne|crea|escribe)"
)
_NO = "on|about|whether|why|how|if|for|against|of|that|than|with|each|every|both|your|my"
_GAP = rf":?\s+(?:(?!(?:{_NO})\b)[^\s.!?]+\s+){{0,9}}?[\"'*]*"
_ALONE = (
    r"[\"'*]*(?=\W*$|\s?[.:;(—–]| and nothing else|,(?! (?:and|or|an?|two|three)\b)"
    r"| (?:for|of|to|that(?! the)|which|in|from|based|without|only(?! if)|text|\w+ing|(?:\w+ )?(?:für|para|pour))\b)"
    r"(?![^.!]*\b(?:each|every|above|after|both|sides?|at the (?:end|start|top)|first line|followed by)\b)"
    r"(?![^.!]*\band\b(?! nothing else| \w+\W*(?:[.,!]|$)))(?!.*\bthen\b)"
)
_TITLE, _QUERY = KINDS[1:3]
_CHAT = r"(?:conversation|chat|dialog(?:ue)?|discussion|exchange|thread|session|transcript)"
_OF_CHAT = re.compile(
    rf"\b(?:this|the|our|an?|new|following|above|whole|of)\s+(?:[\w-]+\s+)?{_CHAT}s?\b(?! (?:on|about|over)\b)"
    rf"|\b{_CHAT} (?:history|titles?|naming|names?|sessions?|threads?)\b|diese[nrs]? (?:unterhaltung|chat)"
    r"|(?:cette|la) conversation|(?:esta|la) conversaci",
    re.I,
)
_OF_TEXT = re.compile(r"\b(?:query|messages?|prompt|input|request|following|below|title only)\b", re.I)
_ONLY = re.compile(r"\b(?:only|just)\b|nothing else|\bjson\b", re.I)
_LIMIT = re.compile(
    r"\d+[ -]+(?:words?|char)|\b(?:two|three|four|five|six|seven|eight|ten)[\w -]{0,20}words?\b|\bmax"
    r"|\b(?:concise|short|brief)\b|\bno (?:quotes|punctuation|more than)|\bwithout\b|\byour (?:task|role|job)\b",
    re.I,
)
_DO_IT = re.compile(
    rf"{_LEAD}(?:name (?:(?:this|the|our) )+{_CHAT}\b(?=[.,:]|$| (?:in|with|using)\b)"
    rf"|summari[sz]e (?:(?:this|the|our|following|above|entire) )+{_CHAT}\b[^.!?]* \d+[ -]words?\b)"
    "|^(?=.*字)(?=.*(?:对话|会话|聊天|这句话|消息)).*(?:生成|返回|写|起|取|总结)[^，。]*(?:标题(?!党)|主题)",
    re.I,
)
_REPHRASE = re.compile(r"\b(?:rephras|rewrit)\w* [^.!?]*\b(?:standalone|follow[- ]?up)\b(?!.*, then)", re.I)
_DATA = re.compile(r"```|[\"“]|\b(?:history|conversation):|:\n\n", re.I)


@dataclass(frozen=True, slots=True)
class Task:
    """`member`: the JSON member that holds the answer, a list where `many`; empty for a bare list, None for text."""

    kind: Kind
    question: str
    member: str | None
    many: bool

    def reply(self, found: Sequence[str] = ()) -> str:
        """The answer; `found` is what only the server knows: the follow-ups of a run."""
        values = list(found) or self.kind.make(self.question)
        if self.member is None:
            return "\n".join(values)
        value = values if self.many else "".join(values[:1])
        return json.dumps({self.member: value} if self.member else value, ensure_ascii=False)


def task_of(messages: Sequence[Message], *, as_json: bool = False) -> Task | None:
    """The task that a conversation is sent for; None where it asks a question. `as_json`: the reply has to be JSON."""
    spoken = [m for m in messages if m.role == "user"]
    for message in (*spoken[-1:], *reversed([m for m in messages if m.role in ("system", "developer")])):
        own, prompt = message.role == "user", outside(message.text)
        if kind := _kind(prompt, message.text, own=own):
            first = kind.name not in ("queries", "follow_ups")
            others = [unframed(m.text)[0] for m in spoken if m is not message and not m.text.rstrip().endswith(":")]
            chosen = others[0 if first else -1] if others else ""
            inside = data_in(message.text, first=first) if own or not others else ""
            question = inside or data_in(chosen, first=first) or chosen or prompt.rstrip().rpartition(": ")[2]
            return _formed(kind, " ".join(question.split()), prompt, as_json)
    return None


def _formed(kind: Kind, question: str, prompt: str, as_json: bool) -> Task:
    shape = next((m for m in _FORM.finditer(prompt) if re.fullmatch(kind.member, m[1], re.I)), None)
    if shape:
        return Task(kind, question, shape[1], shape[2] == "[")
    if re.search(r"json[ -](?:array|list)", prompt, re.I):
        return Task(kind, question, "", many=True)
    return Task(kind, question, kind.name if as_json or "JSON" in prompt else None, kind.many)


def _kind(prompt: str, text: str, *, own: bool) -> Kind | None:
    """Which task a message is. A false one gives a person a title for an answer, a missed one costs a run: so a system
    message is one only by its first instruction, a user's never where a question stands before the chat's history."""
    head = prompt[:6000]
    if own and re.search("[?？]", min((r.split(head, maxsplit=1)[0] for r in (_DATA, LABEL, TURN)), key=len)):
        return None
    shapes = {m[1] for m in _FORM.finditer(prompt)}
    talk = TURN.search(text) or any(TALK.search(b.name) for b in blocks(text))
    if "tool_calls" in shapes or (own and talk):
        for kind in KINDS:
            if any(re.fullmatch(kind.member, member, re.I) for member in shapes):
                return kind
    only, units = bool(_ONLY.search(head)), list(_units(head))
    limited = only or bool(_LIMIT.search(head))
    for at, unit in enumerate(units if own else units[: 1 + head.lstrip().startswith("You")]):
        asked = _asked_for(unit, " ".join(units[max(0, at - 1) : at + 2]), "".join(units[at + 1 : at + 2]), limited)
        if asked and (own or asked is _TITLE or only):
            return asked
    return None


def _units(prompt: str) -> Iterator[str]:
    """Its instructions: sentences, and items of a list with what introduces them. Headings and questions are none."""
    intro = ""
    for line in prompt.split("\n"):
        item = _ITEM.match(line)
        parts = [p for p in _ENDS.split(line[item.end() :] if item else line) if p.strip() and not p.startswith("#")]
        if parts and item:
            parts[0] = f"{intro} {parts[0]}"
        elif parts:
            intro = parts[-1] if parts[-1].endswith(":") else ""
        yield from (p for p in parts if not p.endswith(("?", "？")))


def _asked_for(unit: str, near: str, after: str, limited: bool) -> Kind | None:
    """The kind that is all an instruction asks for, where what stands near speaks of a conversation."""
    if _DO_IT.search(unit):
        return _TITLE
    if not (_OF_CHAT.search(near) or (limited and _OF_TEXT.search(near))):
        return None
    if _REPHRASE.search(unit):
        return _QUERY
    said = f"{unit} {after}"
    return next((k for k in KINDS if re.search(rf"{_LEAD}{_VERB}{_GAP}(?:{k.thing})\b{_ALONE}", said, re.I)), None)

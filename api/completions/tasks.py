"""What chat apps ask of the chosen model on their own account: a title for the chat, tags, follow-ups, search queries.

Such a prompt is no question to argue about. It is answered at once from the person's question that stands in it, in the
form that it asks for, and begins no run. It is known by its structure and not by one product's sentence: either it
shows a JSON form with a member such as `title` beside a chat's history, or an instruction has one of these things as
its object and speaks of the conversation. A question is neither.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from textwrap import shorten
from typing import NamedTuple

from api.completions.frames import TALK, blocks, data_in, outside, unframed
from api.completions.schemas import Message
from tools.language.word_lists import QUERY_FILLERS


class Kind(NamedTuple):
    """`member`: what it is called in a JSON form, `thing`: in an instruction; `many`: whether it is a list."""

    name: str
    member: str
    thing: str
    make: Callable[[str], list[str]]
    many: bool = False


def _title(question: str) -> list[str]:
    return [shorten(re.split("[?？]", question)[0], 60, placeholder="…") or "New question"]


def _tags(question: str) -> list[str]:
    words = [w for w in re.findall(r"[^\W\d_]{4,}", question) if w.casefold() not in QUERY_FILLERS]
    return [w.capitalize() for w in sorted(dict.fromkeys(words), key=len, reverse=True)[:3]] or ["General"]


def _itself(question: str) -> list[str]:
    return [question] if question else []


def _nothing(_: str) -> list[str]:
    return []


_TITLES = (
    "titles?|headers?|headline|heading|names?|naming|t[ií]tulo|titre|titel|titolo|заголовок|标题|主题|タイトル|제목"
)
_QUERIES = "(?:search |standalone |web |retrieval )+(?:quer(?:y|ies)|questions?)|suchanfragen?|consultas?|搜索查询"
_FOLLOWING = (
    "follow[- ]?ups?|(?:next|related|suggested) (?:questions?|prompts?)|folgefragen|preguntas de seguimiento|追问"
)
_NEVER = "(?!)"
KINDS = (
    Kind("tool_calls", "tool_calls", _NEVER, _nothing, many=True),
    Kind("title", r"\w*title", _TITLES, _title),
    Kind("queries", r"(?:search_?)?quer(?:y|ies)", _QUERIES, _itself, many=True),
    Kind("follow_ups", r"follow_?ups?\w*|suggest\w*|(?:related_?)?questions", _FOLLOWING, _nothing, many=True),
    Kind("tags", "tags|keywords|categories", "tags?|keywords?|categories|schlagwörter|标签", _tags, many=True),
    Kind("text", "text|completion", _NEVER, _nothing),
    Kind("prompt", "prompt", "(?:image|detailed|picture)(?: generation)? prompt", _itself),
    Kind("emoji", "emoji", "facial expression|emojis?", lambda _: ["🤔"]),
    Kind("summary", "summary", "summary(?= of (?:this|the|our) (?:conversation|chat|dialog))", _itself),
)
_FORM = re.compile(r"\{\s*[\"'“](\w+)[\"'”]\s*:\s*(\[|[\"'“<{])")
_ITEM = re.compile(r"\s*(?:\d+[.)]|[-*•])\s+")
_ENDS = re.compile(r"(?<=[.!?:])\s+|(?<=[。！？])")
_LEAD = (
    r"^\W*(?:(?:you|your)\b.{0,120}?\b(?:to|that|who|which|and|you|with|in)\s+)?"
    r"(?:(?:given|based|going|judging|in|from|using|after|analy[sz]e|read|review|look)\b[^,.]{0,80}(?:,| and)\s+)?"
    r"(?:(?:please|now|then|also)\s+)*"
)
_VERB = (
    r"(?:(?:generat|creat|writ|provid|suggest|produc|propos|craft|mak|compos|return|reflect|extract|formulat|"
    r"summari[sz]|assign|generier|erzeug|génér|rédig|gener|сгенерир|придума)\w*|giv(?:e|es|ing)|find|pick|choose|"
    r"(?:come|coming) up with|(?:respond|reply) with|output|erstelle|schreibe?|gib|crée|donne|crea|escribe|создай)"
)
_GAP = r":?\s+(?:(?!(?:on|about|whether|why|how|if|for|against|of|that|than)\b)[^\s.!?]+\s+){0,9}?[\"'*]*"
_CJK_VERB = "(?:生成|返回|写|起|取|总结|作成|생성)"
_TITLE, _QUERY = KINDS[1:3]
_CHAT = r"(?:conversation|chat|dialog(?:ue)?|discussion|exchange|thread|session|transcript)"
_OF_CHAT = re.compile(
    rf"\b(?:this|the|our|an?|new|following|above|whole|of)\s+(?:[\w-]+\s+)?{_CHAT}s?\b(?! (?:on|about|over)\b)"
    rf"|\b{_CHAT} (?:history|titles?|naming|names?|sessions?|threads?)\b|dieser? (?:unterhaltung|chat)"
    r"|(?:cette|la) conversation|(?:esta|la) conversaci|диалог|разговор|бесед|对话|聊天|会话|这句话|会話|대화",
    re.I,
)
_OF_TEXT = re.compile(
    r"\b(?:query|messages?|content|text|prompt|input|request|question|following|below|title only|only the title)\b"
    r"|消息|问题",
    re.I,
)
_ONLY = re.compile(r"\b(?:only|just)\b|nothing else|\bjson\b|不要", re.I)
_LIMIT = re.compile(
    r"\d+[ -]+(?:words?|char)|\b(?:two|three|four|five|six|seven|eight|ten)[\w -]{0,20}words?\b|\bmax|字"
    r"|\b(?:concise|short|brief)\b|\bno (?:quotes|punctuation|more than)|\bwithout\b|\byour (?:task|role|job)\b",
    re.I,
)
_DO_IT = re.compile(
    rf"{_LEAD}(?:name|summari[sz]e) (?:(?:this|the|our|following|above|entire) )+{_CHAT}"
    r"(?=[.,:]|$| (?:in|with|so|brief\w*|into|history|above|below|using|between)\b)",
    re.I,
)

_REPHRASE = re.compile(r"\b(?:rephras|reformulat|rewrit|condens)\w* [^.!?]*\bquestion", re.I)


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
            others = [unframed(m.text)[0] for m in spoken if m is not message]
            chosen = others[0 if first else -1] if others else ""
            inside = data_in(message.text, first=first) if own else ""
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
    """Which task a message is. A system message may say anything besides: it is one only where it begins with it."""
    shapes = {m[1] for m in _FORM.finditer(prompt)}
    framed = re.match(r"\s{0,9}#{1,6} .*\n", text) or any(TALK.search(b.name) for b in blocks(text))
    if "tool_calls" in shapes or (own and framed):
        for kind in KINDS:
            if any(re.fullmatch(kind.member, member, re.I) for member in shapes):
                return kind
    units = list(_units(prompt[:6000]))
    for at, unit in enumerate(units if own else units[:3]):
        asked = _asked_for(unit, " ".join(units[max(0, at - 1) : at + 2]), prompt)
        if asked and (own or asked is _TITLE or _ONLY.search(prompt)):
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


def _asked_for(unit: str, near: str, prompt: str) -> Kind | None:
    """The kind that an instruction has as its object, where what stands near speaks of a conversation."""
    if _DO_IT.search(unit):
        return _TITLE
    limited = _LIMIT.search(prompt) or _ONLY.search(prompt)
    if not (_OF_CHAT.search(near) or (limited and _OF_TEXT.search(near))):
        return None
    if _REPHRASE.search(unit):
        return _QUERY
    asks = (rf"{_LEAD}{_VERB}{_GAP}(?:%s)\b", rf"{_CJK_VERB}.*(?:%s)")
    return next((k for k in KINDS if any(re.search(a % k.thing, unit, re.I) for a in asks)), None)

"""What chat apps ask of the chosen model on their own account: a title for the chat, tags, follow-ups, search queries.

Such a prompt is no question to argue about. It is answered at once from the person's question that stands in it, in the
form that it asks for, and begins no run. It is known by its structure and not by one product's sentence: either it
shows a JSON form with a member such as `title` beside a chat's history, or an instruction asks for such a thing of a
conversation. A question is neither.
"""

import json
import re
from collections.abc import Callable, Sequence
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
    thing: str = ""
    make: Callable[[str], list[str]] = lambda _: []
    many: bool = False


def _title(question: str) -> list[str]:
    return [shorten(re.split("[?？]", question)[0], 60, placeholder="…") or "New question"]


def _tags(question: str) -> list[str]:
    words = [w for w in re.findall(r"[^\W\d_]{4,}", question) if w.casefold() not in QUERY_FILLERS]
    return [w.capitalize() for w in sorted(dict.fromkeys(words), key=len, reverse=True)[:3]] or ["General"]


def _itself(question: str) -> list[str]:
    return [question] if question else []


KINDS = (
    Kind("tool_calls", "tool_calls", many=True),
    Kind("title", r"\w*title", "titles?|name|t[ií]tulo|titre|titel", _title),
    Kind(
        "queries",
        r"(?:search_?)?quer(?:y|ies)",
        "(?:search|standalone|web|retrieval) (?:quer(?:y|ies)|questions?)",
        _itself,
        many=True,
    ),
    Kind("follow_ups", r"follow_?ups?\w*|suggest\w*|(?:related_?)?questions", many=True),
    Kind("tags", "tags|keywords|categories", make=_tags, many=True),
    Kind("text", "text|completion"),
    Kind("prompt", "prompt", "(?:image|picture) (?:generation )?prompt", _itself),
    Kind("emoji", "emoji", "facial expression|emoji", lambda _: ["🤔"]),
    Kind("summary", "summary", make=_itself),
)
_TITLE = KINDS[1]
_FORM = re.compile(r"\{\s*[\"'“](\w+)[\"'”]\s*:(?!\s*[\"“][^\"”{}]*[\"”]\s*,)\s*(\[|[\"'“<{])")
_ITEM = re.compile(r"\n\s*(?:\d+[.)]|[-*•])\s+")
_SENTENCE = re.compile(r"(?<=[.!?:])\s+|(?<=[。！？])|\n+")
_VERB = (
    r"\b(?:(?:g[ée]n[éèe]r|creat|writ|provid|suggest|produc|propos|craft|mak|compos|return|extract|formulat|rephras|"
    r"rewrit|erzeug|rédig)\w*|give|find|pick|choose|come up with|output|(?:respond|reply|answer) with|erstelle"
    r"|schreibe?|gib|crée|donne|crea|escribe)"
)
_GAP = r":?\s+(?:(?!(?:on|about|whether|why|how|if|for|against|with|each|every|your|my)\b)[^\s.!?]+\s+){0,9}?[\"'*]*"
_ALONE = r"\b(?!,?\s+(?:and|or|followed)\b|, an? )"
_OF_CHAT = re.compile(
    r"\b(?:conversations?|chats?|dialog(?:ue)?|discussion|exchange|thread|sessions?|transcript|quer(?:y|ies)|messages?"
    r"|unterhaltung|conversaci[óo]n)\b",
    re.I,
)
_CHINESE = re.compile(r"(?=.*(?:对话|会话|聊天|这句话|消息)).*(?:生成|返回|写|起|取|总结)[^，。]*(?:标题(?!党)|主题)")
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
            others = [unframed(m.text)[0] for m in spoken if m is not message]
            chosen = others[0 if first else -1] if others else ""
            question = data_in(message.text, first=first) if own or not others else ""
            return _formed(
                kind, " ".join((question or data_in(chosen, first=first) or chosen).split()), prompt, as_json
            )
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
    message is one only by its first sentences, a user's never where a question stands before the chat's history."""
    head = prompt[:6000]
    if own and re.search("[?？]", min((r.split(head, maxsplit=1)[0] for r in (_DATA, LABEL, TURN)), key=len)):
        return None
    shapes = {m[1] for m in _FORM.finditer(prompt)}
    talk = TURN.search(text) or any(TALK.search(b.name) for b in blocks(text))
    if "tool_calls" in shapes or (own and talk):
        for kind in KINDS:
            if any(re.fullmatch(kind.member, member, re.I) for member in shapes):
                return kind
    sentences = _SENTENCE.split(_ITEM.sub(" ", head))
    said = " ".join(sentences if own else sentences[:2])
    if _CHINESE.search(said):
        return _TITLE
    asked = (k for k in KINDS if k.thing and re.search(rf"{_VERB}{_GAP}(?:{k.thing}){_ALONE}", said, re.I))
    return next(asked, None) if _OF_CHAT.search(said) else None

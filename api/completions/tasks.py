"""What chat apps put around what a person said, and what they ask on their own account.

An app gives a model one text in which instructions, data and the person's words stand together: tags, passages that it
found, labels, turns of a chat. They are told apart by their structure, since each product words its frame differently.

Some prompts are no question to argue about: a title for the chat, tags, follow-ups, search queries. Such a task is
answered at once from the person's question that stands in it, in the form that it asks for, and begins no run. It is
known by its structure too: either it shows a JSON form with a member such as `title` beside a chat's history, or an
instruction asks for such a thing of a conversation. A question is neither.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from textwrap import shorten
from typing import Annotated, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Discriminator, Tag

from tools.language.words import QUERY_FILLERS


class Sent(BaseModel):
    """What a client sends, as far as it means something here. Whatever else there is has no effect."""

    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)


class Part(Sent):
    """A piece of a message. Text is read; a question can hold nothing else."""

    type: str
    text: str | None = None


def _form(content: object) -> str:
    return "parts" if isinstance(content, list) else "text"


Content = Annotated[Annotated[str, Tag("text")] | Annotated[list[Part], Tag("parts")], Discriminator(_form)]


class Message(Sent):
    """A turn of the conversation. The last of the user's is the question; `system` and `developer` change nothing."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: Content | None = None

    @property
    def text(self) -> str:
        if isinstance(self.content, list):
            return " ".join(part.text or "" for part in self.content if part.type == "text")
        return self.content or ""


CONTEXT = re.compile(r"context|document|source|file|attach|reference|citation|search|knowledge|result", re.I)
TALK = re.compile(r"chat|conversation|history|messages|dialog|transcript", re.I)
_ASKED = re.compile(r"(?:user[_-]?|original[_-]?)?(?:query|question|prompt|message|input|request)", re.I)
_OPENING = re.compile(r"(?:^|(?<=[:>]))[ \t]*<([a-z][\w.:-]{0,40})(?:\s[^<>]{0,300})?>", re.I | re.M)
_CLOSING = re.compile(r"</([a-z][\w.:-]{0,40})\s*>", re.I)
LABEL = re.compile(
    r"^[ \t#>*-]{0,8}(?:here(?:'s| is) )?(?:(?:the|my|current|latest|first|original|follow[- ]?up) )*(?:user(?:'s)? )?"
    r"(?:query|question|prompt|message|request|input)(?: is)?[* \t]*(?::[* \t]*|$)",
    re.I | re.M,
)
_SPOKEN_OF = re.compile(r"\b(?:context|citations?|documents?|files|sources|materials|passages)\b", re.I)
_NEXT = re.compile(r"^(?:[ \t]*#+ |[ \t*]*(?:[\w-]+ )?(?:answer|response|output|context|question)[ \t]*:)", re.I | re.M)
TURN = re.compile(
    r"(?:^[ \t#*\[|>-]{0,6}(?:role: ?)?|<)(user|human|assistant|ai|bot|model|system|tool)(?: message| query)?"
    r"(?:[\]*]{0,3}[ \t]*(?::[* \t]*|$)|>)",
    re.I | re.M,
)


class Block(NamedTuple):
    """What stands between a tag and the last one that closes it."""

    name: str
    start: int
    text: str
    end: int


def blocks(text: str) -> Iterator[Block]:
    """The outermost pairs of tags that hold data: context, a chat's history or the question."""
    last = {m[1].casefold(): m for m in _CLOSING.finditer(text)}
    at = 0
    for opening in _OPENING.finditer(text):
        name = opening[1].casefold()
        closing = last.get(name)
        known = CONTEXT.search(name) or TALK.search(name) or _ASKED.fullmatch(name)
        if known and closing and closing.start() >= opening.end() and opening.start() >= at:
            at = closing.end()
            yield Block(name, opening.start(), text[opening.end() : closing.start()], at)


def outside(text: str) -> str:
    """The text without the data in it."""
    found = list(blocks(text))
    starts, ends = [*(b.start for b in found), len(text)], [0, *(b.end for b in found)]
    return "\n".join(text[end:start] for end, start in zip(ends, starts, strict=True))


def unframed(text: str) -> tuple[str, bool]:
    """The person's question out of a message, and whether the app sent context along with it."""
    text = re.sub(r"\[(END )?CONTEXT \d+\]:?", lambda m: "</context>" if m[1] else "<context>", text)
    found, rest = list(blocks(text)), outside(text)
    context = [b for b in found if CONTEXT.search(b.name)]
    if asked := [b.text for b in found if _ASKED.fullmatch(b.name)]:
        return asked[-1].strip(), bool(context)
    labels = list(LABEL.finditer(rest))
    if labels and (context or _SPOKEN_OF.search(rest)):
        return _once(rest[labels[-1].end() :]), True
    if context:
        before, after = _once(text[: context[0].start]), _once(text[context[-1].end :])
        early = after[-1:] in ("", ":") or after[0] == "<" or (before[-1:] in "?？" and not re.search("[?？]", after))
        return (before if early else "") or after or text, True
    return text, False


def _once(text: str) -> str:
    """A question up to what follows it, of which some apps give two copies."""
    text = re.sub(r"<!--[^>]{0,200}-->", "", text).strip()
    end = _NEXT.search(text, 1)
    return "\n\n".join(dict.fromkeys(p.strip() for p in text[: end.start() if end else None].split("\n\n"))).strip()


def data_in(text: str, *, first: bool) -> str:
    """The person's first or last words in the prompt of a task: in a block, a fence or turns of a chat, or under a
    label. Nothing where it holds none."""
    held = [b.text for b in blocks(text)] + re.findall(r"```(?:\w*\n)?(.*?)```", text, re.DOTALL)
    for data in (*held, text):
        _, *parts = TURN.split(data)
        if theirs := [words for who, words in zip(parts[::2], parts[1::2], strict=True) if who[0] in "uUhH" and words]:
            return unframed(theirs[0 if first else -1].partition("</")[0])[0].strip('\n\t "')
    for data in (*held, *(text[m.end() :] for m in LABEL.finditer(text))):
        pieces = [p for p in re.split(r"\n\s*(?:-{3,}\s*)?\n", data.strip()) if p and not p.startswith("You are")]
        if pieces:
            return next((p for p in pieces if p.endswith("?")), pieces[0])
    return ""


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

"""Finds the user's question in a chat app's prompt, and answers the app's own tasks.

A prompt contains instructions, data and the user's words. Tags and labels separate them, because every app has its own
wording. A task (a title, tags, follow-ups, search queries) has a JSON form with a member such as `title`, and the
chat's history. It is answered at once from the question in the history, without a run.
"""

import json
import re
from collections.abc import Iterator, Sequence
from textwrap import shorten
from typing import Annotated, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Discriminator, Tag

from tools.language.lexicon import QUERY_FILLERS


class OpenAIObject(BaseModel):
    """An object of OpenAI's requests, with the members that have an effect."""

    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)


class Part(OpenAIObject):
    """A part of a message. Only text is allowed in a question."""

    type: str
    text: str | None = None


def _form(content: object) -> str:
    return "parts" if isinstance(content, list) else "text"


Content = Annotated[Annotated[str, Tag("text")] | Annotated[list[Part], Tag("parts")], Discriminator(_form)]


class Message(OpenAIObject):
    """A turn of the conversation. The user's last one is the question; `system` and `developer` have no effect."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: Content | None = None

    @property
    def text(self) -> str:
        if isinstance(self.content, list):
            return " ".join(part.text or "" for part in self.content if part.type == "text")
        return self.content or ""


# The question in its prompt

CONTEXT = re.compile(r"context|document|source|file|attach|reference|citation|search|knowledge|result", re.I)
_TALK = re.compile(r"chat|conversation|history|messages|dialog|transcript", re.I)
_ASKED = re.compile(r"(?:user[_-]?|original[_-]?)?(?:query|question|prompt|message|input|request)", re.I)
_OPENING = re.compile(r"(?:^|(?<=[:>]))[ \t]*<([a-z][\w.:-]{0,40})(?:\s[^<>]{0,300})?>", re.I | re.M)
_CLOSING = re.compile(r"</([a-z][\w.:-]{0,40})\s*>", re.I)
_LABEL = re.compile(
    r"^[ \t#>*-]{0,8}(?:here(?:'s| is) )?(?:(?:the|my|current|latest|first|original|follow[- ]?up) )*(?:user(?:'s)? )?"
    r"(?:query|question|prompt|message|request|input)(?: is)?[* \t]*(?::[* \t]*|$)",
    re.I | re.M,
)
_SPOKEN_OF = re.compile(r"\b(?:context|citations?|documents?|files|sources|materials|passages)\b", re.I)
_NEXT = re.compile(r"^(?:[ \t]*#+ |[ \t*]*(?:[\w-]+ )?(?:answer|response|output|context|question)[ \t]*:)", re.I | re.M)


class TaggedText(NamedTuple):
    """The text between a tag and its last closing tag."""

    name: str
    start: int
    text: str
    end: int


def tagged_texts(text: str) -> Iterator[TaggedText]:
    """The outermost tags that contain context, a chat's history or the question."""
    last = {m[1].casefold(): m for m in _CLOSING.finditer(text)}
    at = 0
    for opening in _OPENING.finditer(text):
        name = opening[1].casefold()
        closing = last.get(name)
        known = CONTEXT.search(name) or _TALK.search(name) or _ASKED.fullmatch(name)
        if known and closing and closing.start() >= opening.end() and opening.start() >= at:
            at = closing.end()
            yield TaggedText(name, opening.start(), text[opening.end() : closing.start()], at)


def _outside(text: str) -> str:
    found = list(tagged_texts(text))
    starts, ends = [*(b.start for b in found), len(text)], [0, *(b.end for b in found)]
    return "\n".join(text[end:start] for end, start in zip(ends, starts, strict=True))


def question_in(text: str) -> tuple[str, bool]:
    """Returns the user's question in a message, and whether the app sent context."""
    text = re.sub(r"\[(END )?CONTEXT \d+\]:?", lambda m: "</context>" if m[1] else "<context>", text)
    found, rest = list(tagged_texts(text)), _outside(text)
    context = [b for b in found if CONTEXT.search(b.name)]
    if asked := [b.text for b in found if _ASKED.fullmatch(b.name)]:
        return asked[-1].strip(), bool(context)
    labels = list(_LABEL.finditer(rest))
    if labels and (context or _SPOKEN_OF.search(rest)):
        return _once(rest[labels[-1].end() :]), True
    if context:
        before, after = _once(text[: context[0].start]), _once(text[context[-1].end :])
        early = after[-1:] in ("", ":") or after[0] == "<" or (before[-1:] in "?？" and not re.search("[?？]", after))
        return (before if early else "") or after or text, True
    return text, False


def _once(text: str) -> str:
    """Returns the question without following text, once if the app repeats it."""
    text = re.sub(r"<!--[^>]{0,200}-->", "", text).strip()
    end = _NEXT.search(text, 1)
    return "\n\n".join(dict.fromkeys(p.strip() for p in text[: end.start() if end else None].split("\n\n"))).strip()


# Tasks

_FORM = re.compile(r"\{\s*[\"'“](\w+)[\"'”]\s*:(?!\s*[\"“][^\"”{}]*[\"”]\s*,)\s*(\[|[\"'“<{])")
_TURN = re.compile(r"^(user|human|assistant|ai|bot|model|system|tool):[ \t]*", re.I | re.M)


class AppTask(NamedTuple):
    """`member`: the name in its JSON form; a list if `many`. `question`: the chat's question."""

    member: str
    many: bool
    question: str

    @property
    def is_follow_ups(self) -> bool:
        """Whether the app wants follow-up questions."""
        return re.fullmatch(r"follow_?ups?\w*|suggest\w*|(?:related_?)?questions", self.member, re.I) is not None

    def reply(self, follow_ups: Sequence[str] = ()) -> str:
        values = list(follow_ups) or self._values()
        return json.dumps({self.member: values if self.many else "".join(values[:1])}, ensure_ascii=False)

    def _values(self) -> list[str]:
        member, question = self.member.lower(), self.question
        if member.endswith("title"):
            return [shorten(re.split("[?？]", question)[0], 60, placeholder="…") or "New question"]
        if member in ("tags", "keywords", "categories"):
            words = [w for w in re.findall(r"[^\W\d_]{4,}", question) if w.casefold() not in QUERY_FILLERS]
            return [w.capitalize() for w in sorted(dict.fromkeys(words), key=len, reverse=True)[:3]] or ["General"]
        wants_question = re.fullmatch(r"(?:search_?)?quer(?:y|ies)|prompt|summary", member)
        return [question] if question and wants_question else []


def task_of(messages: Sequence[Message]) -> AppTask | None:
    """Returns the app's task, or None if the conversation asks a question."""
    spoken = [m.text for m in messages if m.role == "user"]
    if any("tool_calls" in dict(_FORM.findall(m.text)) for m in messages if m.role in ("system", "user")):
        return AppTask("tool_calls", True, "")
    form = _FORM.search(_outside(spoken[-1])) if spoken else None
    history = next((b.text for b in tagged_texts(spoken[-1]) if _TALK.search(b.name)), None) if spoken else None
    if form is None or history is None:
        return None
    _, *parts = _TURN.split(history)
    theirs = [words for who, words in zip(parts[::2], parts[1::2], strict=True) if who[0] in "uUhH"] or [history]
    latest = re.fullmatch(r"(?:search_?)?quer(?:y|ies)", form[1], re.I)
    question, _ = question_in(theirs[-1 if latest else 0])
    return AppTask(form[1], form[2] == "[", " ".join(question.split()))

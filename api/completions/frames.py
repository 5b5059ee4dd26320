"""What a person said, out of what chat apps put around it: tags, passages that the app found, labels, turns of a chat.

An app gives a model one text in which instructions, data and the person's words stand together. They are told apart by
their structure, since each product words its frame differently, and people reword it.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

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

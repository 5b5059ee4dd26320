"""The answer as Markdown."""

import re

from agent.answer.model import Answer, AnswerClaim, AnswerPerspective
from agent.answer.render.words import (
    ADD_SOURCES,
    MAY_SPEAK,
    beside,
    case,
    cased,
    closing,
    hole,
    label,
    line_of,
    looked_for,
    named,
    numbers,
    plain,
    quoted_head,
    read_as,
    said,
    shown,
    source_line,
    strength_of,
    words_behind,
)

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~&])")
_BLOCK = re.compile(r"^(\d*)([-+=.)])")


def to_markdown(answer: Answer, *, remote: bool = False) -> str:
    """A document of headings, bullets and a numbered list of sources; text from sources is escaped.

    So a bracket without a backslash is one of ours: '[2]' stands for source 2. `remote`: for a reader who is at another
    machine: with the run's whole id, and without a command to type.
    """
    answer = shown(answer)
    lines = [title(answer.question), ""]
    lines += [escape(read), ""] if (read := read_as(answer)) else []
    lines += [escape(answer.summary), ""]
    lines += [_claim(answer.crux), ""] if answer.crux else []
    lines += [f"- {_claim(c)}" for c in answer.plain] + ([""] if answer.plain else [])
    for side in answer.perspectives:
        lines += _side(answer, side)
    if answer.citations:
        lines += ["## Sources", ""]
        for citation in answer.citations:
            lines.append(f"{citation.number}. {escape(source_line(citation))}")
            lines += [f"   - “{escape(words)}”" for words in words_behind(answer, citation)]
        lines.append("")
    lines += [f"> {escape(note.text)}\n" for note in answer.notes]
    if answer.nearest_questions:
        lines += ["Nearest sample questions:", "", *(f"- {escape(q)}" for q in answer.nearest_questions), ""]
    lines += [escape(closing(answer, whole_id=remote))]
    lines += [] if remote else ["", f"More sources: `{ADD_SOURCES}`"]
    return "\n".join(lines) + "\n"


def title(question: str) -> str:
    """The document's first line, known before there is an answer."""
    return f"# {escape(plain(question))}"


def escape(text: str) -> str:
    """Text that Markdown shows as it is: nothing in it becomes a link, an image, HTML or a heading."""
    return _BLOCK.sub(r"\1\\\2", _SPECIAL.sub(r"\\\1", " ".join(text.split())))


def _side(answer: Answer, side: AnswerPerspective) -> list[str]:
    line = line_of(answer, side)
    own = quoted_head(side)
    head = escape(named(side)) + (f" {numbers(own)}" if own else "")
    lines = [f"## {label(answer, side)}: {head}", "", f"*{strength_of(line, cased(side))}*", ""]
    thesis = [f"{_claim(c)}\n" for c in case(side) if c.role == "thesis"]
    bullets = [f"- {_claim(c)}" for c in case(side) if c.role != "thesis"]
    lines += thesis + bullets + ([""] if bullets else [])
    if leaning := beside(side):
        lines += [f"*{MAY_SPEAK}*", "", *(f"- {_claim(c)}" for c in leaning), ""]
    if gap := hole(line, side):
        lines += [gap, ""]
    if tried := looked_for(answer, side, line):
        lines += [escape(tried), ""]
    return lines


def _claim(claim: AnswerClaim) -> str:
    return f"{escape(said(claim))} {numbers(claim)}"

"""The answer as a list of blocks: what every rendering shows, in its order, before it is set in a format."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from agent.answer.model import Answer, AnswerClaim, AnswerPerspective, Citation
from agent.answer.render.words import (
    MAY_SPEAK,
    beside,
    case,
    cased,
    decontextualised,
    gap_of,
    label,
    line_of,
    looked_for,
    more_about,
    named,
    quoted_head,
    read_as,
    source_line,
    strength_of,
    undone,
)

Kind = (
    Literal["title", "read_as", "summary", "tried", "crux", "plain"]
    | Literal["head", "strength", "thesis", "case", "may_speak", "leaning", "gap", "looked_for"]
    | Literal["source", "note", "more", "nearest"]
)
_OMITTED_IF_EMPTY = ("read_as", "gap", "looked_for", "note")


@dataclass(frozen=True, slots=True)
class Block:
    """A heading, a paragraph or a list item.

    `citations`: the numbers that follow the text, None where there can be none. `quoted`: the text is a source's own
    words, to be set in quotation marks. `label`: what stands before a perspective's statement, or in its place.
    `source`: the citation whose line the text is.
    """

    kind: Kind
    text: str
    citations: Sequence[int] | None = None
    quoted: bool = False
    label: str = ""
    source: Citation | None = None

    @property
    def marked(self) -> str:
        """The text with its label, in quotation marks where it is quoted; without its citations."""
        text = f"“{self.text}”" if self.quoted else self.text
        return f"{self.label}: {text}" if self.label and text else self.label or text


def opening(answer: Answer) -> list[Block]:
    """The question, the summary and the claims that belong to no perspective."""
    return _shown(
        Block("title", answer.question),
        Block("read_as", read_as(answer)),
        Block("summary", answer.summary),
        *(Block("tried", note.text) for note in answer.notes if note.kind == "not_found"),
        *(_claim("crux", c) for c in (answer.crux,) if c),
        *(_claim("plain", c) for c in answer.plain),
    )


def perspective(answer: Answer, side: AnswerPerspective) -> list[Block]:
    """One perspective: its statement and its strength first, then its case, and what is missing from it."""
    line, own, leaning = line_of(answer, side), quoted_head(side), beside(side)
    return _shown(
        Block("head", named(answer, side), own.citations if own else None, label=label(answer, side)),
        Block("strength", strength_of(line, cased(side))),
        *(_claim("thesis", c) for c in case(side) if c.role == "thesis"),
        *(_claim("case", c) for c in case(side) if c.role != "thesis"),
        *(Block("may_speak", MAY_SPEAK) for _ in leaning[:1]),
        *(_claim("leaning", c) for c in leaning),
        Block("gap", gap_of(line, side)),
        Block("looked_for", looked_for(answer, side, line)),
    )


def sources(answer: Answer) -> list[Block]:
    """The citations."""
    return [Block("source", source_line(c), source=c) for c in answer.citations]


def ending(answer: Answer, explain: bool = False) -> list[Block]:
    """What was not done, in one line, and the nearest sample questions; explain: with all that the notes tell."""
    return _shown(
        Block("note", undone(answer.notes)),
        *(Block("more", text) for text in more_about(answer.notes) if explain),
        *(Block("nearest", question) for question in answer.nearest_questions),
    )


def _claim(kind: Kind, claim: AnswerClaim) -> Block:
    text = decontextualised(claim) if claim.quoted else claim.text
    return Block(kind, text, claim.citations, claim.quoted)


def _shown(*blocks: Block) -> list[Block]:
    return [block for block in blocks if block.text or block.kind not in _OMITTED_IF_EMPTY]

"""The answer on one page, for a debate: the question, what it turns on, each side's strongest, what is not known."""

from textwrap import shorten

from agent.answer import words
from agent.answer.lines import taken_as
from agent.answer.model import Answer, AnswerPerspective
from agent.answer.outline import Block, opening, perspective
from tools.language.words import count

SHEET = "Debate sheet"
WHAT_IT_HOLDS = "Three arguments for each side"
_MOST = 3
_NAMED = 3  # documents that are named


def sheet(answer: Answer) -> list[Block]:
    """The page's blocks, as the outline of the whole answer has them."""
    asked, *_ = opening(answer)
    turns = [block for block in opening(answer) if block.kind == "crux"]
    unknown = [Block("unknown", said) for said in _unknown(answer)]
    return [
        asked,
        *turns,
        *(block for side in answer.perspectives for block in strongest(answer, side)),
        *(Block("head", "", label="What is not known") for _ in unknown[:1]),
        *unknown,
    ]


def strongest(answer: Answer, side: AnswerPerspective) -> list[Block]:
    """The side's head, and below it the first of its claims; nothing of a way beside the sides that has none."""
    if not side.claims and side.stance == "other":
        return []
    head, strength, *rest = perspective(answer, side)
    claims = [block for block in rest if block.kind in ("thesis", "case")]
    told = [Block("case", b.text, b.citations, b.quoted, b.label, said_by=b.said_by, answers=b.answers) for b in claims]
    return [head, *(told[: _MOST - bool(head.citations)] or ([] if side.claims else [strength]))]


def _unknown(answer: Answer) -> list[str]:
    """For which sides nothing was found, what was read and stays unclear, and what was not looked at."""
    empty = [side for side in answer.perspectives if not side.claims]
    told = [f"{words.called(answer, side)}: {words.strength_of(answer, side)}" for side in empty]
    if unclear := [d for d in answer.documents if taken_as(answer, d) == "side not clear"]:
        titles = [f"‘{shorten(d.title or d.id, 60, placeholder=' …')}’" for d in unclear[:_NAMED]]
        more = [f"{len(unclear) - _NAMED} more"] if len(unclear) > _NAMED else []
        told.append(f"The side of {count(len(unclear), 'document')} is not clear: {', '.join([*titles, *more])}")
    told += [note.text for note in answer.notes if note.kind == "not_found"]
    return [*told, *filter(None, [words.undone(answer.notes)])]

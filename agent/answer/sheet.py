"""The answer on one page, for a debate: the question, what it turns on, each side's strongest, what is not known."""

import re
from collections.abc import Sequence
from dataclasses import replace
from textwrap import shorten

from agent.answer import words
from agent.answer.files import to_docx, to_markdown
from agent.answer.lines import NO_CLEAR_SIDE, taken_as, titled
from agent.answer.model import Answer, AnswerPerspective
from agent.answer.outline import Block, opening, perspective
from tools.language.words import count

SHEET = "Debate sheet"
WHAT_IT_HOLDS = "Three arguments for each side"
SHEET_ENDINGS = (".md", ".docx")
_MOST = 3
_NUMBER = re.compile(r"^\[\d+\] | \[\d+\](?=,|$)")
_NAMED = 3  # documents that are named


def sheet(answer: Answer) -> list[Block]:
    """The page's blocks, as the outline of the whole answer has them."""
    first = [_unnumbered(block) for block in opening(answer) if block.kind in ("title", "crux")]
    return [*first, *(b for side in answer.perspectives for b in strongest(answer, side)), *unknown(answer)]


def sheet_file(answer: Answer, ending: str, asked: str = "") -> bytes:
    """What a file of that ending, one of SHEET_ENDINGS, holds: the answer on one page. `asked`: when (ISO)."""
    if ending == ".docx":
        return to_docx(answer, asked=asked, blocks=sheet(answer))
    return to_markdown(answer, asked=asked, blocks=sheet(answer)).encode()


def strongest(answer: Answer, side: AnswerPerspective) -> list[Block]:
    """The side's head, and below it the first of its claims; nothing of a way beside the sides that has none."""
    if not side.claims and side.stance == "other":
        return []
    head, strength, *rest = perspective(answer, side)
    claims = [_worded(answer, replace(b, kind="case")) for b in rest if b.kind in ("thesis", "case")]
    shown = _diverse(claims, _MOST - bool(head.citations))
    return [_unnumbered(head), *(shown or ([] if side.claims else [strength]))]


def _diverse(claims: Sequence[Block], most: int) -> list[Block]:
    """The first claims, those with a reason and a source of their own before others; in their order."""
    seen, new = set[str](), list[int]()
    for place, claim in enumerate(claims):
        known = {claim.label.casefold(), *claim.said_by} - {""}
        if seen.isdisjoint(known):
            new.append(place)
            seen |= known
    rest = [place for place in range(len(claims)) if place not in new]
    return [claims[place] for place in sorted([*new, *rest][:most])]


def _worded(answer: Answer, block: Block) -> Block:
    """The block, where a model wrote it with the source's own words below it, if it is known which these are."""
    said, alone = _unnumbered(block), {c.number: c.quote for c in answer.citations if not c.more}
    if block.quoted:
        return said
    told = zip(block.citations or (), said.said_by, strict=False)
    return replace(said, said_by=[f"“{alone[n]}” {line}" if n in alone else line for n, line in told])


def _unnumbered(block: Block) -> Block:
    """The block without the numbers of a list of sources, which the sheet has no room for."""
    said_by, answered = [_NUMBER.sub("", said) for said in block.said_by], _NUMBER.sub("", block.answered)
    return replace(block, citations=None, answers=(), said_by=said_by, answered=answered)


def unknown(answer: Answer) -> list[Block]:
    """For which sides nothing was found, what was read and stays unclear, and what was not looked at."""
    empty = [side for side in answer.perspectives if not side.claims]
    told = [f"{words.called(answer, side)}: {words.strength_of(answer, side)}" for side in empty]
    if unclear := [d for d in answer.documents if taken_as(answer, d) == NO_CLEAR_SIDE]:
        titles = [f"‘{shorten(titled(d, d.id), 60, placeholder=' …')}’" for d in unclear[:_NAMED]]
        more = [f"{len(unclear) - _NAMED} more"] if len(unclear) > _NAMED else []
        told.append(f"Without a clear side: {count(len(unclear), 'document')}, {', '.join([*titles, *more])}")
    told += [note.text for note in answer.notes if note.kind == "not_found"]
    told += filter(None, [words.undone(answer.notes)])
    return [*(Block("head", "", label="What is not known") for _ in told[:1]), *(Block("unknown", t) for t in told)]

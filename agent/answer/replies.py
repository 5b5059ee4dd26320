"""Which claim answers which, and the rows of two sides that face each other: a row for each reason."""

from collections.abc import Sequence
from typing import NamedTuple

from agent.answer.model import Answer, AnswerClaim, AnswerPerspective
from agent.answer.words import case, reason_of
from agent.state import Claim
from tools.language.grounding import content_overlap, stems


class Row(NamedTuple):
    """A reason, empty for claims without one. cells: the positions of each side's claims in its `words.case`."""

    reason: str
    cells: tuple[list[int], list[int]]


def answered(claim: Claim, claims: Sequence[Claim]) -> Claim | None:
    """The claim of another side, or of the objections to it, that this one answers: it cites the passage that the model
    named. Of several it is one with the same reason, else one that cites the passage first, and then shares most words.
    """
    place, passage, reason = _place(claim), claim.get("answers"), _key(claim.get("reason", ""))

    def nearness(rival: Claim) -> tuple[bool, bool, float]:
        same, first = _key(rival.get("reason", "")) == reason, rival["passages"][:1] == [passage]
        return same, first, content_overlap(_told(claim), _told(rival))

    rivals = (c for c in claims if c["perspective"] and _place(c) != place and passage in c["passages"])
    return max(rivals, key=nearness, default=None)


def _place(claim: Claim) -> tuple[str, bool]:
    return claim["perspective"], claim.get("objection", False)


def _told(claim: Claim) -> str:
    return f"{claim.get('reason', '')} {claim['text']}"


def replies(answer: Answer, claim: AnswerClaim) -> list[tuple[AnswerPerspective, AnswerClaim]]:
    """The claims that answer this one, each with the side that it stands under."""
    return [(side, c) for side in answer.perspectives for c in side.all_claims if c.text in claim.answered_by]


def rows_by_reason(sides: Sequence[AnswerPerspective]) -> list[Row]:
    """The reasons of two sides: first those that both name, then the others as high as their first claim stands, claims
    without a reason last. No rows unless both sides name reasons: quotations have none."""
    cases = [case(side) for side in sides]
    if len(cases) != 2 or not all(any(c.reason for c in claims) for claims in cases):
        return []
    rows: dict[Sequence[str], Row] = {}
    for place, claims in enumerate(cases):
        for number, claim in enumerate(claims):
            row = rows.setdefault(_key(claim.reason), Row(reason_of(claim), ([], [])))
            row.cells[place].append(number)
    return sorted(rows.values(), key=lambda r: (not r.reason, not all(r.cells), min(r.cells[0] + r.cells[1])))


def _key(reason: str) -> Sequence[str]:
    """What two spellings of one reason share: 'injury' and 'Injuries'."""
    return stems(reason) or (reason.casefold(),)

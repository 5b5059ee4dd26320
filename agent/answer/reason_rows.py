"""Rows of opposing claims with the same reason."""

from collections.abc import Sequence
from typing import NamedTuple

from agent.answer.model import AnswerPerspective
from agent.answer.wording import claims_below_heading, reason_label
from tools.language.grounding import stems


class ReasonRow(NamedTuple):
    """One reason with the claims of two sides. reason: empty for claims without a reason. cells: for each side, the
    positions of its claims in `claims_below_heading`."""

    reason: str
    cells: tuple[list[int], list[int]]


def rows_by_reason(sides: Sequence[AnswerPerspective]) -> list[ReasonRow]:
    """Groups the claims of two sides by reason. Returns rows only if both sides name reasons. Quotations have no
    reasons.

    Shared reasons come first and claims without a reason last. The other rows follow the order of their first claim.
    """
    cases = [claims_below_heading(side) for side in sides]
    if len(cases) != 2 or not all(any(c.reason for c in claims) for claims in cases):
        return []
    rows: dict[Sequence[str], ReasonRow] = {}
    for place, claims in enumerate(cases):
        for number, claim in enumerate(claims):
            row = rows.setdefault(reason_key(claim.reason), ReasonRow(reason_label(claim), ([], [])))
            row.cells[place].append(number)
    return sorted(rows.values(), key=lambda r: (not r.reason, not all(r.cells), min(r.cells[0] + r.cells[1])))


def reason_key(reason: str) -> Sequence[str]:
    """Returns a key that is equal for spellings of one reason, such as 'injury' and 'Injuries'."""
    return stems(reason) or (reason.casefold(),)

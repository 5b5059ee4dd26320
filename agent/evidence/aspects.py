"""What a dispute turns on, in one sentence that stands above the perspectives and cites both.

A chat model writes that sentence from both sides' passages, and it is verified as every written claim is.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations

from agent.state import OTHER_WAYS, Claim, Perspective, RunState, in_case

Sides = tuple[tuple[Perspective, Sequence[Claim]], tuple[Perspective, Sequence[Claim]]]
"""Two perspectives that oppose each other, each with the claims of its case."""


def opposed_sides(state: RunState, claims: Sequence[Claim]) -> Sides | None:
    """The two strongest perspectives that oppose each other, each with the claims of its case; None where there are no
    two with a case. They are the contrary ones. Of an open question they are the two that most passages speak for and
    against; among equals those with the most independent sources."""
    planned = (p for p in state.get("perspectives", []) if p["id"] != OTHER_WAYS)
    known, coverage = {p["id"]: p for p in planned}, state.get("coverage", {})
    cases = {p: [c for c in claims if c["perspective"] == p and in_case(c)] for p in known}
    opposition = state.get("opposition", {})
    against = {p: {i for i, s in scores.items() if s >= state["threshold"]} for p, scores in opposition.items()}

    def strength(pair: tuple[str, str]) -> tuple[int, int]:
        both = [against.get(q, set()) & {*coverage[p]["ids"]} for p, q in (pair, pair[::-1]) if p in coverage]
        return sum(map(len, both)), sum(coverage[p]["sources"] for p in pair if p in coverage)

    contrary = ((i, p["contrary"]) for i, p in known.items() if p["contrary"] in known)
    open_pair = max(combinations(filter(cases.get, known), 2), key=strength, default=())
    sides = [(known[p], cases[p]) for p in next(contrary, open_pair) if cases[p]]
    return (sides[0], sides[1]) if len(sides) == 2 else None


def evidence_of(claim: Claim) -> Iterator[tuple[int, str]]:
    """The passages of a claim with the words of each that say it."""
    yield from zip(claim["passages"], claim.get("evidence") or [claim["text"]] * len(claim["passages"]), strict=True)

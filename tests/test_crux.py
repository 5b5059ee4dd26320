"""What a dispute turns on, named from the points that both cases speak to."""

from typing import Any, cast

import pytest

from agent.evidence.aspects import opposed_sides, shared_points
from agent.state import Claim, FramingState, Perspective, RunState, Stance

QUESTION = "Should ferries be free?"


def side(name: str, statement: str, contrary: str) -> Perspective:
    stance: Stance = "supports" if name == "for" else "opposes"
    return Perspective(id=name, name=name, statement=statement, stance=stance, contrary=contrary, origin="question")


SIDES = [side("for", "Ferries should be free.", "against"), side("against", "Ferries should not be free.", "for")]


def claim(of: str, text: str, passage: int) -> Claim:
    return Claim(perspective=of, text=text, passages=[passage], support=0.9, role="case")


DEAR = claim("for", "A crossing costs a nurse a day's wages.", 1)
CLEAN = claim("for", "Empty cars on the bridge foul the air with emissions.", 2)
TAXED = claim("against", "Somebody pays the crew, and that is every taxpayer.", 3)
CROWDED = claim("against", "Crowds on deck bring accidents.", 4)


def crux_of(claims: list[Claim], question: str = QUESTION, sides: list[Perspective] = SIDES) -> Claim | None:
    state: Any = RunState(perspectives=sides, framing=cast(FramingState, {"question": question, "form": "polar"}))
    pair = opposed_sides(state, claims)
    return shared_points(question, pair) if pair else None


def test_the_points_that_both_cases_speak_to_are_named_with_a_source_of_each_side() -> None:
    crux = crux_of([DEAR, CLEAN, TAXED, CROWDED])
    assert crux
    assert crux["text"] == "Both sides speak to the cost."
    assert (crux["passages"], crux.get("evidence")) == ([1, 3], [DEAR["text"], TAXED["text"]])


@pytest.mark.parametrize(
    ("claims", "question"),
    [
        ([DEAR, TAXED], "Should ferries cost nothing?"),  # what the question asks anyhow
        ([CLEAN, CROWDED], QUESTION),  # cases that share no point
        ([DEAR], QUESTION),
        ([DEAR, Claim(**{**TAXED, "objection": True})], QUESTION),  # nor is an objection
    ],
)
def test_where_there_is_no_such_point_there_is_no_sentence(claims: list[Claim], question: str) -> None:
    assert crux_of(claims, question) is None


def test_of_an_open_question_the_two_sides_with_the_most_sources_are_opposed() -> None:
    sides = [side(name, f"Ferries should be paid for by {name}.", "") for name in ("fares", "taxes", "tolls", "nobody")]
    claims = [claim("fares", "A.", 1), claim("taxes", "B.", 2), claim("tolls", "C.", 3), claim("tolls", "D.", 4)]
    coverage = {
        p["id"]: {"sources": n, "ids": []} for p, n in zip(sides, (2, 1, 3, 5), strict=True)
    }  # of nobody no claim held
    pair = opposed_sides(cast(RunState, {"perspectives": sides, "coverage": coverage}), claims)
    assert pair is not None
    assert [(p["id"], [c["text"] for c in own]) for p, own in pair] == [("fares", ["A."]), ("tolls", ["C.", "D."])]
    coverage["taxes"]["ids"] = [2]
    against: Any = {"fares": {2: 0.95}, "tolls": {2: 0.3}}
    known: Any = {"perspectives": sides, "coverage": coverage, "opposition": against, "threshold": 0.5}
    pair = opposed_sides(known, claims)
    assert pair is not None
    assert [p["id"] for p, _ in pair] == ["fares", "taxes"], "what speaks for the one speaks against the other"
    assert crux_of([DEAR, TAXED], sides=[side("for", "Free.", ""), side("against", "Cheap.", "")]) is None

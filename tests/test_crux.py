"""Which two sides a dispute is between."""

from typing import Any, cast

from agent.stages.verify import opposed_sides
from agent.state import Claim, Perspective, RunState, Stance


def side(name: str, statement: str, contrary: str) -> Perspective:
    stance: Stance = "supports" if name == "for" else "opposes"
    return Perspective(id=name, name=name, statement=statement, stance=stance, contrary=contrary, origin="question")


SIDES = [side("for", "Ferries should be free.", "against"), side("against", "Ferries should not be free.", "for")]


def claim(of: str, text: str, passage: int) -> Claim:
    return Claim(perspective=of, text=text, passages=[passage], support=0.9, role="case")


DEAR = claim("for", "A crossing costs a nurse a day's wages.", 1)
TAXED = claim("against", "Somebody pays the crew, and that is every taxpayer.", 3)


def test_an_objection_makes_no_case() -> None:
    state: Any = RunState(perspectives=SIDES)
    assert opposed_sides(state, [DEAR, TAXED])
    assert opposed_sides(state, [DEAR, Claim(**{**TAXED, "objection": True})]) == []


def test_of_an_open_question_the_two_sides_with_the_most_sources_are_opposed() -> None:
    sides = [side(name, f"Ferries should be paid for by {name}.", "") for name in ("fares", "taxes", "tolls", "nobody")]
    claims = [claim("fares", "A.", 1), claim("taxes", "B.", 2), claim("tolls", "C.", 3), claim("tolls", "D.", 4)]
    coverage = {
        p["id"]: {"sources": n, "ids": []} for p, n in zip(sides, (2, 1, 3, 5), strict=True)
    }  # of nobody no claim held
    pair = opposed_sides(cast(RunState, {"perspectives": sides, "coverage": coverage}), claims)
    assert [(p["id"], [c["text"] for c in own]) for p, own in pair] == [("fares", ["A."]), ("tolls", ["C.", "D."])]
    coverage["taxes"]["ids"] = [2]
    against: Any = {"fares": {2: 0.95}, "tolls": {2: 0.3}}
    known: Any = {"perspectives": sides, "coverage": coverage, "opposition": against, "threshold": 0.5}
    pair = opposed_sides(known, claims)
    assert [p["id"] for p, _ in pair] == ["fares", "taxes"], "what speaks for the one speaks against the other"

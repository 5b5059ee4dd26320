"""What a dispute turns on, named from the points that both cases speak to."""

import pytest

from agent.evidence.aspects import add_crux, shared_points
from agent.state import Claim, Perspective, RunState, Stance

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


def test_the_points_that_both_cases_speak_to_are_named_with_a_source_of_each_side() -> None:
    crux = shared_points(SIDES, [DEAR, CLEAN, TAXED, CROWDED], QUESTION)
    assert crux
    assert crux["text"] == "Both sides speak to the cost."
    assert (crux["passages"], crux.get("evidence")) == ([1, 3], [DEAR["text"], TAXED["text"]])


@pytest.mark.parametrize(
    ("claims", "question"),
    [
        ([DEAR, TAXED], "Should ferries cost nothing?"),  # what the question asks anyhow
        ([CLEAN, CROWDED], QUESTION),  # cases that share no point
        ([DEAR, Claim(**{**TAXED, "tier": "leaning"})], QUESTION),  # what merely leans is no case
    ],
)
def test_where_there_is_no_such_point_there_is_no_sentence(claims: list[Claim], question: str) -> None:
    assert shared_points(SIDES, claims, question) is None


def test_a_written_sentence_stands_on_top_only_where_both_sides_have_a_case() -> None:
    written = Claim(perspective="", text="It turns on who pays.", passages=[1, 3], support=0, role="crux", written=True)
    framing = {"question": QUESTION, "form": "polar"}
    state = RunState(perspectives=SIDES, framing=framing)  # type: ignore[typeddict-item]
    assert [c["text"] for c in add_crux(state, [DEAR, TAXED, written])][-1] == written["text"]
    assert add_crux(state, [DEAR, written]) == [DEAR]
    assert add_crux(state, [DEAR, TAXED])[-1]["text"] == "Both sides speak to the cost."

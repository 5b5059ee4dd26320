"""Without a model: the sides that a question itself has, and what is searched for a side that is not covered."""

from typing import Any

import pytest
from providers import side

from agent.providers.embedded.expanding import planned
from agent.providers.embedded.requerying import EmbeddedRequerier, keywords
from agent.state import STAND_INS, FramingState, asked_as

ASKED = "Is it right that bridges came before ferries?"


def framing(**changes: Any) -> FramingState:
    made = FramingState(form="polar", neutral=ASKED, claim="", negation="", alternatives=[], topic="bans", focus="")
    made.update(changes)  # type: ignore[typeddict-item]  # fields of the framing
    return made


def test_a_claim_and_its_negation_are_the_sides() -> None:
    made = planned(framing(claim="Bridges pay.", negation="Bridges do not pay."))
    assert [(p["id"], p["name"], p["statement"], p["stance"], p["contrary"]) for p in made] == [
        ("p1", "For", "Bridges pay.", "supports", "p2"),
        ("p2", "Against", "Bridges do not pay.", "opposes", "p1"),
    ]


@pytest.mark.parametrize("form", ["polar", "claim"])
def test_a_question_that_is_no_statement_stands_in_for_one(form: str) -> None:
    made = planned(framing(form=form))
    assert [(p["name"], p["statement"], p["stance"], p["contrary"]) for p in made] == [
        ("Yes", f"Yes: {ASKED}", "supports", "p2"),
        ("No", f"No: {ASKED}", "opposes", "p1"),
    ]
    assert tuple(p["name"] for p in made) == STAND_INS
    # A judge reads the question as well as the statement; what is against it stays told.
    assert [asked_as(p["statement"]) for p in made] == [ASKED, f"No: {ASKED}"]


@pytest.mark.parametrize("form", ["open", "plain", "counter"])
def test_other_questions_without_a_claim_have_no_sides_of_their_own(form: str) -> None:
    assert planned(framing(form=form)) == []


@pytest.mark.parametrize("count", [2, 3])
def test_only_two_alternatives_are_contrary_to_each_other(count: int) -> None:
    made = planned(framing(alternatives=["Bridges pay.", "Ferries pay.", "Tunnels pay."][:count]))
    assert [p["contrary"] for p in made] == (["p2", "p1"] if count == 2 else [""] * 3)
    assert {p["stance"] for p in made} == {"other"}


def test_alternatives_that_begin_alike_have_names_that_differ() -> None:
    made = planned(
        framing(
            alternatives=["The old bridge over the river is a triumph.", "The old bridge over the river is a waste."]
        )
    )
    assert [p["name"] for p in made] == ["… triumph", "… waste"]
    made = planned(framing(alternatives=[*(p["statement"] for p in made), "Tunnels are good."]))
    assert [p["name"] for p in made] == ["… triumph", "… waste", "Tunnels are good"]


def test_an_alternative_that_is_only_named_is_called_by_its_name() -> None:
    asked = "Which is better: old bridges or the new ferries?"
    made = planned(framing(alternatives=[f"Old bridges: {asked}", f"The new ferries: {asked}"]))
    assert [p["name"] for p in made] == ["Old bridges", "The new ferries"]


async def test_a_question_that_stands_in_is_searched_for_as_a_question() -> None:
    named = side(1, "Tea: Which is better, tea or coffee?", "other", "p2")
    found = await EmbeddedRequerier().queries(named, framing(topic=""), [])
    assert found == ["arguments: Tea: Which is better, tea or coffee", "Tea better tea coffee"]


async def test_each_query_says_the_whole_statement_and_its_denial() -> None:
    against = side(2, "Smoking should not be banned in the parks of a town.", "opposes", "p1")
    found = await EmbeddedRequerier().queries(against, framing(topic="smoking bans"), [])
    assert found == [
        "evidence that smoking should not be banned in the parks of a town",
        "reasons why smoking should not be banned in the parks of a town",
        "Smoking not banned parks town",
    ]
    tried = [found[0].upper(), found[2]]
    assert await EmbeddedRequerier().queries(against, framing(), tried) == found[1:2]


def test_words_that_deny_are_no_mere_words() -> None:
    assert keywords("Nobody should ever have to pay without a choice.") == "Nobody ever pay without choice"
    assert keywords("The ferry is not to be closed.") == "ferry not closed"

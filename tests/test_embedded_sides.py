"""Without a model: the sides that a question itself has, and what is searched for a side that is not covered."""

from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock

import numpy as np
import pytest
from providers import side

from agent.evidence.mined import mine_answers
from agent.stages.expand import expand_by_rules, sides_of_question
from agent.stages.requery import queries_by_rules
from agent.state import FramingState, Perspective, form_of
from tools.passages import Passage

ASKED = "Is it right that bridges came before ferries?"


def framing(**changes: Any) -> FramingState:
    made = FramingState(form="polar", question=ASKED, alternatives=[], focus="")
    made.update(changes)  # type: ignore[typeddict-item]  # fields of the framing
    return made


@pytest.mark.parametrize(
    ("form", "yes", "no"), [("polar", "Yes", "No"), ("claim", "Agree", "Disagree"), ("topic", "For", "Against")]
)
def test_the_sides_are_the_words_that_answer_the_question(form: str, yes: str, no: str) -> None:
    made = sides_of_question(framing(form=form))
    assert [(p["id"], p["name"], p["statement"], p["stance"], p["contrary"]) for p in made] == [
        ("p1", yes, f"{yes}: {ASKED}", "supports", "p2"),
        ("p2", no, f"{no}: {ASKED}", "opposes", "p1"),
    ]
    assert {form_of(p) for p in made} == {"answer"}
    assert form_of(Perspective(**{**made[0], "origin": "person"})) == "statement"


async def test_what_contradicts_a_statement_is_no_to_it() -> None:
    asked = framing(form="counter", claim="Each town should decide for itself.")
    (made,) = await expand_by_rules(AsyncMock(), asked, [])
    assert (made["name"], made["statement"]) == ("No", "No: Each town should decide for itself.")
    assert (made["stance"], form_of(made)) == ("opposes", "answer")


@pytest.mark.parametrize("form", ["open", "plain", "counter"])
def test_other_questions_have_no_sides_of_their_own(form: str) -> None:
    assert sides_of_question(framing(form=form)) == []


@pytest.mark.parametrize("count", [2, 3])
def test_only_two_alternatives_are_contrary_to_each_other(count: int) -> None:
    made = sides_of_question(framing(form="choice", alternatives=["Bridges", "Ferries", "Tunnels"][:count]))
    assert (made[0]["name"], made[0]["statement"], form_of(made[0])) == ("Bridges", f"Bridges: {ASKED}", "statement")
    assert [p["contrary"] for p in made] == (["p2", "p1"] if count == 2 else [""] * 3)
    assert {p["stance"] for p in made} == {"other"}


def encoding(sentences: list[tuple[float, float]], others: list[tuple[float, float]]) -> Any:
    """Models that give these vectors to the sentences, and to the question and the sides."""
    return SimpleNamespace(
        encode_sentences=AsyncMock(return_value=np.array(sentences, np.float32)),
        encode=AsyncMock(return_value=np.array(others, np.float32)),
    )


def passages(texts: list[str]) -> list[Passage]:
    return [Passage(n, f"d{n}", "c", text) for n, text in enumerate(texts)]


async def test_of_two_answers_the_nearer_to_the_question_comes_first() -> None:
    texts = ["Trams should cost nothing in a town.", "Parking should cost more in a town."]
    found = await mine_answers(encoding([(0.6, 0.8), (0.8, -0.6)], [(1, 0)]), ASKED, passages(texts))
    assert [p["statement"] for p in found] == texts[::-1]


async def test_an_answer_is_searched_with_words_of_the_passages_that_support_it() -> None:
    yes = Perspective(**{**side(1, f"Yes: {ASKED}", "supports", "p2"), "name": "Yes"})
    texts = ["Stone bridges stood in Rome.", "Rome had stone bridges early.", "Ferries followed the stone."]
    found = await queries_by_rules(yes, framing(), [], texts)
    assert found == [
        "right bridges came before ferries stone rome stood early followed",
        "right bridges came before ferries",
    ]
    assert await queries_by_rules(yes, framing(), found, []) == []


async def test_each_query_says_the_whole_statement_and_its_denial() -> None:
    against = side(2, "Smoking should not be banned in the parks of a town.", "opposes", "p1")
    found = await queries_by_rules(against, framing(), [], [])
    assert found == [
        "evidence that smoking should not be banned in the parks of a town",
        "reasons why smoking should not be banned in the parks of a town",
        "Smoking not banned parks town",
    ]
    tried = [found[0].upper(), found[2]]
    assert await queries_by_rules(against, framing(), tried, []) == found[1:2]

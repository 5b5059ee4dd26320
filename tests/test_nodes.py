"""The pure parts of the stages: coverage, room, verification, review."""

from typing import Any

import pytest

from agent.evidence.coverage import coverage_of, judged_evidence
from agent.stages.expand import reviewed_perspectives
from agent.state import PassageEvidence
from tools.errors import InputError
from tools.language.grounding import verbatim
from tools.passages import Passage


def passage(number: int, publisher: str = "") -> Passage:
    return Passage(number, f"d{number}", "c", f"Text {number}.", publisher=publisher)


# Coverage

ALONE = {i: i for i in range(1, 9)}


def test_two_passages_of_two_sources_cover_a_side() -> None:
    passages = {1: passage(1, "Press"), 2: passage(2, "Gazette"), 3: passage(3, "press")}
    found = coverage_of(judged_evidence({1: 0.9, 2: 0.6, 3: 0.4}, 0.5, passages, ALONE), passages)
    assert (found["status"], found["passages"], found["sources"], found["ids"]) == ("supported", 2, 2, [1, 2])
    assert found["strongest"] == 0.9


# Verification


def test_verbatim_allows_for_white_space_and_nothing_else() -> None:
    assert verbatim(" A bridge\ncarries  a town. ", "Then: a town? A bridge carries a\ttown. So.")
    assert not verbatim("A bridge carries the town.", "A bridge carries a town.")
    assert not verbatim("a bridge carries a town.", "A bridge carries a town.")


# Review


@pytest.mark.parametrize(
    ("edited", "says"),
    [
        (None, "at least one side"),
        ([{}], "side 1 has no statement"),
        ([{"statement": "A."}, {"statement": " "}], "side 2 has no statement"),
        ([{"statement": "A.", "stance": "maybe"}], "stance 'maybe'"),
        ([{"id": "x", "statement": "A."}, {"id": "x", "statement": "B."}], "two sides have the id 'x'"),
        ([{"statement": f"S{i}."} for i in range(13)], "at most 12"),
    ],
)
def test_sides_that_cannot_be_searched_for_are_refused(edited: Any, says: str) -> None:
    with pytest.raises(InputError, match=says):
        reviewed_perspectives(edited)


def evidence(*ids: int) -> PassageEvidence:
    return PassageEvidence(ids=[*ids], strongest=0.8)


def test_one_publisher_is_one_source_however_often_and_however_spelt() -> None:
    passages = {1: passage(1, "Press"), 3: passage(3, "PRESS")}
    found = coverage_of(judged_evidence({1: 0.9, 3: 0.8}, 0.5, passages, ALONE), passages)
    assert (found["status"], found["passages"], found["sources"]) == ("thin", 2, 1)

"""The pure parts of the stages: coverage, room, verification, review."""

from typing import Any

import pytest

from agent.evidence.cases import deduplicated
from agent.evidence.coverage import coverage_of, judged_evidence
from agent.stages.review import reviewed
from agent.state import Claim, Evidence
from tools.errors import InputError
from tools.language.grounding import verbatim
from tools.passages import Passage
from tools.selection import independent_first


def passage(number: int, publisher: str = "") -> Passage:
    return Passage(number, f"d{number}", "c", f"Text {number}.", publisher=publisher)


def claim(text: str, perspective: str = "p1", support: float = 0.9) -> Claim:
    return Claim(perspective=perspective, text=text, passages=[1], support=support, role="case")


# Coverage

ALONE = {i: i for i in range(1, 9)}


def test_two_passages_of_two_sources_cover_a_side() -> None:
    passages = {1: passage(1, "Press"), 2: passage(2, "Gazette"), 3: passage(3, "press")}
    found = coverage_of(judged_evidence({1: 0.9, 2: 0.6, 3: 0.4}, 0.5, passages, ALONE), passages)
    assert (found["status"], found["passages"], found["sources"], found["ids"]) == ("supported", 2, 2, [1, 2])
    assert found["strongest"] == 0.9


def test_one_publisher_is_one_source_however_often_and_however_spelt() -> None:
    passages = {1: passage(1, "Press"), 3: passage(3, "PRESS")}
    found = coverage_of(judged_evidence({1: 0.9, 3: 0.8}, 0.5, passages, ALONE), passages)
    assert (found["status"], found["passages"], found["sources"]) == ("thin", 2, 1)


def test_copies_count_once_also_when_several_of_them_were_judged() -> None:
    # 4 was judged first; a later search found 2, of which 4 is a copy, and 5, another copy.
    passages = {i: passage(i, f"Press {i}") for i in (2, 4, 5, 7)}
    found = coverage_of(judged_evidence({4: 0.9, 2: 0.6, 7: 0.8}, 0.5, passages, {2: 2, 4: 2, 5: 2, 7: 7}), passages)
    assert (found["passages"], found["sources"], found["copies"]) == (2, 2, 2)
    assert found["ids"] == [4, 7]


# Selection and room


def test_each_source_comes_once_before_any_comes_again() -> None:
    ranked = [passage(1, "A"), passage(2, "A"), passage(3, "B"), passage(4, "A"), passage(5, "B"), passage(6, "C")]
    assert independent_first(ranked) == [1, 3, 6, 2, 5, 4]


def test_a_sentence_stands_under_the_side_that_it_supports_most() -> None:
    claims = [claim("A.", "p1", 0.6), claim("B.", "p1"), claim("A.", "p2", 0.8), claim("A.", "p3", 0.8)]
    assert [(c["text"], c["perspective"]) for c in deduplicated(claims)] == [("B.", "p1"), ("A.", "p2")]


# Verification


def test_verbatim_allows_for_white_space_and_nothing_else() -> None:
    assert verbatim(" A bridge\ncarries  a town. ", "Then: a town? A bridge carries a\ttown. So.")
    assert not verbatim("A bridge carries the town.", "A bridge carries a town.")
    assert not verbatim("a bridge carries a town.", "A bridge carries a town.")


# Review


def test_sides_as_a_person_left_them() -> None:
    sides = reviewed(
        [
            {"id": "p1", "name": "For", "statement": " Build \n it. ", "stance": "supports", "contrary": "p2"},
            {"statement": "Rent a ferry.", "origin": "made up"},
        ]
    )
    assert [(s["id"], s["name"], s["statement"], s["stance"], s["origin"]) for s in sides] == [
        ("p1", "For", "Build it.", "supports", "person"),
        ("u2", "Rent a ferry.", "Rent a ferry.", "other", "person"),
    ]
    assert sides[0]["contrary"] == ""  # the side that it named was dropped


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
        reviewed(edited)


def evidence(*ids: int) -> Evidence:
    return Evidence(ids=[*ids], strongest=0.8, copies=0, reworded=0)


def test_a_verified_claim_counts_its_passage_and_a_side_without_one_is_thin() -> None:
    passages = {i: passage(i, f"P{i}") for i in range(1, 4)}
    assert coverage_of(evidence(1, 2), passages, cited=[3])["passages"] == 3
    assert coverage_of(evidence(1, 2), passages, cited=[3])["status"] == "supported"
    assert coverage_of(evidence(1, 2), passages, cited=[])["status"] == "thin"
    assert coverage_of(evidence(), passages, cited=[])["status"] == "not_found"
    assert coverage_of(evidence(), passages, cited=[2])["status"] == "thin"

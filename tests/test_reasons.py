"""The reason of a sentence, and what rests on it: different reasons for one thesis are no copies."""

import pytest

from tools.language.near_duplicates import copy_groups, reason_clause

THESIS = "Cities should close their centres to cars"
REASON = "fewer people are run over"


@pytest.mark.parametrize(
    "sentence",
    [
        f"{THESIS} because {REASON}.",
        f"{THESIS} since {REASON}.",
        f"{THESIS}, given that {REASON}.",
        f"Because {REASON}, {THESIS}.",
    ],
)
def test_a_reason_is_what_follows_its_conjunction(sentence: str) -> None:
    assert reason_clause(sentence) == REASON


def test_different_reasons_for_one_thesis_are_no_copies() -> None:
    reasons = ("shopkeepers on walking streets sell more", REASON, "the space can hold trees and benches")
    texts = [f"{THESIS} because {reason}." for reason in reasons]
    assert copy_groups(texts) == [0, 1, 2]


def test_the_same_reason_is_one_however_the_thesis_is_put() -> None:
    texts = [f"{THESIS} because {REASON}.", f"{THESIS} now, and without delay, because {REASON} than before."]
    assert copy_groups(texts) == [0, 0]

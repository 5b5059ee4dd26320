"""A line of letters without end takes no more time than its length."""

import time

import pytest

from tools.ingest.line_ends import Vocabulary

MANY = 200_000


@pytest.mark.parametrize("line", ["a" * MANY, "a" * MANY + "-", "ab-" * MANY], ids=["letters", "broken", "compounds"])
def test_a_line_without_end_is_read_at_once(line: str) -> None:
    began = time.process_time()
    words = Vocabulary([line])
    assert len(words.join([line, "end of it"])) >= MANY
    assert time.process_time() - began < 10  # an hour, where time grows with the square


def test_a_word_that_a_line_divides_is_one() -> None:
    assert Vocabulary(["the harbour", "har-", "bour"]).join(["the har-", "bour town"]) == "the harbour town"

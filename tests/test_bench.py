"""The suite `bench`: its real parts, small."""

import json

import pytest
from conftest import Suite


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_each_part_is_measured(run_suite: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEELMAN_WEB", "off")
    found = json.loads(run_suite("bench", "--rounds", 1, "--json")[1])
    assert found["ask"]["second_seconds"] > 0 < found["ask"]["peak_mb"]
    assert found["judge"]["sentences_per_second"] > 0 < found["judge"]["pairs_of_160_tokens_per_second"]
    assert found["ingest"]["passages"] > 500

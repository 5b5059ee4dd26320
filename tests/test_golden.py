"""The golden answers: forty questions are answered from the samples as they were when the answers were written.

`pytest tests/test_golden.py -m golden` compares ten of them, as `make test` does.
"""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from golden_answers import COMMAND, FOLDER, asked, differences, give_outputs, golden, golden_answer, golden_settings

from agent.runs.service import Runs, open_runs

pytestmark = pytest.mark.timeout(600)  # the samples are indexed first
QUICK = (
    *("phones", "death-penalty", "remote-work", "housing", "flat-earth"),
    *("reworded-zoos", "choice", "fact", "follow-up", "refusal"),
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def runs(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Runs]:
    settings = golden_settings(tmp_path_factory.mktemp("golden"))
    give_outputs(settings)
    async with open_runs(settings, offline=True) as opened:
        yield opened


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.golden if n in QUICK else ()) for n in asked()])
async def test_the_answer_is_the_one_that_was_written(runs: Runs, name: str) -> None:
    changed = differences(golden(name), await golden_answer(runs, asked()[name]))
    assert not changed, "\n".join([f"tests/golden/{name}.json:", *changed, f"If so it shall be: {COMMAND}"])


def test_every_question_has_its_answer_and_no_answer_is_left_over() -> None:
    assert sorted(f.stem for f in FOLDER.glob("*.json")) == sorted(asked())


def test_a_difference_says_the_field_and_what_stood_there() -> None:
    before = {"outcome": "answered", "perspectives": [{"name": "Yes", "claims": ["a", "b"]}]}
    after = {"outcome": "answered", "perspectives": [{"name": "No", "claims": ["a"]}]}
    assert differences(before, after) == [
        "perspectives[0].name\n  before: Yes\n  after:  No",
        "perspectives[0].claims: 2 before, 1 after",
        "perspectives[0].claims\n  before: b\n  after:  (nothing)",
    ]
    assert differences({"a": 1, "b": 2}, {"b": 2, "a": 1}) == ['order\n  before: ["a", "b"]\n  after:  ["b", "a"]']
    assert differences(before, before) == []

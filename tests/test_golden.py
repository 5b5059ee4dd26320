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

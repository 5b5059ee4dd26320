"""A data folder from before there were two tiers opens, answers and loses nothing.

`before_tiers.zip` was made by the code of that time: a collection of four short documents, an answer, and a run that
waits for its sides to be looked at.
"""

import asyncio
import zipfile
from pathlib import Path

import pytest

from agent.answer.render.markdown import to_markdown
from agent.answer.render.terminal import to_terminal
from agent.options import RunOptions
from agent.providers.build import build_providers
from agent.runs.service import Runs
from agent.settings import Settings
from tools.ingest.files import FoundFile
from tools.ingest.ingest import Ingester, IngestReport, read_all
from tools.ingest.readers import STRUCTURED

OLD = Path(__file__).with_name("before_tiers.zip")
ANSWERED, WAITING = "74a83f910b0c", "9aaf4764915e"
QUESTION = "Should trains keep quiet carriages?"


@pytest.fixture
def before(tmp_path: Path, models_dir: Path) -> Settings:
    with zipfile.ZipFile(OLD) as kept:
        kept.extractall(tmp_path / "data")
    (tmp_path / "data" / "cache").symlink_to(models_dir, target_is_directory=True)
    return Settings(data_dir=tmp_path / "data", web="off")


async def test_its_answer_reads_as_it_did(before: Settings) -> None:
    async with Runs(before, build_providers) as runs:
        answer = await runs.answer(ANSWERED)
        evidence = await runs.evidence(ANSWERED)
    assert answer.summary == (
        "The sources found disagree: 2 passages from 2 sources for, 2 passages from 2 sources against."
    )
    assert {c.tier for s in answer.perspectives for c in s.claims} == {"case"}
    assert [line.leaning for line in answer.coverage] == [0, 0]
    assert "May speak for this side" not in to_terminal(answer, 90, bold=False) + to_markdown(answer)
    assert {e.document_id for e in evidence} <= {"quiet.md", "loud.txt", "r1", "r2"}


async def test_a_run_that_waited_goes_on(before: Settings) -> None:
    async with Runs(before, build_providers) as runs:
        sides = [{"statement": "Trains should ban loud calls."}, {"statement": "Trains should not ban loud calls."}]
        await runs.resume(WAITING, sides)
        answer = await runs.answer(WAITING)
    assert answer.question == "Should trains ban loud calls?"
    assert [s.statement for s in answer.perspectives] == [s["statement"] for s in sides]


async def test_its_documents_are_all_there_and_answer_anew(before: Settings) -> None:
    async with Runs(before, build_providers) as runs:
        [collection] = [c for c in await asyncio.to_thread(runs.store.collections) if c.name == "trains"]
        answer = await runs.answer(await runs.start(QUESTION, RunOptions.of(collections=("trains",), web=False)))
    assert collection.documents == 4
    assert [s.statement for s in answer.perspectives[:2]] == [
        "Trains should keep quiet carriages.",
        "Trains should not keep quiet carriages.",
    ]
    assert all(s.claims for s in answer.perspectives[:2])


async def test_what_is_worth_reading_again_is_told_and_nothing_is_doubled(before: Settings, tmp_path: Path) -> None:
    quiet = tmp_path / "quiet.md"
    quiet.write_text(
        "# Quiet carriages\n\nTrains should keep quiet carriages, because people who work or rest on the way need one "
        "place without calls.\nA rule that everybody knows is easier to keep than a glare across the aisle.\n"
    )
    async with Runs(before, build_providers) as runs:
        assert runs.store.read_before("trains", STRUCTURED) == 2
        ingester = Ingester(runs.store, runs.providers.search, runs.providers.search.encoder)
        found = [FoundFile(quiet, "quiet.md", str(quiet))]
        assert ingester.ingest(read_all(found, IngestReport()), "trains").stored == 1
        rows = runs.store.documents("trains")
        assert runs.store.read_before("trains", STRUCTURED) == 1
    assert sorted(row["shown_id"] for row in rows) == ["loud.txt", "quiet.md", "r1", "r2"]

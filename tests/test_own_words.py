"""Letters, interviews and minutes on six local disputes, by sentences with the side that each argues for."""

import json
from collections import Counter
from itertools import groupby
from pathlib import Path

import pytest

from agent.options import RunOptions
from agent.runs.service import Runs, open_runs
from agent.settings import Settings
from tools.documents.ingest import Ingester
from tools.models.judges.embedded import EmbeddedJudge
from tools.passages import SourceDocument

GOLD = Path(__file__).parent.parent / "evals" / "gold" / "own_words.jsonl"
LINES = [json.loads(line) for line in GOLD.read_text(encoding="utf-8").splitlines()]


async def quoted(folder: Path) -> Counter[str]:
    """What the sentences under Yes and No argue for: 'right' is the side that they stand under."""
    found = Counter[str]()
    async with open_runs(Settings(data_dir=folder, web="off")) as runs:
        for name, lines in groupby(LINES, lambda line: line["set"]):
            await answer(runs, name, list(lines), found)
    return found


async def answer(runs: Runs, name: str, lines: list[dict[str, str]], found: Counter[str]) -> None:
    documents = [
        SourceDocument(document, " ".join(line["text"] for line in said))
        for document, said in groupby(lines, lambda line: line["document"])
    ]
    search = runs.providers.search
    Ingester(runs.store, search, search.encoder).ingest(documents, name)
    options = RunOptions.of(collections=(name,), web=False)
    given = await runs.answer(await runs.start(lines[0]["question"], options))
    for side in given.perspectives:
        for claim in side.claims:
            argues = next((line["argues"] for line in lines if line["text"] in claim.text), "none")
            found["right" if argues == side.name.lower() else argues] += 1


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_only_demands_stand_under_a_side_where_people_speak(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert {*(await quoted(tmp_path / "as shipped"))} == {"right"}
    monkeypatch.setattr(EmbeddedJudge, "essays_only", False)
    found = await quoted(tmp_path / "as if it could")
    print(f"without the rule {found['right']} of {found.total()} quotations stand on the right side")
    assert found["right"] < 0.9 * found.total()

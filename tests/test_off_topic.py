"""Questions that the samples do not answer: most share words with a topic. `dev` lines chose the limits."""

import asyncio
import json
from collections import Counter
from pathlib import Path

import pytest

from agent.options import RunOptions
from agent.runs.service import open_runs
from agent.settings import Settings
from tools.store.store import SAMPLES

GOLD = Path(__file__).parent.parent / "evals" / "gold" / "off_topic.jsonl"
LEAST = {"far": 0.9, "near": 0.6}  # share that is answered by 'nothing on this was found'


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_questions_off_the_samples_topics_find_nothing(tmp_path: Path, shared_cache: Path) -> None:
    (tmp_path / "cache").symlink_to(shared_cache, target_is_directory=True)
    lines = map(json.loads, GOLD.read_text(encoding="utf-8").splitlines())
    asked = {line["text"]: line["kind"] for line in lines if line["set"] == "test"}
    async with open_runs(Settings(data_dir=tmp_path, web="off")) as runs:
        two_at_once, nothing = asyncio.Semaphore(2), Counter[str]()

        async def ask(question: str, kind: str) -> None:
            async with two_at_once:
                answer = await runs.answer(await runs.start(question, RunOptions.of("normal", collections=(SAMPLES,))))
            nothing[kind] += answer.outcome == "nothing_found"

        await asyncio.gather(*(ask(question, kind) for question, kind in asked.items()))
    shares = {kind: nothing[kind] / n for kind, n in Counter(asked.values()).items()}
    print({kind: f"{share:.0%} find nothing" for kind, share in shares.items()})
    assert all(shares[kind] >= least for kind, least in LEAST.items()), shares

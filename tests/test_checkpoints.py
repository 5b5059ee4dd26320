"""The file of checkpoints: damaged, locked by others, cut off in the middle of a write."""

import asyncio
import contextlib
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from agent_fixtures import QUESTION, door
from conftest import Spawn, hear, say

from agent.runs import checkpoints
from agent.runs.checkpoints import open_file
from agent.settings import Settings
from tools.errors import RunForgottenError, StoreBusyError, StoreDamagedError
from tools.store import database

CONFIG: Any = {"configurable": {"thread_id": "r", "checkpoint_ns": "", "checkpoint_id": "1"}}


def damage(path: Path) -> None:
    """Leaves no page of the file but the first one as it was, as a disk may."""
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        size = db.execute("PRAGMA page_size").fetchone()[0]
    whole = path.read_bytes()
    path.write_bytes(whole[:size] + b"\xa5" * (len(whole) - size))


async def test_a_write_that_is_cancelled_leaves_the_file_unlocked(tmp_path: Path) -> None:
    async with open_file(tmp_path / "checkpoints.db") as saver:
        for step in range(40):  # cancelled at every step of a write in turn
            writing = asyncio.create_task(saver.aput_writes(CONFIG, [("a", step), ("b", step)], f"task {step}"))
            for _ in range(step):
                await asyncio.sleep(0)
            writing.cancel()
            await asyncio.gather(writing, return_exceptions=True)
            with contextlib.closing(sqlite3.connect(tmp_path / "checkpoints.db", timeout=0)) as other:
                other.execute("BEGIN IMMEDIATE")
        with contextlib.closing(sqlite3.connect(tmp_path / "checkpoints.db")) as other:
            counts = other.execute("SELECT COUNT(*) FROM writes GROUP BY task_id").fetchall()
    assert {n for (n,) in counts} == {2}  # whole, or not at all


OPENER = """
import asyncio, sys
from pathlib import Path
from agent.runs.checkpoints import open_file
print("ready", flush=True)
sys.stdin.readline()
async def main():
    for _ in range(10):
        async with open_file(Path(sys.argv[1])):
            pass
asyncio.run(main())
print("done", flush=True)
"""


@pytest.mark.slow
def test_processes_that_open_and_close_a_new_file_at_once(tmp_path: Path, spawn: Spawn) -> None:
    processes = [spawn(OPENER, tmp_path / "checkpoints.db") for _ in range(3)]
    assert [hear(process) for process in processes] == ["ready"] * 3
    for process in processes:
        say(process)
    for process in processes:
        said, trouble = process.communicate(timeout=60)
        assert said == "done\n", trouble


async def test_a_file_that_is_locked_is_an_error_that_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "BUSY_SECONDS", 0.1)
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.1)
    async with open_file(tmp_path / "checkpoints.db") as saver:
        with contextlib.closing(sqlite3.connect(tmp_path / "checkpoints.db")) as other:
            other.execute("BEGIN EXCLUSIVE")
            with pytest.raises(StoreBusyError, match="another process"):
                await saver.aput_writes(CONFIG, [("a", 1)], "task")
        await saver.aput_writes(CONFIG, [("a", 1)], "task")


async def test_a_damaged_file_is_found_out_in_a_run_and_begun_anew_when_it_is_moved_away(settings: Settings) -> None:
    async with door(settings) as runs:
        first = await runs.start(QUESTION)
        answer = await runs.answer(first)
    damage(settings.checkpoint_path)
    async with door(settings) as runs:
        with pytest.raises(StoreDamagedError, match="Move the file away"):
            await runs.evidence(first)
        assert (await runs.answer(first)) == answer
    for file in settings.data_dir.glob("checkpoints.db*"):
        file.unlink()
    async with door(settings) as runs:
        assert (await runs.answer(first)) == answer
        assert await runs.evidence(first) == []
        with pytest.raises(RunForgottenError, match="not kept any more"):
            await runs.retrieved(first)
        assert (await runs.answer(await runs.start(QUESTION))).outcome == "answered"

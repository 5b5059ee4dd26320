"""Traces of runs to LangSmith, by its usual variables, to a server of ours."""

from collections.abc import Iterator

import pytest
from agent_fixtures import QUESTION
from collector import Collector, collector
from conftest import Spawn

from agent.settings import Settings

RUN = """
import asyncio, sys
from agent.options import RunOptions
from agent.runs.service import Runs
from agent.settings import load_settings
from providers import build

async def main():
    async with Runs(load_settings(), build()) as runs:
        run_id = await runs.start(sys.argv[1], RunOptions.of("quick", web="offline" not in sys.argv))
        print(run_id, (await runs.answer(run_id)).outcome)
"""


def finish(spawn: Spawn, *arguments: str) -> None:
    process = spawn(f"{RUN}\nasyncio.run(main())", *arguments)
    _, err = process.communicate(timeout=100)
    assert process.returncode == 0, err


@pytest.fixture
def langsmith(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    with collector() as running:
        monkeypatch.setenv("LANGSMITH_TRACING", "true")
        monkeypatch.setenv("LANGSMITH_ENDPOINT", running.url)
        monkeypatch.setenv("LANGSMITH_API_KEY", "test")
        yield running


@pytest.mark.slow
def test_langsmith_is_sent_a_run_and_its_stages(settings: Settings, spawn: Spawn, langsmith: Collector) -> None:
    finish(spawn, QUESTION)
    assert langsmith.posted()
    sent = b"".join(langsmith.bodies)
    assert QUESTION.encode() in sent
    assert all(f'"name":"{stage}"'.encode() in sent for stage in ("frame", "retrieve", "verify"))


@pytest.mark.slow
def test_langsmith_gets_nothing_of_an_offline_run(settings: Settings, spawn: Spawn, langsmith: Collector) -> None:
    finish(spawn, QUESTION, "offline")
    assert langsmith.posted() == []

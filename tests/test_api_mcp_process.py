"""MCP over a process of its own: `python -m api mcp` by the official client, and by hand."""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from agent_fixtures import QUESTION
from assistants import goes_through, statuses, until, words
from conftest import ROOT
from mcp import Client, StdioServerParameters

from agent.answer.model import Answer
from agent.settings import Settings
from api.__main__ import configuration_help

SERVER = str(ROOT / "tests" / "mcp_on_stdio.py")


@asynccontextmanager
async def process(settings: Settings, tmp_path: Path, era: str, seconds: float = 0) -> AsyncIterator[Client]:
    """A client of `python -m api mcp` over instant providers."""
    command = StdioServerParameters(
        command=sys.executable,
        args=[SERVER, str(seconds)],
        env={"STEELMAN_DATA_DIR": str(settings.data_dir)},
        cwd=tmp_path,
    )
    async with Client(command, mode=era) as client:
        yield client


@pytest.mark.slow
async def test_an_assistant_goes_through_it_and_a_cancelled_request_stops_its_run(
    settings: Settings, tmp_path: Path
) -> None:
    async with process(settings, tmp_path, "auto") as client:
        await goes_through(client)
    before = list(statuses(settings).values())
    async with process(settings, tmp_path, "auto", 0.3) as client:
        for _ in range(2):
            known = len(statuses(settings))
            asking = asyncio.create_task(client.call_tool("ask", {"question": QUESTION}))
            await until(lambda known=known: len(statuses(settings)) > known)  # type: ignore[misc]  # bound here
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
        await until(lambda: list(statuses(settings).values()) == [*before, "cancelled", "cancelled"])


def spoken(folder: Path | str, cwd: Path) -> "tuple[list[dict[str, object]], str, int]":
    """Every message of a short session by hand, what came on standard error, and the exit status."""
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}
    call = {"name": "ask", "arguments": {"question": QUESTION}}
    messages: list[dict[str, object]] = [
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": call},
    ]
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}  # a buffer is what leaks
    with subprocess.Popen(
        [sys.executable, SERVER, "0"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        env={**kept, "STEELMAN_DATA_DIR": str(folder)},
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        for message in messages:
            server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        server.stdin.write("no message at all\n")
        server.stdin.flush()
        lines = [server.stdout.readline(), server.stdout.readline()]
        rest, said = server.communicate(timeout=30)
    return [json.loads(line) for line in [*lines, *rest.splitlines()]], said, server.returncode


@pytest.mark.slow
def test_standard_output_carries_the_protocol_alone(settings: Settings, tmp_path: Path) -> None:
    messages, said, status = spoken(settings.data_dir, tmp_path)
    assert [m["id"] for m in messages] == [1, 2]
    assert "a line that a library prints" in said
    assert QUESTION not in said
    assert status == 0


def test_a_store_that_cannot_be_opened_is_told_to_whoever_asks(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    messages, said, status = spoken(tmp_path / "file", tmp_path)
    assert messages[1]["result"]["isError"] is True  # type: ignore[index]
    assert "Set STEELMAN_DATA_DIR to a folder" in json.dumps(messages[1])
    assert "Set STEELMAN_DATA_DIR to a folder" in said
    assert "Traceback" not in said
    assert status == 0


def configured() -> StdioServerParameters:
    """What the help says to put into an assistant's configuration."""
    text = configuration_help()
    made = json.loads(text[text.index("{") : text.index("\n\nor,")])
    return StdioServerParameters.model_validate(made["mcpServers"]["steelman"])


def test_the_help_says_how_to_configure_an_assistant() -> None:
    shown = subprocess.run(
        [sys.executable, "-m", "api", "mcp", "--help"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert configuration_help() in shown.stdout
    assert configured().args == ["-m", "api", "mcp"]


@pytest.mark.slow
@pytest.mark.timeout(400)
async def test_the_command_of_the_help_answers_from_the_samples(tmp_path: Path) -> None:
    """The first start indexes them, which takes longer than an assistant waits for its first reply."""
    command = configured()
    command.env = {**(command.env or {}), "STEELMAN_DATA_DIR": str(tmp_path / "data")}
    command.cwd = tmp_path
    began = time.monotonic()
    async with Client(command) as client:
        assert len((await client.list_tools()).tools) == 3
        assert time.monotonic() - began < 30
        told: list[tuple[float, str | None]] = []

        async def tell(progress: float, total: float | None, message: str | None) -> None:
            told.append((progress, message))

        given = {"question": "Should schools ban smartphones?", "web": False}
        asked = await client.call_tool("ask", given, progress_callback=tell)
        assert "opening the store" in str(told[0][1])
        assert sorted({progress for progress, _ in told}) == [progress for progress, _ in told]
        answer = Answer.model_validate(asked.structured_content)
        assert answer.outcome == "answered"
        assert len(answer.citations) >= 3
        assert len(words(asked)) < 8000

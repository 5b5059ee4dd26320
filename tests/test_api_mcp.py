"""MCP by the official client: tools, resources, progress and cancelling. `contract_mcp.py` has refused arguments."""

import asyncio
import contextlib
import json
import os
import shlex
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import httpx2
import pytest
from agent_fixtures import QUESTION
from api_on_loopback import Door, api
from assistants import ERAS, goes_through, statuses, until, words
from conftest import ROOT
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from providers import build
from raw_http import problem_of

from agent.settings import Settings
from api.__main__ import configuration_help
from api.callers import Keys
from tools.store.database import Database

pytest_plugins = ["api_on_loopback"]


@ERAS
async def test_an_assistants_session_over_http(standing: Door, era: str) -> None:
    async with Client(f"{standing.address}/mcp/", mode=era) as client:
        await goes_through(client)


def test_messages_need_no_session_so_that_a_restart_loses_none(standing: Door) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    for path in ("/mcp", "/mcp/"):
        problem_of(httpx.get(f"{standing.address}{path}"), 405, "method-not-allowed")
        known = {**SPEAKS, "mcp-session-id": "a" * 32, "mcp-protocol-version": "2025-06-18"}
        assert '"name":"judge"' in httpx.post(f"{standing.address}{path}", json=body, headers=known).text


async def test_a_caller_sees_its_own_answers(settings: Settings) -> None:
    with contextlib.closing(Database(settings.database_path)) as database:
        keys = [Keys(database).make(name)[1] for name in ("mine", "other")]
    with api(settings) as address:
        for key, titles in zip(keys, ([QUESTION], []), strict=True):
            bearer = {"Authorization": f"Bearer {key}"}
            if titles:
                mine = httpx.post(f"{address}/v1/ask", json={"question": QUESTION}, headers=bearer, timeout=30).json()
                httpx.post(f"{address}/v1/retrieve", json={"question": QUESTION}, headers=bearer, timeout=30)
            uri = f"steelman://answers/{mine['run_id']}"
            async with (
                httpx2.AsyncClient(headers=bearer, timeout=30) as http,
                Client(streamable_http_client(f"{address}/mcp", http_client=http)) as client,
            ):
                assert [r.title for r in (await client.list_resources()).resources] == titles
                follow = await client.call_tool("ask", {"question": "The cost?", "thread": mine["run_id"]})
                assert follow.is_error == (not titles)
                if not titles:
                    with pytest.raises(MCPError, match="no answer of run"):
                        await client.read_resource(uri)


class Broken:
    async def frame(self, question: str, earlier: Any) -> Any:
        raise RuntimeError("the inside of the server")


async def test_a_failure_shows_nothing_of_the_inside(settings: Settings, caplog: pytest.LogCaptureFixture) -> None:
    with api(settings, build(frame=Broken().frame)) as address:
        async with Client(f"{address}/mcp") as client:
            failed = await client.call_tool("ask", {"question": QUESTION})
    assert failed.is_error
    assert "log has" in words(failed)
    assert "the inside of the server" not in words(failed)
    assert "the inside of the server" in caplog.text


SPEAKS = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


# Over a process of its own

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


@pytest.mark.slow
def test_standard_output_carries_the_protocol_alone(settings: Settings, tmp_path: Path) -> None:
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}
    call = {"name": "ask", "arguments": {"question": QUESTION}}
    sent: list[dict[str, object]] = [
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": call},
    ]
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}  # a buffer is what leaks
    environment, pipe = {**kept, "STEELMAN_DATA_DIR": str(settings.data_dir)}, subprocess.PIPE
    command = [sys.executable, SERVER, "0"]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=environment) as server:
        assert server.stdin
        assert server.stdout
        server.stdin.write("".join(json.dumps({"jsonrpc": "2.0", **message}) + "\n" for message in sent))
        server.stdin.flush()
        lines = [server.stdout.readline(), server.stdout.readline()]
        rest, said = server.communicate(timeout=30)
    assert ([json.loads(line)["id"] for line in lines], rest) == ([1, 2], "")
    assert "a line that a library prints" in said


def configured() -> StdioServerParameters:
    """What the help says to put into an assistant's configuration."""
    text = configuration_help()
    made = json.loads(text[text.index("{") : text.index("\n\nor use")])
    return StdioServerParameters.model_validate(made["mcpServers"]["steelman"])


def test_the_configuration_quotes_paths_and_names_the_installed_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.__main__.ROOT", folder := Path('/my "own"/it\'s'))
    monkeypatch.setattr(sys, "executable", python := '/my "own"/python')
    assert configured().env == {"PYTHONPATH": str(folder)}
    assert configured().command == python
    [line] = [line for line in configuration_help().splitlines() if "claude mcp add" in line]
    added = ["-e", f"PYTHONPATH={folder}", "--", python, "-P", "-m", "api", "mcp"]
    assert shlex.split(line) == ["claude", "mcp", "add", "steelman", *added]
    monkeypatch.setattr("api.__main__.is_checkout", lambda: False)
    monkeypatch.setattr(sys, "argv", ["/env/bin/steelman-api", "mcp", "--help"])
    assert (configured().command, configured().args, configured().env) == ("/env/bin/steelman-mcp", [], {})

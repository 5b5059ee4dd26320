"""MCP by the official client: tools, resources, progress and cancelling. `contract_doors.py` has refused arguments."""

import asyncio
import contextlib
import json
import shlex
import sqlite3
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import httpx2
import pytest
from agent_fixtures import QUESTION
from api_on_loopback import Door, api
from conftest import ROOT
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent, TextResourceContents
from providers import build
from raw_http import problem_of

from agent.answer.model import Answer
from agent.answer.retrieved import Retrieved
from agent.settings import Settings
from api.__main__ import configuration_help
from api.callers import Keys
from api.schemas import Judged
from tools.store.database import Database

pytest_plugins = ["api_on_loopback"]


@pytest.mark.parametrize("era", ["legacy", "auto"])  # with the handshake of 2025, and without
async def test_an_assistants_session_over_http(standing: Door, era: str) -> None:
    async with Client(f"{standing.address}/mcp/", mode=era) as client:
        await goes_through(client)


def test_messages_need_no_session_so_that_a_restart_loses_none(standing: Door) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    for path in ("/mcp", "/mcp/"):
        problem_of(httpx.get(f"{standing.address}{path}"), 405, "method-not-allowed")
        known = {**SPEAKS, "mcp-session-id": "a" * 32, "mcp-protocol-version": "2025-06-18"}
        assert '"name":"judge"' in httpx.post(f"{standing.address}{path}", json=body, headers=known).text


async def test_a_caller_sees_its_own_answers(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.mcp.server._LISTED", 1)  # the later run without an answer takes no place
    with contextlib.closing(Database(settings.database)) as database:
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
                    with pytest.raises(MCPError, match="no answer at this address"):
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


TOPIC = "Should cities build tunnels?"


def words(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


def statuses(settings: Settings) -> dict[str, str]:
    with sqlite3.connect(settings.database_path) as db:
        found = dict(db.execute("SELECT id, status FROM runs ORDER BY created_at, id").fetchall())
    db.close()
    return found


async def until(true: Callable[[], bool], seconds: float = 20) -> None:
    async with asyncio.timeout(seconds):
        while not true():
            await asyncio.sleep(0.05)


async def goes_through(client: Client) -> None:
    """An assistant's session: look round, ask, follow up, read again what was answered."""
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert set(tools) == {"ask", "retrieve", "judge"}
    for tool in tools.values():
        assert tool.description is not None
        assert "Use it" in tool.description
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint
        assert tool.output_schema is not None
        fields = tool.input_schema["properties"].values()
        assert all(field.get("description") or field.get("items") for field in fields)

    told: list[tuple[float, float | None, str | None]] = []

    async def tell(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total, message))

    asked = await client.call_tool("ask", {"question": QUESTION}, progress_callback=tell)
    answer = Answer.model_validate(asked.structured_content)
    assert answer.outcome == "answered"
    assert answer.question == QUESTION
    text = words(asked)
    assert all(claim.text in text for s in answer.perspectives for claim in s.claims)
    assert "[1]" in text
    assert f"thread={answer.run_id}" in text
    assert "python -m" not in text
    done = [d for d, _, _ in told]
    assert done == sorted(set(done))
    assert (done[-1], told[-1][1]) == (100.0, 100.0)
    assert "For: 40 passages to read closely." in [m for _, _, m in told]

    followed = await client.call_tool("ask", {"question": "What about the cost?", "thread": answer.run_id})
    assert Answer.model_validate(followed.structured_content).focus == "What about the cost?"

    found = await client.call_tool("retrieve", {"question": TOPIC, "depth": "quick", "web": False})
    retrieved = Retrieved.model_validate(found.structured_content)
    assert [p.stance for p in retrieved.perspectives] == ["supports", "opposes"]
    assert retrieved.perspectives[0].passages[0].text.split(".")[0] in words(found)

    pairs = [{"statement": "Bridges carry towns.", "passage": "A bridge carries a town.", "contrary": "They do not."}]
    judged = await client.call_tool("judge", {"pairs": pairs * 2})
    assert Judged.model_validate(judged.structured_content).probabilities == [0.9, 0.9]
    assert Judged.model_validate_json(words(judged)).threshold == 0.5

    kept = (await client.list_resources()).resources
    assert [r.title for r in kept[:2]] == ["What about the cost?", QUESTION]
    assert kept[1].uri == f"steelman://answers/{answer.run_id}"
    (page,) = (await client.read_resource(kept[1].uri)).contents
    assert isinstance(page, TextResourceContents)
    assert page.mime_type == "text/markdown"
    assert text.startswith(page.text)

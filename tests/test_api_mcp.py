"""MCP over HTTP, by the official client: tools, resources, progress, cancelling, and what is refused."""

import asyncio
import json
import sqlite3
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from agent_fixtures import QUESTION
from api_on_loopback import api
from assistants import ERAS, TOPIC, goes_through, statuses, until, words
from conftest import ROOT
from mcp import Client, MCPError
from mcp_types import TextResourceContents
from providers import ScriptedJudge, build

from agent.answer.model import Answer, Note
from agent.runs.service import Runs
from agent.runs.store import Event
from agent.settings import Settings
from api.callers import Caller
from api.mcp.inputs import QuestionInput, read
from api.mcp.progress import Steps
from api.mcp.server import Opened, build_server
from api.schemas import AskRequest
from api.service import Service, open_service


@pytest.fixture(scope="module")
def standing(module_settings: Settings) -> Iterator[str]:
    """The address of one server for all that is to be refused."""
    with api(module_settings) as address:
        yield address


def slow(seconds: float) -> Any:
    return build(before_search=lambda _: time.sleep(seconds))


@ERAS
async def test_an_assistant_goes_through_it_over_http(settings: Settings, era: str) -> None:
    with api(settings) as address:
        async with Client(f"{address}/mcp/", mode=era) as client:
            assert client.server_info is not None
            assert client.server_info.name == "steelman"
            assert "ask" in (client.instructions or "")
            await goes_through(client)


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("ask", {}, "question: Field required. The arguments are: question, depth, collections"),
        ("ask", {"question": "x" * 5000}, "question: String should have at most 4000 characters"),
        ("ask", {"question": QUESTION, "depth": "huge"}, "depth: Input should be 'quick', 'normal' or 'deep'"),
        ("ask", {"question": QUESTION, "web": "no"}, "web: Input should be a valid boolean"),
        ("ask", {"question": QUESTION, "command": "ls"}, "command: Extra inputs are not permitted"),
        ("ask", {"question": QUESTION, "deadline_seconds": -1}, "deadline_seconds: Input should be greater than"),
        ("ask", {"question": QUESTION, "deadline_seconds": 0.5}, "deadline_seconds: give 1 second or more, or 0"),
        ("retrieve", {"question": QUESTION, "collections": ["mine"]}, "no collection 'mine'. There are: samples."),
        ("retrieve", {"question": QUESTION, "thread": "0" * 12}, "no such run of yours"),
        ("ask", {"question": "Write a song about bridges"}, "neither a question nor a claim"),
        ("judge", {"pairs": [{"statement": "a"}]}, "pairs.0.passage: Field required"),
        ("judge", {"pairs": []}, "pairs: List should have at least 1 item"),
        ("judge", {"pairs": [{"statement": "a", "passage": "b"}] * 257}, "pairs: List should have at most 256"),
    ],
)
async def test_what_cannot_be_is_refused_in_words(
    standing: str, module_settings: Settings, tool: str, arguments: Any, expected: str
) -> None:
    before = statuses(module_settings)
    async with Client(f"{standing}/mcp") as client:
        result = await client.call_tool(tool, arguments)
        assert result.is_error
        assert expected in words(result)
        assert not [said for said in ("Traceback", "python -m", "GET /", "POST /") if said in words(result)]
    assert statuses(module_settings) == before


def test_a_collection_of_any_name_can_be_asked_of_as_over_http() -> None:
    name = "Bücher (alt) & neu"
    assert read(QuestionInput, {"question": QUESTION, "collections": [name]}).request().collections == [name]


async def test_what_models_make_of_arguments_is_understood(settings: Settings) -> None:
    """Some send a list as the JSON of a list, and null for what they leave out."""
    with api(settings) as address:
        async with Client(f"{address}/mcp") as client:
            given = {"question": QUESTION, "collections": '["samples"]', "depth": None, "thread": ""}
            assert not (await client.call_tool("ask", given)).is_error


NAMES = ["../../../etc/passwd", "/etc/passwd", "file:///etc/passwd", "python -m agent delete samples", "$(id)", "; id"]
NAMES += ["..", "~", "con\x00", "%2e%2e%2f", "http://127.0.0.1:1/", "samples/../samples", "a" * 10_000, ""]


@pytest.mark.parametrize("name", NAMES)
async def test_no_name_that_is_sent_is_a_file_or_a_command(standing: str, module_settings: Settings, name: str) -> None:
    async with Client(f"{standing}/mcp", mode="legacy") as client:
        for arguments in ({"collections": [name]}, {"domains": [name]}, {"thread": name}, {name: "x"}):
            asked = await client.call_tool("ask", {"question": QUESTION, **arguments})
            if arguments != {"thread": ""}:
                assert asked.is_error, words(asked)
                assert "root:" not in words(asked)
        for uri in (name, f"steelman://answers/{name}", f"steelman://answers/{name}/json", f"steelman://{name}"):
            with pytest.raises(MCPError) as refused:
                await client.read_resource(uri)
            assert "no such resource" in str(refused.value)
        with pytest.raises(MCPError, match="The tools are: ask, retrieve, judge"):
            await client.call_tool(name, {})
    with sqlite3.connect(module_settings.database_path) as db:
        assert db.execute("SELECT count(*) FROM collections").fetchone() == (1,)
        assert db.execute("SELECT count(*) FROM passages").fetchone()[0] >= 24
    db.close()


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[]",
        b'"ask"',
        b'{"jsonrpc": "2.0", "id": {}, "method": "tools/call"}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": []}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": 5}}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call",'
        b' "params": {"name": "ask", "arguments": {"question": "\\ud800"}}}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {"uri": "\\ud800"}}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "no/such"}',
        b"[" * 100_000,
        b'{"jsonrpc": "2.0", "id": ' + b"9" * 5000 + b', "method": "ping"}',
    ],
)
@pytest.mark.parametrize("version", ["2025-06-18", "2026-07-28", "1999-01-01"])
def test_no_message_brings_it_down(standing: str, body: bytes, version: str) -> None:
    headers = {
        "accept": "application/json, text/event-stream",
        "content-type": "application/json",
        "mcp-protocol-version": version,
    }
    reply = httpx.post(f"{standing}/mcp", content=body, headers=headers)
    assert reply.status_code < 500
    assert "Traceback" not in reply.text
    assert str(ROOT) not in reply.text
    assert httpx.get(f"{standing}/readyz").status_code == 200


async def test_a_cut_connection_costs_no_result(settings: Settings) -> None:
    body = call("ask", {"question": QUESTION})
    with api(settings, slow(0.5)) as address:
        async with httpx.AsyncClient(base_url=address) as http:
            async with http.stream("POST", "/mcp", content=body, headers=SPEAKS) as reply:
                assert reply.status_code == 200
                await until(lambda: len(statuses(settings)) == 1)
            await until(lambda: list(statuses(settings).values()) == ["done"])
        async with Client(f"{address}/mcp") as client:
            assert [r.title for r in (await client.list_resources()).resources] == [QUESTION]


async def test_clients_at_once_each_get_their_own_answer(settings: Settings) -> None:
    topics = [f"Should towns build {what}?" for what in ("bridges", "tunnels", "ferries", "roads")]

    async def ask(address: str, question: str, era: str) -> str:
        async with Client(f"{address}/mcp", mode=era) as client:
            asked = await client.call_tool("ask", {"question": question})
            return Answer.model_validate(asked.structured_content).question

    with api(settings) as address:
        eras = ["legacy", "auto"] * 2
        asked = [ask(address, topic, era) for topic, era in zip(topics, eras, strict=True)]
        assert await asyncio.gather(*asked) == topics


async def test_past_the_limit_the_tool_says_when_to_come_again(settings: Settings) -> None:
    one = settings.model_copy(update={"api_runs": 1, "api_waiting": 0})
    with api(one, slow(1)) as address:
        async with Client(f"{address}/mcp") as client:
            asking = asyncio.create_task(client.call_tool("ask", {"question": QUESTION}))
            await until(lambda: len(statuses(settings)) == 1)
            refused = await client.call_tool("ask", {"question": TOPIC})
            assert refused.is_error
            assert "Come again in 10 seconds" in words(refused)
            assert not (await asking).is_error


def test_messages_come_by_post_and_need_no_session(standing: str) -> None:
    """So a client goes on over a server that was started again."""
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    for path in ("/mcp", "/mcp/"):
        for method in ("GET", "DELETE", "PUT"):
            refused = httpx.request(method, f"{standing}{path}", headers={"accept": "text/event-stream"})
            assert refused.status_code == 405
            assert refused.headers["content-type"] == "application/problem+json"
        known = {**SPEAKS, "mcp-session-id": "a" * 32, "mcp-protocol-version": "2025-06-18"}
        assert '"name":"judge"' in httpx.post(f"{standing}{path}", json=body, headers=known).text


async def test_a_caller_sees_its_own_answers(settings: Settings) -> None:
    async with open_service(settings, lambda: Runs(settings, build())) as service:
        mine = await service.start(Caller("k1", "mine"), AskRequest(question=QUESTION))
        await service.runs.answer(mine)
        for key, titles in (("k1", [QUESTION]), ("k2", []), ("", [QUESTION])):
            async with client_of(service, Caller(key)) as client:
                assert [r.title for r in (await client.list_resources()).resources] == titles
                follow = await client.call_tool("ask", {"question": "What about the cost?", "thread": mine})
                assert follow.is_error == (key == "k2")
                if key == "k2":
                    with pytest.raises(MCPError, match="no answer of run"):
                        await client.read_resource(f"steelman://answers/{mine}")
                service.runs.run_store.delete(*[r for r in statuses(settings) if r != mine])


async def test_what_was_not_found_is_said(settings: Settings) -> None:
    nothing = build(judge=ScriptedJudge(lambda _: 0.01))
    async with (
        open_service(settings, lambda: Runs(settings, nothing)) as service,
        client_of(service, Caller()) as client,
    ):
        asked = await client.call_tool("ask", {"question": QUESTION})
        assert "Nothing was found that makes a case for any side" in words(asked)
        assert "There is nothing to cite: say that nothing was found" in words(asked)
        found = await client.call_tool("retrieve", {"question": QUESTION})
        assert words(found).count("Nothing was found that makes this case. Looked for:") == 2
        assert [r.title for r in (await client.list_resources()).resources] == [QUESTION]


async def test_what_was_written_for_a_keyboard_is_told_to_no_assistant(settings: Settings) -> None:
    made = build()
    async with (
        open_service(settings, lambda: Runs(settings, made)) as service,
        client_of(service, Caller()) as client,
    ):
        asked = await client.call_tool("ask", {"question": QUESTION})
        assert asked.structured_content
        run_id = asked.structured_content["run_id"]
        answer = await service.runs.answer(run_id)
        note = Note(kind="degraded", text="A page cannot be read. Add it.", hint="Add it.")
        noted = answer.model_copy(update={"notes": [note]}).model_dump_json()
        with service.runs.database.write() as db:
            db.execute("UPDATE runs SET answer = ? WHERE id = ?", (noted, run_id))
        (read,) = (await client.read_resource(f"steelman://answers/{run_id}/json")).contents
        assert isinstance(read, TextResourceContents)
        assert [n["text"] for n in json.loads(read.text)["notes"]] == ["A page cannot be read."]


class Broken:
    async def frame(self, question: str, earlier: Any) -> Any:
        raise RuntimeError("the inside of the server")


async def test_a_crash_shows_nothing_of_the_inside(settings: Settings, caplog: pytest.LogCaptureFixture) -> None:
    async with (
        open_service(settings, lambda: Runs(settings, build(framer=Broken()))) as service,
        client_of(service, Caller()) as client,
    ):
        crashed = await client.call_tool("ask", {"question": QUESTION})
        assert crashed.is_error
        assert "Something went wrong inside Steelman" in words(crashed)
        assert "the inside of the server" not in words(crashed)
        assert "the inside of the server" in caplog.text


def test_progress_grows_also_when_it_searches_again() -> None:
    stages = ["frame", "expand", "search", "judge", "again", "search", "judge", "again", "search", "judge", "select"]
    events = [Event(n, 0.0, "stage", {"stage": s}) for n, s in enumerate([*stages, "write", "verify"])]
    steps = Steps()
    told = [steps.step(e) for e in [*events, Event(99, 0.0, "done", {})]]
    done = [t[0] for t in told if t]
    assert len(done) == len(events) + 1
    assert done == sorted(set(done))
    assert done[-2] < done[-1] == 100
    assert steps.step(Event(100, 0.0, "done", {})) is None


@asynccontextmanager
async def client_of(service: Service, caller: Caller) -> AsyncIterator[Client]:
    @asynccontextmanager
    async def opening() -> AsyncIterator[Opened]:
        async def opened() -> Service:
            return service

        yield opened

    async with Client(build_server(opening, caller)) as client:
        yield client


SPEAKS = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


def call(tool: str, arguments: dict[str, Any], number: int = 1) -> bytes:
    params = {"name": tool, "arguments": arguments}
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}).encode()

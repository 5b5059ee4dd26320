"""MCP servers as sources: real ones over standard input and output and over HTTP, with tools and replies of every
shape, and those that hang, die and lie."""

import asyncio
import logging
import shlex
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from agent_fixtures import QUESTION, door
from conftest import ROOT
from played_mcp import WORDS, on_http, tool
from search_servers import Found, SearchServer
from web_fixtures import prose, publish, with_web
from web_server import WebServer

from agent.options import RunOptions
from agent.providers.from_settings import build_sources
from agent.settings import Settings, load_settings
from tools.budget import Budget, budget_scope
from tools.errors import DeadlineError, ProviderDownError, ProviderReplyError, SettingsError
from tools.limits import LONGEST_PAGE
from tools.web.mcp_source import SEARCHES, McpSource, best_call
from tools.web.source import LONGEST_SNIPPET, LONGEST_TITLE, SourceResult

PLAYED = Path(__file__).with_name("played_mcp.py")


def command(name: str) -> str:
    return shlex.join([sys.executable, str(PLAYED), name])


def source(name: str, seconds: float = 20.0) -> McpSource:
    return McpSource("notes", command(name), seconds)


async def search(name: str, limit: int = 10, domains: Sequence[str] = ()) -> list[SourceResult]:
    """Over HTTP, which is quicker than a process."""
    with on_http(name) as address:
        return await McpSource("notes", address).search("voting", limit, domains)


def running(name: str) -> list[int]:
    """The processes of the played server."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if command(name).split() == folder.joinpath("cmdline").read_text().split("\0")[:-1]:
                found.append(int(folder.name))
        except OSError:
            continue
    return found


async def ended(name: str) -> None:
    deadline = time.monotonic() + 15
    while running(name) and time.monotonic() < deadline:
        await asyncio.sleep(0.05)
    assert running(name) == []
    if others := asyncio.all_tasks() - {asyncio.current_task()}:  # they end the process
        await asyncio.wait(others, timeout=10)


# Tools and replies


async def test_search_and_fetch_over_both_transports() -> None:
    for server in (source("research"), None):
        if server:
            found = await server.search("voting", 10)
        else:
            found = await search("research")
        assert [r.url for r in found] == [f"https://notes.example/{n}" for n in range(8)]
        assert [(r.title, r.snippet) for r in found][:2] == [("Note 0", "Of 0."), ("Note 1", "Of 1.")]
        assert [r.text for r in found] == [f"n{n}: {WORDS}" for n in range(5)] + [""] * 3
        assert [r.extent for r in found][3:6] == ["full text", "full text", ""]
    await ended("research")


async def test_documents_without_a_public_address_are_read_as_they_come() -> None:
    found = await search("own", 20)
    assert [r.url for r in found] == [f"mcp://notes/a%2F{n}" for n in range(5)], "the schema's maximum is 5"
    assert {(r.title, r.author, r.extent) for r in found[:1]} == {("Note 0", "Ann", "extract")}
    assert found[1].text == f"1: {WORDS}"


async def test_resources_and_plain_text() -> None:
    linked, whole = await search("linked")
    assert (linked.url, linked.title, linked.snippet, linked.text) == ("https://notes.example/1", "Note 1", "Of 1.", "")
    assert (whole.url, whole.text) == ("mcp://notes/notes%3A%2F%2Ftwo%2F2", WORDS)
    listed = await search("listed")
    assert [(r.url, r.title, r.snippet) for r in listed] == [
        ("https://notes.example/1", "Note 1", "Of 1."),
        ("https://notes.example/2", "Note 2", "Of 2. And more."),
    ]
    (told,) = await search("told")
    assert (told.url.startswith("mcp://notes/"), told.text) == (True, WORDS)
    assert await search("none") == await search("no") == []


@pytest.mark.slow
async def test_a_slow_fetch_leaves_the_results() -> None:
    with budget_scope(Budget(deadline_at=time.time() + 12)):
        found = await source("slow").search("voting", 3)
    assert [bool(r.text) for r in found] == [False, True, False]
    await ended("slow")


async def test_only_the_named_domains() -> None:
    assert [r.url for r in await search("listed", 10, ["notes.example"])] == [
        f"https://notes.example/{n}" for n in (1, 2)
    ]
    assert await search("listed", 10, ["other.example"]) == []
    assert len(await search("research", 3)) == 3


SPEC: list[tuple[Any, str | None]] = [
    ([tool("get_weather"), tool("searchNotes"), tool("search")], "search"),
    ([tool("brave_web_search"), tool("brave_local_search_by_place")], "brave_web_search"),
    ([tool("tavily-search", required=(), query={"type": ["string", "null"]})], "tavily-search"),
    ([tool("kb", "Search the knowledge base.")], "kb"),
    (
        [tool("papers_query", required=("queries",), queries={"type": "array", "items": {"type": "string"}})],
        "papers_query",
    ),
    ([tool("search", required=("query", "index"), query={"type": "string"}, index={"default": "a"})], "search"),
    ([tool("search", required=("query", "index"), query={"type": "string"}, index={"type": "string"})], None),
    ([tool("search_and_replace"), tool("delete_search_index"), tool("research"), tool("ask", "We search.")], None),
    ([tool("search", required=("n",), n={"type": "integer"})], None),
    ([tool("cleanup", "Find and delete every note that matches."), tool("purge_lookup")], None),
    ([], None),
]


@pytest.mark.parametrize(("tools", "chosen"), SPEC, ids=[str(chosen) for _, chosen in SPEC])
def test_the_tool_that_searches(tools: list[Any], chosen: str | None) -> None:
    call = best_call(tools, SEARCHES)
    assert (call and call.tool) == chosen
    if call and call.tool == "papers_query":
        assert call.arguments("x") == {"queries": ["x"]}


def test_a_tool_that_says_that_it_changes_something_is_passed_over() -> None:
    from mcp_types import ToolAnnotations

    for hints in (ToolAnnotations(destructive_hint=True), ToolAnnotations(read_only_hint=False)):
        assert best_call([tool("search").model_copy(update={"annotations": hints})], SEARCHES) is None


# Servers that do not behave


async def test_what_a_server_tells_is_checked_cleaned_and_cut() -> None:
    found = await search("lies", 100)
    assert len(found) <= 20
    urls = [r.url for r in found]
    assert len(set(urls)) == len(urls)
    private, login = (r for r in found if r.url.startswith("mcp:"))
    assert (private.title, private.text, login.title) == ("Private", WORDS, "Login")
    assert not [url for url in urls if "secret" in url]
    assert all(u.startswith(("https://notes.example/", "mcp://notes/")) for u in urls)
    (long,) = (r for r in found if r.url.endswith("/long"))
    assert (len(long.title) <= LONGEST_TITLE, len(long.snippet) <= LONGEST_SNIPPET) == (True, True)
    assert 0 < len(long.text) <= LONGEST_PAGE
    for result in found:
        assert all(text.replace("\n", "").isprintable() for text in (result.title, result.snippet, result.text))


BAD: list[tuple[str, type[Exception], str]] = [
    ("hangs", ProviderDownError, "did not answer in time|timed out"),
    ("silent", ProviderDownError, "did not answer in time|timed out"),
    ("dies", ProviderDownError, r"MCP server 'notes' failed \("),
    ("fails", ProviderReplyError, "MCP server 'notes' refused: the index is gone."),
    ("huge", ProviderDownError, r"MCP server 'notes' failed \(a reply has more than 5 MB\)"),
    ("other", ProviderDownError, "has no tool that searches for one text. Its tools: delete_search, search."),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "error", "says"), BAD, ids=[b[0] for b in BAD])
async def test_a_server_that_does_not_work(
    name: str, error: type[Exception], says: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    seconds, began = 2.0 if error is ProviderDownError and name in ("hangs", "silent") else 20.0, time.monotonic()
    with pytest.raises(error, match=says):
        await source(name, seconds).search("voting", 5)
    assert time.monotonic() - began < 20
    assert [r for r in caplog.records if r.levelno >= logging.WARNING and r.name.startswith("mcp.client")] == []
    assert capfd.readouterr().err == ""
    await ended(name)


async def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    for server in (str(tmp_path / "none"), shlex.join([sys.executable, "-c", "pass"]), "http://127.0.0.1:9/mcp"):
        with pytest.raises(ProviderDownError, match="MCP server 'notes' failed"):
            await McpSource("notes", server).search("voting", 5)
    with pytest.raises(ProviderDownError) as told:
        await McpSource("notes", "http://ann:secret@127.0.0.1:9/mcp").search("voting", 5)
    assert "secret" not in str(told.value)


async def test_lines_that_are_no_messages_are_passed_over() -> None:
    assert len(await source("noise").search("voting", 5)) == 5


async def test_a_cancelled_search_ends_the_server() -> None:
    task = asyncio.create_task(source("hangs").search("voting", 5))
    deadline = time.monotonic() + 20
    while not running("hangs") and time.monotonic() < deadline:
        await asyncio.sleep(0.05)
    assert running("hangs")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await ended("hangs")


@pytest.mark.slow
@pytest.mark.parametrize("wait", [0.0, 5.0])
def test_a_program_that_ends_meanwhile_ends_the_server(wait: float) -> None:
    code = f"""if True:
        import asyncio, contextlib
        from tools.web.mcp_source import McpSource

        async def main():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(3.0):
                    await McpSource("notes", {command("hangs")!r}).search("voting", 5)
            await asyncio.sleep({wait})

        asyncio.run(main())"""
    began = time.monotonic()
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=50)
    assert (done.returncode, done.stderr) == (0, "")
    assert time.monotonic() - began < 25
    asyncio.run(ended("hangs"))


@pytest.mark.slow
async def test_a_run_that_stays_on_this_machine_and_one_without_time() -> None:
    with budget_scope(Budget(offline=True)), pytest.raises(ProviderDownError, match="stays offline"):
        await source("research").search("voting", 5)
    with budget_scope(Budget(deadline_at=time.time() + 3.0)), pytest.raises(DeadlineError):
        await source("hangs").search("voting", 5)
    await ended("hangs")


async def test_a_command_gets_no_keys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    told = tmp_path / "environment"
    with pytest.raises(ProviderDownError):
        await McpSource("notes", shlex.join(["sh", "-c", f"env > {told}"])).search("voting", 5)
    assert "PATH=" in told.read_text()
    assert "sk-secret" not in told.read_text()


# In runs


async def test_a_run_cites_what_an_mcp_server_tells(settings: Settings, engine: SearchServer, site: WebServer) -> None:
    engine.otherwise(lambda _: [Found(publish(site, "gazette.example", "/a", prose(1, "harm"), publisher="Gazette"))])
    with on_http("own") as own:
        beside = [McpSource("own", own), McpSource("late", command("hangs"), 0.5)]
        async with door(settings, with_web(engine, beside=beside)) as runs:
            answer = await runs.answer(await runs.start(QUESTION, RunOptions.of(max_rounds=0)))
    assert answer.outcome == "answered"
    assert answer.providers["web"] == "mcp:own, tavily"
    (own_note, gazette) = sorted(answer.citations, key=lambda c: not c.url.startswith("mcp://own/"))
    assert (own_note.publisher, own_note.title[:4], own_note.quote in WORDS) == ("own", "Note", True)
    assert gazette.publisher == "Gazette, gazette.example"
    await ended("hangs")
    late = [n.text for n in answer.notes if "MCP server 'late'" in n.text]
    assert len(late) == 1, [n.text for n in answer.notes]


def test_the_setting_names_servers() -> None:
    with pytest.raises(SettingsError, match="STEELMAN_MCP_SOURCES"):
        load_settings(mcp_sources="uvx notes-mcp")
    with pytest.raises(SettingsError, match="lists names with commands or addresses"):
        load_settings(mcp_sources="notes=https://")
    with pytest.raises(SettingsError, match="MCP_SOURCES cannot be what it is set to: No closing quotation"):
        load_settings(mcp_sources="notes=uvx notes --token 'secret")
    settings = load_settings(mcp_sources="notes = uvx notes-mcp -v; wiki=https://mcp.example.org/mcp?key=x=y")
    assert settings.mcp_servers == {"notes": "uvx notes-mcp -v", "wiki": "https://mcp.example.org/mcp?key=x=y"}
    sources, unusable = build_sources(settings)
    assert [(s.name, s.address) for s in sources] == [
        ("mcp:notes", "a command"),
        ("mcp:wiki", "https://mcp.example.org/mcp?key=x=y"),
    ]
    assert unusable == []

"""The graph that LangGraph's server serves, in this process: instant providers, and a checkpointer as it brings one."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agent_fixtures import QUESTION
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from langgraph_sdk.runtime import _ExecutionRuntime
from langsmith import tracing_context
from langsmith.utils import tracing_is_enabled
from providers import build, side
from sqlalchemy import select

from agent.commands import langgraph_server as studio
from agent.commands.langgraph_server import RefusedError, build_served, make_graph
from agent.runs.bootstrap import AgentParts, open_parts
from agent.settings import Settings
from tools.errors import ProviderReplyError
from tools.passages import PassageText, SourceDocument
from tools.store.database import Database
from tools.store.run_passages import WebPage
from tools.store.schema import web_documents
from tools.store.store import Store


@pytest.fixture
def parts(settings: Settings) -> Iterator[AgentParts]:
    database = Database(settings.database)
    store = Store(database)
    yield AgentParts(settings, database, store, build()(settings, store))
    database.close()


def served(parts: AgentParts) -> Any:
    return build_served(parts).copy(update={"checkpointer": InMemorySaver()})


def thread(name: str = "t") -> Any:
    return {"configurable": {"thread_id": name}}


async def test_the_next_run_of_a_thread_argues_with_its_last_answer(parts: AgentParts) -> None:
    graph = served(parts)
    await graph.ainvoke({"question": QUESTION}, thread())
    told = await graph.ainvoke({"question": "strongest counter-argument to 1?"}, thread())
    assert told["answer"]["against"]["number"] == 1
    with pytest.raises(RefusedError, match="stands for nothing yet"):
        await graph.ainvoke({"question": "strongest counter-argument to 1?"}, thread("another"))


async def test_a_review_goes_on_with_the_options_that_the_run_began_with(parts: AgentParts) -> None:
    graph = served(parts)
    context = {"review": True, "claims_per_side": 1}
    stopped = await graph.ainvoke({"question": QUESTION}, thread(), context=context)
    assert [len(i.value["sides"]) for i in stopped["__interrupt__"]] == [2]
    again = await graph.ainvoke(Command(resume=[]), thread())
    assert "at least one side" in again["__interrupt__"][0].value["error"]
    told = await graph.ainvoke(Command(resume=[side(1, "Bridges should be built.", "supports")]), thread())
    [only] = told["answer"]["perspectives"]
    assert only["statement"] == "Bridges should be built."
    assert len(only["claims"]) == 1


# The factory


def running(context: Any) -> Any:
    return _ExecutionRuntime(access_context="threads.create_run", store=None, context=context)  # type: ignore[arg-type]


@pytest.fixture
def own_graph(monkeypatch: pytest.MonkeyPatch, settings: Settings, shared_cache: Path) -> None:
    """The process's graph over instant providers."""
    monkeypatch.setattr(studio, "open_parts", lambda settings: open_parts(settings, build()))
    monkeypatch.setattr("agent.runs.bootstrap.index_samples", lambda *_: None)
    monkeypatch.setattr(studio, "_OPENED", [])


@pytest.mark.usefixtures("own_graph")
@pytest.mark.parametrize("web", [True, False])
async def test_langsmith_sees_no_run_that_may_not_leave_this_machine(web: bool) -> None:
    with tracing_context(enabled=True):
        async with make_graph(running({"web": web})):
            assert tracing_is_enabled() is web


@pytest.mark.usefixtures("own_graph")
async def test_a_server_that_starts_again_opens_its_data_again() -> None:
    for _ in range(2):
        async with studio.app.router.lifespan_context(studio.app), make_graph(running({})):
            [(parts, _graph)] = studio._OPENED
        assert studio._OPENED == []
        assert parts.database._closed


def pages(database: Database) -> int:
    return len(database.rows(select(web_documents.c.id)))


async def test_a_stage_that_fails_says_so_and_leaves_no_pages_behind(parts: AgentParts, settings: Settings) -> None:
    async def fails(*_: object) -> Any:
        """Reads a page of the web first; the stage has no stand-in."""
        source = SourceDocument("https://example.org/", "example", "A page.")
        page = WebPage(source, (PassageText("A page."),), np.ones((1, 4), np.float32))
        await asyncio.to_thread(parts.store.web.put, "t", [page])
        raise ProviderReplyError("the sides were garbage.")

    broken = AgentParts(settings, parts.database, parts.store, build(expand=fails)(settings, parts.store))
    with pytest.raises(RefusedError, match="the sides were garbage"):
        await served(broken).ainvoke({"question": QUESTION}, thread())
    assert pages(parts.database) == 0

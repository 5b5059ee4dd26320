"""The graph for LangGraph's own server: a question in, its answer out. The server brings its own checkpointer.

    check ─▶ stages (the agent's graph, drawn as a subgraph; then the answer)

`langgraph.json` names `make_graph` and `app`. A run's context holds its options: names and values of
`agent.options.RunOptions`, in JSON.
"""

import asyncio
import threading
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast, get_type_hints

from langgraph.errors import GraphBubbleUp
from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime
from langgraph_sdk.runtime import ServerRuntime
from starlette.applications import Starlette
from typing_extensions import TypedDict

from agent.answer.assemble import build_answer
from agent.answer.files import to_markdown
from agent.answer.model import Answer
from agent.options import RunOptions, check_names
from agent.runs.bootstrap import AgentParts, default_options, open_parts, prepare_run
from agent.runs.executor import RECURSION
from agent.settings import load_settings
from agent.stages.stage import run_id
from agent.state import RunState
from tools.budget import langsmith_scope
from tools.errors import InputError, SteelmanError
from tools.store.store import Store

if TYPE_CHECKING:
    from langgraph.graph.state import CompiledStateGraph

    Graph = CompiledStateGraph[Any, Any, Any, Any]

_KINDS = {name: kind for name, kind in get_type_hints(RunOptions).items() if name != "deadline_at"}
Options = TypedDict("Options", _KINDS, total=False)  # type: ignore[misc]  # the server builds Studio's form from it


class ServedQuestion(TypedDict, total=False):
    """The input. earlier: questions of the same conversation, oldest first.

    A further run in a thread of the server is a follow-up even without `earlier`: it reads the thread's last answer.
    """

    question: str
    earlier: list[str]


class ServedAnswer(TypedDict, total=False):
    """The public answer (`docs/answer.schema.json`), also as Markdown."""

    answer: dict[str, Any]
    markdown: str


class ServedState(ServedQuestion, ServedAnswer, total=False):
    options: dict[str, Any]  # check: the run's options as stored; the context of a resumed run has none
    opening: RunState  # check


Node = Callable[..., Awaitable[ServedState]]


class RefusedError(ValueError):
    """Carries an error's text to the client. The server hides the text of other exception types."""


_OPENED, _OPENING = list[tuple[AgentParts, "Graph"]](), threading.Lock()
"""The served graph, built by the first request and closed with the server."""


def _open() -> "Graph":
    """Returns the graph; the first call takes seconds. Raises SteelmanError for unusable settings or data."""
    with _OPENING:
        if not _OPENED:
            parts = open_parts(load_settings())
            parts.index_samples()
            _OPENED.append((parts, build_served(parts)))
        return _OPENED[0][1]


@asynccontextmanager
async def make_graph(runtime: ServerRuntime[Any]) -> AsyncIterator["Graph"]:
    """Yields the graph for one request and refuses invalid options.

    The server drops unknown options before the graph runs, so that a later check would miss them.
    """
    running = runtime.execution_runtime
    with _refusing():
        options = read_options(RunOptions.of, running.context if running else None)
        graph = await asyncio.to_thread(_open)
    with langsmith_scope(web=options.web):
        yield graph


@asynccontextmanager
async def _lifespan(_: Starlette) -> AsyncIterator[None]:
    yield
    while _OPENED:
        await _OPENED.pop()[0].aclose()


app = Starlette(lifespan=_lifespan)
"""Closes the providers when the server ends."""


def read_options(make: Callable[..., RunOptions], context: Mapping[str, Any] | None) -> RunOptions:
    """Returns the options of a JSON context, built by `make`. Raises SettingsError, which names an invalid option."""
    own = ("thread_id", "run_id", "graph_id", "assistant_id")  # added by the server
    given = {
        name: value
        for name, value in (context or {}).items()
        if name not in own and not name.startswith(("__", "langgraph_"))
    }
    check_names(given, [*_KINDS])
    return make(**given)


def build_served(parts: AgentParts) -> "Graph":
    """Returns the graph without a checkpointer."""
    from agent.graph import build_graph

    graph = StateGraph(ServedState, context_schema=Options, input_schema=ServedQuestion, output_schema=ServedAnswer)
    check: Node = partial(_check, parts)
    graph.add_sequence([("check", check), ("stages", _stages(parts, build_graph(parts.providers)))])
    graph.add_edge(START, "check")
    return graph.compile(name="steelman")


async def _check(parts: AgentParts, state: ServedState, runtime: Runtime[Any]) -> ServedState:
    """Refuses invalid questions before any search and returns the first state."""
    with _refusing():
        options = await asyncio.to_thread(read_options, partial(default_options, parts), runtime.context)
        question, earlier = cast(str, state.get("question")), cast(object, state.get("earlier", []))
        if not isinstance(earlier, list) or not all(isinstance(text, str) for text in [question, *earlier]):
            raise InputError('the input is not {"question": "…"}, or {"question": "…", "earlier": ["…"]}.')
        last = [Answer.model_validate(state["answer"])] if state.get("answer") else []
        opening = await prepare_run(
            question,
            options,
            parts.providers,
            earlier=[*options.earlier, *earlier],
            answers=lambda: last,
            in_thread=asyncio.to_thread,
        )
    return ServedState(opening=opening, options=options.to_dict())


def _stages(parts: AgentParts, agent: "Graph") -> Node:
    """Returns a node in whose closure LangGraph finds the agent's graph, to draw, stream and resume it. The node
    deletes the run's stored passages when the run ends."""

    async def stages(state: ServedState, runtime: Runtime[Any]) -> ServedState:
        began, options, paused = time.time(), RunOptions.from_dict(state["options"]), False
        options = replace(options, deadline_at=began + options.deadline_seconds)
        server_run = (runtime.execution_info and runtime.execution_info.run_id) or uuid.uuid4().hex
        try:
            with _refusing():
                ended = await agent.ainvoke(state["opening"], {"recursion_limit": RECURSION}, context=options)
                took = time.time() - began
                made = await build_answer(server_run, cast(RunState, ended), options, parts.providers, took)
        except GraphBubbleUp:
            paused = True
            raise
        finally:
            if not paused:
                await asyncio.shield(asyncio.to_thread(_forget, parts.store, run_id()))
        return ServedState(answer=made.model_dump(mode="json"), markdown=to_markdown(made))

    return stages


def _forget(store: Store, thread: str) -> None:
    store.web.forget(thread)
    store.kept.forget(thread)


@contextmanager
def _refusing() -> Iterator[None]:
    try:
        yield
    except SteelmanError as exc:
        raise RefusedError(str(exc)) from exc

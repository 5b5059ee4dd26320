"""The graph for LangGraph's own server: a question in, its answer out. The server brings its own checkpointer.

    check ─▶ stages (the agent's graph, drawn as a subgraph) ─▶ answer

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
from pydantic import TypeAdapter, ValidationError
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
from tools.errors import InputError, SettingsError, SteelmanError
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
    options: dict[str, Any]  # check: the run's options as stored
    opening: RunState  # check
    began: float  # stages: start, seconds since the epoch
    ended: RunState  # stages: the agent's last state


Node = Callable[..., Awaitable[ServedState]]


class RefusedError(ValueError):
    """Carries an error's text to the client. The server hides the text of other exception types."""


class GraphHost:
    """The served graph, built by the first request and closed with the server."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._parts: AgentParts | None = None
        self._graph: Graph | None = None

    def open(self) -> "Graph":
        """Returns the graph; the first call takes seconds. Raises SteelmanError for unusable settings or data."""
        with self._lock:
            if self._graph is None:
                self._parts = open_parts(load_settings())
                self._parts.index_samples()
                self._graph = build_served(self._parts)
            return self._graph

    async def close(self) -> None:
        parts, self._parts, self._graph = self._parts, None, None
        if parts is not None:
            await parts.aclose()


_HOST = GraphHost()


@asynccontextmanager
async def make_graph(runtime: ServerRuntime[Any]) -> AsyncIterator["Graph"]:
    """Yields the graph for one request and refuses invalid options.

    The server drops unknown options before the graph runs, so that a later check would miss them.
    """
    running = runtime.execution_runtime
    with _refusing():
        options = read_options(RunOptions.of, running.context if running else None)
        graph = await asyncio.to_thread(_HOST.open)
    with langsmith_scope(web=options.web):
        yield graph


@asynccontextmanager
async def _lifespan(_: Starlette) -> AsyncIterator[None]:
    yield
    await _HOST.close()


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
    try:
        return make(**TypeAdapter(Options).validate_python(given))
    except ValidationError as exc:
        first = exc.errors()[0]
        raise SettingsError(f"the option '{first['loc'][0]}' cannot be {first['input']!r}: {first['msg']}.") from exc


def build_served(parts: AgentParts) -> "Graph":
    """Returns the graph without a checkpointer."""
    from agent.graph import build_graph

    graph = StateGraph(ServedState, context_schema=Options, input_schema=ServedQuestion, output_schema=ServedAnswer)
    stages = _stages(parts, build_graph(parts.providers))
    check: Node = partial(_check, parts)
    answer: Node = partial(_answer, parts)
    graph.add_sequence([("check", check), ("stages", stages), ("answer", answer)])
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
    """Returns a node with the agent's graph. LangGraph finds the agent's graph in the node's closure, and so can draw,
    stream and resume it as a subgraph."""

    async def stages(state: ServedState, runtime: Runtime[Any]) -> ServedState:
        began, options = time.time(), RunOptions.from_dict(state["options"])  # the context of a resumed run has none
        options = replace(options, deadline_at=began + options.deadline_seconds)
        try:
            with _refusing():
                ended = await agent.ainvoke(state["opening"], {"recursion_limit": RECURSION}, context=options)
        except GraphBubbleUp:
            raise
        except BaseException:
            await asyncio.shield(asyncio.to_thread(_forget, parts.store, run_id()))
            raise
        return ServedState(began=began, ended=cast(RunState, ended))

    return stages


async def _answer(parts: AgentParts, state: ServedState, runtime: Runtime[Any]) -> ServedState:
    """Builds the public answer and deletes what was stored for the run."""
    server_run = (runtime.execution_info and runtime.execution_info.run_id) or uuid.uuid4().hex
    options, took = RunOptions.from_dict(state["options"]), time.time() - state["began"]
    made = await build_answer(server_run, state["ended"], options, parts.providers, took)
    await asyncio.to_thread(_forget, parts.store, run_id())
    return ServedState(answer=made.model_dump(mode="json"), markdown=to_markdown(made))


def _forget(store: Store, thread: str) -> None:
    store.web.forget(thread)
    store.kept.forget(thread)


@contextmanager
def _refusing() -> Iterator[None]:
    """Converts Steelman's errors to RefusedError."""
    try:
        yield
    except SteelmanError as exc:
        raise RefusedError(str(exc)) from exc

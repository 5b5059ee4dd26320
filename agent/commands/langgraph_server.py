"""The graph that LangGraph's own server serves, which brings its own checkpointer: a question in, its answer out.

    check ─▶ stages (the agent's graph, drawn as a subgraph) ─▶ answer

`langgraph.json` names `make_graph` and `app`. What a run may be asked for besides its question is its context: the
names and values of `agent.options.RunOptions`, in JSON.
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
from agent.runs.executor import RECURSION, trace_attributes
from agent.settings import load_settings
from agent.stages.stage import run_id
from agent.state import RunState
from tools.errors import InputError, SettingsError, SteelmanError
from tools.net.tracing import langsmith_scope, run_span, set_up_tracing
from tools.store.store import Store

if TYPE_CHECKING:
    from langgraph.graph.state import CompiledStateGraph

    Graph = CompiledStateGraph[Any, Any, Any, Any]

_KINDS = {name: kind for name, kind in get_type_hints(RunOptions).items() if name != "deadline_at"}
Options = TypedDict("Options", _KINDS, total=False)  # type: ignore[misc]  # the server makes Studio's form of it


class ServedQuestion(TypedDict, total=False):
    """What is asked. `earlier`: questions asked before in the same conversation, oldest first.

    A further run of one of the server's threads is a follow-up without them: it is read with the thread's last answer.
    """

    question: str
    earlier: list[str]


class ServedAnswer(TypedDict, total=False):
    """The public answer (`docs/answer.schema.json`), and the same as Markdown."""

    answer: dict[str, Any]
    markdown: str


class ServedState(ServedQuestion, ServedAnswer, total=False):
    """The state of the served graph."""

    options: dict[str, Any]  # check: what the run may do, as it is stored
    opening: RunState  # check
    began: float  # stages: when it began, by the clock
    ended: RunState  # stages: the agent's last state


class RefusedError(ValueError):
    """An error of Steelman's on its way to a client: of another type the server would keep its text to itself."""


class GraphHost:
    """What this process serves: built by the first request that wants it, closed with the server."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._parts: AgentParts | None = None
        self._graph: Graph | None = None

    def open(self) -> "Graph":
        """Takes seconds the first time. Raises SteelmanError for settings or data that cannot be used."""
        with self._lock:
            if self._graph is None:
                set_up_tracing()
                self._parts = open_parts(load_settings(), samples=True)
                self._graph = build_served(self._parts)
            return self._graph

    async def close(self) -> None:
        parts, self._parts, self._graph = self._parts, None, None
        if parts is not None:
            await parts.aclose()


_HOST = GraphHost()


@asynccontextmanager
async def make_graph(runtime: ServerRuntime[Any]) -> AsyncIterator["Graph"]:
    """The served graph, for one request. Options of a run that cannot be are refused here.

    The server drops what the graph's context does not know before the graph is run, so that later nobody could say so.
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
"""Nothing but the end of the server's life, at which the providers are closed."""


def read_options(make: Callable[..., RunOptions], context: Mapping[str, Any] | None) -> RunOptions:
    """The options that a JSON context asks for, made by `make`; raises SettingsError that names what cannot be."""
    own = ("thread_id", "run_id", "graph_id", "assistant_id")  # what the server puts beside what the client sent
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
    """The graph over the parts, without a checkpointer of its own."""
    from agent.graph import build_graph

    graph = StateGraph(ServedState, context_schema=Options, input_schema=ServedQuestion, output_schema=ServedAnswer)
    stages = _stages(parts, build_graph(parts.providers))
    graph.add_sequence([("check", _check(parts)), ("stages", stages), ("answer", _answer(parts))])
    graph.add_edge(START, "check")
    return graph.compile(name="steelman")


Node = Callable[..., Awaitable[ServedState]]


def _check(parts: AgentParts) -> Node:
    """Refuses what cannot be answered before anything is searched, and makes the agent's first state."""

    async def check(state: ServedState, runtime: Runtime[Any]) -> ServedState:
        with _refusing():
            options = await asyncio.to_thread(read_options, partial(default_options, parts), runtime.context)
            question, earlier = cast(object, state.get("question")), cast(object, state.get("earlier", []))
            if not isinstance(question, str):
                raise InputError('the input has no question. Send {"question": "…"}.')
            if not isinstance(earlier, list) or not all(isinstance(q, str) for q in earlier):
                told = 'the earlier questions have to be a list of texts. Send {"earlier": ["…"]}, or leave it out.'
                raise InputError(told)
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

    return check


def _stages(parts: AgentParts, agent: "Graph") -> Node:
    """The agent's graph. LangGraph finds it in the closure: so it draws it, streams it and resumes it as a subgraph."""

    async def stages(state: ServedState, runtime: Runtime[Any]) -> ServedState:
        began, options = time.time(), RunOptions.from_dict(state["options"])  # a resume brings none
        options = replace(options, deadline_at=began + options.deadline_seconds)
        try:
            with _refusing(), run_span(_run_id(runtime), **trace_attributes(options)) as traced:
                ended = await agent.ainvoke(state["opening"], {"recursion_limit": RECURSION}, context=options)
                traced.done("", parts.providers.names | ended.get("served_by", {}))
        except GraphBubbleUp:
            raise
        except BaseException:
            await asyncio.shield(asyncio.to_thread(_forget, parts.store, run_id()))
            raise
        return ServedState(began=began, ended=cast(RunState, ended))

    return stages


def _answer(parts: AgentParts) -> Node:
    """Makes the public answer, after which nobody needs what was read for it."""

    async def answer(state: ServedState, runtime: Runtime[Any]) -> ServedState:
        options = RunOptions.from_dict(state["options"])
        took = time.time() - state["began"]
        made = await build_answer(_run_id(runtime), state["ended"], options, parts.providers, took)
        await asyncio.to_thread(_forget, parts.store, run_id())
        return ServedState(answer=made.model_dump(mode="json"), markdown=to_markdown(made))

    return answer


def _forget(store: Store, thread: str) -> None:
    store.web.forget(thread)
    store.kept.forget(thread)


def _run_id(runtime: Runtime[Any]) -> str:
    """The server's id of the run."""
    return (runtime.execution_info and runtime.execution_info.run_id) or uuid.uuid4().hex


@contextmanager
def _refusing() -> Iterator[None]:
    """Steelman's errors leave it as ones whose text the server shows."""
    try:
        yield
    except SteelmanError as exc:
        raise RefusedError(str(exc)) from exc

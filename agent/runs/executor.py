"""What works on runs in this process: a task a run, which follows the graph, records its events and keeps it owned; and
how a run failed, as its last event keeps it.

Each stage is checkpointed, so that a run that is suspended here goes on from its last finished stage in any process.
"""

import asyncio
import contextlib
import logging
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast
from weakref import WeakValueDictionary

from agent.answer.assemble import build_answer
from agent.models.providers import Providers
from agent.options import RunOptions
from agent.runs.store import RunStatus, RunStore, new_owner
from agent.state import RunState
from tools import errors
from tools.errors import RunError, SteelmanError, StoreError, as_installed
from tools.net.tracing import TracedSpan, langsmith_scope, run_span

if TYPE_CHECKING:
    from langgraph.graph.state import CompiledStateGraph


P = ParamSpec("P")
T = TypeVar("T")


class TableThread:
    """One thread that reads and writes tables for an event loop, and that no slow provider can hold up."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        """`pool` has one thread."""
        self.pool = pool

    async def __call__(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What the function returns or raises."""
        return await asyncio.get_running_loop().run_in_executor(self.pool, partial(work, *args, **kwargs))


class RunCrashedError(RunError):
    """A mistake of Steelman's own ended the run. `kind` is the exception's class; its words are for this machine only,
    since they may quote anything."""

    def __init__(self, message: str, *, hint: str, kind: str) -> None:
        super().__init__(message, hint=hint)
        self.kind = kind

    @property
    def remote_text(self) -> str:
        return f"Something went wrong inside Steelman ({self.kind})."


@dataclass(frozen=True, slots=True)
class RunFailure:
    """`kind` is the class of what was raised, `hint` the part of `error` that only helps at this machine's keyboard."""

    kind: str
    error: str
    hint: str = ""

    @classmethod
    def of(cls, exc: BaseException, run_id: str) -> "RunFailure":
        """The failure that ended the run."""
        kind = type(exc).__name__
        if isinstance(exc, SteelmanError):
            return cls(kind, str(exc), exc.hint)
        hint = f"Go on with `{resume_command(run_id)}`."
        return cls(kind, f"something went wrong inside Steelman ({kind}: {exc}). {hint}", hint)

    def cause(self) -> SteelmanError:
        """The error itself; of an exception that is none of Steelman's a RunCrashedError."""
        found = getattr(errors, self.kind, None)
        if isinstance(found, type) and issubclass(found, SteelmanError):
            return found(self.error, hint=self.hint)
        return RunCrashedError(self.error, hint=self.hint, kind=self.kind)


def resume_command(run_id: str) -> str:
    """What to type to go on with the run."""
    return as_installed(f"python -m agent ask --resume {run_id}")


if TYPE_CHECKING:
    Graph = CompiledStateGraph[RunState, RunOptions, RunState, RunState]

_LOG = logging.getLogger("steelman.runs")
HEARTBEAT_SECONDS = 2.0
_POLL_SECONDS = 0.2
RECURSION = 100
"""Steps of the graph in one run, past which LangGraph takes it for a loop."""
PrepareInput = Callable[[], Awaitable[tuple[Any, Any]]]
"""Finds out what the graph is given, and the LangGraph config (thread, checkpoint) with which it begins."""


class RunExecutor:
    """The runs that this process works on. Bound to one event loop."""

    def __init__(
        self, graph: "Graph", providers: Providers, run_store: RunStore, thread: TableThread, max_concurrent: int | None
    ) -> None:
        """`max_concurrent`: runs worked on at a time; the others wait their turn, and their deadline with them."""
        self.owner = new_owner()
        self.tasks: dict[str, asyncio.Task[None]] = {}
        self.unrecorded: dict[str, SteelmanError] = {}
        """Runs whose end could not be recorded, as on a full disk, with the reason: whoever follows one is told."""
        self.on_end: Callable[[str], object] = lambda _: None
        """Told how each run ended here: the outcome of its answer, or the run's status where it has none."""
        self.turns = asyncio.Semaphore(max_concurrent or sys.maxsize)  # first come, first served
        self._graph, self._providers = graph, providers
        self._run_store, self._in_thread = run_store, thread
        self._news: WeakValueDictionary[str, asyncio.Event] = WeakValueDictionary()  # alive while somebody follows

    def launch(self, run_id: str, begin: PrepareInput, options: RunOptions) -> None:
        """Works on a run of this process's own, in a task of its own."""
        self.unrecorded.pop(run_id, None)
        task = asyncio.create_task(self._work(run_id, begin, options), name=f"run-{run_id}")
        self.tasks[run_id] = task
        task.add_done_callback(lambda _: self.tasks.pop(run_id, None))

    async def cancel(self, run_id: str) -> None:
        """Ends the work on a run that is marked as cancelled; nothing happens where another process works on it."""
        if task := self.tasks.get(run_id):
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await self._end(run_id, "cancelled", {})  # a task that had not begun could not do it itself

    async def suspend(self) -> None:
        """Stops work on all runs and leaves them as they are, to whoever resumes them; their events tell nothing."""
        tasks = list(self.tasks.values())
        await self._in_thread(self._run_store.release, self.owner)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def news(self, run_id: str) -> asyncio.Event:
        """Set once, when something happens to the run in this process; take it before reading the run's rows."""
        return self._news.setdefault(run_id, asyncio.Event())

    async def wait(self, run_id: str, news: asyncio.Event) -> None:
        """Until there is news of the run, or it is time to look at its rows for what another process did."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(news.wait(), HEARTBEAT_SECONDS if run_id in self.tasks else _POLL_SECONDS)

    async def record(self, run_id: str, kind: str, data: dict[str, Any]) -> None:
        """Appends an event to the run and wakes whoever follows it."""
        await self._in_thread(self._run_store.add_event, run_id, self.owner, kind, data)
        self._wake(run_id)

    async def _work(self, run_id: str, begin: PrepareInput, options: RunOptions) -> None:
        heart = asyncio.create_task(self._beat(run_id))
        try:
            if self.turns.locked():
                await self.record(run_id, "queued", {"ahead": list(self.tasks).index(run_id)})
            async with self.turns:
                options = replace(options, deadline_at=time.time() + options.deadline_seconds)
                with run_span(run_id, **trace_attributes(options)) as traced:
                    await self._carry_out(run_id, *await begin(), options, traced)
        except asyncio.CancelledError:
            await asyncio.shield(self._end(run_id, "cancelled", {}))
            raise
        except BaseException as exc:
            failure = RunFailure.of(exc, run_id)
            await self._end(run_id, "failed", asdict(failure), error=failure.error)
            if not isinstance(exc, SteelmanError):
                _LOG.error("run %s ended by a mistake of Steelman's own", run_id, exc_info=exc)
            if not isinstance(exc, Exception):
                raise
        finally:
            heart.cancel()

    async def _carry_out(
        self, run_id: str, graph_input: Any, config: Any, options: RunOptions, traced: TracedSpan
    ) -> None:
        began = time.monotonic()
        stream = self._graph.astream(graph_input, config, context=options, stream_mode="custom", durability="sync")
        # Closed here and now: left to the event loop, the graph would still write while the checkpoints are closed.
        async with contextlib.aclosing(cast(AsyncGenerator[Any, None], stream)):
            with langsmith_scope(web=options.web):
                async for event in stream:
                    data = dict(event)
                    await self.record(run_id, data.pop("kind"), data)
        snapshot = await self._graph.aget_state(graph_config(run_id))
        if snapshot.next:
            traced.note(status="waiting")
            await self._end(run_id, "waiting", {"sides": snapshot.values["perspectives"]})
        else:
            state, took = cast(RunState, snapshot.values), time.monotonic() - began
            answer = await build_answer(run_id, state, options, self._providers, took)
            traced.done(answer.outcome, answer.providers)
            await self._end(run_id, "done", {"outcome": answer.outcome}, answer=answer.model_dump_json())

    async def _end(
        self, run_id: str, status: RunStatus, data: dict[str, Any], answer: str | None = None, error: str | None = None
    ) -> None:
        try:
            if await self._in_thread(self._run_store.finish, run_id, self.owner, status, data, answer, error):
                self.on_end(data.get("outcome", status))
        except SteelmanError as exc:
            self.unrecorded[run_id] = exc
        self._wake(run_id)

    async def _beat(self, run_id: str) -> None:
        """Shows other processes that the run is worked on; ends the work once the run is another's, or cancelled."""
        alive = True
        while alive:
            await asyncio.sleep(HEARTBEAT_SECONDS)
            with contextlib.suppress(StoreError):  # the next beat may come through
                alive = await self._in_thread(self._run_store.record_heartbeat, run_id, self.owner)
        if task := self.tasks.get(run_id):  # cancelled from another process, or taken over by one
            task.cancel()

    def _wake(self, run_id: str) -> None:
        if news := self._news.pop(run_id, None):
            news.set()


def trace_attributes(options: RunOptions) -> dict[str, Any]:
    """What a run's span tells of its options."""
    told = {name: getattr(options, name) for name in ("depth", "web", "deadline_seconds")}
    return {**told, "collections": len(options.collections)}


def graph_config(run_id: str) -> Any:
    """LangGraph's config of a run: its checkpoints are a thread of the run's id."""
    return {"configurable": {"thread_id": run_id}, "recursion_limit": RECURSION}

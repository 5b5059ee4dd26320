"""Executes runs in this process: one task per run follows the graph, records events and renews ownership.

Each stage is checkpointed, so that any process can continue a suspended run after its last finished stage.
"""

import asyncio
import contextlib
import logging
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

from agent.answer.assemble import build_answer
from agent.options import RunOptions
from agent.runs.store import RunStatus, RunStore
from agent.stage_interfaces import Providers
from agent.state import RunState, shown_sides
from tools import errors
from tools.budget import langsmith_scope
from tools.errors import RunError, SteelmanError, StoreError, as_installed
from tools.limits import OUTAGE_SECONDS
from tools.store.database import PATIENCE, outlast

if TYPE_CHECKING:
    from langgraph.graph.state import CompiledStateGraph

    Graph = CompiledStateGraph[RunState, RunOptions, RunState, RunState]

P = ParamSpec("P")
T = TypeVar("T")


class TableThread:
    """Threads that only tables of runs or jobs use, so that no slow provider can block them."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self._pool = pool

    async def __call__(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        run = partial(copy_context().run, work, *args, **kwargs)
        return await asyncio.get_running_loop().run_in_executor(self._pool, run)


class RunCrashedError(RunError):
    """A bug of Steelman ended the run. kind: the exception's class, whose text stays on this machine."""

    def __init__(self, message: str, *, hint: str, kind: str) -> None:
        super().__init__(message, hint=hint)
        self.kind = kind

    @property
    def remote_text(self) -> str:
        return f"Something went wrong inside Steelman ({self.kind})."


@dataclass(frozen=True, slots=True)
class RunFailure:
    """Why a run or job failed. kind: the exception's class. hint: the part of `error` that helps only on this machine,
    such as a command to type."""

    kind: str
    error: str
    hint: str = ""

    @classmethod
    def of(cls, exc: BaseException, hint: str = "") -> "RunFailure":
        """Returns the failure that ended a run or a job. hint: how to go on after a bug."""
        kind = type(exc).__name__
        if isinstance(exc, SteelmanError):
            return cls(kind, str(exc), exc.hint)
        return cls(kind, f"something went wrong inside Steelman ({kind}: {exc}). {hint}", hint)

    def cause(self) -> SteelmanError:
        """Returns the error; RunCrashedError for an exception that is not Steelman's own."""
        found = getattr(errors, self.kind, None)
        if isinstance(found, type) and issubclass(found, SteelmanError):
            return found(self.error, hint=self.hint)
        return RunCrashedError(self.error, hint=self.hint, kind=self.kind)


def resume_command(run_id: str) -> str:
    """Returns the command that continues the run."""
    return as_installed(f"python -m agent ask --resume {run_id}")


_LOG = logging.getLogger("steelman.runs")
HEARTBEAT_SECONDS = 2.0
RECURSION = 100
"""The most graph steps of one run. LangGraph takes a run with more steps for an endless loop and ends it."""
PrepareInput = Callable[[], Awaitable[tuple[Any, Any]]]
"""Returns the graph's input and LangGraph's config (thread, checkpoint)."""


class RunExecutor:
    """The runs of this process. Belongs to one event loop."""

    def __init__(
        self,
        graph: "Graph",
        providers: Providers,
        run_store: RunStore,
        thread: TableThread,
        max_concurrent: int | None,
        owner: str,
    ) -> None:
        """max_concurrent: number of runs executed at once; None: no limit. The time that other runs wait does not count
        towards their deadlines. owner: this process's id."""
        self.owner = owner
        self.tasks: dict[str, asyncio.Task[None]] = {}
        self.unrecorded: dict[str, SteelmanError] = {}
        """Errors by run id, if the run's end could not be stored, as on a full disk. `Runs.events` raises them."""
        self.on_end: Callable[[str], object] = lambda _: None
        """Called whenever a run ends, with the answer's outcome; if there is no answer, with the run's status."""
        self.turns = asyncio.Semaphore(max_concurrent or sys.maxsize)  # first come, first served
        self._graph, self._providers = graph, providers
        self._run_store, self._in_thread = run_store, thread

    def launch(self, run_id: str, begin: PrepareInput, options: RunOptions) -> None:
        """Starts a task for a run that this process owns."""
        self.unrecorded.pop(run_id, None)
        task = asyncio.create_task(self._work(run_id, begin, options), name=f"run-{run_id}")
        self.tasks[run_id] = task
        task.add_done_callback(lambda _: self.tasks.pop(run_id, None) if self.tasks.get(run_id) is task else None)

    async def cancel(self, run_id: str) -> None:
        """Ends the task of a cancelled run, if this process has it."""
        if task := self.tasks.get(run_id):
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await self._end(run_id, "cancelled", {})  # a task that never started did not record its end

    async def suspend(self) -> None:
        """Stops all tasks and leaves the runs resumable. Records no event."""
        self._run_store.database.patient = False
        with contextlib.suppress(StoreError):  # the runs are free once their heartbeats are stale
            await self._in_thread(self._run_store.release, self.owner)
        await self.stop()

    async def stop(self) -> None:
        """Cancels all tasks."""
        tasks = list(self.tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def record(self, run_id: str, kind: str, data: dict[str, Any]) -> None:
        """Appends an event to the run."""
        event = run_id, self.owner, kind, data, time.time()
        await outlast(lambda: self._in_thread(self._run_store.add_event, *event))

    async def _work(self, run_id: str, begin: PrepareInput, options: RunOptions) -> None:
        heart = asyncio.create_task(self._beat(run_id))
        PATIENCE.set(OUTAGE_SECONDS)
        try:
            if self.turns.locked():
                await self.record(run_id, "queued", {"ahead": list(self.tasks).index(run_id)})
            async with self.turns:
                options = replace(options, deadline_at=time.time() + options.deadline_seconds)
                await self._carry_out(run_id, *await outlast(begin), options)
        except asyncio.CancelledError:
            await asyncio.shield(self._end(run_id, "cancelled", {}))
            raise
        except BaseException as exc:
            failure = RunFailure.of(exc, f"Go on with `{resume_command(run_id)}`.")
            await self._end(run_id, "failed", asdict(failure), error=failure.error)
            if not isinstance(exc, SteelmanError):
                _LOG.error("run %s ended by a mistake of Steelman's own", run_id, exc_info=exc)
            if not isinstance(exc, Exception):
                raise
        finally:
            heart.cancel()

    async def _carry_out(self, run_id: str, graph_input: Any, config: Any, options: RunOptions) -> None:
        began = time.monotonic()
        stream = self._graph.astream(graph_input, config, context=options, stream_mode="custom", durability="sync")
        # Closes the stream now. Otherwise the graph may write checkpoints after their store is closed.
        async with contextlib.aclosing(cast(AsyncGenerator[Any, None], stream)):
            with langsmith_scope(web=options.web):
                async for event in stream:
                    data = dict(event)
                    await self.record(run_id, data.pop("kind"), data)
        snapshot = await self._graph.aget_state(graph_config(run_id))
        if snapshot.next:
            await self._end(run_id, "waiting", {"sides": shown_sides(snapshot.values["perspectives"])})
        else:
            state, took = cast(RunState, snapshot.values), time.monotonic() - began
            answer = await outlast(partial(build_answer, run_id, state, options, self._providers, took))
            await self._end(run_id, "done", {"outcome": answer.outcome}, answer=answer.model_dump_json())

    async def _end(
        self, run_id: str, status: RunStatus, data: dict[str, Any], answer: str | None = None, error: str | None = None
    ) -> None:
        end, seconds = (run_id, self.owner, status, data, answer, error), PATIENCE.get() * (status != "cancelled")
        try:  # a stopping server waits for nothing
            if await outlast(lambda: self._in_thread(self._run_store.finish, *end), seconds):
                self.on_end(data.get("outcome", status))
        except SteelmanError as exc:
            self.unrecorded[run_id] = exc

    async def _beat(self, run_id: str) -> None:
        """Renews the heartbeat. Ends the task if the run is cancelled or another process has taken it over."""
        alive = True
        while alive:
            await asyncio.sleep(HEARTBEAT_SECONDS)
            with contextlib.suppress(StoreError):  # the next heartbeat may succeed
                alive = await self._in_thread(self._run_store.record_heartbeat, run_id, self.owner)
        if task := self.tasks.get(run_id):  # cancelled or taken over by another process
            task.cancel()


def graph_config(run_id: str) -> Any:
    """Returns LangGraph's config: the run's id names its checkpoints."""
    return {"configurable": {"thread_id": run_id}, "recursion_limit": RECURSION}

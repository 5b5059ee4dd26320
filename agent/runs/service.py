"""The service of runs: start, follow, cancel, resume, read, delete.

Command line, page, API and evals open it with `open_runs`. A run, its events and its answer are rows of the store's
database. The graph's checkpoints are stored beside the database. So any process can continue a run after its last
finished stage.
"""

import asyncio
import contextlib
import sys
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, cast

from agent.answer.model import Answer
from agent.answer.retrieved import (
    JudgedPassage,
    Retrieved,
    chosen_passages,
    judged_pairs,
    judged_passages,
    retrieved_result,
)
from agent.options import RunOptions
from agent.runs.bootstrap import BuildProviders, first_state, open_parts, prepare_run
from agent.runs.executor import RunCrashedError, RunExecutor, RunFailure, TableThread, graph_config, resume_command
from agent.runs.store import WORKERS, RecordRun, RunEvent, RunRow, RunStore
from agent.settings import Settings, load_settings
from agent.state import STATE_VERSION, RunState
from tools.errors import RunAbandonedError, RunCancelledError, RunError, RunForgottenError, StoreError, UnknownRunError
from tools.models.worker import lower_priority
from tools.store.database import outlast
from tools.store.notices import open_notices
from tools.store.store import SAMPLES

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver


async def delete_runs(
    run_ids: Sequence[str],
    runs: RunStore,
    saver: "BaseCheckpointSaver[Any]",
    in_thread: Callable[..., Awaitable[Any]] = asyncio.to_thread,
) -> None:
    """Deletes the runs. Deletes their rows last, so that a failed deletion can be repeated.

    Raises RunBusyError, UnknownRunError before deleting anything.
    """
    await in_thread(runs.check_free, run_ids)
    for run_id in run_ids:
        await saver.adelete_thread(run_id)
    await in_thread(runs.delete, *run_ids)


_THREADS = 32
_MOST_WORKERS = 5
Role = Literal["alone", "door", "worker"]
"""`alone`: executes the runs that it starts. `door`: leaves them to the workers. `worker`: executes runs of doors."""


class Runs:
    """The service. Belongs to one event loop; use it as an async context manager."""

    def __init__(
        self,
        settings: Settings,
        build: BuildProviders | None = None,
        max_concurrent: int | None = None,
        role: Role = "alone",
    ) -> None:
        """max_concurrent: number of runs executed at once; None: no limit. The time that other runs wait does not count
        towards their deadlines."""
        self.settings, self._build, self._max_concurrent, self.role = settings, build, max_concurrent, role
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> "Runs":
        from agent.graph import build_graph
        from agent.runs.checkpoints import open_checkpointer

        # Providers may hang and must not block all default threads.
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(_THREADS, "steelman", lower_priority))
        async with AsyncExitStack() as opening:
            self.in_thread = TableThread(opening.enter_context(ThreadPoolExecutor(1, "steelman-runs")))
            self.parts = await asyncio.to_thread(open_parts, self.settings, self._build)
            opening.push_async_callback(self.parts.aclose)
            self.database, self.providers = self.parts.database, self.parts.providers
            self.store = self.parts.store.of("")  # without anybody's private collections
            self.run_store = RunStore(self.database)
            self._saver = await opening.enter_async_context(open_checkpointer(self.settings))
            self._graph = build_graph(self.providers, self._saver)
            self.notices = await opening.enter_async_context(open_notices(self.settings.database))
            given = self._graph, self.providers, self.run_store, self.in_thread
            owner = f"{WORKERS if self.role == 'worker' else ''}{uuid.uuid4().hex}"
            self.executor = RunExecutor(*given, self._max_concurrent, owner)
            self._stack = opening.pop_all()
        return self

    async def __aexit__(self, *exc: object) -> None:
        self.database.patient = False
        try:
            await self.executor.stop()
            with contextlib.suppress(StoreError):  # a run that is not released is free once its heartbeat is stale
                await self.in_thread(self.run_store.cancel_owned, self.executor.owner)  # whose start was interrupted
        finally:
            await self._stack.aclose()

    async def start(
        self,
        question: str,
        options: RunOptions | None = None,
        thread: str | None = None,
        person: str = "",
        by: str = "",
        record: RecordRun = lambda *_: None,
        *,
        apart: bool = False,
    ) -> str:
        """Starts a run and returns its id at once.

        thread: the id of any run in the thread that the question follows up. person: the run's owner; by default the
        thread's owner. by: time (ISO, UTC); later answers are ignored, so that 'against 2' means the number 2 on the
        reader's screen. record: see `RunStore.create`. apart: the run follows up the thread, but opens a thread of its
        own. Raises as `prepare_run` does.
        """
        options = options or RunOptions.of()
        run_id = uuid.uuid4().hex[:12]
        before = await self.run(thread) if thread else None
        thread, person = (before.thread, person or before.person) if before else (run_id, person)
        answers, in_thread = partial(RunStore(self.database, person).thread_answers, thread, by), self.in_thread
        state = await prepare_run(
            question, options, self.providers, options.earlier, answers, in_thread=in_thread, person=person
        )
        follows, thread = (thread, run_id) if apart else ("", thread)
        given = run_id, thread, state["question"], options.to_dict(), self._owner, person, by, record, follows
        await self.in_thread(self.run_store.create, *given)

        async def begin() -> tuple[Any, Any]:
            return state, graph_config(run_id)

        if self.role != "door":
            self.executor.launch(run_id, begin, options)
        return run_id

    @property
    def _owner(self) -> str:
        return WORKERS if self.role == "door" else self.executor.owner

    async def take(self) -> bool:
        """Executes the oldest run that waits for a worker, from where its last worker stopped. Returns False if no run
        waits. A run that ended several workers fails."""
        run = await self.in_thread(self.run_store.claim_next, self.executor.owner, list(self.executor.tasks))
        if run is None:
            return False
        resumed = (await self.in_thread(self.run_store.last_data, "resumed", [run.id])).get(run.id, {})
        if run.owner != WORKERS:
            resumed["workers"] = resumed.get("workers", 0) + 1
            await self.executor.record(run.id, "resumed", resumed)

        async def begin() -> tuple[Any, Any]:
            if resumed.get("workers", 0) >= _MOST_WORKERS:
                hint = f"See the workers' logs. Go on with it: `{resume_command(run.id)}`."
                raise RunError(f"{_MOST_WORKERS} workers ended while they worked on this question. {hint}", hint=hint)
            if not options.web:
                self.providers.check_offline()
            return await self._continuation(run, resumed.get("sides"))

        options = RunOptions.from_dict(run.options)
        self.executor.launch(run.id, begin, options)
        return True

    async def ahead(self, run_id: str) -> int:
        """Returns how many runs come before a waiting run."""
        tasks = list(self.executor.tasks)
        if self.role == "alone":
            return tasks.index(run_id) if run_id in tasks else 0
        return await self.in_thread(self.run_store.waiting, (await self.run(run_id)).created_at)

    async def ended(self, run_id: str, seconds: float) -> bool:
        """Waits for a run of this process. Returns whether it ended in time; at once False for any other run."""
        task = self.executor.tasks.get(run_id)
        return task is not None and bool((await asyncio.wait([task], timeout=seconds))[0])

    @property
    def at_work(self) -> frozenset[str]:
        """The runs of this process, including waiting runs and excluding runs that are stopping."""
        return frozenset(run_id for run_id, task in self.executor.tasks.items() if not task.cancelling())

    async def run(self, run_id: str) -> RunRow:
        """Returns the run by its id or an unambiguous prefix. Raises UnknownRunError."""
        return await self.in_thread(self.run_store.get, run_id)

    async def recent_events(self, run_id: str, after: int = 0) -> list[RunEvent]:
        """Returns the events with numbers above `after`."""
        return await self.in_thread(self.run_store.events, run_id, after)

    async def failures(self, run_ids: Sequence[str]) -> dict[str, RunFailure]:
        """Returns the failures by run id."""
        kept = await self.in_thread(self.run_store.last_data, "failed", run_ids)
        return {run_id: RunFailure(**data) for run_id, data in kept.items()}

    async def events(self, run_id: str, after: int = 0) -> AsyncIterator[RunEvent]:
        """Yields events after the number `after` until the run ends or waits for a person.

        Raises RunAbandonedError if the run's process is gone.
        """
        run = await outlast(partial(self.run, run_id))
        while True:
            change = self.notices.expect(run.id)
            run = await outlast(partial(self.run, run.id))
            for event in await outlast(partial(self.recent_events, run.id, after)):
                after = event.number
                yield event
            if run.status != "running":
                return
            if exc := self.executor.unrecorded.get(run.id):
                raise exc
            if run.abandoned and run.id not in self.at_work:  # its heartbeats may wait for the database
                hint = f"Go on with it: `{resume_command(run.id)}`."
                raise RunAbandonedError(f"the process that worked on run {run.id} is gone.", hint=hint)
            await self.notices.wait(change)

    async def answer(self, run_id: str, show: Callable[[RunEvent], None] | None = None) -> Answer:
        """Waits for the run and returns its answer. show: gets each event.

        Raises RunError if the run failed or waits for a person, RunCancelledError.
        """
        async for event in self.events(run_id, 0 if show else sys.maxsize):
            if show:
                show(event)
        run = await self.run(run_id)
        if run.answer is not None:
            return run.answer
        if run.status == "cancelled":
            hint = f"Go on with it: `{resume_command(run.id)}`."
            raise RunCancelledError(f"run {run.id} was cancelled.", hint=hint)
        if run.status == "waiting":
            raise RunError(f"run {run.id} waits for its sides to be reviewed.")
        failure = (await self.failures([run.id]))[run.id]
        cause = failure.cause()
        raise cause if isinstance(cause, RunCrashedError) else RunError(failure.error, hint=failure.hint)

    async def cancel(self, run_id: str) -> bool:
        """Stops the run, whichever process works on it. Returns False if the run had already ended."""
        run = await self.run(run_id)
        here = run.id in self.at_work
        stopped = await self.in_thread(self.run_store.mark_cancelled, run.id)
        await self.executor.cancel(run.id)
        if here and stopped:
            self.executor.on_end("cancelled")
        return stopped

    async def resume(self, run_id: str, sides: list[dict[str, Any]] | None = None) -> str:
        """Continues after the last finished stage with a new deadline. sides: the reply to a review.

        A finished run does not change. Raises RunBusyError if another process works on the run, InputError for invalid
        sides.
        """
        from agent.stages.expand import reviewed_perspectives

        run = await self.run(run_id)
        if run.status == "running" and (run.id in self.at_work or (self.role == "door" and not run.abandoned)):
            return run.id
        if run.status == "waiting" and sides is None:
            raise RunError(f"run {run.id} waits for its sides: send them with the resume.")
        if sides is not None:
            reviewed_perspectives(sides)
        options = RunOptions.from_dict(run.options)
        if not options.web:
            self.providers.check_offline()
        given = {} if sides is None else {"sides": sides}
        claimed = await self.in_thread(self.run_store.claim, run.id, self._owner, given)
        if claimed and self.role != "door":
            self.executor.launch(run.id, partial(self._continuation, run, sides), options)
        return run.id

    async def evidence(self, run_id: str) -> list[JudgedPassage]:
        """Returns the passages judged so far; none if the run has no local checkpoints. Raises UnknownRunError."""
        state = await self.state((await self.run(run_id)).id)
        own_sentences = state.get("own_sentences", {})
        return judged_pairs(
            state, await asyncio.to_thread(self.providers.passages, judged_passages(state), own_sentences)
        )

    async def retrieved(self, run_id: str) -> Retrieved:
        """Returns a finished run's passages by side. Raises as `answer`, and RunForgottenError without checkpoints."""
        answer = await self.answer(run_id)
        state = await self.state(answer.run_id)
        if not state:
            raise RunForgottenError(f"what run {answer.run_id} found for each side is not kept any more.")
        chosen, own_sentences = chosen_passages(state), state.get("own_sentences", {})
        return retrieved_result(answer, state, await asyncio.to_thread(self.providers.passages, chosen, own_sentences))

    async def delete(self, *run_ids: str) -> None:
        """Deletes the runs with checkpoints, events, answers and pages. Raises RunBusyError, UnknownRunError."""
        whole = [(await self.run(run_id)).id for run_id in run_ids]
        await delete_runs(whole, self.run_store, self._saver, self.in_thread)

    async def delete_thread(self, thread: str, person: str | None = None) -> None:
        """Deletes all runs of the thread. person: deletes only this person's runs. Deletes nothing if one of the runs
        is busy. Raises RunBusyError, UnknownRunError."""
        found = [r for r in await self.in_thread(self.run_store.thread, thread) if person in (None, r.person)]
        if not found:
            raise UnknownRunError(f"there is no thread '{thread}'.", hint="See the last runs: `python -m agent runs`.")
        await self.delete(*(run.id for run in found))

    async def state(self, run_id: str) -> RunState:
        """Returns the state of the run with this whole id; empty if the run has no checkpoints."""
        return cast(RunState, (await self._graph.aget_state(graph_config(run_id))).values)

    async def _continuation(self, run: RunRow, sides: list[dict[str, Any]] | None) -> tuple[Any, Any]:
        """Returns the graph's input and the checkpoint to continue from."""
        from langgraph.types import Command

        state = await self._graph.aget_state(graph_config(run.id))
        if state.values.get("version") != STATE_VERSION:
            # No stage has ended, the checkpoints are gone, or an older version wrote them.
            await self._saver.adelete_thread(run.id)
            started = (await self.in_thread(self.run_store.last_data, "started", [run.id])).get(run.id, {})
            by = started.get("by") or run.created_at
            thread = started.get("follows") or run.thread
            answers = await self.in_thread(RunStore(self.database, run.person).thread_answers, thread, by)
            options = RunOptions.from_dict(run.options)
            first = await first_state(run.question, options.earlier, answers, self.providers, options)
            return first, graph_config(run.id)
        if not state.next and any(task.error for task in state.tasks):
            # The stage was interrupted after its results, before its successor was stored. LangGraph calls it done
            # without a successor; its own checkpoint, by name, repeats it.
            return None, graph_config(run.id) | {"configurable": state.config["configurable"]}
        return Command(resume=sides) if sides is not None and state.interrupts else None, graph_config(run.id)


@asynccontextmanager
async def open_runs(
    settings: Settings | None = None,
    *,
    offline: bool = False,
    max_concurrent: int | None = None,
    warm: bool = False,
    build: BuildProviders | None = None,
    role: Role = "alone",
) -> AsyncIterator[Runs]:
    """Opens the service and indexes the samples. offline: no request leaves this machine. warm: load all models now."""
    given = {"build": build} if build else {}
    async with Runs(settings or load_settings(), max_concurrent=max_concurrent, role=role, **given) as runs:
        if offline:
            runs.providers.check_offline()
        if sys.stderr.isatty() and not runs.store.has_collection(SAMPLES):
            print("Indexing the sample passages (once) …", file=sys.stderr)
        await asyncio.to_thread(runs.parts.index_samples)
        if warm:
            from agent.runs.build import warm_up

            await warm_up(runs.providers)
        yield runs

"""The service to the agent: start a run, follow its events, cancel it, resume it, read its answer, delete it.

Command line, page, API and evals all open it here (`open_runs`). A run, its events and its answer are rows in the
store's database; the graph's checkpoints lie beside it, so that a run continues from its last finished stage in any
process. `parts` opens the store, the indexes and the providers.
"""

import asyncio
import contextlib
import sys
import uuid
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from agent.answer.followups import initial_state
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
from agent.runs.bootstrap import BuildProviders, open_parts, prepare_run
from agent.runs.executor import RunCrashedError, RunExecutor, RunFailure, TableThread, graph_config, resume_command
from agent.runs.store import RunEvent, RunRow, RunStore
from agent.settings import Settings, load_settings
from agent.state import STATE_VERSION, RunState, StageNote
from tools.errors import RunAbandonedError, RunCancelledError, RunError, RunForgottenError, StoreError, UnknownRunError
from tools.models.worker import lower_priority
from tools.net.tracing import set_up_tracing
from tools.store.store import SAMPLES

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver


async def delete_runs(
    run_ids: Sequence[str], runs: RunStore, saver: "BaseCheckpointSaver[Any]", thread: Executor | None = None
) -> None:
    """Removes the runs; their rows go last, so that one whose deletion failed on the way can be deleted again. thread:
    where the run tables are read and written, the event loop's own threads without one. Raises, before anything is
    removed, RunBusyError for a run that is worked on, UnknownRunError for one that is gone."""
    in_thread = partial(asyncio.get_running_loop().run_in_executor, thread)
    await in_thread(runs.check_free, run_ids)
    for run_id in run_ids:
        await saver.adelete_thread(run_id)
    await in_thread(runs.delete, *run_ids)


_THREADS = 32


class Runs:
    """The service, bound to one event loop. Use it as an async context manager."""

    def __init__(
        self, settings: Settings, build: BuildProviders | None = None, max_concurrent: int | None = None
    ) -> None:
        """`max_concurrent`: runs worked on at a time; the others wait their turn, and their deadline with them."""
        self.settings, self._build, self._max_concurrent = settings, build, max_concurrent
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> "Runs":
        from agent.graph import build_graph
        from agent.runs.checkpoints import open_checkpointer

        # Providers may hang; the loop's few default threads must not all wait for them.
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(_THREADS, "steelman", lower_priority))
        async with AsyncExitStack() as opening:
            await asyncio.to_thread(set_up_tracing)
            self._in_thread = TableThread(opening.enter_context(ThreadPoolExecutor(1, "steelman-runs")))
            self.parts = await asyncio.to_thread(open_parts, self.settings, self._build)
            opening.push_async_callback(self.parts.aclose)
            self.database, self.providers = self.parts.database, self.parts.providers
            self.store = self.parts.store.of("")  # what is everybody's
            self.run_store = RunStore(self.database)
            await self._in_thread(self.run_store.close_abandoned)
            saver = await opening.enter_async_context(open_checkpointer(self.settings))
            self._graph = build_graph(self.providers, saver)
            given = self._graph, self.providers, self.run_store, self._in_thread
            self.executor = RunExecutor(*given, self._max_concurrent)
            self._stack = opening.pop_all()
        return self

    async def __aexit__(self, *exc: object) -> None:
        for run_id in list(self.executor.tasks):
            await self.cancel(run_id)
        with contextlib.suppress(StoreError):  # a run that cannot be released is free once its heartbeat is stale
            # Also of a run whose start was cut short.
            await self._in_thread(self.run_store.cancel_owned, self.executor.owner)
        await self._stack.aclose()

    async def start(
        self,
        question: str,
        options: RunOptions | None = None,
        thread: str | None = None,
        person: str = "",
        by: str = "",
    ) -> str:
        """Begins a run and returns its id at once; `thread`: any run of the one that a follow-up belongs to. `person`:
        whose run it is, else that of the one it follows up on. `by`: only answers by that time (ISO, UTC) count, so
        that a number is the one on the reader's screen. Raises as `prepare_run` before anything is begun."""
        options = options or RunOptions.of()
        run_id = uuid.uuid4().hex[:12]
        before = await self.run(thread) if thread else None
        thread, person = (before.thread, person or before.person) if before else (run_id, person)
        answers, in_thread = partial(self._answers_before, thread, person, by), self._in_thread
        state = await prepare_run(
            question, options, self.providers, options.earlier, answers, in_thread=in_thread, person=person
        )
        question, owner = state["question"], self.executor.owner
        await self._in_thread(self.run_store.create, run_id, thread, question, options.to_dict(), owner, person)
        await self.executor.record(run_id, "started", {"question": question})

        async def begin() -> tuple[Any, Any]:
            return state, graph_config(run_id)

        self.executor.launch(run_id, begin, options)
        return run_id

    @property
    def at_work(self) -> frozenset[str]:
        """The runs that this process works on, waiting ones among them, and without those that are stopping."""
        return frozenset(run_id for run_id, task in self.executor.tasks.items() if not task.cancelling())

    async def run(self, run_id: str) -> RunRow:
        """The run; an unambiguous beginning of its id is enough. Raises UnknownRunError."""
        return await self._in_thread(self.run_store.get, run_id)

    async def recent_events(self, run_id: str, after: int = 0) -> list[RunEvent]:
        """What has happened in the run so far: its events with numbers above `after`."""
        return await self._in_thread(self.run_store.events, run_id, after)

    async def failures(self, run_ids: Sequence[str]) -> dict[str, RunFailure]:
        """How the runs failed, by id; those that never did have none."""
        kept = await self._in_thread(self.run_store.failures, run_ids)
        return {run_id: RunFailure(**data) for run_id, data in kept.items()}

    async def events(self, run_id: str, after: int = 0) -> AsyncIterator[RunEvent]:
        """The run's events with numbers above `after`, as they come, until the run ends or waits for a person.

        Raises RunAbandonedError when the process that worked on the run is gone.
        """
        run = await self.run(run_id)
        while True:
            # Taken before the rows are read, and set once: nobody else who follows can take the news away.
            news = self.executor.news(run.id)
            run = await self.run(run.id)
            for event in await self.recent_events(run.id, after):
                after = event.number
                yield event
            if run.status != "running" and not run.interrupted:
                return
            if exc := self.executor.unrecorded.get(run.id):
                raise exc
            if run.interrupted:
                hint = f"Go on with it: `{resume_command(run.id)}`."
                raise RunAbandonedError(f"the process that worked on run {run.id} is gone.", hint=hint)
            await self.executor.wait(run.id, news)

    async def answer(self, run_id: str) -> Answer:
        """Waits for the run to end and returns its answer.

        Raises RunError when it failed or waits for a person, RunCancelledError when it was cancelled.
        """
        async for _ in self.events(run_id, sys.maxsize):  # no row is read: only the end is awaited
            pass
        run = await self.run(run_id)
        if run.answer is not None:
            return Answer.model_validate_json(run.answer)
        if run.status == "cancelled":
            hint = f"Go on with it: `{resume_command(run.id)}`."
            raise RunCancelledError(f"run {run.id} was cancelled.", hint=hint)
        if run.status == "waiting":
            raise RunError(f"run {run.id} waits for its sides to be reviewed.")
        if (failure := (await self.failures([run.id])).get(run.id)) is None:
            raise RunError(run.error or f"run {run.id} failed.")
        cause = failure.cause()
        raise cause if isinstance(cause, RunCrashedError) else RunError(failure.error, hint=failure.hint)

    async def cancel(self, run_id: str) -> bool:
        """Stops the run, here or in whichever process works on it; False when it had ended already."""
        run = await self.run(run_id)
        here = run.id in self.at_work
        stopped = await self._in_thread(self.run_store.mark_cancelled, run.id)
        await self.executor.cancel(run.id)
        if here and stopped:
            self.executor.on_end("cancelled")
        return stopped

    async def resume(self, run_id: str, sides: list[dict[str, Any]] | None = None) -> str:
        """Goes on from the run's last finished stage, with a new deadline; `sides` answer a run that waits for review.

        A run that is done stays as it is. Raises RunBusyError while another process works on it, InputError for sides
        that cannot be searched for.
        """
        from agent.stages.expand import reviewed_perspectives

        run = await self.run(run_id)
        if run.status == "running" and run.id in self.at_work:
            return run.id
        if run.status == "waiting" and sides is None:
            raise RunError(f"run {run.id} waits for its sides: send them with the resume.")
        if sides is not None:
            reviewed_perspectives(sides)
        options = RunOptions.from_dict(run.options)
        if not options.web:
            self.providers.check_offline()
        if await self._in_thread(self.run_store.claim, run.id, self.executor.owner):
            await self.executor.record(run.id, "resumed", {})
            self.executor.launch(run.id, partial(self._continuation, run, sides), options)
        return run.id

    async def evidence(self, run_id: str) -> list[JudgedPassage]:
        """What the judge made of each passage so far; nothing for a run whose checkpoints are not here.

        Raises UnknownRunError.
        """
        state = await self.state((await self.run(run_id)).id)
        return judged_pairs(state, await asyncio.to_thread(self.providers.passages, judged_passages(state)))

    async def retrieved(self, run_id: str) -> Retrieved:
        """What a finished run found for each side. Raises as `answer` does, and RunForgottenError where its checkpoints
        are gone."""
        answer = await self.answer(run_id)
        state = await self.state(answer.run_id)
        if not state:
            raise RunForgottenError(f"what run {answer.run_id} found for each side is not kept any more.")
        return retrieved_result(answer, state, await asyncio.to_thread(self.providers.passages, chosen_passages(state)))

    async def delete(self, *run_ids: str) -> None:
        """Removes the runs with their checkpoints, events, answers and the pages that they read. Raises RunBusyError
        while somebody works on one, UnknownRunError."""
        saver = cast("BaseCheckpointSaver[Any]", self._graph.checkpointer)
        whole = [(await self.run(run_id)).id for run_id in run_ids]
        await delete_runs(whole, self.run_store, saver, self._in_thread.pool)

    async def delete_thread(self, thread: str, person: str | None = None) -> None:
        """Removes every run of the thread, or every one that is a person's, or none: raises RunBusyError while somebody
        works on one of them, UnknownRunError when there is no such thread."""
        found = [r for r in await self._in_thread(self.run_store.thread, thread) if person in (None, r.person)]
        if not found:
            raise UnknownRunError(f"there is no thread '{thread}'.", hint="See the last runs: `python -m agent runs`.")
        await self.delete(*(run.id for run in found))

    async def state(self, run_id: str) -> RunState:
        """The run's state by its whole id; empty where its checkpoints are gone."""
        return cast(RunState, (await self._graph.aget_state(graph_config(run_id))).values)

    def _answers_before(self, thread: str, person: str, asked_at: str = "") -> list[Answer]:
        """The thread's answers that a person may see, oldest first: all, or those of before a time (ISO, UTC)."""
        kept = RunStore(self.database, person).thread_answers(thread, asked_at)
        return [Answer.model_validate_json(answer) for answer in kept]

    async def _continuation(self, run: RunRow, sides: list[dict[str, Any]] | None) -> tuple[Any, Any]:
        """What the graph is given, and from which checkpoint it goes on."""
        from langgraph.types import Command

        state = await self._graph.aget_state(graph_config(run.id))
        if state.values.get("version") != STATE_VERSION:
            # It had no stage yet, its checkpoints are gone, or an older version wrote them.
            await cast("BaseCheckpointSaver[Any]", self._graph.checkpointer).adelete_thread(run.id)
            answers = await self._in_thread(self._answers_before, run.thread, run.person, run.created_at)
            begun = initial_state(run.question, RunOptions.from_dict(run.options).earlier, answers)
            if state.values:
                told = "An older version of Steelman began this run. It was started again from the beginning."
                begun["notes"] = [StageNote(stage="frame", message=told, kind="scope")]
            return begun, graph_config(run.id)
        if not state.next and any(task.error for task in state.tasks):
            # The stage was cut off between its results and where to go next. LangGraph takes it for done, with nothing
            # to follow; from its own checkpoint by name it is done again.
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
) -> AsyncIterator[Runs]:
    """The service, with the samples indexed; `offline`: nothing leaves this machine then.

    `warm`: what the first question would wait for is loaded too. `max_concurrent`, `build`: see Runs.
    """
    given = {"build": build} if build else {}
    async with Runs(settings or load_settings(), max_concurrent=max_concurrent, **given) as runs:
        if offline:
            runs.providers.check_offline()
        if sys.stderr.isatty() and not runs.store.has_collection(SAMPLES):
            print("Indexing the sample passages (once) …", file=sys.stderr)
        await asyncio.to_thread(runs.parts.index_samples)
        if warm:
            from agent.runs.build import warm_up

            await warm_up(runs.providers)
        yield runs

"""The one door to the agent: start a run, follow its events, cancel it, resume it, read its answer.

Command line, page, API and evals all come through here. A run, its events and its answer are rows in the store's
database; the graph's checkpoints lie beside it, so that a run continues from its last finished stage in any process.
"""

import asyncio
import contextlib
import os
import socket
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast
from weakref import WeakValueDictionary

from agent.answer.build import answer_of
from agent.answer.judged import Evidence, evidence_of, judged_passages
from agent.answer.model import Answer
from agent.answer.retrieved import Retrieved, chosen_passages, retrieved_of
from agent.evidence.followups import opening
from agent.options import RunOptions
from agent.providers.build import build_providers
from agent.question import check_form, check_question
from agent.runs.deletion import delete_runs
from agent.runs.store import Event, RunRow, RunStatus, RunStore
from agent.seams import Providers
from agent.settings import Settings
from agent.state import RunState
from agent.tracing import Traced, langsmith_of, run_span, set_up_tracing
from tools.errors import RunAbandonedError, RunCancelledError, RunError, SteelmanError, StoreError, UnknownRunError
from tools.inference.worker import lower_priority
from tools.store.database import Database, translated
from tools.store.store import Store, check_encoder

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver
    from langgraph.graph.state import CompiledStateGraph

HEARTBEAT_SECONDS = 2.0
_POLL_SECONDS = 0.2
_THREADS = 32
_RECURSION = 100
P = ParamSpec("P")
T = TypeVar("T")


class Runs:
    """The door, bound to one event loop. Use it as an async context manager."""

    def __init__(
        self,
        settings: Settings,
        build: Callable[[Settings, Store], Providers] = build_providers,
        at_once: int | None = None,
    ) -> None:
        """`at_once`: runs worked on at a time; the others wait their turn, and their deadline with them."""
        self.settings = settings
        self._build = build
        self._turns = asyncio.Semaphore(at_once) if at_once else contextlib.nullcontext()
        self._owner = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:6]}"
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._news: WeakValueDictionary[str, asyncio.Event] = WeakValueDictionary()  # alive while somebody follows
        self._unrecorded: dict[str, SteelmanError] = {}
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> "Runs":
        # Providers may hang; the loop's few default threads must not all wait for them.
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(_THREADS, "steelman", lower_priority))
        async with AsyncExitStack() as opening:
            await asyncio.to_thread(set_up_tracing)
            self._desk = opening.enter_context(ThreadPoolExecutor(1, "steelman-runs"))
            self.database = await asyncio.to_thread(Database, self.settings.database_path)
            opening.callback(self.database.close)
            self.store = Store(self.database)
            self.runs = RunStore(self.database)
            self.providers = await asyncio.to_thread(self._build, self.settings, self.store)
            opening.push_async_callback(self.providers.aclose)
            self._graph = await self._open_graph(opening)
            self._stack = opening.pop_all()
        return self

    async def __aexit__(self, *exc: object) -> None:
        for run_id in list(self._tasks):
            await self.cancel(run_id)
        with contextlib.suppress(StoreError):  # a run that cannot be let go of is free once its heartbeat is stale
            await self.at_desk(self.runs.let_go, self._owner)  # also of a run whose start was cut short
        await self._stack.aclose()

    async def start(self, question: str, options: RunOptions | None = None, thread: str | None = None) -> str:
        """Begins a run and returns its id at once.

        `thread` is the id of the thread that a follow-up belongs to (the id of its first run). Raises QuestionError,
        UnknownCollectionError, EncoderMismatchError before anything is begun.
        """
        options = options or RunOptions.of()
        options.check()
        question = await self.at_desk(check_question, question, english_only=self.providers.english_only)
        if not options.web:
            self.providers.check_offline()
        run_id = uuid.uuid4().hex[:12]
        thread = (await self.at_desk(self.runs.get, thread)).thread if thread else run_id
        opening = await self.at_desk(self._opening, question, thread, options.earlier)
        # The grammar knows at once; a model is asked in the run itself. What argues with a claim is framed already.
        if self.providers.english_only and "against" not in opening:
            check_form((await self.providers.framer.frame(question, opening["earlier"]))["form"], question)
        for collection in options.collections:
            _, made_by = await self.at_desk(self.store.collection, collection)
            check_encoder(collection, made_by, self.providers.search.encoder.name)
        await self.at_desk(self.runs.create, run_id, thread, question, options.to_dict(), self._owner)
        await self._tell(run_id, "started", {"question": question})

        async def begin() -> tuple[Any, Any]:
            return opening, _config(run_id)

        self._launch(run_id, begin, options)
        return run_id

    @property
    def at_work(self) -> frozenset[str]:
        """The runs that this process works on, those that wait their turn among them."""
        return frozenset(self._tasks)

    async def settled(self, run_id: str) -> RunRow:
        """The run once this process does not work on it any more."""
        if task := self._tasks.get(run_id):
            await asyncio.wait([task])
        return await self.at_desk(self.runs.get, run_id)

    async def events(self, run_id: str, after: int = 0) -> AsyncIterator[Event]:
        """The run's events with numbers above `after`, as they come, until the run ends or waits for a person.

        Raises RunAbandonedError when the process that worked on the run is gone.
        """
        run = await self.at_desk(self.runs.get, run_id)
        while True:
            # Taken before the rows are read, and set once: nobody else who follows can take the news away.
            news = self._news.setdefault(run.id, asyncio.Event())
            run = await self.at_desk(self.runs.get, run.id)
            for event in await self.at_desk(self.runs.events, run.id, after):
                after = event.number
                yield event
            if run.status != "running":
                return
            if exc := self._unrecorded.get(run.id):
                raise exc
            if run.abandoned:
                raise RunAbandonedError(
                    f"the process that worked on run {run.id} is gone. "
                    f"Go on with it: `python -m agent ask --resume {run.id}`."
                )
            with contextlib.suppress(TimeoutError):
                # What happens in this process wakes; only another process's progress has to be looked for.
                await asyncio.wait_for(news.wait(), HEARTBEAT_SECONDS if run.id in self._tasks else _POLL_SECONDS)

    async def answer(self, run_id: str) -> Answer:
        """Waits for the run to end and returns its answer.

        Raises RunError when it failed or waits for a person, RunCancelledError when it was cancelled.
        """
        async for _ in self.events(run_id):
            pass
        run = await self.at_desk(self.runs.get, run_id)
        if run.answer is not None:
            return Answer.model_validate_json(run.answer)
        if run.status == "cancelled":
            raise RunCancelledError(
                f"run {run.id} was cancelled. Go on with it: `python -m agent ask --resume {run.id}`."
            )
        if run.status == "waiting":
            raise RunError(f"run {run.id} waits for its sides to be reviewed.")
        raise RunError(run.error or f"run {run.id} failed.")

    async def cancel(self, run_id: str) -> bool:
        """Stops the run, here or in whichever process works on it; False when it had ended already."""
        run = await self.at_desk(self.runs.get, run_id)
        stopped = await self.at_desk(self.runs.mark_cancelled, run.id)
        if task := self._tasks.get(run.id):
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await self._end(run.id, "cancelled", {})  # a task that had not begun could not do it itself
        return stopped

    async def put_down(self) -> None:
        """Stops work on all runs and leaves them as they are: whoever resumes one goes on from its last finished stage.

        Nothing is told of it in their events, as it would be of a cancel.
        """
        tasks = list(self._tasks.values())
        await self.at_desk(self.runs.release, self._owner)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def resume(self, run_id: str, sides: list[dict[str, Any]] | None = None) -> str:
        """Goes on from the run's last finished stage, with a new deadline; `sides` answer a run that waits for review.

        A run that is done stays as it is. Raises RunBusyError while another process works on it, InputError for sides
        that cannot be searched for.
        """
        from agent.nodes.review import reviewed

        run = await self.at_desk(self.runs.get, run_id)
        if run.status == "running" and run.id in self._tasks:
            return run.id
        if run.status == "waiting" and sides is None:
            raise RunError(f"run {run.id} waits for its sides: send them with the resume.")
        if sides is not None:
            reviewed(sides)
        options = RunOptions.from_dict(run.options)
        if not options.web:
            self.providers.check_offline()
        if await self.at_desk(self.runs.claim, run.id, self._owner):
            await self._tell(run.id, "resumed", {})
            self._launch(run.id, partial(self._continuation, run, sides), options)
        return run.id

    async def evidence(self, run_id: str) -> list[Evidence]:
        """What the judge made of each passage so far; nothing for a run whose checkpoints are not here.

        Raises UnknownRunError.
        """
        run = await self.at_desk(self.runs.get, run_id)
        state = cast(RunState, (await self._graph.aget_state(_config(run.id))).values)
        return evidence_of(state, await asyncio.to_thread(self.store.passages, judged_passages(state)))

    async def retrieved(self, run_id: str) -> Retrieved:
        """What a finished run found for each side. Raises as `answer` does."""
        answer = await self.answer(run_id)
        state = cast(RunState, (await self._graph.aget_state(_config(answer.run_id))).values)
        passages = await asyncio.to_thread(self.store.passages, chosen_passages(state))
        return retrieved_of(answer, state, passages)

    async def delete(self, run_id: str) -> None:
        """Removes the run with its checkpoints, its events, its answer and the pages that it read.

        Raises RunBusyError while somebody works on it, UnknownRunError.
        """
        await self._delete([(await self.at_desk(self.runs.get, run_id)).id])

    async def delete_thread(self, thread: str) -> None:
        """Removes every run of the thread, or none: raises RunBusyError while somebody works on one of them.

        Raises UnknownRunError when there is no such thread.
        """
        found = await self.at_desk(self.runs.thread, thread)
        if not found:
            raise UnknownRunError(f"there is no thread '{thread}'. See the last runs: `python -m agent runs`.")
        await self._delete([run.id for run in found])

    async def at_desk(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Reads or writes the run tables in a thread of their own, which no slow provider can hold up."""
        return await asyncio.get_running_loop().run_in_executor(self._desk, partial(work, *args, **kwargs))

    # Inside

    async def _delete(self, run_ids: Sequence[str]) -> None:
        saver = cast("BaseCheckpointSaver[Any]", self._graph.checkpointer)
        with translated(self.settings.checkpoint_path):
            await delete_runs(run_ids, self.runs, saver, self._desk)

    async def _open_graph(
        self, opening: AsyncExitStack
    ) -> "CompiledStateGraph[RunState, RunOptions, RunState, RunState]":
        from agent.graph import build_graph
        from agent.runs.checkpoints import open_checkpointer

        return build_graph(self.providers, await opening.enter_async_context(open_checkpointer(self.settings)))

    def _opening(self, question: str, thread: str, earlier: Sequence[str], asked_at: str = "") -> RunState:
        """What a run begins with, read against the thread's answers, or those that were there when it was asked."""
        answers = [Answer.model_validate_json(a) for a in self.runs.thread_answers(thread)]
        if asked_at:
            answers = [a for a in answers if (self.runs.get(a.run_id).finished_at or "") <= asked_at]
        return opening(question, earlier, answers)

    async def _continuation(self, run: RunRow, sides: list[dict[str, Any]] | None) -> tuple[Any, Any]:
        """What the graph is given, and from which checkpoint it goes on."""
        from langgraph.types import Command

        state = await self._graph.aget_state(_config(run.id))
        if not state.values:
            earlier = RunOptions.from_dict(run.options).earlier
            opening = await self.at_desk(self._opening, run.question, run.thread, earlier, run.created_at)
            return opening, _config(run.id)
        if not state.next and any(task.error for task in state.tasks):
            # The stage was cut off after it had written its results and before it had said where to go next. LangGraph
            # takes it for done, with nothing to follow; from its own checkpoint by name it is done again.
            return None, state.config | {"recursion_limit": _RECURSION}
        return Command(resume=sides) if sides is not None and state.interrupts else None, _config(run.id)

    def _launch(self, run_id: str, begin: Callable[[], Awaitable[tuple[Any, Any]]], options: RunOptions) -> None:
        self._unrecorded.pop(run_id, None)
        task = asyncio.create_task(self._work(run_id, begin, options), name=f"run-{run_id}")
        self._tasks[run_id] = task
        task.add_done_callback(lambda _: self._tasks.pop(run_id, None))

    async def _work(self, run_id: str, begin: Callable[[], Awaitable[tuple[Any, Any]]], options: RunOptions) -> None:
        heart = asyncio.create_task(self._beat(run_id))
        try:
            if isinstance(self._turns, asyncio.Semaphore) and self._turns.locked():
                await self._tell(run_id, "queued", {"ahead": self._ahead(run_id)})
            async with self._turns:
                options = replace(options, deadline_at=time.time() + options.deadline_seconds)
                with run_span(run_id, options) as traced:
                    await self._carry_out(run_id, *await begin(), options, traced)
        except SteelmanError as exc:
            await self._end(run_id, "failed", {"error": str(exc), "kind": type(exc).__name__}, error=str(exc))
        except asyncio.CancelledError:
            await asyncio.shield(self._end(run_id, "cancelled", {}))
            raise
        except BaseException as exc:
            what = f"something went wrong inside Steelman ({type(exc).__name__}: {exc})."
            message = f"{what} Go on with `python -m agent ask --resume {run_id}`."
            await self._end(run_id, "failed", {"error": message, "kind": type(exc).__name__}, error=message)
            raise
        finally:
            heart.cancel()

    def _ahead(self, run_id: str) -> int:
        """How many runs this process took on before this one and has not finished."""
        return list(self._tasks).index(run_id)

    async def _carry_out(self, run_id: str, graph_input: Any, config: Any, options: RunOptions, traced: Traced) -> None:
        began = time.monotonic()
        await self._follow_graph(run_id, graph_input, config, options)
        snapshot = await self._graph.aget_state(_config(run_id))
        if snapshot.next:
            traced.note(status="waiting")
            await self._end(run_id, "waiting", {"sides": snapshot.values["perspectives"]})
        else:
            state, took = cast(RunState, snapshot.values), time.monotonic() - began
            answer = await answer_of(run_id, state, options, self.providers, took)
            traced.done(answer.outcome, answer.providers)
            await self._end(run_id, "done", {"outcome": answer.outcome}, answer=answer.model_dump_json())

    async def _follow_graph(self, run_id: str, graph_input: Any, config: Any, options: RunOptions) -> None:
        stream = self._graph.astream(graph_input, config, context=options, stream_mode="custom", durability="sync")
        with langsmith_of(options):
            async for event in stream:
                data = dict(event)
                await self._tell(run_id, data.pop("kind"), data)

    async def _end(
        self,
        run_id: str,
        status: RunStatus,
        data: dict[str, Any],
        answer: str | None = None,
        error: str | None = None,
    ) -> None:
        try:
            await self.at_desk(self.runs.finish, run_id, self._owner, status, data, answer, error)
        except SteelmanError as exc:  # a full disk, say: whoever follows the run has to hear of it all the same
            self._unrecorded[run_id] = exc
        self._wake(run_id)

    async def _beat(self, run_id: str) -> None:
        alive = True
        while alive:
            await asyncio.sleep(HEARTBEAT_SECONDS)
            with contextlib.suppress(StoreError):  # the next beat may come through
                alive = await self.at_desk(self.runs.beat, run_id, self._owner)
        if task := self._tasks.get(run_id):  # cancelled from another process, or taken over by one
            task.cancel()

    async def _tell(self, run_id: str, kind: str, data: dict[str, Any]) -> None:
        await self.at_desk(self.runs.add_event, run_id, self._owner, kind, data)
        self._wake(run_id)

    def _wake(self, run_id: str) -> None:
        if news := self._news.pop(run_id, None):
            news.set()


def _config(run_id: str) -> Any:
    return {"configurable": {"thread_id": run_id}, "recursion_limit": _RECURSION}

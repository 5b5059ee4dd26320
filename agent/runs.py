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

from agent.answer import Answer
from agent.assemble import assemble
from agent.building import build_providers
from agent.deletion import delete_runs
from agent.evidence import Evidence, evidence_of, judged_passages
from agent.followups import resolve
from agent.options import RunOptions
from agent.providers import Providers
from agent.question import check_form, check_question
from agent.run_store import Event, RunRow, RunStatus, RunStore
from agent.samples import nearest_questions
from agent.settings import Settings
from agent.state import RunState, quotes_of
from tools.errors import DeadlineError, RunCancelledError, RunError, SteelmanError, StoreError, UnknownRunError
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

    def __init__(self, settings: Settings, build: Callable[[Settings, Store], Providers] = build_providers) -> None:
        self.settings = settings
        self._build = build
        self._owner = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:6]}"
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._news: WeakValueDictionary[str, asyncio.Event] = WeakValueDictionary()  # alive while somebody follows
        self._unrecorded: dict[str, SteelmanError] = {}
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> "Runs":
        # Providers may hang; the loop's few default threads must not all wait for them.
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(_THREADS, "steelman"))
        async with AsyncExitStack() as opening:
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
            await self._at_desk(self.runs.let_go, self._owner)  # also of a run whose start was cut short
        await self._stack.aclose()

    async def start(self, question: str, options: RunOptions | None = None, thread: str | None = None) -> str:
        """Begins a run and returns its id at once.

        `thread` is the id of the thread that a follow-up belongs to (the id of its first run). Raises QuestionError,
        UnknownCollectionError, EncoderMismatchError before anything is begun.
        """
        options = options or RunOptions.of()
        options.check()
        question = await asyncio.to_thread(check_question, question, english_only=self.providers.english_only)
        if not options.web:
            self.providers.check_offline()
        run_id = uuid.uuid4().hex[:12]
        thread = (await self._at_desk(self.runs.get, thread)).thread if thread else run_id
        opening = await self._at_desk(self._opening, question, thread)
        # The grammar knows at once; a model is asked in the run itself. What argues with a claim is framed already.
        if self.providers.english_only and "against" not in opening:
            check_form((await self.providers.framer.frame(question, opening["earlier"]))["form"], question)
        for collection in options.collections:
            _, made_by = await asyncio.to_thread(self.store.collection, collection)
            check_encoder(collection, made_by, self.providers.search.encoder.name)
        await self._at_desk(self.runs.create, run_id, thread, question, options.to_dict(), self._owner)
        await self._tell(run_id, "started", {"question": question})

        async def begin() -> tuple[Any, Any]:
            return opening, _config(run_id)

        self._launch(run_id, begin, options)
        return run_id

    async def events(self, run_id: str, after: int = 0) -> AsyncIterator[Event]:
        """The run's events with numbers above `after`, as they come, until the run ends or waits for a person.

        Raises RunError when the process that worked on the run is gone.
        """
        run = await self._at_desk(self.runs.get, run_id)
        news = self._news.setdefault(run.id, asyncio.Event())
        while True:
            news.clear()
            run = await self._at_desk(self.runs.get, run.id)
            for event in await self._at_desk(self.runs.events, run.id, after):
                after = event.number
                yield event
            if run.status != "running":
                return
            if exc := self._unrecorded.get(run.id):
                raise exc
            if run.abandoned:
                raise RunError(
                    f"the process that worked on run {run.id} is gone. "
                    f"Go on with it: `python -m agent ask --resume {run.id}`."
                )
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(news.wait(), _POLL_SECONDS)

    async def answer(self, run_id: str) -> Answer:
        """Waits for the run to end and returns its answer.

        Raises RunError when it failed or waits for a person, RunCancelledError when it was cancelled.
        """
        async for _ in self.events(run_id):
            pass
        run = await self._at_desk(self.runs.get, run_id)
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
        run = await self._at_desk(self.runs.get, run_id)
        stopped = await self._at_desk(self.runs.mark_cancelled, run.id)
        if task := self._tasks.get(run.id):
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await self._end(run.id, "cancelled", {})  # a task that had not begun could not do it itself
        return stopped

    async def resume(self, run_id: str, sides: list[dict[str, Any]] | None = None) -> str:
        """Goes on from the run's last finished stage, with a new deadline; `sides` answer a run that waits for review.

        A run that is done stays as it is. Raises RunBusyError while another process works on it, InputError for sides
        that cannot be searched for.
        """
        from agent.nodes.review import reviewed

        run = await self._at_desk(self.runs.get, run_id)
        if run.status == "running" and run.id in self._tasks:
            return run.id
        if run.status == "waiting" and sides is None:
            raise RunError(f"run {run.id} waits for its sides: send them with the resume.")
        if sides is not None:
            reviewed(sides)
        options = RunOptions.from_dict(run.options)
        if not options.web:
            self.providers.check_offline()
        if await self._at_desk(self.runs.claim, run.id, self._owner):
            await self._tell(run.id, "resumed", {})
            self._launch(run.id, partial(self._continuation, run, sides), options)
        return run.id

    async def evidence(self, run_id: str) -> list[Evidence]:
        """What the judge made of each passage so far; nothing for a run whose checkpoints are not here.

        Raises UnknownRunError.
        """
        run = await self._at_desk(self.runs.get, run_id)
        state = cast(RunState, (await self._graph.aget_state(_config(run.id))).values)
        return evidence_of(state, await asyncio.to_thread(self.store.passages, judged_passages(state)))

    async def delete(self, run_id: str) -> None:
        """Removes the run with its checkpoints, its events, its answer and the pages that it read.

        Raises RunBusyError while somebody works on it, UnknownRunError.
        """
        await self._delete([(await self._at_desk(self.runs.get, run_id)).id])

    async def delete_thread(self, thread: str) -> None:
        """Removes every run of the thread, or none: raises RunBusyError while somebody works on one of them.

        Raises UnknownRunError when there is no such thread.
        """
        found = await self._at_desk(self.runs.thread, thread)
        if not found:
            raise UnknownRunError(f"there is no thread '{thread}'. See the last runs: `python -m agent runs`.")
        await self._delete([run.id for run in found])

    # Inside

    async def _delete(self, run_ids: Sequence[str]) -> None:
        saver = cast("BaseCheckpointSaver[Any]", self._graph.checkpointer)
        with translated(self.settings.checkpoint_path):
            await delete_runs(run_ids, self.runs, saver, self._desk)

    async def _open_graph(
        self, opening: AsyncExitStack
    ) -> "CompiledStateGraph[RunState, RunOptions, RunState, RunState]":
        from agent.checkpoints import open_checkpointer
        from agent.graph import build_graph

        return build_graph(self.providers, await opening.enter_async_context(open_checkpointer(self.settings)))

    def _opening(self, question: str, thread: str, asked_at: str = "") -> RunState:
        """What a run begins with, read against the thread's answers, or those that were there when it was asked."""
        answers = [Answer.model_validate_json(a) for a in self.runs.thread_answers(thread)]
        if asked_at:
            answers = [a for a in answers if (self.runs.get(a.run_id).finished_at or "") <= asked_at]
        opening = RunState(question=question, earlier=[a.neutral_question for a in answers])
        against = resolve(question, answers)
        return RunState(**opening, against=against) if against else opening

    async def _continuation(self, run: RunRow, sides: list[dict[str, Any]] | None) -> tuple[Any, Any]:
        """What the graph is given, and from which checkpoint it goes on."""
        from langgraph.types import Command

        state = await self._graph.aget_state(_config(run.id))
        if not state.values:
            return await self._at_desk(self._opening, run.question, run.thread, run.created_at), _config(run.id)
        if not state.next and any(task.error for task in state.tasks):
            # The stage was cut off after it had written its results and before it had said where to go next. LangGraph
            # takes it for done, with nothing to follow; from its own checkpoint by name it is done again.
            return None, state.config | {"recursion_limit": _RECURSION}
        return Command(resume=sides) if sides is not None and state.interrupts else None, _config(run.id)

    def _launch(self, run_id: str, begin: Callable[[], Awaitable[tuple[Any, Any]]], options: RunOptions) -> None:
        self._unrecorded.pop(run_id, None)
        options = replace(options, deadline_at=time.time() + options.deadline_seconds)
        task = asyncio.create_task(self._work(run_id, begin, options), name=f"run-{run_id}")
        self._tasks[run_id] = task
        task.add_done_callback(lambda _: self._tasks.pop(run_id, None))

    async def _work(self, run_id: str, begin: Callable[[], Awaitable[tuple[Any, Any]]], options: RunOptions) -> None:
        heart = asyncio.create_task(self._beat(run_id))
        try:
            await self._carry_out(run_id, *await begin(), options)
        except SteelmanError as exc:
            await self._end(run_id, "failed", {"error": str(exc)}, error=str(exc))
        except asyncio.CancelledError:
            await asyncio.shield(self._end(run_id, "cancelled", {}))
            raise
        except BaseException as exc:
            what = f"something went wrong inside Steelman ({type(exc).__name__}: {exc})."
            message = f"{what} Go on with `python -m agent ask --resume {run_id}`."
            await self._end(run_id, "failed", {"error": message}, error=message)
            raise
        finally:
            heart.cancel()

    async def _carry_out(self, run_id: str, graph_input: Any, config: Any, options: RunOptions) -> None:
        began = time.monotonic()
        await self._follow_graph(run_id, graph_input, config, options)
        snapshot = await self._graph.aget_state(_config(run_id))
        if snapshot.next:
            await self._end(run_id, "waiting", {"sides": snapshot.values["perspectives"]})
        else:
            answer = await self._answer(run_id, cast(RunState, snapshot.values), options, began)
            await self._end(run_id, "done", {"outcome": answer.outcome}, answer=answer.model_dump_json())

    async def _follow_graph(self, run_id: str, graph_input: Any, config: Any, options: RunOptions) -> None:
        stream = self._graph.astream(graph_input, config, context=options, stream_mode="custom", durability="sync")
        with _tracing(options):
            async for event in stream:
                data = dict(event)
                await self._tell(run_id, data.pop("kind"), data)

    async def _answer(self, run_id: str, state: RunState, options: RunOptions, began: float) -> Answer:
        from agent.nodes.reporting import in_time

        cited = {i for c in state.get("claims", []) for i in c["passages"]}
        explained = {r["passage"] for r in state.get("reasons", [])}
        said = {q["passage"] for r in state.get("responses", []) for q in quotes_of(r)}
        passages = await asyncio.to_thread(self.store.passages, cited | explained | said)
        nearest: list[str] = []
        if not cited:
            with contextlib.suppress(DeadlineError):  # a courtesy that an answer does not wait for
                asked = nearest_questions(state["framing"]["neutral"], self.providers.models)
                nearest = await in_time(options, "verify", asked)
        return assemble(run_id, state, passages, self.providers.names, nearest, time.monotonic() - began)

    async def _end(
        self,
        run_id: str,
        status: RunStatus,
        data: dict[str, Any],
        answer: str | None = None,
        error: str | None = None,
    ) -> None:
        try:
            await self._at_desk(self.runs.finish, run_id, self._owner, status, data, answer, error)
        except SteelmanError as exc:  # a full disk, say: whoever follows the run has to hear of it all the same
            self._unrecorded[run_id] = exc
        self._wake(run_id)

    async def _beat(self, run_id: str) -> None:
        alive = True
        while alive:
            await asyncio.sleep(HEARTBEAT_SECONDS)
            with contextlib.suppress(StoreError):  # the next beat may come through
                alive = await self._at_desk(self.runs.beat, run_id, self._owner)
        if task := self._tasks.get(run_id):  # cancelled from another process, or taken over by one
            task.cancel()

    async def _tell(self, run_id: str, kind: str, data: dict[str, Any]) -> None:
        await self._at_desk(self.runs.add_event, run_id, self._owner, kind, data)
        self._wake(run_id)

    def _wake(self, run_id: str) -> None:
        if news := self._news.get(run_id):
            news.set()

    async def _at_desk(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Reads or writes the run tables in a thread of their own, which no slow provider can hold up."""
        return await asyncio.get_running_loop().run_in_executor(self._desk, partial(work, *args, **kwargs))


def _tracing(options: RunOptions) -> contextlib.AbstractContextManager[Any]:
    """A run of which nothing may leave this machine is not traced, whatever the environment asks of LangSmith."""
    if options.web:
        return contextlib.nullcontext()
    from langsmith import tracing_context

    return tracing_context(enabled=False)


def _config(run_id: str) -> Any:
    return {"configurable": {"thread_id": run_id}, "recursion_limit": _RECURSION}

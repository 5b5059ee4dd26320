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
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from agent.answer import Answer
from agent.assemble import assemble
from agent.options import RunOptions
from agent.providers import Providers, build_providers
from agent.question import check_form, check_question
from agent.run_store import Event, RunRow, RunStore
from agent.samples import nearest_questions
from agent.settings import Settings
from agent.state import RunState
from tools.database import Database
from tools.errors import RunCancelledError, RunError, SteelmanError
from tools.store import Store

if TYPE_CHECKING:
    from langgraph.graph.state import CompiledStateGraph

HEARTBEAT_SECONDS = 2.0
_POLL_SECONDS = 0.2
ENDED = ("done", "failed", "cancelled")


class Runs:
    """The door, bound to one event loop. Use it as an async context manager."""

    def __init__(self, settings: Settings, build: Callable[[Settings, Store], Providers] = build_providers) -> None:
        self.settings = settings
        self._build = build
        self._owner = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:6]}"
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._news: dict[str, asyncio.Event] = {}
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> "Runs":
        self.database = await asyncio.to_thread(Database, self.settings.database_path)
        self._stack.callback(self.database.close)
        self.store = Store(self.database)
        self.runs = RunStore(self.database)
        self.providers = await asyncio.to_thread(self._build, self.settings, self.store)
        self._graph = await self._open_graph()
        return self

    async def __aexit__(self, *exc: object) -> None:
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        await self._stack.aclose()

    async def start(self, question: str, options: RunOptions | None = None, thread: str | None = None) -> str:
        """Begins a run and returns its id at once.

        `thread` is the id of the thread that a follow-up belongs to (the id of its first run). Raises QuestionError,
        UnknownCollectionError, EncoderMismatchError before anything is begun.
        """
        options = options or RunOptions.of()
        options.check()
        question = await asyncio.to_thread(check_question, question)
        earlier = await asyncio.to_thread(self._earlier, thread) if thread else []
        framing = await self.providers.framer.frame(question, earlier)
        check_form(framing["form"], question)
        for collection in options.collections:
            await asyncio.to_thread(self.store.collection, collection)
        run_id = uuid.uuid4().hex[:12]
        await asyncio.to_thread(self.runs.create, run_id, thread or run_id, question, options.to_dict(), self._owner)
        await self._tell(run_id, [("started", {"question": question})])
        self._launch(run_id, RunState(question=question, earlier=earlier), options)
        return run_id

    async def events(self, run_id: str, after: int = 0) -> AsyncIterator[Event]:
        """The run's events with numbers above `after`, as they come, until the run ends or waits for a person."""
        run = await asyncio.to_thread(self.runs.get, run_id)
        while True:
            news = self._news.setdefault(run.id, asyncio.Event())
            news.clear()
            run = await asyncio.to_thread(self.runs.get, run.id)
            for event in await asyncio.to_thread(self.runs.events, run.id, after):
                after = event.number
                yield event
            if run.status != "running":
                return
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(news.wait(), _POLL_SECONDS)

    async def answer(self, run_id: str) -> Answer:
        """Waits for the run to end and returns its answer.

        Raises RunError when it failed or waits for a person, RunCancelledError when it was cancelled.
        """
        async for _ in self.events(run_id):
            pass
        run = await asyncio.to_thread(self.runs.get, run_id)
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
        run = await asyncio.to_thread(self.runs.get, run_id)
        taken = await asyncio.to_thread(self.runs.mark_cancelled, run.id)
        if taken:
            await self._tell(run.id, [("cancelled", {})])
        if task := self._tasks.get(run.id):
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        return taken

    async def resume(self, run_id: str, sides: list[dict[str, Any]] | None = None) -> str:
        """Goes on from the run's last finished stage, with a new deadline; `sides` answer a run that waits for review.

        A run that is done stays as it is. Raises RunBusyError while another process works on it.
        """
        run = await asyncio.to_thread(self.runs.get, run_id)
        if run.status == "done" or run.id in self._tasks:
            return run.id
        if run.status == "waiting" and sides is None:
            raise RunError(f"run {run.id} waits for its sides: send them with the resume.")
        await asyncio.to_thread(self.runs.claim, run.id, self._owner)
        await self._tell(run.id, [("resumed", {})])
        self._launch(run.id, await self._continuation(run, sides), RunOptions.from_dict(run.options))
        return run.id

    # Inside

    async def _open_graph(self) -> "CompiledStateGraph[RunState, RunOptions, RunState, RunState]":
        from agent.checkpoints import open_checkpointer
        from agent.graph import build_graph

        return build_graph(self.providers, await self._stack.enter_async_context(open_checkpointer(self.settings)))

    def _earlier(self, thread: str) -> list[str]:
        root = self.runs.get(thread).thread
        return [Answer.model_validate_json(a).neutral_question for a in self.runs.thread_answers(root)]

    async def _continuation(self, run: RunRow, sides: list[dict[str, Any]] | None) -> Any:
        if run.status == "waiting":
            from langgraph.types import Command

            return Command(resume=sides)
        begun = (await self._graph.aget_state(_config(run.id))).values
        return (
            None
            if begun
            else RunState(question=run.question, earlier=await asyncio.to_thread(self._earlier, run.thread))
        )

    def _launch(self, run_id: str, graph_input: Any, options: RunOptions) -> None:
        options = replace(options, deadline_at=time.time() + options.deadline_seconds)
        task = asyncio.create_task(self._work(run_id, graph_input, options), name=f"run-{run_id}")
        self._tasks[run_id] = task
        task.add_done_callback(lambda _: self._tasks.pop(run_id, None))

    async def _work(self, run_id: str, graph_input: Any, options: RunOptions) -> None:
        heart = asyncio.create_task(self._beat(run_id))
        began = time.monotonic()
        try:
            await self._follow_graph(run_id, graph_input, options)
            snapshot = await self._graph.aget_state(_config(run_id))
            if snapshot.next:
                await self._end(run_id, "waiting", "waiting", {"sides": snapshot.values["perspectives"]})
            else:
                answer = await self._answer(run_id, cast(RunState, snapshot.values), time.monotonic() - began)
                await self._end(run_id, "done", "done", {"outcome": answer.outcome}, answer=answer.model_dump_json())
        except SteelmanError as exc:
            await self._end(run_id, "failed", "failed", {"error": str(exc)}, error=str(exc))
        except asyncio.CancelledError:
            await asyncio.shield(self._end(run_id, "cancelled", "cancelled", {}))
            raise
        except BaseException as exc:
            what = f"something went wrong inside Steelman ({type(exc).__name__}: {exc})."
            message = f"{what} Go on with `python -m agent ask --resume {run_id}`."
            await self._end(run_id, "failed", "failed", {"error": message}, error=message)
            raise
        finally:
            heart.cancel()

    async def _follow_graph(self, run_id: str, graph_input: Any, options: RunOptions) -> None:
        stream = self._graph.astream(
            graph_input, _config(run_id), context=options, stream_mode="custom", durability="sync"
        )
        async for event in stream:
            data = dict(event)
            await self._tell(run_id, [(data.pop("kind"), data)])

    async def _answer(self, run_id: str, state: RunState, seconds: float) -> Answer:
        cited = {i for c in state.get("claims", []) for i in c["passages"]}
        passages = await asyncio.to_thread(self.store.passages, cited)
        nearest = await nearest_questions(state["framing"]["neutral"], self.providers.models) if not cited else []
        return assemble(run_id, state, passages, self.providers.names, nearest, seconds)

    async def _end(
        self,
        run_id: str,
        status: Any,
        kind: str,
        data: dict[str, Any],
        answer: str | None = None,
        error: str | None = None,
    ) -> None:
        # The event comes first: a follower that sees the run ended has then seen all of its events.
        if await asyncio.to_thread(self.runs.beat, run_id, self._owner):
            await self._tell(run_id, [(kind, data)])
            await asyncio.to_thread(self.runs.finish, run_id, self._owner, status, answer, error)
        if news := self._news.get(run_id):
            news.set()

    async def _beat(self, run_id: str) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_SECONDS)
            if not await asyncio.to_thread(self.runs.beat, run_id, self._owner):
                if task := self._tasks.get(run_id):  # cancelled from another process, or taken over by one
                    task.cancel()
                return

    async def _tell(self, run_id: str, events: list[tuple[str, dict[str, Any]]]) -> None:
        await asyncio.to_thread(self.runs.add_events, run_id, events)
        if news := self._news.get(run_id):
            news.set()


def _config(run_id: str) -> Any:
    return {"configurable": {"thread_id": run_id}, "recursion_limit": 100}

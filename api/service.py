"""Runs for callers over HTTP and MCP: limits, owners of runs, and runs that an earlier server left."""

import asyncio
import contextlib
import logging
import math
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Annotated, TypeVar, cast

from fastapi import Depends, Request

from agent.answer.model import Answer
from agent.answer.retrieved import Retrieved
from agent.options import RunOptions
from agent.runs.bootstrap import default_options
from agent.runs.executor import TableThread
from agent.runs.service import Runs, open_runs
from agent.runs.store import RunEvent, RunRow, RunStatus
from agent.settings import Settings
from api.callers import Caller, CallerRuns
from api.field_types import Cursor
from api.jobs import Jobs
from api.problems import ProblemError, failed_run
from api.recovery import LOOK_AGAIN, resume_left_runs
from api.schemas import Judged, JudgeRequest, QuestionRequest, RunDetails, RunList, RunSummary, Side
from tools.budget import deadline
from tools.errors import JudgeError, RunAbandonedError, UnknownRunError, as_sentence, without_hint
from tools.models.judges.judge import Pair

Result = TypeVar("Result", bound=Answer | Retrieved)
OpenRuns = Callable[[], AbstractAsyncContextManager[Runs]]
_LOG = logging.getLogger("steelman.server")
_JUDGING_SECONDS = 60.0
_MOST_SLOTS = 4
_RETRY_SECONDS = 10  # usually enough for one of the active runs to end


class ApiService:
    def __init__(self, runs: Runs, settings: Settings, in_thread: TableThread) -> None:
        """`in_thread`: runs a function in the thread of the table of callers' runs."""
        self.runs, self.settings = runs, settings
        self.jobs = Jobs(runs, settings.data_dir / "uploads")
        self._in_thread, self._caller_runs = in_thread, CallerRuns(runs.database)
        self._beginning = asyncio.Lock()  # so that limits hold for simultaneous requests
        self._begun_by: dict[str, str] = {}  # active run: its key
        self._slots: Counter[str] = Counter()  # by key: requests that judge or store
        self._left: set[str] = set()  # runs of an earlier server that are still to be resumed

    async def start(
        self, caller: Caller, request: QuestionRequest, *, writing: bool = True, idempotency_key: str | None = None
    ) -> str:
        """Starts the run of the request. Raises errors of `begin`."""
        before = await self.run(caller, request.thread) if request.thread else None
        usual = partial(default_options, self.runs, request.depth, before=before, **request.changes, writing=writing)
        options, thread = await asyncio.to_thread(usual), before.thread if before else None
        return await self.begin(caller, request.question, options, thread, idempotency_key)

    async def begin(
        self,
        caller: Caller,
        question: str,
        options: RunOptions,
        thread: str | None = None,
        idempotency_key: str | None = None,
    ) -> str:
        """Starts a run, or finds the run that the caller started with the same idempotency key. Returns its id. Raises
        ProblemError beyond a limit, and errors of `Runs.start`."""
        key = caller.key_id
        async with self._beginning:
            known = idempotency_key and await self._in_thread(self._caller_runs.started_with, key, idempotency_key)
            if not known:
                self._check_room(caller)
                run_id = await self.runs.start(question, options, thread)
                self._begun_by[run_id] = key
                if await self._in_thread(self._caller_runs.record, run_id, key, idempotency_key):
                    if self.settings.api_log_questions:
                        _LOG.info("run %s started", run_id, extra={"run": run_id, "question": question})
                    return run_id
                await self.runs.cancel(run_id)  # another process has used the idempotency key meanwhile
                await self.runs.delete(run_id)
                known = await self._in_thread(self._caller_runs.started_with, key, idempotency_key or "")
            row = await self.runs.run(known or "")
        if (row.question, row.options, row.thread) == (" ".join(question.split()), options.to_dict(), thread or row.id):
            return row.id
        detail = f"This Idempotency-Key belongs to run {row.id} of another request. Send a new key."
        raise ProblemError(409, "idempotency-key-used", detail)

    def _check_room(self, caller: Caller) -> None:
        """Raises ProblemError (429) if there are too many active and queued runs, in total or of the caller's key."""
        self._begun_by = {run: key for run, key in self._begun_by.items() if run in self.runs.at_work}
        everybody, most = len(self.runs.at_work), self.settings.api_runs + self.settings.api_waiting
        if everybody >= most:
            raise _too_many(f"There are {everybody} active and queued runs, the maximum is {most}.")
        own = list(self._begun_by.values()).count(caller.key_id)
        if own >= self.settings.api_key_runs:
            raise _too_many(f"This key has {own} active and queued runs, the maximum is {self.settings.api_key_runs}.")

    @contextlib.contextmanager
    def slot(self, caller: Caller) -> Iterator[None]:
        """Reserves one of the caller's slots for judging or storing. Raises ProblemError (429) if none is free."""
        if self._slots[caller.key_id] >= _MOST_SLOTS:
            raise _too_many(f"This key has {_MOST_SLOTS} open judge and store requests, the maximum.")
        self._slots[caller.key_id] += 1
        try:
            yield
        finally:
            self._slots[caller.key_id] -= 1

    async def judge(self, caller: Caller, request: JudgeRequest) -> Judged:
        """Judges the pairs; the built-in judge replaces one that fails. Raises ProblemError as `slot` does."""
        models, notes = self.runs.providers.models, list[str]()
        pairs = [Pair(p.statement, p.passage, p.contrary) for p in request.pairs]
        with self.slot(caller), deadline(time.time() + _JUDGING_SECONDS):
            chosen = models.judge()
            try:
                scores = await chosen.support(pairs)
            except JudgeError as exc:
                if models.judge_required:
                    raise
                notes.append(f"{as_sentence(str(exc))} The built-in judge replaced it.")
                chosen = models.judge(models.own_judge.name)
                scores = await chosen.support(pairs)
        probabilities = [None if math.isnan(s) else round(float(s), 4) for s in scores]
        return Judged(judge=chosen.name, threshold=chosen.threshold, probabilities=probabilities, notes=notes)

    async def run(self, caller: Caller, run_id: str) -> RunRow:
        """The caller's run with exactly this id. Raises UnknownRunError."""
        with contextlib.suppress(UnknownRunError):
            row = await self.runs.run(run_id)
            own = not caller.key_id or await self._in_thread(self._caller_runs.owns, row.id, caller.key_id)
            if row.id == run_id and own and not row.person:
                return row
        raise UnknownRunError(f"there is no run '{run_id}'.")

    async def events(self, run_id: str, after: int = 0) -> AsyncIterator[RunEvent]:
        """Like `Runs.events`, but waits for a run that this server will resume. Raises RunAbandonedError otherwise."""
        while True:
            try:
                async for event in self.runs.events(run_id, after):
                    after = event.number
                    yield event
                return
            except RunAbandonedError:
                # The order matters: a run is claimed before it leaves the set.
                if run_id not in self._left and (await self.runs.run(run_id)).interrupted:
                    raise
                await asyncio.sleep(LOOK_AGAIN)

    async def answer(self, run_id: str) -> Answer:
        """Like `Runs.answer`, without hints; waits for a run that this server will resume."""
        async for _ in self.events(run_id):
            pass
        return without_hints(await self.runs.answer(run_id))

    async def wait(self, run_id: str, seconds: float | None = None) -> bool:
        """Waits for the run. Returns whether it ended in time; a run that waits for a person did not. Raises
        ProblemError if it failed."""
        try:
            async with asyncio.timeout(seconds):
                async for _ in self.events(run_id):
                    pass
        except TimeoutError:
            return False
        row = await self.runs.run(run_id)
        if row.status == "failed":
            raise failed_run(run_id, (await self.runs.failures([run_id]))[run_id])
        return row.status != "waiting"

    async def retrieved(self, run_id: str) -> Retrieved:
        """Like `Runs.retrieved`, without hints."""
        return without_hints(await self.runs.retrieved(run_id))

    async def state(self, caller: Caller, run_id: str) -> RunDetails:
        row = await self.run(caller, run_id)
        events = await self.runs.recent_events(run_id)
        (summary,) = await self._summaries([row])
        return RunDetails(**dict(summary), events=events[-1].number if events else 0, answer=stored_answer(row))

    async def listed(
        self, caller: Caller, limit: int, status: RunStatus | None, thread: str | None, after: Cursor | None
    ) -> RunList:
        """A page of the caller's runs, newest first. `after`: the previous page's `next`."""
        rows, cursor = await self._in_thread(self._caller_runs.listed, caller.key_id, limit, after, status, thread)
        return RunList(runs=await self._summaries(rows), next=cursor)

    async def answered(self, caller: Caller, limit: int) -> list[RunRow]:
        """The caller's latest runs with an answer, newest first."""
        found = await self._in_thread(self._caller_runs.listed, caller.key_id, limit, None, "done", None, True)
        return list(found[0])

    async def _summaries(self, rows: Sequence[RunRow]) -> list[RunSummary]:
        failures = await self.runs.failures([row.id for row in rows if row.error])
        errors = {run_id: failure.cause().remote_text for run_id, failure in failures.items()}
        return [
            RunSummary.model_validate(row).model_copy(update={"error": row.error and errors.get(row.id, row.error)})
            for row in rows
        ]

    async def resume(self, caller: Caller, run_id: str, sides: list[Side] | None) -> None:
        """Raises ProblemError beyond a limit or in another state, and errors of `Runs.resume`."""
        row = await self.run(caller, run_id)
        if sides is not None and row.status not in ("waiting", "cancelled"):
            detail = f"Run {run_id} is {row.status} and does not wait for sides. Resume it without a body."
            raise ProblemError(409, "run-not-waiting", detail)
        if sides is None and row.status == "waiting":
            detail = f"Run {run_id} waits for its sides. Send 'sides'; the event 'waiting' has the planned ones."
            raise ProblemError(409, "run-waits", detail)
        async with self._beginning:
            self._check_room(caller)
            await self.runs.resume(run_id, None if sides is None else [side.model_dump() for side in sides])
            self._begun_by[run_id] = caller.key_id

    async def open(self) -> None:
        """Starts to resume the runs that an earlier server left."""
        self._left |= await self._in_thread(self._caller_runs.running) - self.runs.at_work
        self._resuming = asyncio.create_task(resume_left_runs(self.runs, self._left))

    async def close(self) -> None:
        """Releases the active runs for the next server and interrupts jobs."""
        self._resuming.cancel()
        await asyncio.wait([self._resuming])
        await asyncio.gather(self.runs.executor.suspend(), self.jobs.close())


def without_hints(result: Result) -> Result:
    """Removes the hints for the command line from the notes."""
    notes = [
        n.model_copy(update={"text": without_hint(n.text, n.hint), "hint": ""}) if n.hint else n for n in result.notes
    ]
    return cast(Result, result.model_copy(update={"notes": notes}))


def stored_answer(row: RunRow) -> Answer | None:
    """Returns the run's answer without hints, or None."""
    return None if row.answer is None else without_hints(row.answer)


def _too_many(detail: str) -> ProblemError:
    detail = f"{detail} Try again in {_RETRY_SECONDS} seconds."
    return ProblemError(429, "too-many-runs", detail, headers={"Retry-After": str(_RETRY_SECONDS)})


@asynccontextmanager
async def open_service(settings: Settings, opening: OpenRuns | None = None) -> AsyncIterator[ApiService]:
    opened = opening() if opening else open_runs(settings, max_concurrent=settings.api_runs, warm=True)
    async with opened as runs:
        with ThreadPoolExecutor(1, "steelman-callers") as pool:
            service = ApiService(runs, settings, TableThread(pool))
            await service.open()
            try:
                yield service
            finally:
                await service.close()


def service_of(request: Request) -> ApiService:
    service: ApiService = request.app.state.service
    return service


TheService = Annotated[ApiService, Depends(service_of)]

"""Starts runs for callers over HTTP and MCP, enforces limits, and keeps the callers' runs apart. Resumes runs that an
earlier server left unfinished."""

import asyncio
import contextlib
import logging
import math
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from copy import copy
from functools import partial
from typing import Annotated, TypeVar, cast

from fastapi import Depends, Request

from agent.answer.model import Answer
from agent.answer.retrieved import Retrieved
from agent.options import RunOptions
from agent.runs.bootstrap import default_options
from agent.runs.jobs import Jobs
from agent.runs.service import Runs, open_runs
from agent.runs.store import STALE_SECONDS, RunEvent, RunRow, RunStatus
from agent.settings import Settings
from api.callers import Caller, CallerRuns, KeyUsedError
from api.problems import ProblemError, failed_run
from api.schemas import Cursor, Judged, JudgeRequest, QuestionRequest, RunDetails, RunList, RunSummary, Side
from tools.budget import deadline
from tools.errors import RunAbandonedError, SteelmanError, UnknownRunError, without_hint
from tools.models.judges.judge import Pair

Result = TypeVar("Result", bound=Answer | Retrieved)
OpenRuns = Callable[[], AbstractAsyncContextManager[Runs]]
_LOG = logging.getLogger("steelman.server")
_JUDGING_SECONDS, _LOOK_AGAIN = 60.0, 0.5


class ApiService:
    """The service for one caller; `of` returns it for another. Without keys the caller is empty."""

    def __init__(self, runs: Runs) -> None:
        self.runs, self.settings, self.caller = runs, runs.settings, ""
        self.jobs, most = Jobs(runs), self.settings.api_runs + self.settings.api_waiting
        self._in_thread, self._caller_runs = runs.in_thread, CallerRuns(runs.database, most, self.settings.api_key_runs)
        self.left: set[str] = set()  # runs of an earlier server that are still to be resumed

    def of(self, caller: Caller) -> "ApiService":
        bound = copy(self)
        bound.caller = caller
        return bound

    async def start(self, request: QuestionRequest, *, writing: bool = True, idempotency_key: str | None = None) -> str:
        """Starts the run of the request. Raises errors of `begin`."""
        before = await self.run(request.thread) if request.thread else None
        usual = partial(default_options, self.runs, request.depth, before=before, **request.changes, writing=writing)
        options, thread = await asyncio.to_thread(usual), before.thread if before else None
        return await self.begin(request.question, options, thread, idempotency_key)

    async def begin(
        self,
        question: str,
        options: RunOptions,
        thread: str | None = None,
        idempotency_key: str | None = None,
    ) -> str:
        """Starts a run, or finds the run that the caller started with the same idempotency key. Returns the run's id.
        Raises ProblemError beyond a limit, and errors of `Runs.start`."""
        known = idempotency_key and await self._in_thread(self._caller_runs.started_with, self.caller, idempotency_key)
        if not known:
            await self._in_thread(self._caller_runs.check_room, self.caller)  # again below; this one spares the work
            record = partial(self._caller_runs.record, self.caller, idempotency_key)
            try:
                run_id = await self.runs.start(question, options, thread, record=record)
                if self.settings.api_log_questions:
                    _LOG.info("run %s started", run_id, extra={"run": run_id, "question": question})
                return run_id
            except KeyUsedError:
                known = await self._in_thread(self._caller_runs.started_with, self.caller, idempotency_key or "")
        row = await self.runs.run(known or "")
        if (row.question, row.options, row.thread) == (" ".join(question.split()), options.to_dict(), thread or row.id):
            return row.id
        detail = f"This Idempotency-Key belongs to run {row.id} of another request. Send a new key."
        raise ProblemError(409, "idempotency-key-used", detail)

    async def judge(self, request: JudgeRequest) -> Judged:
        """Judges the pairs. Raises JudgeError."""
        pairs = [Pair(p.statement, p.passage, p.contrary) for p in request.pairs]
        judge = self.runs.providers.models.judge()
        with deadline(time.time() + _JUDGING_SECONDS):
            scores = await judge.support(pairs)
        probabilities = [None if math.isnan(s) else round(float(s), 4) for s in scores]
        return Judged(judge=judge.name, threshold=judge.threshold, probabilities=probabilities)

    async def run(self, run_id: str) -> RunRow:
        """Returns the caller's run with exactly this id. Raises UnknownRunError."""
        with contextlib.suppress(UnknownRunError):
            row = await self.runs.run(run_id)
            own = not self.caller or await self._in_thread(self._caller_runs.owns, row.id, self.caller)
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
                if run_id not in self.left and (await self.runs.run(run_id)).abandoned:
                    raise
                await asyncio.sleep(_LOOK_AGAIN)

    async def answer(self, run_id: str) -> Answer:
        """Like `Runs.answer`, but without hints for the command line. Waits for a run that this server will resume."""
        async for _ in self.events(run_id):
            pass
        return without_hints(await self.runs.answer(run_id))

    async def forget(self, run_id: str) -> None:
        """Deletes the run when it has ended."""
        with contextlib.suppress(SteelmanError):
            await self.answer(run_id)
        with contextlib.suppress(SteelmanError):
            await self.runs.delete(run_id)

    async def wait(self, run_id: str, seconds: float | None = None) -> bool:
        """Waits for the run. Returns whether the run ended in time: False for a run that waits for a person. Raises
        ProblemError if the run failed."""
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
        """Like `Runs.retrieved`, but without hints for the command line."""
        return without_hints(await self.runs.retrieved(run_id))

    async def state(self, run_id: str) -> RunDetails:
        row = await self.run(run_id)
        events = await self.runs.recent_events(run_id)
        (summary,) = await self._summaries([row])
        return RunDetails(**dict(summary), events=events[-1].number if events else 0, answer=stored_answer(row))

    async def listed(self, limit: int, status: RunStatus | None, thread: str | None, after: Cursor | None) -> RunList:
        """Returns a page of the caller's runs, newest first. `after`: the previous page's `next`."""
        rows, cursor = await self._in_thread(self._caller_runs.listed, self.caller, limit, after, status, thread)
        return RunList(runs=await self._summaries(rows), next=cursor)

    async def answered(self, limit: int) -> list[RunRow]:
        """Returns the caller's latest runs with an answer, newest first."""
        rows, _ = await self._in_thread(self._caller_runs.listed, self.caller, limit, None, "done", None, True)
        return list(rows)

    async def _summaries(self, rows: Sequence[RunRow]) -> list[RunSummary]:
        failures = await self.runs.failures([row.id for row in rows if row.error])
        errors = {run_id: failure.cause().remote_text for run_id, failure in failures.items()}
        return [
            RunSummary.model_validate(row).model_copy(update={"error": row.error and errors.get(row.id, row.error)})
            for row in rows
        ]

    async def resume(self, run_id: str, sides: list[Side] | None) -> None:
        """Resumes the run. Raises ProblemError beyond a limit or in another state, and errors of `Runs.resume`."""
        row = await self.run(run_id)
        if sides is not None and row.status not in ("waiting", "cancelled"):
            detail = f"Run {run_id} is {row.status} and does not wait for sides. Resume it without a body."
            raise ProblemError(409, "run-not-waiting", detail)
        await self._in_thread(self._caller_runs.check_room, self.caller)
        await self.runs.resume(run_id, None if sides is None else [side.model_dump() for side in sides])

    async def resume_left(self) -> None:
        """Resumes the runs in `left`. Tries for 20 seconds, because a killed server counts as alive for ten seconds. A
        run that was resumed and killed again may crash the server, so only a caller resumes such a run."""
        give_up = time.monotonic() + 2 * STALE_SECONDS
        try:
            while self.left and time.monotonic() < give_up:
                for run_id in list(self.left):
                    with contextlib.suppress(SteelmanError):  # its server may be alive, or the store busy
                        run, events = await self.runs.run(run_id), await self.runs.recent_events(run_id)
                        if not (run.abandoned and run.owner and any(event.kind == "resumed" for event in events)):
                            await self.runs.resume(run_id)
                        self.left.discard(run_id)
                await asyncio.sleep(_LOOK_AGAIN)
        finally:
            self.left.clear()  # followers of these runs learn that they are abandoned


def without_hints(result: Result) -> Result:
    """Removes the hints for the command line from the notes."""
    notes = [
        n.model_copy(update={"text": without_hint(n.text, n.hint), "hint": ""}) if n.hint else n for n in result.notes
    ]
    return cast(Result, result.model_copy(update={"notes": notes}))


def stored_answer(row: RunRow) -> Answer | None:
    """Returns the run's answer without hints, or None."""
    return None if row.answer is None else without_hints(row.answer)


@asynccontextmanager
async def open_service(settings: Settings, opening: OpenRuns | None = None) -> AsyncIterator[ApiService]:
    """Opens the agent and resumes the runs that an earlier server left unfinished. At the end releases the active runs
    for the next server."""
    most = settings.api_runs
    opened = opening() if opening else open_runs(settings, max_concurrent=most, warm=True, role=settings.role)
    async with opened as runs:
        service = ApiService(runs)
        if runs.role == "alone":
            service.left |= await asyncio.to_thread(CallerRuns(runs.database).running)
        resuming = asyncio.create_task(service.resume_left())
        try:
            async with service.jobs.running():
                yield service
        finally:
            resuming.cancel()
            await asyncio.wait([resuming])
            await runs.executor.suspend()


def service_of(request: Request) -> ApiService:
    """Returns the service for the caller that the guard identified."""
    service: ApiService = request.app.state.service
    return service.of(request.scope["state"]["caller"])


TheService = Annotated[ApiService, Depends(service_of)]

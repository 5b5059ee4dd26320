"""What works on jobs in this process: one after the other, since each keeps the processor and the indexes busy."""

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from agent.runs.service import Runs
from agent.runs.store import TableThread
from api.jobs.table import JobRow, JobTable
from api.observing.logs import SERVER
from api.problems import unexpected
from api.schemas import JobStatus, Stored
from api.uploads import Folders, NothingStoredError, StoppedError, Storing, Upload
from tools.errors import SteelmanError
from tools.ingest.limits import Limits

_BEAT_SECONDS = 1.0
_PATIENCE = 2.0  # seconds in which a batch may be finished when the server stops
_MOST_PROBLEMS = 100


@dataclass
class _AtWork:
    """A job that this process works on, as `owner`, from one launch to its end."""

    row: JobRow
    owner: str
    storing: Storing
    has_turn: bool = False
    task: asyncio.Task[None] = field(init=False)

    def stop(self) -> None:
        """Ends it where it reads or where its documents end; at once while it waits its turn."""
        if not self.has_turn and not self.storing.stop.is_set():
            self.task.cancel()
        self.storing.stop.set()


class Workshop:
    """The jobs that this process works on. Bound to one event loop."""

    def __init__(self, runs: Runs, table: JobTable, folders: Folders, limits: Limits, in_thread: TableThread) -> None:
        self.at_work: dict[str, _AtWork] = {}
        self.on_end: Callable[[str], object] = lambda _: None
        """Told how each job ended."""
        self._runs, self._table, self._folders, self._in_thread = runs, table, folders, in_thread
        self._limits = limits
        self._turn = asyncio.Lock()

    def launch(self, row: JobRow, owner: str) -> None:
        """Works on a job that `owner`, a name for this launch alone, has claimed: in a task, after those before it."""
        job = self.at_work[row.id] = _AtWork(row, owner, Storing(self._runs))
        job.task = asyncio.create_task(self._work(job), name=f"job-{row.id}")

        def over(_: object) -> None:
            if self.at_work.get(row.id) is job:  # else it was resumed as soon as it was let go of
                del self.at_work[row.id]

        job.task.add_done_callback(over)

    async def stop(self, *job_ids: str, seconds: float) -> None:
        """Stops these jobs, and waits so long for their ends; what is not at work here is nothing."""
        stopped = [self.at_work[job_id] for job_id in job_ids if job_id in self.at_work]
        for job in stopped:
            job.stop()
        if stopped:
            await asyncio.wait([job.task for job in stopped], timeout=seconds)

    async def suspend(self) -> None:
        """Leaves all jobs as they are, as interrupted ones, to whoever resumes them. Takes some seconds at most: a
        batch that is not finished by then is done again."""
        await self.stop(*self.at_work, seconds=_PATIENCE)
        late = [job.task for job in self.at_work.values()]
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)

    async def _work(self, job: _AtWork) -> None:
        row, storing = job.row, job.storing
        heart = asyncio.create_task(self._beat(job))
        status: JobStatus = "interrupted"
        error: str | None = None
        result: Stored | None = None
        try:
            async with self._turn:
                job.has_turn = True
                if await self._in_thread(self._table.begin, row.id, job.owner):
                    upload = Upload.load(self._folders.of(row.id), row.upload)
                    result = await asyncio.to_thread(_carried_out, storing, upload, self._limits, row.collection)
                    status = "done"
        except StoppedError:
            pass
        except Exception as exc:  # noqa: BLE001  # told by the job
            status, error = "failed", _told(exc, row.id)
        finally:
            heart.cancel()
            await self._end(job, status, _report(row, storing, result), error)

    async def _end(self, job: _AtWork, status: JobStatus, report: dict[str, Any], error: str | None) -> None:
        row = job.row
        try:
            ended = await self._in_thread(self._table.finish, row.id, job.owner, status, report, error)
        except SteelmanError:  # as on a full disk: it is free once its heartbeat is stale
            SERVER.error("the end of job %s could not be recorded", row.id)
            return
        if ended and status == "done":
            await asyncio.to_thread(self._folders.remove, self._folders.of(row.id))
        told = status if ended else "cancelled"
        SERVER.info("job %s is %s", row.id, told, extra={"job": row.id, "status": told, "key": row.key_id})
        self.on_end(told)

    async def _beat(self, job: _AtWork) -> None:
        """Shows other processes that the job is worked on, and how far it is, until its work has ended; stops what was
        cancelled elsewhere or is not its own any more."""
        while True:
            await asyncio.sleep(_BEAT_SECONDS)
            with contextlib.suppress(SteelmanError):  # the next beat may come through
                report = _report(job.row, job.storing)
                if not await self._in_thread(self._table.beat, job.row.id, job.owner, report):
                    job.stop()


def _carried_out(storing: Storing, upload: Upload, limits: Limits, collection: str) -> Stored:
    storing.documents = upload.count
    return storing.store(storing.taken(upload.documents(storing.report, limits, storing.stop.is_set)), collection)


def _told(exc: Exception, job_id: str) -> str:
    """What a caller is told of a failure."""
    if isinstance(exc, NothingStoredError):
        return exc.told("problems")
    if isinstance(exc, SteelmanError):
        return exc.remote_text
    SERVER.error("job %s failed", job_id, exc_info=exc)
    return unexpected().problem.detail


def _report(row: JobRow, storing: Storing, result: Stored | None = None) -> dict[str, Any]:
    """How far the job is. What was stored before it was interrupted counts as what it was then, not as unchanged."""
    before, report = row.report, storing.report
    added = before.get("added", 0) + report.stored - report.replaced
    changed = before.get("changed", 0) + report.replaced
    told: dict[str, Any] = {
        "documents": storing.documents,
        "read": storing.read,
        "furthest": max(before.get("furthest", before.get("read", 0)), storing.read),
        "added": added,
        "changed": changed,
        "unchanged": max(0, report.unchanged - before.get("added", 0) - before.get("changed", 0)),
        "passages": before.get("passages", 0) + report.passages,
        "problems": report.problems[:_MOST_PROBLEMS],
        "more_problems": max(0, len(report.problems) - _MOST_PROBLEMS),
    }
    if result is not None:
        counts = {"stored": added + changed, "replaced": changed, "unchanged": told["unchanged"]}
        whole = result.model_copy(update={**counts, "passages": told["passages"], "problems": told["problems"]})
        told["result"] = whole.model_dump()
    return told

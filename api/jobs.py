"""Large uploads as background tasks: they go on after their requests were answered, and tell how far they are.

How one ended is kept in a file, so that the next server can tell it too. A job whose end nobody wrote down, or that its
server let go of, was interrupted: what it stored stays, and its upload is sent again.
"""

import asyncio
import contextlib
import shutil
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel

from agent.runs.service import Runs
from api.callers import Caller
from api.observing.logs import SERVER
from api.observing.notes import note
from api.problems import ProblemError, unexpected
from api.schemas import JobDetails, JobStatus, Stored
from api.uploads import NothingStoredError, StoppedError, Storing
from tools.disk import disk_errors, keep_folder_private
from tools.errors import SteelmanError
from tools.passages import SourceDocument

Documents = Callable[[Storing], Iterable[SourceDocument]]
"""Reads what was sent; what cannot be read goes into the report."""
_MOST_OPEN = 16
_MOST_PROBLEMS = 100
_CANCEL_SECONDS, _CLOSING_SECONDS = 10.0, 2.0
_ORPHANED_SECONDS, _KEPT_SECONDS = 3600.0, 7 * 86400.0
_INTERRUPTED = "Its server was stopped. Send the upload again: what was stored stays, and is not stored twice."


class _Kept(BaseModel):
    """What the file of a job holds."""

    key_id: str
    details: JobDetails


@dataclass
class _Job:
    """A job that this process works on. Times are ISO, UTC."""

    id: str
    key_id: str
    collection: str
    storing: Storing
    created_at: str = field(default_factory=lambda: _now())
    started_at: str | None = None
    finished_at: str | None = None
    status: JobStatus = "queued"
    error: str | None = None
    result: Stored | None = None
    task: asyncio.Task[None] = field(init=False)

    def details(self) -> JobDetails:
        storing, report = self.storing, self.storing.report
        return JobDetails(
            id=self.id,
            collection=self.collection,
            status=self.status,
            created_at=self.created_at,
            started_at=self.started_at,
            finished_at=self.finished_at,
            documents=storing.documents,
            read=storing.read,
            added=report.stored - report.replaced,
            changed=report.replaced,
            unchanged=report.unchanged,
            passages=report.passages,
            error=self.error,
            problems=report.problems[:_MOST_PROBLEMS],
            more_problems=max(0, len(report.problems) - _MOST_PROBLEMS),
            result=self.result,
        )

    def stop(self) -> None:
        """Ends it where it reads or where its documents end; at once while it waits its turn."""
        self.storing.stop.set()
        if self.started_at is None:
            self.task.cancel()


class Jobs:
    """The jobs of all callers, each the key's that it was made with; worked on one after the other, since each keeps
    the processor and the indexes busy. Bound to one event loop."""

    def __init__(self, runs: Runs, folder: Path) -> None:
        self.on_end: Callable[[str], object] = lambda _: None
        """Told how each job ended."""
        self._runs, self._folder = runs, folder
        self._at_work: dict[str, _Job] = {}
        self._turn = asyncio.Lock()

    def __len__(self) -> int:
        return len(self._at_work)

    @contextlib.asynccontextmanager
    async def folder(self) -> AsyncIterator[Path]:
        """An empty folder for what is uploaded, its owner's alone; it goes again unless a job was begun with it."""
        folder = self._folder / f"j{uuid.uuid4().hex[:12]}"
        with disk_errors(self._folder):
            keep_folder_private(self._folder)
            folder.mkdir(mode=0o700)
        try:
            yield folder
        finally:
            if folder.name not in self._at_work:
                await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)

    async def begin(
        self, caller: Caller, collection: str, folder: Path, documents: Documents, count: int | None = None
    ) -> JobDetails:
        """A job of the caller's that stores the documents, `count` of them where that is known, and then removes the
        folder that they lie in. Raises ProblemError past the most."""
        await asyncio.to_thread(self._forget_old)
        if sum(job.key_id == caller.key_id for job in self._at_work.values()) >= _MOST_OPEN:
            detail = f"{_MOST_OPEN} jobs of this key are open, the most there may be. Wait for one, or cancel one."
            headers = {"Retry-After": "30"}
            raise ProblemError(429, "too-many-jobs", "Too many uploads are kept", detail, headers=headers)
        job = _Job(folder.name, caller.key_id, collection, Storing(self._runs))
        job.storing.documents = count
        self._keep(job)
        note(job=job.id)
        self._at_work[job.id] = job
        job.task = asyncio.create_task(self._work(job, folder, documents), name=f"job-{job.id}")
        return job.details()

    def state(self, caller: Caller, job_id: str) -> JobDetails:
        """How far the caller's job is, and what came of it. Raises ProblemError for one that is not its own."""
        if job := self._at_work.get(job_id):
            kept = _Kept(key_id=job.key_id, details=job.details())
        else:
            kept = self._kept(job_id)
        if caller.key_id and kept.key_id != caller.key_id:
            raise _unknown(job_id)
        if job is None and kept.details.status in ("queued", "running"):
            return kept.details.model_copy(update={"status": "interrupted", "error": _INTERRUPTED})
        return kept.details

    async def cancel(self, caller: Caller, job_id: str) -> bool:
        """Stops the job; False when it had ended already."""
        state = self.state(caller, job_id)
        job = self._at_work.get(job_id)
        if job is None or state.status == "cancelled":
            return False
        job.status = "cancelled"
        job.stop()
        await asyncio.wait([job.task], timeout=_CANCEL_SECONDS)
        return True

    async def close(self) -> None:
        """Lets go of all jobs, which are interrupted. Takes some seconds at most: what is being written then is lost
        to its job, and is stored by the upload that is sent again."""
        tasks = [job.task for job in self._at_work.values()]
        for job in self._at_work.values():
            job.stop()
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=_CLOSING_SECONDS)
            for task in late:
                task.cancel()
            await asyncio.gather(*late)

    async def _work(self, job: _Job, folder: Path, documents: Documents) -> None:
        storing = job.storing
        try:
            async with self._turn:
                job.status, job.started_at = "running", _now()
                given = storing.taken(documents(storing))
                job.result = await asyncio.to_thread(storing.store, given, job.collection)
                job.status = "done"
        except (StoppedError, asyncio.CancelledError):
            if job.status != "cancelled":
                job.status, job.error = "interrupted", _INTERRUPTED
        except Exception as exc:  # noqa: BLE001  # told by the job
            job.status, job.error = "failed", _told(exc, job.id)
        job.finished_at = _now()
        try:
            self._keep(job)
        except SteelmanError:  # as on a full disk: the next server tells that it was interrupted
            SERVER.error("the end of job %s could not be recorded", job.id)
        del self._at_work[job.id]
        shutil.rmtree(folder, ignore_errors=True)
        told = {"job": job.id, "status": job.status, "key": job.key_id}
        SERVER.info("job %s is %s", job.id, job.status, extra=told)
        self.on_end(job.status)

    def _keep(self, job: _Job) -> None:
        kept = _Kept(key_id=job.key_id, details=job.details())
        with disk_errors(self._folder):
            self._file(job.id).write_text(kept.model_dump_json(), encoding="utf-8")

    def _kept(self, job_id: str) -> _Kept:
        try:
            return _Kept.model_validate_json(self._file(job_id).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            raise _unknown(job_id) from None

    def _file(self, job_id: str) -> Path:
        return self._folder / f"{job_id}.json"

    def _forget_old(self) -> None:
        """Removes jobs that ended a week ago, and folders that nobody works on any more."""
        for path in self._folder.iterdir():
            with contextlib.suppress(OSError):
                age = time.time() - path.stat().st_mtime
                if path.is_dir() and age > _ORPHANED_SECONDS and path.name not in self._at_work:
                    shutil.rmtree(path, ignore_errors=True)
                elif path.is_file() and age > _KEPT_SECONDS:
                    path.unlink()


def _told(exc: Exception, job_id: str) -> str:
    """What a caller is told of a failure."""
    if isinstance(exc, NothingStoredError):
        return exc.told("problems")
    if isinstance(exc, SteelmanError):
        return exc.remote_text
    SERVER.error("job %s failed", job_id, exc_info=exc)
    return unexpected().problem.detail


def _unknown(job_id: str) -> ProblemError:
    detail = f"There is no job '{job_id}' of yours. A job is known for a week after it ended."
    return ProblemError(404, "unknown-job", "No such job", detail)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")

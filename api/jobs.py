"""Uploads on their way into a collection: within their request, or as jobs that go on after it was answered.

How a job ended is kept in a file, so that the next server can tell it too. A job whose end nobody wrote down, or that
its server let go of, was interrupted: what it stored stays, and its upload is sent again.
"""

import asyncio
import contextlib
import shutil
import threading
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any

from pydantic import BaseModel

from agent.runs.service import Runs
from api.callers import Caller
from api.observing import SERVER
from api.problems import ProblemError, unexpected
from api.schemas import LONGEST_ID, JobDetails, Stored
from tools.disk import disk_errors, keep_folder_private
from tools.documents.apart import GivenUpError, read_apart
from tools.documents.document import Columns, Limits
from tools.documents.ingest import Ingester, IngestReport
from tools.documents.readers import READERS
from tools.errors import SourceError, SteelmanError
from tools.passages import SourceDocument

_MOST_OPEN = 16
_MOST_PROBLEMS = 100
_CANCEL_SECONDS, _CLOSING_SECONDS = 10.0, 2.0
_KEPT_SECONDS = 7 * 86400.0
_INTERRUPTED = "Its server was stopped. Send the upload again: what was stored stays, and is not stored twice."


class StoppedError(Exception):
    """Whoever wanted the work has left or stopped it. What is stored stays."""


class NothingStoredError(Exception):
    """Nothing of the upload could be read; `problems` say why."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__()
        self.problems = problems

    def told(self, where: str) -> str:
        """For the caller; `where`: in which field the other problems stand."""
        more = f" And {len(self.problems) - 1} more; see {where}." if len(self.problems) > 1 else ""
        return f"Nothing was stored. {self.problems[0] if self.problems else 'There was nothing to read.'}{more}"


class Storing:
    """Documents on their way into a collection. `stop` ends it between two documents, and the reading of a file, as
    Ctrl-C ends `ingest`: the batch that is being written is finished, and nothing is torn."""

    def __init__(self, runs: Runs, documents: int | None = None) -> None:
        self.stop = threading.Event()
        self.report = IngestReport()
        self.documents = documents
        self.read = 0
        self._runs = runs

    def taken(self, documents: Iterable[SourceDocument]) -> Iterator[SourceDocument]:
        """Those that hold text. Raises StoppedError."""
        for document in documents:
            if self.stop.is_set():
                raise StoppedError
            if document.text:
                self.read += 1
                yield document
            else:
                self.report.problems.append(f"{document.external_id}: holds no text.")

    def store(self, given: Iterable[SourceDocument], collection: str) -> Stored:
        """Stores them. Raises StoppedError, NothingStoredError, and what `ingest` raises."""
        search, report = self._runs.providers.search, self.report
        Ingester(self._runs.store, search, search.encoder).ingest(given, collection, None, report)
        self.documents = self.read
        if not report.stored and not report.unchanged:
            raise NothingStoredError(report.problems)
        return Stored.model_validate(report)


Documents = Callable[[Storing], Iterable[SourceDocument]]
"""Reads what was sent; what cannot be read goes into the report."""


def documents_in(
    files: Sequence[tuple[Path, str]], columns: Columns, limits: Limits, storing: Storing
) -> Iterator[SourceDocument]:
    """What stands in the files, each of which was sent under the name beside it; what cannot be read within the limits
    goes into the report's problems. Raises StoppedError within a file that is given up."""
    report, given_up = storing.report, storing.stop.is_set
    for path, sent in files:
        if wrong := _wrong_name(path, sent):
            report.problems.append(wrong)
            continue
        try:
            yield from read_apart(
                path, sent, lambda row: report.problems.append(str(row)), columns, report.notes.append, limits, given_up
            )
        except GivenUpError as exc:
            raise StoppedError from exc
        except SourceError as exc:
            report.problems.append(str(exc).removesuffix(exc.hint).rstrip())


def ending_of(sent: str) -> str:
    """The ending under which a file is kept: what it is read as, empty where it cannot be."""
    ending = PurePosixPath(sent).suffix.lower()
    return ending if ending in READERS else ""


def _wrong_name(path: Path, sent: str) -> str:
    """Why nothing can be stored under the name; empty where something can."""
    if not sent.isprintable() or len(sent) > LONGEST_ID:
        return f"{sent[:60]!r}: no document can have this name. Send the file under a plain one."
    if not path.suffix:
        ending = PurePosixPath(sent).suffix
        what = f"files ending in '{ending}' cannot be read" if ending else "the name has no ending that says what it is"
        return f"{sent}: {what}. These can be read: {', '.join(READERS)}."
    return ""


class _Kept(BaseModel):
    """What the file of a job holds."""

    key_id: str
    details: JobDetails


class _Job:
    """A job that this process works on."""

    task: asyncio.Task[None]

    def __init__(self, job_id: str, key_id: str, collection: str, storing: Storing) -> None:
        self.key_id, self.storing = key_id, storing
        self._told = JobDetails(id=job_id, collection=collection, created_at=_now())

    def now(self, **changes: Any) -> None:
        self._told = self._told.model_copy(update=changes)

    @property
    def details(self) -> JobDetails:
        storing, report = self.storing, self.storing.report
        return self._told.model_copy(
            update={
                "documents": storing.documents,
                "read": storing.read,
                "added": report.stored - report.replaced,
                "changed": report.replaced,
                "unchanged": report.unchanged,
                "passages": report.passages,
                "problems": report.problems[:_MOST_PROBLEMS],
                "more_problems": max(0, len(report.problems) - _MOST_PROBLEMS),
            }
        )

    def stop(self) -> None:
        """Ends it where it reads or where its documents end; at once while it waits its turn."""
        self.storing.stop.set()
        if self._told.started_at is None:
            self.task.cancel()


class Jobs:
    """The jobs of all callers, each the key's that it was made with; worked on one after the other, since each keeps
    the processor and the indexes busy. Bound to one event loop. `on_end` is told how each job ended."""

    def __init__(self, runs: Runs, folder: Path) -> None:
        self.on_end: Callable[[str], object] = lambda _: None
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
        job = _Job(folder.name, caller.key_id, collection, Storing(self._runs, count))
        self._keep(job)
        self._at_work[folder.name] = job
        job.task = asyncio.create_task(self._work(job, folder, documents), name=f"job-{folder.name}")
        return job.details

    def state(self, caller: Caller, job_id: str) -> JobDetails:
        """How far the caller's job is, and what came of it. Raises ProblemError for one that is not its own."""
        if job := self._at_work.get(job_id):
            kept = _Kept(key_id=job.key_id, details=job.details)
        else:
            try:
                kept = _Kept.model_validate_json(self._file(job_id).read_text(encoding="utf-8"))
            except (OSError, ValueError):
                raise _unknown(job_id) from None
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
        job.now(status="cancelled")
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
        storing, name, ended = job.storing, folder.name, dict[str, Any]()
        try:
            async with self._turn:
                job.now(status="running", started_at=_now())
                given = storing.taken(documents(storing))
                ended["result"] = await asyncio.to_thread(storing.store, given, job.details.collection)
                ended["status"] = "done"
        except (StoppedError, asyncio.CancelledError):
            if job.details.status != "cancelled":
                ended = {"status": "interrupted", "error": _INTERRUPTED}
        except Exception as exc:  # noqa: BLE001  # told by the job
            ended = {"status": "failed", "error": _told(exc, name)}
        job.now(**ended, finished_at=_now())
        try:
            self._keep(job)
        except SteelmanError:  # as on a full disk: the next server tells that it was interrupted
            SERVER.error("the end of job %s could not be recorded", name)
        del self._at_work[name]
        shutil.rmtree(folder, ignore_errors=True)
        status = job.details.status
        SERVER.info("job %s is %s", name, status, extra={"job": name, "status": status, "key": job.key_id})
        self.on_end(status)

    def _keep(self, job: _Job) -> None:
        kept = _Kept(key_id=job.key_id, details=job.details)
        with disk_errors(self._folder):
            self._file(kept.details.id).write_text(kept.model_dump_json(), encoding="utf-8")

    def _file(self, job_id: str) -> Path:
        return self._folder / f"{job_id}.json"

    def _forget_old(self) -> None:
        """Removes what ended a week ago, and what a killed server left."""
        for path in self._folder.iterdir():
            with contextlib.suppress(OSError):
                if path.stem not in self._at_work and time.time() - path.stat().st_mtime > _KEPT_SECONDS:
                    shutil.rmtree(path) if path.is_dir() else path.unlink()


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

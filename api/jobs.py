"""Stores uploads in threads. A small upload ends within its request; a large upload becomes a job.

Jobs are rows of the database, with their files. Any server or worker takes one at a time. After a restart or a kill,
another process begins the job again: stored documents count as unchanged.
"""

import asyncio
import contextlib
import logging
import math
import shutil
import tempfile
import threading
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from agent.runs.bootstrap import reading_limits
from agent.runs.executor import TableThread
from agent.runs.service import Runs
from agent.runs.store import utc_now
from api.callers import Caller
from api.job_table import MOST_TRIES, JobRow, JobTable, Sent
from api.problems import FieldProblem, ProblemError, problem_of
from api.schemas import JobDetails, Stored
from api.uploads import documents_in
from tools.disk import disk_errors, keep_folder_private
from tools.documents.ingest import Ingester, IngestReport
from tools.documents.sandbox import ReadingCancelledError
from tools.errors import InputError, SteelmanError, StoreBusyError, StoreDownError, StoreError
from tools.models.worker import lower_priority
from tools.passages import SourceDocument

_LOG = logging.getLogger("steelman.server")
_CANCEL_SECONDS, _CLOSING_SECONDS = 10.0, 2.0
_BEAT_SECONDS, _LOOK_SECONDS = 1.0, 0.1
_LEFT_SECONDS = 86400.0


class Job:
    """An upload. `documents` reads the files and reports unreadable ones.

    `stopped` ends the upload between two documents, or inside a file. The job first completes the batch that it is
    writing.
    """

    def __init__(self, caller: Caller, collection: str, documents: "Documents", count: int | None = None) -> None:
        self.caller, self._documents = caller, documents
        self.failure: Exception | None = None
        self.report, self.stopped, self.future = IngestReport(), threading.Event(), Future[None]()
        job_id = f"j{uuid.uuid4().hex[:12]}"
        self.state = JobDetails(id=job_id, collection=collection, created_at=utc_now(), documents=count)

    def details(self) -> JobDetails:
        return self.state.model_copy(update={"result": Stored.model_validate(self.report)})

    def stop(self) -> None:
        """Stops at the next document, or at once if the upload is queued."""
        self.state.status = "cancelled"
        self.stopped.set()
        self.future.cancel()

    def work(self, runs: Runs) -> None:
        """Stores the documents and sets `state` and `failure`."""
        state = self.state
        state.status, state.started_at = "running", utc_now()
        try:
            self._store(runs)
            state.status = "done"
        except ReadingCancelledError:
            state.status = "cancelled"
        except Exception as exc:  # noqa: BLE001  # the job or its request reports it
            state.status, state.error, self.failure = "failed", problem_of(exc).detail, exc

    def _store(self, runs: Runs) -> None:
        """Raises ReadingCancelledError if the upload is stopped, ProblemError if nothing is readable, and errors of
        `ingest`."""
        search, report = runs.providers.search, self.report
        Ingester(runs.store, search, search.encoder).ingest(self._texts(), self.state.collection, None, report)
        self.state.documents = self.state.read
        if not report.stored and not report.unchanged:
            problems = report.problems
            more = f" And {len(problems) - 1} more." if len(problems) > 1 else ""
            detail = f"Nothing was stored. {problems[0] if problems else 'The upload is empty.'}{more}"
            fields = [FieldProblem(field="body", message=problem) for problem in problems]
            raise ProblemError(422, "unreadable-document", detail, fields=fields)

    def _texts(self) -> Iterator[SourceDocument]:
        """Yields the documents that have text."""
        for document in self._documents(self):
            if self.stopped.is_set():
                raise ReadingCancelledError
            if document.text:
                self.state.read += 1
                yield document
            else:
                self.report.problems.append(f"{document.external_id}: contains no text.")


Documents = Callable[[Job], Iterable[SourceDocument]]


class Jobs:
    """The uploads of all callers. A process executes one job at a time, because each uses the processor and the indexes
    fully."""

    def __init__(self, runs: Runs, folder: Path) -> None:
        self._runs, self._folder = runs, folder
        self._in_thread = TableThread(ThreadPoolExecutor(1, "steelman-jobs"))
        self._table, self._at_work = JobTable(runs.database), dict[str, Job]()
        self._begun = asyncio.Event()
        self._turn = ThreadPoolExecutor(1, "steelman-job", lower_priority)
        # Slow files must not block the event loop's few threads.
        self._threads = ThreadPoolExecutor(8, "steelman-uploads", lower_priority)
        for left in folder.glob("j*"):  # a killed or earlier server left these uploads; the page has its own folder
            with contextlib.suppress(OSError):
                if time.time() - left.stat().st_mtime > _LEFT_SECONDS:
                    shutil.rmtree(left) if left.is_dir() else left.unlink()

    def open(self) -> float:
        """Returns the number of active and queued jobs of all processes; NaN without a database."""
        try:
            return self._table.open()
        except StoreError:
            return math.nan

    @contextlib.asynccontextmanager
    async def folder(self) -> AsyncIterator[Path]:
        """Yields a private folder for an upload, and removes the folder afterwards."""
        with disk_errors(self._folder):
            keep_folder_private(self._folder)
            folder = Path(tempfile.mkdtemp(prefix="j", dir=self._folder))
        try:
            yield folder
        finally:
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)

    async def store(self, job: Job) -> Stored:
        """Stores a small upload. Raises errors of `ingest`, and ProblemError if nothing is readable."""
        self._at_work[job.state.id] = job
        job.future = self._threads.submit(job.work, self._runs)
        job.future.add_done_callback(lambda _: self._at_work.pop(job.state.id, None))
        await asyncio.wait([asyncio.wrap_future(job.future)])
        if job.failure:
            raise job.failure
        if job.state.status != "done":
            raise asyncio.CancelledError  # the server stops
        return Stored.model_validate(job.report)

    async def begin(self, job: Job, sent: Sent, files: Sequence[Path]) -> JobDetails:
        """Stores a job for the next free process. Raises ProblemError (429) if the caller has too many open jobs."""
        await self._in_thread(self._table.add, job.caller, job.state, sent, files)
        self._begun.set()
        return job.state

    async def find(self, caller: Caller, job_id: str) -> JobDetails:
        """Returns the caller's job. Raises ProblemError (404) if the caller has no such job."""
        return (await self._in_thread(self._table.find, caller, job_id)).state

    async def cancel(self, caller: Caller, job_id: str) -> bool:
        """Stops the job, whichever process works on it. Returns False if it had already ended."""
        await self.find(caller, job_id)
        stopped = await self._in_thread(self._table.stop, job_id)
        if job := self._at_work.get(job_id):
            job.stop()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_CANCEL_SECONDS):
                while (await self._in_thread(self._table.find, caller, job_id)).owner:
                    await asyncio.sleep(_LOOK_SECONDS)
        return stopped

    async def work(self) -> None:
        """Executes jobs until it is cancelled."""
        while True:
            self._begun.clear()
            try:
                if (row := await self._in_thread(self._table.take, self._runs.executor.owner)) is not None:
                    await self._carry_out(row)
                    continue
            except StoreError:  # the database may answer again
                pass
            except Exception:  # noqa: BLE001  # logged; the next job may succeed
                _LOG.exception("a job could not be executed")
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_BEAT_SECONDS):
                    await self._begun.wait()

    async def close(self) -> None:
        """Stops all small uploads within two seconds, but lets a batch that is being written finish."""
        for job in (left := list(self._at_work.values())):
            job.stop()
        if left:
            await asyncio.wait([asyncio.wrap_future(job.future) for job in left], timeout=_CLOSING_SECONDS)

    async def _carry_out(self, row: JobRow) -> None:
        """Executes a job. If this task is cancelled, the job waits for another process."""
        limits, places = reading_limits(self._runs.settings), list[Path]()

        def documents(job: Job) -> Iterator[SourceDocument]:
            if row.tries > MOST_TRIES:
                cause = f"{MOST_TRIES} processes ended while they worked on this upload."
                raise InputError(cause, hint="Send fewer documents at a time.")
            with disk_errors(places[0]):
                files = self._table.unpack(row, places[0])
            return documents_in(files, row.sent, limits, job.report, job.stopped.is_set)

        job, owner = Job(row.key_id, row.state.collection, documents), self._runs.executor.owner
        job.state = row.state.model_copy(update={"read": 0})
        self._at_work[row.id] = job
        left, counts = True, True
        try:
            async with self.folder() as folder:
                places.append(folder)
                await self._follow(job, owner)
                left = isinstance(job.failure, StoreDownError | StoreBusyError)
        except asyncio.CancelledError:
            counts = False
            raise
        finally:
            self._at_work.pop(row.id, None)
            with contextlib.suppress(StoreError):  # another process then takes the job once its heartbeat is stale
                await asyncio.shield(self._in_thread(self._table.end, row.id, owner, job.details(), left, counts))
        _log(job)

    async def _follow(self, job: Job, owner: str) -> None:
        """Executes a job in its thread, and stores its progress."""
        job.future = self._turn.submit(job.work, self._runs)
        ended = asyncio.wrap_future(job.future)
        try:
            while not (await asyncio.wait([ended], timeout=_BEAT_SECONDS))[0]:
                with contextlib.suppress(StoreError):
                    if not await self._in_thread(self._table.beat, job.state.id, owner, job.details()):
                        job.stop()
        finally:
            job.stopped.set()
            await asyncio.wait([ended], timeout=_CLOSING_SECONDS)


def _log(job: Job) -> None:
    state, failure = job.state, job.failure
    if failure and not isinstance(failure, ProblemError | SteelmanError):
        _LOG.error("job %s failed", state.id, exc_info=failure)
    facts = {"job": state.id, "status": state.status, "key": job.caller}
    _LOG.info("job %s is %s", state.id, state.status, extra=facts)

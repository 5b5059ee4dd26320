"""Stores uploads in threads. A small upload ends within its request; a large upload becomes a job.

Jobs are in memory. A restart ends and forgets all jobs. Stored documents stay, and the caller sends the upload again.
"""

import asyncio
import contextlib
import logging
import shutil
import tempfile
import threading
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from agent.runs.service import Runs
from agent.runs.store import utc_now
from api.callers import Caller
from api.problems import FieldProblem, ProblemError, problem_of
from api.schemas import JobDetails, Stored
from tools.disk import disk_errors, keep_folder_private
from tools.documents.ingest import Ingester, IngestReport
from tools.documents.sandbox import ReadingCancelledError
from tools.errors import SteelmanError
from tools.models.worker import lower_priority
from tools.passages import SourceDocument

_LOG = logging.getLogger("steelman.server")
_MOST_OPEN, _MOST_ENDED = 16, 1_000  # a caller's open jobs; ended uploads in memory
_CANCEL_SECONDS, _CLOSING_SECONDS = 10.0, 2.0
_LEFT_SECONDS = 86400.0


class Job:
    """An upload. `documents` reads the files in `folder` and reports unreadable ones.

    `stopped` ends the upload between two documents, or inside a file. The job first completes the batch that it is
    writing.
    """

    future: Future[None]

    def __init__(
        self,
        caller: Caller,
        collection: str,
        documents: "Documents",
        *,
        folder: Path | None = None,
        count: int | None = None,
    ) -> None:
        self.caller, self._documents, self._folder = caller, documents, folder
        self.failure: Exception | None = None
        self.report, self.stopped = IngestReport(), threading.Event()
        job_id = f"j{uuid.uuid4().hex[:12]}"
        self.state = JobDetails(id=job_id, collection=collection, created_at=utc_now(), documents=count)

    def details(self) -> JobDetails:
        return self.state.model_copy(update={"result": Stored.model_validate(self.report)})

    def stop(self) -> None:
        """Stops at the next document, or at once if the job is queued."""
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

    def end(self, _: Future[None]) -> None:
        """Releases the files and texts of the upload."""
        self.state.finished_at, self._documents = utc_now(), lambda _: ()
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)

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
    """The uploads of all callers. One job runs at a time, because each uses the processor and the indexes fully."""

    def __init__(self, runs: Runs, folder: Path) -> None:
        self._runs, self._folder = runs, folder
        self._jobs: dict[str, Job] = {}  # oldest first
        self._turn = ThreadPoolExecutor(1, "steelman-job", lower_priority)
        # Slow files must not block the event loop's few threads.
        self._threads = ThreadPoolExecutor(8, "steelman-uploads", lower_priority)
        for left in folder.glob("j*"):  # a killed or earlier server left these uploads; the page has its own folder
            with contextlib.suppress(OSError):
                if time.time() - left.stat().st_mtime > _LEFT_SECONDS:
                    shutil.rmtree(left) if left.is_dir() else left.unlink()

    def open(self) -> list[Job]:
        return [job for job in self._jobs.values() if not job.future.done()]

    @contextlib.asynccontextmanager
    async def folder(self) -> AsyncIterator[Path]:
        """Yields a private folder for an upload. The upload removes the folder when it ends."""
        with disk_errors(self._folder):
            keep_folder_private(self._folder)
            folder = Path(tempfile.mkdtemp(prefix="j", dir=self._folder))
        try:
            yield folder
        except BaseException:
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
            raise

    async def store(self, job: Job) -> Stored:
        """Stores a small upload. Raises errors of `ingest`, and ProblemError if nothing is readable."""
        self._start(job, self._threads)
        await asyncio.wait([asyncio.wrap_future(job.future)])  # the upload continues if the client disconnects
        if job.failure:
            raise job.failure
        if job.state.status != "done":
            raise asyncio.CancelledError  # the server stops
        return Stored.model_validate(job.report)

    def begin(self, job: Job) -> JobDetails:
        """Starts a job. Raises ProblemError (429) if the caller has too many open jobs."""
        if sum(each.caller == job.caller for each in self.open()) >= _MOST_OPEN:
            detail = f"This key has {_MOST_OPEN} open jobs, the maximum. Wait for one, or cancel one."
            raise ProblemError(429, "too-many-jobs", detail, headers={"Retry-After": "30"})
        self._start(job, self._turn)
        job.future.add_done_callback(lambda _: _log(job))
        return job.details()

    def _start(self, job: Job, pool: ThreadPoolExecutor) -> None:
        ended = [job_id for job_id, each in self._jobs.items() if each.future.done()]
        for job_id in ended[:-_MOST_ENDED]:
            del self._jobs[job_id]
        job.future = pool.submit(job.work, self._runs)
        job.future.add_done_callback(job.end)
        self._jobs[job.state.id] = job

    def find(self, caller: Caller, job_id: str) -> Job:
        """Returns the caller's job. Raises ProblemError (404) if the caller has no such job."""
        job = self._jobs.get(job_id)
        if job and caller in ("", job.caller):
            return job
        detail = f"You have no job '{job_id}'. A restart ends jobs and forgets them: send the upload again."
        raise ProblemError(404, "unknown-job", detail)

    async def cancel(self, caller: Caller, job_id: str) -> bool:
        """Stops the job. Returns False if it had already ended."""
        job = self.find(caller, job_id)
        if job.stopped.is_set() or job.future.done():
            return False
        job.stop()
        await asyncio.wait([asyncio.wrap_future(job.future)], timeout=_CANCEL_SECONDS)
        return True

    async def close(self) -> None:
        """Stops all uploads within two seconds, but lets a batch that is being written finish."""
        for job in (left := self.open()):
            job.stop()
        if left:
            await asyncio.wait([asyncio.wrap_future(job.future) for job in left], timeout=_CLOSING_SECONDS)


def _log(job: Job) -> None:
    state, failure = job.state, job.failure
    if failure and not isinstance(failure, ProblemError | SteelmanError):
        _LOG.error("job %s failed", state.id, exc_info=failure)
    facts = {"job": state.id, "status": state.status, "key": job.caller}
    _LOG.info("job %s is %s", state.id, state.status, extra=facts)

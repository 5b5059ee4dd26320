"""Stores uploads. The request of a small upload waits for it; a large upload is a job.

A file keeps the state of a job for the next server. If its status is still `running`, a restart interrupted the job:
stored documents stay, and the caller sends the upload again.
"""

import asyncio
import contextlib
import logging
import shutil
import threading
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal

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
_MOST_OPEN = 16
_MOST_PROBLEMS = 100
_CANCEL_SECONDS, _CLOSING_SECONDS = 10.0, 2.0
_KEPT_SECONDS = 7 * 86400.0
_INTERRUPTED = "The server was stopped. Send the upload again. Stored documents stay and are not stored twice."


class StoppedError(Exception):
    """The upload was stopped. Documents stored before that remain."""


class Job:
    """An upload that this process stores. `documents` reads the files and reports unreadable ones.

    `stopped` ends it between two documents or inside a file. A batch that is being written is finished first.
    """

    task: asyncio.Task[None]

    def __init__(
        self, caller: Caller, collection: str, folder: Path, documents: "Documents", count: int | None = None
    ) -> None:
        self.caller, self.folder, self.documents = caller, folder, documents
        self.is_job = False  # or a small upload, whose request waits
        self.failure: BaseException | None = None
        self.report, self.stopped = IngestReport(), threading.Event()
        self.state = JobDetails(id=folder.name, collection=collection, created_at=utc_now(), documents=count)

    def details(self) -> JobDetails:
        state, report = self.state, self.report
        state.added, state.changed, state.unchanged = report.stored - report.replaced, report.replaced, report.unchanged
        state.passages, state.problems = report.passages, report.problems[:_MOST_PROBLEMS]
        state.more_problems = len(report.problems) - len(state.problems)
        return state

    def stop(self, status: Literal["cancelled", "interrupted"]) -> None:
        """Stops at the next document, or at once if the job is queued."""
        self.state.status = status
        self.stopped.set()
        if self.state.started_at is None:
            self.task.cancel()

    def store(self, runs: Runs) -> Stored:
        """Raises StoppedError, ReadingCancelledError, ProblemError if nothing is readable, and errors of `ingest`."""
        search, report = runs.providers.search, self.report
        Ingester(runs.store, search, search.encoder).ingest(self._texts(), self.state.collection, None, report)
        self.state.documents = self.state.read
        if not report.stored and not report.unchanged:
            problems = report.problems
            more = f" And {len(problems) - 1} more." if len(problems) > 1 else ""
            detail = f"Nothing was stored. {problems[0] if problems else 'The upload is empty.'}{more}"
            fields = [FieldProblem(field="body", message=problem) for problem in problems]
            raise ProblemError(422, "unreadable-document", detail, fields=fields)
        return Stored.model_validate(report)

    def _texts(self) -> Iterator[SourceDocument]:
        """The documents with text."""
        for document in self.documents(self):
            if self.stopped.is_set():
                raise StoppedError
            if document.text:
                self.state.read += 1
                yield document
            else:
                self.report.problems.append(f"{document.external_id}: contains no text.")


Documents = Callable[[Job], Iterable[SourceDocument]]


class Jobs:
    """The uploads of all callers, in one event loop. One job runs at a time, because each uses the processor and the
    indexes fully. `on_end` gets the status of each job that ends."""

    def __init__(self, runs: Runs, folder: Path) -> None:
        self.on_end: Callable[[str], object] = lambda _: None
        self._runs, self._folder = runs, folder
        self._active: dict[str, Job] = {}
        self._turn = asyncio.Lock()
        # Slow files must not block the event loop's few threads.
        self._threads = ThreadPoolExecutor(8, "steelman-uploads", lower_priority)

    def __len__(self) -> int:
        return sum(job.is_job for job in self._active.values())

    @contextlib.asynccontextmanager
    async def folder(self) -> AsyncIterator[Path]:
        """An empty private folder for an upload. It is removed at exit unless an upload has started with it."""
        folder = self._folder / f"j{uuid.uuid4().hex[:12]}"
        with disk_errors(self._folder):
            keep_folder_private(self._folder)
            folder.mkdir(mode=0o700)
        try:
            yield folder
        finally:
            if folder.name not in self._active:
                await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)

    async def store(self, job: Job) -> Stored:
        """Stores a small upload. Raises errors of `Job.store`."""
        self._start(job)
        await asyncio.wait([job.task])  # continues if the client disconnects
        if job.failure:
            raise job.failure
        assert job.state.result
        return job.state.result

    async def begin(self, job: Job) -> JobDetails:
        """Starts a job. Raises ProblemError (429) if the caller has too many open."""
        await asyncio.to_thread(self._delete_old)
        if sum(each.is_job and each.caller == job.caller for each in self._active.values()) >= _MOST_OPEN:
            detail = f"This key has {_MOST_OPEN} open jobs, the maximum. Wait for one, or cancel one."
            raise ProblemError(429, "too-many-jobs", detail, headers={"Retry-After": "30"})
        job.is_job = True
        self._write_state(job)
        self._start(job)
        return job.details()

    def _start(self, job: Job) -> None:
        self._active[job.folder.name] = job
        job.task = asyncio.create_task(self._work(job))

    def state(self, caller: Caller, job_id: str) -> JobDetails:
        """The caller's job. Raises ProblemError (404)."""
        if job := self._own(caller, job_id):
            return job.details()
        try:
            [path] = self._folder.glob(f"{job_id}-{caller.key_id or '*'}.json")
            details = JobDetails.model_validate_json(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            detail = f"You have no job '{job_id}'. A job's state is kept for a week."
            raise ProblemError(404, "unknown-job", detail) from None
        if details.status in ("queued", "running"):
            return details.model_copy(update={"status": "interrupted", "error": _INTERRUPTED})
        return details

    async def cancel(self, caller: Caller, job_id: str) -> bool:
        """Stops the job. Returns False if it had already ended."""
        state, job = self.state(caller, job_id), self._own(caller, job_id)
        if job is None or state.status == "cancelled":
            return False
        job.stop("cancelled")
        await asyncio.wait([job.task], timeout=_CANCEL_SECONDS)
        return True

    async def close(self) -> None:
        """Interrupts all uploads within two seconds. A job does not count a batch that is still being written."""
        tasks = [job.task for job in self._active.values()]
        for job in self._active.values():
            job.stop("interrupted")
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=_CLOSING_SECONDS)
            for task in late:
                task.cancel()
            await asyncio.gather(*late)

    def _own(self, caller: Caller, job_id: str) -> Job | None:
        job = self._active.get(job_id)
        return job if job and job.is_job and caller.key_id in ("", job.caller.key_id) else None

    async def _work(self, job: Job) -> None:
        state = job.state
        try:
            async with self._turn if job.is_job else contextlib.nullcontext():
                state.status, state.started_at = "running", utc_now()
                loop = asyncio.get_running_loop()
                state.result = await loop.run_in_executor(self._threads, job.store, self._runs)
                state.status = "done"
        except (StoppedError, ReadingCancelledError, asyncio.CancelledError) as exc:
            job.failure = exc
            if state.status != "cancelled":
                state.status, state.error = "interrupted", _INTERRUPTED
        except Exception as exc:  # noqa: BLE001  # reported by the job or its request
            state.status, state.error, job.failure = "failed", problem_of(exc).detail, exc
            if job.is_job and not isinstance(exc, ProblemError | SteelmanError):
                _LOG.exception("job %s failed", state.id)
        state.finished_at = utc_now()
        if job.is_job:
            with contextlib.suppress(SteelmanError):  # a full disk: the next server reports the job as interrupted
                self._write_state(job)
            facts = {"job": state.id, "status": state.status, "key": job.caller.key_id}
            _LOG.info("job %s is %s", state.id, state.status, extra=facts)
            self.on_end(state.status)
        del self._active[state.id]
        shutil.rmtree(job.folder, ignore_errors=True)

    def _write_state(self, job: Job) -> None:
        with disk_errors(self._folder):
            path = self._folder / f"{job.state.id}-{job.caller.key_id}.json"
            path.write_text(job.details().model_dump_json(), encoding="utf-8")

    def _delete_old(self) -> None:
        """Deletes jobs that ended a week ago and folders of a killed server."""
        for path in self._folder.glob("j*"):  # the page has its own folder there
            with contextlib.suppress(OSError):
                if path.stem[:13] not in self._active and time.time() - path.stat().st_mtime > _KEPT_SECONDS:
                    shutil.rmtree(path) if path.is_dir() else path.unlink()

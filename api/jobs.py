"""Uploads on their way into a collection. The request of a small one waits for it; a large one is a job.

A file keeps the state of a job for the next server. A job without an end in its file was interrupted: what it stored
stays, and its upload is sent again.
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
from agent.runs.store import now
from api.callers import Caller
from api.problems import FieldProblem, ProblemError, problem_of
from api.schemas import JobDetails, Stored
from tools.disk import disk_errors, keep_folder_private
from tools.documents.apart import ReadingCancelledError
from tools.documents.ingest import Ingester, IngestReport
from tools.errors import SteelmanError
from tools.models.worker import lower_priority
from tools.passages import SourceDocument

_LOG = logging.getLogger("steelman.server")
_MOST_OPEN = 16
_MOST_PROBLEMS = 100
_CANCEL_SECONDS, _CLOSING_SECONDS = 10.0, 2.0
_KEPT_SECONDS = 7 * 86400.0
_INTERRUPTED = "Its server was stopped. Send the upload again: what was stored stays, and is not stored twice."


class StoppedError(Exception):
    """The upload was stopped; documents stored before that remain."""


class Job:
    """An upload that this process works on. `documents` reads the files; unreadable ones go into the report.

    `stopped` ends it between two documents or within a file; a batch that is being written is finished.
    """

    task: asyncio.Task[None]

    def __init__(
        self, caller: Caller, collection: str, folder: Path, documents: "Documents", count: int | None = None
    ) -> None:
        self.caller, self.folder, self.documents = caller, folder, documents
        self.known = False  # to its caller, as a job
        self.failure: BaseException | None = None
        self.report, self.stopped = IngestReport(), threading.Event()
        self.state = JobDetails(id=folder.name, collection=collection, created_at=now(), documents=count)

    def details(self) -> JobDetails:
        state, report = self.state, self.report
        state.added, state.changed, state.unchanged = report.stored - report.replaced, report.replaced, report.unchanged
        state.passages, state.problems = report.passages, report.problems[:_MOST_PROBLEMS]
        state.more_problems = len(report.problems) - len(state.problems)
        return state

    def stop(self, status: Literal["cancelled", "interrupted"]) -> None:
        """Ends it at its next document; at once if it waits its turn."""
        self.state.status = status
        self.stopped.set()
        if self.state.started_at is None:
            self.task.cancel()

    def store(self, runs: Runs) -> Stored:
        """Raises StoppedError, ReadingCancelledError, ProblemError if nothing could be read, and as `ingest` does."""
        search, report = runs.providers.search, self.report
        Ingester(runs.store, search, search.encoder).ingest(self._taken(), self.state.collection, None, report)
        self.state.documents = self.state.read
        if not report.stored and not report.unchanged:
            problems = report.problems
            more = f" And {len(problems) - 1} more." if len(problems) > 1 else ""
            detail = f"Nothing was stored. {problems[0] if problems else 'There was nothing to read.'}{more}"
            fields = [FieldProblem(field="body", message=problem) for problem in problems]
            raise ProblemError(422, "unreadable-document", detail, fields=fields)
        return Stored.model_validate(report)

    def _taken(self) -> Iterator[SourceDocument]:
        """The documents that hold text."""
        for document in self.documents(self):
            if self.stopped.is_set():
                raise StoppedError
            if document.text:
                self.state.read += 1
                yield document
            else:
                self.report.problems.append(f"{document.external_id}: holds no text.")


Documents = Callable[[Job], Iterable[SourceDocument]]


class Jobs:
    """The uploads of all callers, in one event loop. Jobs run one after the other, since each keeps the processor and
    the indexes busy. `on_end` gets the status of each job that ends."""

    def __init__(self, runs: Runs, folder: Path) -> None:
        self.on_end: Callable[[str], object] = lambda _: None
        self._runs, self._folder = runs, folder
        self._at_work: dict[str, Job] = {}
        self._turn = asyncio.Lock()
        # An upload that waits for a slow file must not hold one of the event loop's few threads.
        self._threads = ThreadPoolExecutor(8, "steelman-uploads", lower_priority)

    def __len__(self) -> int:
        return sum(job.known for job in self._at_work.values())

    @contextlib.asynccontextmanager
    async def folder(self) -> AsyncIterator[Path]:
        """An empty private folder for an upload; removed again unless an upload began with it."""
        folder = self._folder / f"j{uuid.uuid4().hex[:12]}"
        with disk_errors(self._folder):
            keep_folder_private(self._folder)
            folder.mkdir(mode=0o700)
        try:
            yield folder
        finally:
            if folder.name not in self._at_work:
                await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)

    async def store(self, job: Job) -> Stored:
        """The result of a small upload. Raises as `Job.store` does."""
        self._start(job)
        await asyncio.wait([job.task])  # goes on when the request is given up
        if job.failure:
            raise job.failure
        assert job.state.result
        return job.state.result

    async def begin(self, job: Job) -> JobDetails:
        """Begins a job. Raises ProblemError (429) if the caller has too many open."""
        await asyncio.to_thread(self._forget_old)
        if sum(each.known and each.caller == job.caller for each in self._at_work.values()) >= _MOST_OPEN:
            detail = f"{_MOST_OPEN} jobs of this key are open, the most there may be. Wait for one, or cancel one."
            raise ProblemError(429, "too-many-jobs", detail, headers={"Retry-After": "30"})
        job.known = True
        self._keep(job)
        self._start(job)
        return job.details()

    def _start(self, job: Job) -> None:
        self._at_work[job.folder.name] = job
        job.task = asyncio.create_task(self._work(job))

    def state(self, caller: Caller, job_id: str) -> JobDetails:
        """The caller's job. Raises ProblemError (404)."""
        if job := self._own(caller, job_id):
            return job.details()
        try:
            [path] = self._folder.glob(f"{job_id}-{caller.key_id or '*'}.json")
            details = JobDetails.model_validate_json(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            detail = f"There is no job '{job_id}' of yours. A job is known for a week after it ended."
            raise ProblemError(404, "unknown-job", detail) from None
        if details.status in ("queued", "running"):
            return details.model_copy(update={"status": "interrupted", "error": _INTERRUPTED})
        return details

    async def cancel(self, caller: Caller, job_id: str) -> bool:
        """Stops the job; False when it had ended already."""
        state, job = self.state(caller, job_id), self._own(caller, job_id)
        if job is None or state.status == "cancelled":
            return False
        job.stop("cancelled")
        await asyncio.wait([job.task], timeout=_CANCEL_SECONDS)
        return True

    async def close(self) -> None:
        """Interrupts all uploads, within seconds. A batch that is being written then is lost to its job."""
        tasks = [job.task for job in self._at_work.values()]
        for job in self._at_work.values():
            job.stop("interrupted")
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=_CLOSING_SECONDS)
            for task in late:
                task.cancel()
            await asyncio.gather(*late)

    def _own(self, caller: Caller, job_id: str) -> Job | None:
        job = self._at_work.get(job_id)
        return job if job and job.known and caller.key_id in ("", job.caller.key_id) else None

    async def _work(self, job: Job) -> None:
        state = job.state
        try:
            async with self._turn if job.known else contextlib.nullcontext():
                state.status, state.started_at = "running", now()
                loop = asyncio.get_running_loop()
                state.result = await loop.run_in_executor(self._threads, job.store, self._runs)
                state.status = "done"
        except (StoppedError, ReadingCancelledError, asyncio.CancelledError) as exc:
            job.failure = exc
            if state.status != "cancelled":
                state.status, state.error = "interrupted", _INTERRUPTED
        except Exception as exc:  # noqa: BLE001  # reported by the job or its request
            state.status, state.error, job.failure = "failed", problem_of(exc).detail, exc
            if job.known and not isinstance(exc, ProblemError | SteelmanError):
                _LOG.exception("job %s failed", state.id)
        state.finished_at = now()
        if job.known:
            with contextlib.suppress(SteelmanError):  # a full disk: the next server tells that it was interrupted
                self._keep(job)
            facts = {"job": state.id, "status": state.status, "key": job.caller.key_id}
            _LOG.info("job %s is %s", state.id, state.status, extra=facts)
            self.on_end(state.status)
        del self._at_work[state.id]
        shutil.rmtree(job.folder, ignore_errors=True)

    def _keep(self, job: Job) -> None:
        with disk_errors(self._folder):
            path = self._folder / f"{job.state.id}-{job.caller.key_id}.json"
            path.write_text(job.details().model_dump_json(), encoding="utf-8")

    def _forget_old(self) -> None:
        """Removes jobs that ended a week ago, and folders that a killed server left."""
        for path in self._folder.glob("j*"):  # the page keeps its uploads beside them
            with contextlib.suppress(OSError):
                if path.stem[:13] not in self._at_work and time.time() - path.stat().st_mtime > _KEPT_SECONDS:
                    shutil.rmtree(path) if path.is_dir() else path.unlink()

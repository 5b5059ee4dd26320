"""Stores uploads in threads. A small upload over HTTP ends within its request; others become jobs.

Jobs are rows of the database, with their files. Any server, page or worker takes one at a time. After a restart or a
kill, another process begins the job again: stored documents are read again and not stored again.
"""

import asyncio
import contextlib
import logging
import math
import shutil
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from pydantic import TypeAdapter

from agent.commands.ingest import read_pages
from agent.runs.bootstrap import reading_limits
from agent.runs.executor import RunFailure, TableThread
from agent.runs.job_table import MOST_TRIES, JobRow, JobState, JobTable, Sent
from agent.runs.service import Runs
from agent.runs.store import utc_now
from agent.settings import Settings
from tools.disk import disk_errors, keep_folder_private
from tools.documents.document import InputFile
from tools.documents.ingest import Ingester, IngestReport, read_all
from tools.documents.sandbox import ReadingCancelledError
from tools.errors import InputError, SourceError, SteelmanError, StoreBusyError, StoreDownError, StoreError
from tools.models.worker import lower_priority
from tools.passages import SourceDocument

LONGEST_NAME = 2_000
DOCUMENTS = TypeAdapter(list[SourceDocument])
_LOG = logging.getLogger("steelman.server")
_CANCEL_SECONDS, _CLOSING_SECONDS = 10.0, 2.0
_BEAT_SECONDS, _LOOK_SECONDS = 0.5, 0.1
_LEFT_SECONDS = 86400.0
Files = Callable[[], Sequence[Path]]


class Job:
    """An upload. `stopped` ends it between two documents, or inside a file, after the batch that is being written."""

    def __init__(self, state: JobState, sent: Sent) -> None:
        """state: perhaps of an earlier process, whose stored documents will be read again and count as stored."""
        self.sent = sent
        self.failure: Exception | None = None
        self.report = IngestReport(replaced=state.result.replaced)
        self.state = state.model_copy(update={"read": 0, "failure": None})
        self.stopped, self.future = threading.Event(), Future[None]()

    def details(self) -> JobState:
        """Returns the state with the report so far."""
        return self.state.model_copy(update={"result": replace(self.report, seen=set())})

    def stop(self) -> None:
        """Stops at the next document, or at once if the upload is queued."""
        self.state.status = "cancelled"
        self.stopped.set()
        self.future.cancel()

    def work(self, runs: Runs, files: Files) -> None:
        """Stores the documents and sets `state` and `failure`."""
        state = self.state
        state.status, state.started_at = "running", state.started_at or utc_now()
        try:
            self._store(runs, files)
            state.status = "done"
        except ReadingCancelledError:
            state.status = "cancelled"
        except Exception as exc:  # noqa: BLE001  # the job or its request reports it
            state.status, state.failure, self.failure = "failed", RunFailure.of(exc), exc

    def _store(self, runs: Runs, files: Files) -> None:
        """Raises ReadingCancelledError, errors of `ingest`, and SourceError if a program's upload is unreadable."""
        search, report = runs.providers.search, self.report
        ingester = Ingester(runs.store.of(self.sent.person), search, search.encoder)
        documents, begun = self._documents(runs.settings, files), self.state.started_at or ""
        ingester.ingest(documents, self.state.collection, None, report, begun)
        self.state.documents = self.state.read
        if not (self.sent.page or report.stored or report.unchanged):
            problems = report.problems
            more = f" And {len(problems) - 1} more." if len(problems) > 1 else ""
            raise SourceError(f"Nothing was stored. {problems[0] if problems else 'The upload is empty.'}{more}")

    def _documents(self, settings: Settings, files: Files) -> Iterator[SourceDocument]:
        for document in self._read(settings, files):
            if self.stopped.is_set():
                raise ReadingCancelledError
            self.state.read += 1
            yield document
        if self.stopped.is_set():
            raise ReadingCancelledError

    def _read(self, settings: Settings, files: Files) -> Iterator[SourceDocument]:
        sent, report, limits, paths = self.sent, self.report, reading_limits(settings), files()
        if not sent.page:
            limits = replace(limits, more_time="", more_memory="")  # hints for the operator
        if not (sent.names or sent.addresses):
            yield from DOCUMENTS.validate_json(paths[0].read_bytes())
        for path, name in zip(paths, sent.names, strict=False):
            if sent.text and name not in sent.text:
                continue
            if not name.isprintable() or len(name) > LONGEST_NAME:
                report.problems.append(f"{name[:60]!r}: no document can have this name. Rename the file.")
                report.broken.add(name)
                continue
            columns = replace(sent.columns, text=tuple(sent.text.get(name, sent.columns.text)))
            # On the page a file replaces an earlier file of the same name, with all its rows.
            file = InputFile(path, name, name if sent.page else "")
            yield from read_all([file], report, None, columns, limits, self.stopped.is_set)
        if sent.addresses and not sent.text and not self.stopped.is_set():
            report.reading, report.begun = "web pages", len(sent.names) + len(sent.addresses)
            yield from asyncio.run(read_pages(sent.addresses, report.problems))


class Jobs:
    """All uploads. A process executes one job at a time, because each uses the processor and indexes fully."""

    def __init__(self, runs: Runs) -> None:
        self._runs, self._folder = runs, runs.settings.data_dir / "uploads"
        self._in_thread = TableThread(ThreadPoolExecutor(2, "steelman-jobs"))  # a large upload delays no heartbeat
        self.table, self._at_work = JobTable(runs.database), dict[str, Job]()
        self._begun = asyncio.Event()
        self._turn = ThreadPoolExecutor(1, "steelman-job", lower_priority)
        # Slow files must not block the event loop's few threads.
        self._threads = ThreadPoolExecutor(8, "steelman-uploads", lower_priority)
        for left in self._folder.glob("j*"):  # of a killed server
            with contextlib.suppress(OSError):
                if time.time() - left.stat().st_mtime > _LEFT_SECONDS:
                    shutil.rmtree(left)

    def open(self) -> float:
        """Returns the number of active and queued jobs of all processes; NaN without a database."""
        try:
            return self.table.open()
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

    async def store(self, job: Job, files: Files) -> IngestReport:
        """Stores a small upload. Raises errors of `ingest`, and SourceError if nothing is readable."""
        self._at_work[job.state.id] = job
        job.future = self._threads.submit(job.work, self._runs, files)
        job.future.add_done_callback(lambda _: self._at_work.pop(job.state.id, None))
        await asyncio.wait([asyncio.wrap_future(job.future)])
        if job.failure:
            raise job.failure
        if job.state.status != "done":
            raise asyncio.CancelledError  # the server stops
        return job.report

    async def begin(self, key_id: str, state: JobState, sent: Sent, files: Sequence[BinaryIO], most: int) -> bool:
        """Stores a job for the next free process. Returns False if the key has `most` open jobs."""
        added = await self._in_thread(self.table.add, key_id, state, sent, files, most)
        self._begun.set()
        return added

    async def repeat(self, row: JobRow, text: dict[str, list[str]]) -> None:
        """Reads tables of an ended job again; see `JobTable.repeat`."""
        await self._in_thread(self.table.repeat, row, text)
        self._begun.set()

    async def find(self, key_id: str, job_id: str) -> JobRow | None:
        """See `JobTable.find`."""
        return await self._in_thread(self.table.find, key_id, job_id)

    async def cancel(self, key_id: str, job_id: str) -> bool:
        """Stops the key's job, whichever process works on it. Returns False if it had already ended."""
        stopped = await self._in_thread(self.table.stop, job_id)
        if job := self._at_work.get(job_id):
            job.stop()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_CANCEL_SECONDS):
                while (row := await self.find(key_id, job_id)) and row.owner:
                    await asyncio.sleep(_LOOK_SECONDS)
        return stopped

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Executes jobs meanwhile, unless workers do it. At the end, jobs in progress wait for another process."""
        working = asyncio.create_task(asyncio.sleep(0) if self._runs.role == "door" else self.work())
        try:
            yield
        finally:
            working.cancel()
            await asyncio.wait([working])
            await self._close()

    async def work(self) -> None:
        """Executes jobs until it is cancelled."""
        while True:
            self._begun.clear()
            try:
                if (row := await self._in_thread(self.table.take, self._runs.executor.owner)) is not None:
                    await self._carry_out(row)
                    continue
            except StoreError:  # the database may answer again
                pass
            except Exception:  # noqa: BLE001  # logged; the next job may succeed
                _LOG.exception("a job could not be executed")
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_BEAT_SECONDS):
                    await self._begun.wait()

    async def _close(self) -> None:
        """Stops all small uploads within two seconds, but lets a batch that is being written finish."""
        for job in (left := list(self._at_work.values())):
            job.stop()
        if left:
            await asyncio.wait([asyncio.wrap_future(job.future) for job in left], timeout=_CLOSING_SECONDS)

    async def _carry_out(self, row: JobRow) -> None:
        """Executes a job. If this task is cancelled, the job waits for another process."""
        job, owner = Job(row.state, row.sent), self._runs.executor.owner
        self._at_work[row.id] = job
        left, counts, kept = True, True, list[int]()
        try:
            async with self.folder() as folder:
                await self._follow(job, row, folder, owner)
            left = isinstance(job.failure, StoreDownError | StoreBusyError)
            kept = [number for number, name in enumerate(job.sent.names) if name in job.report.unsure and job.sent.page]
        except asyncio.CancelledError:
            counts = False
            raise
        finally:
            self._at_work.pop(row.id, None)
            with contextlib.suppress(StoreError):  # another process then takes the job once its heartbeat is stale
                ending = row.id, owner, job.details(), left, counts, kept
                await asyncio.shield(self._in_thread(self.table.end, *ending))
        if job.failure and not isinstance(job.failure, SteelmanError):
            _LOG.error("job %s failed", row.id, exc_info=job.failure)
        facts = {"job": row.id, "status": job.state.status, "key": row.key_id}
        _LOG.info("job %s is %s", row.id, job.state.status, extra=facts)

    async def _follow(self, job: Job, row: JobRow, folder: Path, owner: str) -> None:

        def unpacked() -> list[Path]:
            if row.tries > MOST_TRIES:
                cause = f"{MOST_TRIES} processes ended while they worked on this upload."
                raise InputError(f"{cause} Send it again, fewer documents at a time.")
            with disk_errors(folder):
                return self.table.unpack(row, folder)

        job.future = self._turn.submit(job.work, self._runs, unpacked)
        ended = asyncio.wrap_future(job.future)
        try:
            while not (await asyncio.wait([ended], timeout=_BEAT_SECONDS))[0]:
                with contextlib.suppress(StoreError):
                    if not await self._in_thread(self.table.beat, row.id, owner, job.details()):
                        job.stop()
        finally:
            job.stopped.set()
            await asyncio.wait([ended], timeout=_CLOSING_SECONDS)

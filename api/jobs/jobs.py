"""Jobs as the calls use them: made of an upload, seen, cancelled, resumed, deleted; taken up after a restart."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from agent.runs.owners import new_owner
from agent.runs.parts import reading_limits
from agent.runs.service import Runs
from agent.runs.store import STALE_SECONDS, TableThread
from agent.settings import Settings
from api.callers import Caller
from api.jobs.table import JobRow, JobTable
from api.jobs.work import Workshop
from api.observing.notes import note
from api.pages import Page
from api.patterns import JobCursor
from api.problems import ProblemError
from api.schemas import JobDetails, JobList, JobStatus, JobSummary, Stored
from api.uploads import Folders, Upload
from tools.errors import SteelmanError

_LOOK_AGAIN = 0.5
_MOST_KEPT = 16
_KEPT = timedelta(days=7)
_ORPHANED_SECONDS = 3600.0
_CANCEL_SECONDS = 10.0


class Jobs:
    """The jobs of all callers. Each belongs to the key that it was made with."""

    def __init__(self, runs: Runs, settings: Settings, in_thread: TableThread) -> None:
        self._folders = Folders(settings.data_dir / "uploads")
        self._table = JobTable(runs.database)
        self._in_thread = in_thread
        self.workshop = Workshop(runs, self._table, self._folders, reading_limits(settings), in_thread)

    @contextlib.asynccontextmanager
    async def folder(self) -> AsyncIterator[Path]:
        """An empty folder for an upload, which goes again unless a job was made of it."""
        folder = await asyncio.to_thread(self._folders.new)
        try:
            yield folder
        finally:
            if await self._in_thread(self._table.get, folder.name) is None:
                await asyncio.to_thread(self._folders.remove, folder)

    async def begin(self, caller: Caller, collection: str, upload: Upload) -> JobDetails:
        """A job of the caller's that stores what was uploaded. Raises ProblemError past the most."""
        await self.forget_old()
        job_id, described, owner = upload.folder.name, upload.described(), new_owner()
        given = (job_id, caller.key_id, collection, described, owner, _MOST_KEPT)
        if not await self._in_thread(self._table.create, *given):
            raise ProblemError(
                429,
                "too-many-jobs",
                "Too many uploads are kept",
                f"{_MOST_KEPT} jobs of this key are not done, the most there may be. Wait, or DELETE /v1/jobs/{{id}}.",
                headers={"Retry-After": "30"},
            )
        note(job=job_id)
        row = await self.job(caller, job_id)
        self.workshop.launch(row, owner)
        return _details(row)

    async def job(self, caller: Caller, job_id: str) -> JobRow:
        """The caller's job of this id; raises ProblemError for one that is not its own."""
        row = await self._in_thread(self._table.get, job_id)
        if row is None or (caller.key_id and row.key_id != caller.key_id):
            detail = f"There is no job '{job_id}'. GET /v1/jobs lists yours."
            raise ProblemError(404, "unknown-job", "No such job", detail)
        return row

    async def state(self, caller: Caller, job_id: str) -> JobDetails:
        """How far the caller's job is, and what came of it."""
        return _details(await self.job(caller, job_id))

    async def listed(
        self, caller: Caller, limit: int, status: JobStatus | None, collection: str | None, after: JobCursor | None
    ) -> JobList:
        """A page of the caller's jobs, newest first; `after` is the `next` of the page before."""
        page = Page(limit, after)
        rows, cursor = page.cut(await self._in_thread(self._table.listed, caller.key_id, page, status, collection))
        return JobList(jobs=[_summary(row) for row in rows], next=cursor)

    async def cancel(self, caller: Caller, job_id: str) -> bool:
        """Stops the job, here or in whichever process works on it; False when it had ended already."""
        await self.job(caller, job_id)
        stopped = await self._in_thread(self._table.mark_cancelled, job_id)
        await self.workshop.stop(job_id, seconds=_CANCEL_SECONDS)
        return stopped

    async def resume(self, caller: Caller, job_id: str) -> None:
        """Goes on with the caller's job; one that is done, or at work here, stays as it is. Raises ProblemError while
        somebody works on it."""
        row = await self.job(caller, job_id)
        if row.status == "done" or (row.status in ("queued", "running") and job_id in self.workshop.at_work):
            return
        if not await self._taken_up(job_id, by_itself=False):
            raise _busy(job_id)

    async def delete(self, caller: Caller, job_id: str) -> None:
        """Removes the job and what is kept of its upload; what it stored stays. Raises ProblemError while somebody
        works on it."""
        await self.job(caller, job_id)
        if not await self._in_thread(self._table.delete, job_id):
            raise _busy(job_id)
        await asyncio.to_thread(self._folders.remove, self._folders.of(job_id))

    async def pick_up(self) -> None:
        """Goes on with the jobs that a server before this one left, as far as it has let go of them."""
        for job_id in await self._in_thread(self._table.left):
            if job_id not in self.workshop.at_work:
                await self._taken_up(job_id, by_itself=True)

    async def keep_picking_up(self) -> None:
        """The same for jobs of a server that was killed, which counts as alive for a while."""
        give_up = time.monotonic() + 2 * STALE_SECONDS
        while time.monotonic() < give_up:
            await asyncio.sleep(_LOOK_AGAIN)
            with contextlib.suppress(SteelmanError):  # the next look may come through
                await self.pick_up()

    async def close(self) -> None:
        """Leaves the jobs at work as they are, to the next server."""
        await self.workshop.suspend()

    async def forget_old(self) -> None:
        """Removes jobs that ended long ago, and folders that belong to no job."""
        before = (datetime.now(UTC) - _KEPT).isoformat(timespec="milliseconds")
        for job_id in await self._in_thread(self._table.ended_before, before):
            await self._in_thread(self._table.delete, job_id)
        for folder in await asyncio.to_thread(self._folders.all):
            row = await self._in_thread(self._table.get, folder.name)
            if (row is None and await asyncio.to_thread(_is_old, folder)) or (row and row.status == "done"):
                await asyncio.to_thread(self._folders.remove, folder)

    async def _taken_up(self, job_id: str, *, by_itself: bool) -> bool:
        owner = new_owner()
        if not await self._in_thread(self._table.claim, job_id, owner, by_itself=by_itself):
            return False
        if (row := await self._in_thread(self._table.get, job_id)) is not None:
            self.workshop.launch(row, owner)
        return True


def _is_old(folder: Path) -> bool:
    """Whether nobody can be filling it any more."""
    try:
        return time.time() - folder.stat().st_mtime > _ORPHANED_SECONDS
    except OSError:
        return False


def _summary(row: JobRow) -> JobSummary:
    return JobSummary(**_fields(row, JobSummary.model_fields))


def _details(row: JobRow) -> JobDetails:
    result = row.report.get("result")
    return JobDetails(
        **_fields(row, JobSummary.model_fields),
        problems=row.report.get("problems", []),
        more_problems=row.report.get("more_problems", 0),
        result=None if result is None else Stored(**result),
    )


def _fields(row: JobRow, names: Iterable[str]) -> dict[str, Any]:
    counts = dict.fromkeys(("read", "added", "changed", "unchanged", "passages"), 0)
    known = {**counts, "documents": None, **row.report}
    return {name: known[name] if name in known else getattr(row, name) for name in names}


def _busy(job_id: str) -> ProblemError:
    detail = f"Somebody works on job {job_id}. Stop it first: POST /v1/jobs/{job_id}/cancel, then try again."
    return ProblemError(409, "job-busy", "The job is being worked on", detail)

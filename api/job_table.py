"""The table of large uploads, with their files."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from pydantic import BaseModel
from sqlalchemy import ColumnElement, delete, func, insert, select, update

from agent.runs.store import STALE_SECONDS, utc_now
from api.problems import ProblemError
from api.schemas import JobDetails
from tools.documents.document import GUESSED_COLUMNS, ColumnNames
from tools.documents.readers import READERS
from tools.store.database import LIMITS_TURN, AnyRow, Database, take_turn
from tools.store.schema import job_files, jobs

MOST_TRIES = 3
"""How many processes may end while they work on a job. The job then fails."""
_MOST_OPEN, _MOST_ENDED = 16, 1_000  # a caller's open jobs; ended jobs that are kept
_PART = 1 << 20  # bytes of a file in one row
_OPEN = jobs.c.status.in_(("queued", "running"))


class Sent(BaseModel):
    """What a job's files are. names: the original names; without names, the file is the request's body."""

    names: list[str] = []
    columns: ColumnNames = GUESSED_COLUMNS


@dataclass(frozen=True, slots=True)
class JobRow:
    """A job. owner: the process that works on it."""

    id: str
    key_id: str
    state: JobDetails
    sent: Sent
    owner: str | None
    tries: int


class JobTable:
    def __init__(self, database: Database) -> None:
        self._db = database

    def add(self, key_id: str, state: JobDetails, sent: Sent, files: Sequence[Path]) -> None:
        """Stores a job. Raises ProblemError (429) if the key has too many open jobs."""
        row = {"id": state.id, "key_id": key_id, "status": "queued", "created_at": state.created_at}
        with self._db.write() as db:
            take_turn(db, LIMITS_TURN)
            if (db.scalar(select(func.count()).where(_OPEN, jobs.c.key_id == key_id)) or 0) >= _MOST_OPEN:
                detail = f"This key has {_MOST_OPEN} open jobs, the maximum. Wait for one, or cancel one."
                raise ProblemError(429, "too-many-jobs", detail, headers={"Retry-After": "30"})
            db.execute(insert(jobs).values(row | {"state": state.model_dump_json(), "sent": sent.model_dump_json()}))
            for number, path in enumerate(files):
                with path.open("rb") as file:
                    for part, content in enumerate(iter(lambda: file.read(_PART), b"")):
                        values = {"job_id": state.id, "file": number, "part": part, "content": content}
                        db.execute(insert(job_files).values(values))

    def find(self, key_id: str, job_id: str) -> JobRow:
        """Returns the key's job. A caller without a key may see all. Raises ProblemError (404)."""
        rows = self._db.rows(select(jobs).where(jobs.c.id == job_id))
        if rows and key_id in ("", rows[0].key_id):
            return _job(rows[0])
        raise ProblemError(404, "unknown-job", f"You have no job '{job_id}'. Check its id, or send the upload again.")

    def open(self) -> int:
        return int(self._db.rows(select(func.count()).where(_OPEN))[0][0])

    def take(self, owner: str) -> JobRow | None:
        """Makes `owner` the process of the oldest job without one."""
        free = jobs.c.heartbeat.is_(None) | (func.abs(jobs.c.heartbeat - time.time()) > STALE_SECONDS)
        oldest = select(jobs).where(_OPEN, free).order_by(jobs.c.tries, jobs.c.created_at, jobs.c.id).limit(1)
        if not self._db.rows(oldest):  # a look takes no lock
            return None
        with self._db.write() as db:
            row = db.execute(oldest.with_for_update(skip_locked=True)).first()
            if row is None:
                return None
            state = _job(row).state.model_copy(update={"status": "running", "started_at": utc_now()})
            taken = {"status": "running", "owner": owner, "heartbeat": time.time(), "tries": row.tries + 1}
            db.execute(update(jobs).where(jobs.c.id == row.id).values(taken | {"state": state.model_dump_json()}))
            return _job(db.execute(select(jobs).where(jobs.c.id == row.id)).one())

    def unpack(self, job: JobRow, folder: Path) -> list[Path]:
        """Writes the job's files into the folder. Returns their paths; a path has a readable ending or none."""
        paths = []
        for number, name in enumerate(job.sent.names or [""]):
            ending = PurePosixPath(name).suffix.lower()
            paths.append(folder / f"{number}{ending if ending in READERS else ''}")
            of = (job_files.c.job_id == job.id) & (job_files.c.file == number)
            with paths[-1].open("wb") as out:
                for row in self._db.rows(select(job_files.c.part).where(of).order_by(job_files.c.part)):
                    part = self._db.rows(select(job_files.c.content).where(of, job_files.c.part == row.part))
                    out.write(part[0].content)
        return paths

    def beat(self, job_id: str, owner: str, state: JobDetails) -> bool:
        """Stores the progress. Returns False if the job was cancelled or another process has it."""
        with self._db.write() as db:
            beat = {"heartbeat": time.time(), "state": state.model_dump_json()}
            return db.execute(update(jobs).where(_owned(job_id, owner), _OPEN).values(beat)).rowcount == 1

    def end(self, job_id: str, owner: str, state: JobDetails, left: bool, counts: bool) -> None:
        """Releases the job: for another process if it is left, otherwise with its end. counts: whether the try
        counts."""
        done = state.model_copy(update={"finished_at": utc_now()})
        ending = {"status": done.status, "state": done.model_dump_json()}
        values = {"owner": None, "heartbeat": None} | ({"tries": jobs.c.tries - (not counts)} if left else ending)
        with self._db.write() as db:
            ended = db.execute(update(jobs).where(_owned(job_id, owner)).values(values)).rowcount
            if ended:
                closed = select(jobs.c.id).where(jobs.c.id == job_id, ~_OPEN)
                db.execute(delete(job_files).where(job_files.c.job_id.in_(closed)))
                newest = select(jobs.c.id).where(~_OPEN).order_by(jobs.c.created_at.desc()).offset(_MOST_ENDED)
                old = [row.id for row in db.execute(newest.limit(_MOST_ENDED))]
                db.execute(delete(jobs).where(jobs.c.id.in_(old)))

    def stop(self, job_id: str) -> bool:
        """Cancels the job; its process ends it. Returns False if it had ended."""
        with self._db.write() as db:
            row = db.execute(select(jobs).where(jobs.c.id == job_id, _OPEN).with_for_update()).first()
            if row is None:
                return False
            state = _job(row).state.model_copy(update={"status": "cancelled"})
            if row.owner is None or abs((row.heartbeat or 0) - time.time()) > STALE_SECONDS:
                state.finished_at = utc_now()
                db.execute(delete(job_files).where(job_files.c.job_id == job_id))
            owner = None if state.finished_at else row.owner
            stopped = {"status": "cancelled", "state": state.model_dump_json(), "owner": owner}
            db.execute(update(jobs).where(jobs.c.id == job_id).values(stopped))
        return True


def _owned(job_id: str, owner: str) -> ColumnElement[bool]:
    return (jobs.c.id == job_id) & (jobs.c.owner == owner)


def _job(row: AnyRow) -> JobRow:
    state, sent = JobDetails.model_validate_json(row.state), Sent.model_validate_json(row.sent)
    return JobRow(row.id, row.key_id, state, sent, row.owner, row.tries)

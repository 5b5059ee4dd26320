"""The table of uploads that run as jobs, with their files."""

import time
import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Literal

from pydantic import BaseModel, Field
from sqlalchemy import ColumnElement, delete, func, insert, select, update

from agent.runs.executor import RunFailure
from agent.runs.store import STALE_SECONDS, utc_now
from tools.documents.document import GUESSED_COLUMNS, ColumnNames
from tools.documents.ingest import IngestReport
from tools.documents.readers import READERS
from tools.store.database import LIMITS_TURN, AnyRow, Database, take_turn
from tools.store.schema import job_files, jobs

MOST_TRIES = 3
"""How many processes may end while they work on a job. The job then fails."""
_MOST_ENDED = 1_000  # ended jobs that are kept
_PART = 1 << 20  # bytes of a file in one row
_OPEN = jobs.c.status.in_(("queued", "running"))


class Sent(BaseModel):
    """What a job consists of. names: the files' original names; without names, the file is `SourceDocument`s as JSON.
    addresses: of web pages. page: whether a person sent it on the page. person: whose collections it may change. text:
    text columns by table, chosen after a first reading; only these tables are then read."""

    names: list[str] = []
    columns: ColumnNames = GUESSED_COLUMNS
    addresses: list[str] = []
    page: bool = False
    person: str = ""
    text: dict[str, list[str]] = {}


class JobState(BaseModel):
    """A job's progress. started_at: of the first try. documents: None until the files are read. read: documents so far.
    result: the report so far."""

    id: str = Field(default_factory=lambda: f"j{uuid.uuid4().hex[:12]}")
    collection: str
    status: Literal["queued", "running", "done", "failed", "cancelled"] = "queued"
    created_at: str = Field(default_factory=utc_now)
    started_at: str | None = None
    finished_at: str | None = None
    documents: int | None = None
    read: int = 0
    failure: RunFailure | None = None
    result: IngestReport = Field(default_factory=IngestReport)

    @property
    def ended(self) -> bool:
        return self.status not in ("queued", "running")


@dataclass(frozen=True, slots=True)
class JobRow:
    """A job. owner: the process that works on it."""

    id: str
    key_id: str
    state: JobState
    sent: Sent
    owner: str | None
    tries: int


class JobTable:
    def __init__(self, database: Database) -> None:
        self._db = database

    def add(self, key_id: str, state: JobState, sent: Sent, files: Sequence[BinaryIO], most: int) -> bool:
        """Stores a job, or returns False if the key has `most` open jobs. Drops the tables of the key's ended jobs."""
        row = {"id": state.id, "key_id": key_id, "status": "queued", "created_at": state.created_at}
        opened = select(func.count()).where(_OPEN, jobs.c.key_id == key_id)
        with self._db.write() as db:
            if (db.scalar(opened) or 0) >= most:  # before up to 25 MB are written
                return False
            ended = select(jobs.c.id).where(~_OPEN, jobs.c.key_id == key_id)
            db.execute(delete(job_files).where(job_files.c.job_id.in_(ended)))
            db.execute(insert(jobs).values(row | {"state": state.model_dump_json(), "sent": sent.model_dump_json()}))
            for number, file in enumerate(files):
                for part, content in enumerate(iter(partial(file.read, _PART), b"")):
                    values = {"job_id": state.id, "file": number, "part": part, "content": content}
                    db.execute(insert(job_files).values(values))
            take_turn(db, LIMITS_TURN)  # only now, since runs that start wait for it
            if too_many := (db.scalar(opened) or 0) > most:  # another process on Postgres stored one meanwhile
                db.rollback()
        return not too_many

    def repeat(self, row: JobRow, text: dict[str, list[str]]) -> None:
        """Queues an ended job again, to read the tables in `text` with these text columns."""
        state, sent = JobState(id=row.id, collection=row.state.collection), row.sent.model_copy(update={"text": text})
        values = {"status": "queued", "created_at": state.created_at, "tries": 0, "sent": sent.model_dump_json()}
        with self._db.write() as db:
            values["state"] = state.model_dump_json()
            db.execute(update(jobs).where(jobs.c.id == row.id, ~_OPEN).values(values))

    def find(self, key_id: str, job_id: str) -> JobRow | None:
        """Returns the key's job. A caller without a key may see all keys' jobs, but none of the page."""
        rows = [_job(row) for row in self._db.rows(select(jobs).where(jobs.c.id == job_id))]
        return next((row for row in rows if key_id == row.key_id or not (key_id or row.sent.page)), None)

    def latest(self, key_id: str) -> JobRow | None:
        """Returns the key's newest job."""
        newest = select(jobs).where(jobs.c.key_id == key_id).order_by(jobs.c.created_at.desc()).limit(1)
        return next(map(_job, self._db.rows(newest)), None)

    def open(self) -> int:
        return int(self._db.rows(select(func.count()).where(_OPEN))[0][0])

    def take(self, owner: str) -> JobRow | None:
        """Makes `owner` the process of the oldest job without one."""
        free = jobs.c.heartbeat.is_(None) | _stale()
        oldest = select(jobs).where(_OPEN, free).order_by(jobs.c.tries, jobs.c.created_at, jobs.c.id).limit(1)
        if not self._db.rows(oldest):  # a look takes no lock
            return None
        with self._db.write() as db:
            row = db.execute(oldest.with_for_update(skip_locked=True)).first()
            if row is None:
                return None
            state = _job(row).state
            state = state.model_copy(update={"status": "running", "started_at": state.started_at or utc_now()})
            taken = {"status": "running", "owner": owner, "heartbeat": time.time(), "tries": row.tries + 1}
            db.execute(update(jobs).where(jobs.c.id == row.id).values(taken | {"state": state.model_dump_json()}))
            return _job(db.execute(select(jobs).where(jobs.c.id == row.id)).one())

    def unpack(self, job: JobRow, folder: Path) -> list[Path]:
        """Writes the job's files into the folder. Returns their paths; a path has a readable ending or none."""
        paths = []
        for number, name in enumerate(job.sent.names or ([] if job.sent.addresses else [""])):
            ending = PurePosixPath(name).suffix.lower()
            paths.append(folder / f"{number}{ending if ending in READERS else ''}")
            of = (job_files.c.job_id == job.id) & (job_files.c.file == number)
            with paths[-1].open("wb") as out:
                for row in self._db.rows(select(job_files.c.part).where(of).order_by(job_files.c.part)):
                    part = self._db.rows(select(job_files.c.content).where(of, job_files.c.part == row.part))
                    out.write(part[0].content)
        return paths

    def beat(self, job_id: str, owner: str, state: JobState) -> bool:
        """Stores the progress. Returns False if the job was cancelled or another process has it."""
        with self._db.write() as db:
            beat = {"heartbeat": time.time(), "state": state.model_dump_json()}
            return db.execute(update(jobs).where(_owned(job_id, owner), _OPEN).values(beat)).rowcount == 1

    def end(
        self, job_id: str, owner: str, state: JobState, left: bool, counts: bool, kept: Collection[int] = ()
    ) -> None:
        """Releases the job: for another process if it is left, otherwise with its end. counts: whether the try counts.
        kept: numbers of files that stay."""
        done = state if left else state.model_copy(update={"finished_at": utc_now()})
        ending = {"tries": jobs.c.tries - (not counts)} if left else {"status": done.status}
        values = {"owner": None, "heartbeat": None, "state": done.model_dump_json()} | ending
        with self._db.write() as db:
            ended = db.execute(update(jobs).where(_owned(job_id, owner)).values(values)).rowcount
            if ended:
                closed = select(jobs.c.id).where(jobs.c.id == job_id, ~_OPEN)
                db.execute(delete(job_files).where(job_files.c.job_id.in_(closed), job_files.c.file.not_in(kept)))
                dead = select(jobs.c.id).where(~_OPEN, _stale())  # cancelled, but its process died first
                db.execute(delete(job_files).where(job_files.c.job_id.in_(dead)))
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


def _stale() -> ColumnElement[bool]:
    return func.abs(jobs.c.heartbeat - time.time()) > STALE_SECONDS


def _owned(job_id: str, owner: str) -> ColumnElement[bool]:
    return (jobs.c.id == job_id) & (jobs.c.owner == owner)


def _job(row: AnyRow) -> JobRow:
    state, sent = JobState.model_validate_json(row.state), Sent.model_validate_json(row.sent)
    state.status = row.status
    return JobRow(row.id, row.key_id, state, sent, row.owner, row.tries)

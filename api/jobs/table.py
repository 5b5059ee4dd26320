"""The table of jobs: what was uploaded, by whom, how far it is, and which process works on it."""

import json
import sqlite3
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from agent.runs.owners import is_alive
from agent.runs.store import STALE_SECONDS
from api.pages import OF_PAGE, Page
from api.schemas import JobStatus
from tools.store.database import Database

_MOST_TAKEN_UP = 5
_OPEN = "status IN ('queued', 'running')"
_OWNED = f"owner = :owner AND {_OPEN}"
_FREE = "id NOT IN (SELECT value FROM json_each(:held))"
_LEFT = f"status IN ('queued', 'running', 'interrupted') AND NOT (owner IS NOT NULL AND taken_up >= {_MOST_TAKEN_UP})"
_REPORTED = """
    report = :report, taken_up = CASE WHEN json_extract(:report, '$.furthest')
        > COALESCE(json_extract(report, '$.furthest'), json_extract(report, '$.read'), 0) THEN 0 ELSE taken_up END
"""
_ROW = f"""
    SELECT id, key_id, collection, upload, created_at, started_at, finished_at, report, error,
        CASE WHEN {_OPEN} AND {_FREE} THEN 'interrupted' ELSE status END AS status
    FROM jobs
"""
_LISTED = f"""
    SELECT * FROM ({_ROW}) WHERE (:key = '' OR key_id = :key) AND (:status IS NULL OR status = :status)
        AND (:collection IS NULL OR collection = :collection) AND {OF_PAGE}
"""


@dataclass(frozen=True, slots=True)
class JobRow:
    """A job; `upload` says what lies in its folder, `report` what came of it so far. Times are ISO, UTC."""

    id: str
    key_id: str
    collection: str
    upload: dict[str, Any]
    status: JobStatus
    created_at: str
    started_at: str | None
    finished_at: str | None
    report: dict[str, Any]
    error: str | None


class JobTable:
    """Jobs as rows. One that counts as queued or running while nobody works on it is read as interrupted."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def create(self, job_id: str, key_id: str, collection: str, upload: dict[str, Any], owner: str, most: int) -> bool:
        """False where `most` uploads of the key lie on disk already: those of all its jobs that are not done."""
        query = """
            INSERT INTO jobs (id, key_id, collection, upload, status, created_at, owner, heartbeat, taken_up, report)
            SELECT :id, :key, :collection, :upload, 'queued', :at, :owner, :now, 0, '{}'
            WHERE (SELECT COUNT(*) FROM jobs WHERE key_id = :key AND status <> 'done') < :most
        """
        given = {"id": job_id, "key": key_id, "collection": collection, "upload": json.dumps(upload), "most": most}
        return self._changed(query, **given, at=now(), owner=owner, now=time.time())

    def get(self, job_id: str) -> JobRow | None:
        return next(iter(self._rows(f"{_ROW} WHERE id = :id", id=job_id)), None)

    def listed(self, key_id: str, page: Page, status: str | None, collection: str | None) -> list[JobRow]:
        """The jobs of a page that a key may see: its own, or all where no key is needed."""
        return self._rows(_LISTED, key=key_id, status=status, collection=collection, **page.given())

    def claim(self, job_id: str, owner: str, *, by_itself: bool) -> bool:
        """Makes `owner` the job's only worker, unless it is done or somebody works on it.

        by_itself: nobody asked for it; false, too, for one that somebody stopped, or whose process died again and again
        without coming any further.
        """
        query = f"""
            UPDATE jobs SET owner = :owner, heartbeat = :now, status = 'queued', error = NULL, finished_at = NULL,
                taken_up = CASE WHEN :itself THEN taken_up + (owner IS NOT NULL) ELSE 0 END
            WHERE id = :id AND status <> 'done' AND {_FREE} AND (NOT :itself OR ({_LEFT}))
        """
        return self._changed(query, id=job_id, owner=owner, now=time.time(), itself=by_itself)

    def begin(self, job_id: str, owner: str) -> bool:
        """Notes that the work has begun; false where the job is not the owner's any more."""
        query = (
            f"UPDATE jobs SET status = 'running', started_at = COALESCE(started_at, :now) WHERE id = :id AND {_OWNED}"
        )
        return self._changed(query, id=job_id, owner=owner, now=now())

    def beat(self, job_id: str, owner: str, report: dict[str, Any]) -> bool:
        """Shows that the owner is alive and how far it is, also of a job that was cancelled and is not let go of yet;
        false where the owner is to stop: the job was cancelled, or is not its own any more."""
        given = {"id": job_id, "owner": owner, "now": time.time(), "report": json.dumps(report)}
        with self._db.write() as db:
            db.execute(f"UPDATE jobs SET heartbeat = :now, {_REPORTED} WHERE id = :id AND owner = :owner", given)
            return db.execute(f"SELECT 1 FROM jobs WHERE id = :id AND {_OWNED}", given).fetchone() is not None

    def finish(
        self, job_id: str, owner: str, status: JobStatus, report: dict[str, Any], error: str | None = None
    ) -> bool:
        """Records how the owner's part ended, and lets go of the job; false where it had been cancelled or taken over
        meanwhile: then what was done is recorded, and it is let go."""
        given = {"id": job_id, "owner": owner, "report": json.dumps(report)}
        ended = f"UPDATE jobs SET status = :status, finished_at = :now, error = :error WHERE id = :id AND {_OWNED}"
        released = f"UPDATE jobs SET {_REPORTED}, owner = NULL, heartbeat = NULL WHERE id = :id AND owner = :owner"
        finished_at = None if status == "interrupted" else now()
        with self._db.write() as db:
            done = db.execute(ended, {**given, "status": status, "now": finished_at, "error": error}).rowcount == 1
            db.execute(released, given)
        return done

    def mark_cancelled(self, job_id: str) -> bool:
        """False where it had ended already. Its owner, if any, has yet to let go of it."""
        query = """
            UPDATE jobs SET status = 'cancelled', finished_at = :now
            WHERE id = :id AND status IN ('queued', 'running', 'interrupted')
        """
        return self._changed(query, id=job_id, now=now())

    def delete(self, job_id: str) -> bool:
        """False while somebody works on it."""
        return self._changed(f"DELETE FROM jobs WHERE id = :id AND {_FREE}", id=job_id)

    def left(self) -> list[str]:
        """Jobs that a server before left, oldest first, but for those whose process died again and again."""
        return [row.id for row in self._rows(f"{_ROW} WHERE {_LEFT} ORDER BY created_at, id")]

    def ended_before(self, at: str) -> list[str]:
        """Jobs that ended before this time (ISO, UTC)."""
        rows = self._db.rows("SELECT id FROM jobs WHERE finished_at < ?", (at,))
        return [str(row["id"]) for row in rows]

    def _rows(self, query: str, **given: object) -> list[JobRow]:
        with self._db.read() as db:
            return [_job(row) for row in db.execute(query, {**given, "held": _held(db)})]

    def _changed(self, query: str, **given: object) -> bool:
        with self._db.write() as db:
            return db.execute(query, {**given, "held": _held(db)}).rowcount == 1


def _held(db: sqlite3.Connection) -> str:
    """The jobs that somebody works on, or has yet to let go of, as a list in JSON."""
    owned = db.execute("SELECT id, heartbeat FROM jobs WHERE owner IS NOT NULL")
    return json.dumps([r["id"] for r in owned if is_alive(r["heartbeat"], STALE_SECONDS)])


def _job(row: sqlite3.Row) -> JobRow:
    return JobRow(**{**dict(row), "upload": json.loads(row["upload"]), "report": json.loads(row["report"])})


def now() -> str:
    """This moment (ISO, UTC)."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")

"""Runs, their numbered events and their answers, in the store's database."""

import json
import sqlite3
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from tools.errors import RunBusyError, UnknownRunError
from tools.store.database import Database
from tools.store.web_passages import WebPassages

RunStatus = Literal["running", "waiting", "done", "failed", "cancelled"]
STALE_SECONDS = 10.0
"""A run whose owner has not been heard of for so long may be continued by another process."""
_OWNED = "owner = ? AND status = 'running'"


@dataclass(frozen=True, slots=True)
class Event:
    """One step of a run's progress; `number` counts from 1 without gaps, and is what a client reconnects with."""

    number: int
    at: float
    kind: str
    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class RunRow:
    id: str
    thread: str
    question: str
    options: dict[str, Any]
    status: RunStatus
    created_at: str
    finished_at: str | None
    owner: str | None
    heartbeat: float | None
    error: str | None
    answer: str | None

    @property
    def abandoned(self) -> bool:
        """Whether the run counts as running while nobody works on it, as after its process was killed."""
        return self.status == "running" and time.time() - (self.heartbeat or 0.0) > STALE_SECONDS


class RunStore:
    """The tables of the run door."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def create(self, run_id: str, thread: str, question: str, options: dict[str, Any], owner: str) -> None:
        row = (run_id, thread, question, json.dumps(options), "running", _now(), owner, time.time())
        with self._db.write() as db:
            db.execute(
                "INSERT INTO runs (id, thread, question, options, status, created_at, owner, heartbeat)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                row,
            )

    def get(self, run_id: str) -> RunRow:
        """The run; an unambiguous beginning of its id is enough. Raises UnknownRunError."""
        with self._db.read() as db:
            rows = (
                db.execute("SELECT * FROM runs WHERE id = ?", (run_id,)).fetchall()
                or db.execute("SELECT * FROM runs WHERE substr(id, 1, ?) = ? LIMIT 2", (len(run_id), run_id)).fetchall()
            )
        if len(rows) != 1 or not run_id:
            what = "several runs begin" if len(rows) > 1 else "there is no run that begins"
            raise UnknownRunError(f"{what} with '{run_id}'. See the last ones: `python -m agent runs`.")
        return _row(rows[0])

    def latest(self, limit: int) -> list[RunRow]:
        with self._db.read() as db:
            return [
                _row(r) for r in db.execute("SELECT * FROM runs ORDER BY created_at DESC, rowid DESC LIMIT ?", (limit,))
            ]

    def thread_answers(self, thread: str) -> list[str]:
        """The answers (as JSON) of a thread's finished runs, oldest first."""
        query = "SELECT answer FROM runs WHERE thread = ? AND answer IS NOT NULL ORDER BY created_at, rowid"
        with self._db.read() as db:
            return [r["answer"] for r in db.execute(query, (thread,))]

    def claim(self, run_id: str, owner: str) -> bool:
        """Makes `owner` the run's only worker; False when the run is done, which it stays.

        Raises RunBusyError while somebody works on it.
        """
        with self._db.write() as db:
            changed = db.execute(
                "UPDATE runs SET owner = ?, heartbeat = ?, status = 'running', error = NULL, finished_at = NULL"
                " WHERE id = ? AND status <> 'done' AND (owner IS NULL OR heartbeat < ?)",
                (owner, time.time(), run_id, time.time() - STALE_SECONDS),
            ).rowcount
        if not changed and self.get(run_id).status != "done":
            raise RunBusyError(f"somebody is working on run {run_id} already. Wait for it, or cancel the run first.")
        return bool(changed)

    def beat(self, run_id: str, owner: str) -> bool:
        """Shows that the owner is alive; False when the run is not its own any more, as after a cancel."""
        with self._db.write() as db:
            query = f"UPDATE runs SET heartbeat = ? WHERE id = ? AND {_OWNED}"
            return db.execute(query, (time.time(), run_id, owner)).rowcount == 1

    def finish(
        self,
        run_id: str,
        owner: str,
        status: RunStatus,
        data: dict[str, Any],
        answer: str | None = None,
        error: str | None = None,
    ) -> bool:
        """Records how the owner's part ended, with its last event, and lets go of the run.

        False when the run had been cancelled or taken over meanwhile: then it is only let go of.
        """
        query = f"UPDATE runs SET status = ?, finished_at = ?, answer = ?, error = ? WHERE id = ? AND {_OWNED}"
        with self._db.write() as db:
            ended = db.execute(query, (status, _now(), answer, error, run_id, owner)).rowcount == 1
            if ended:
                _append(db, run_id, status, data)
            db.execute("UPDATE runs SET owner = NULL, heartbeat = NULL WHERE id = ? AND owner = ?", (run_id, owner))
        return ended

    def let_go(self, owner: str) -> None:
        """Cancels whatever the owner still holds."""
        with self._db.read() as db:
            held = [r["id"] for r in db.execute("SELECT id FROM runs WHERE owner = ?", (owner,))]
        for run_id in held:
            self.finish(run_id, owner, "cancelled", {})

    def mark_cancelled(self, run_id: str) -> bool:
        """Ends a running or waiting run; False when it had ended already. Its owner, if any, has yet to let go."""
        with self._db.write() as db:
            query = (
                "UPDATE runs SET status = 'cancelled', finished_at = ?"
                " WHERE id = ? AND status IN ('running', 'waiting')"
            )
            ended = db.execute(query, (_now(), run_id)).rowcount == 1
            if ended:
                _append(db, run_id, "cancelled", {})
        return ended

    def delete(self, run_id: str) -> None:
        """Removes the run with its events and what it read on the web."""
        WebPassages(self._db).forget(run_id)
        with self._db.write() as db:
            db.execute("DELETE FROM runs WHERE id = ?", (run_id,))

    def add_event(self, run_id: str, owner: str, kind: str, data: dict[str, Any]) -> None:
        """Appends an event, numbered on from the last one. Raises RunBusyError when the run is not the owner's."""
        with self._db.write() as db:
            if db.execute(f"SELECT 1 FROM runs WHERE id = ? AND {_OWNED}", (run_id, owner)).fetchone() is None:
                raise RunBusyError(f"run {run_id} was cancelled, or another process has taken it over.")
            _append(db, run_id, kind, data)

    def events(self, run_id: str, after: int) -> list[Event]:
        with self._db.read() as db:
            rows = db.execute("SELECT * FROM events WHERE run_id = ? AND number > ? ORDER BY number", (run_id, after))
            return [Event(r["number"], r["at"], r["kind"], json.loads(r["data"])) for r in rows]


def _append(db: sqlite3.Connection, run_id: str, kind: str, data: dict[str, Any]) -> None:
    db.execute(
        "INSERT INTO events SELECT ?, COALESCE(MAX(number), 0) + 1, ?, ?, ? FROM events WHERE run_id = ?",
        (run_id, time.time(), kind, json.dumps(data), run_id),
    )


def _row(row: sqlite3.Row) -> RunRow:
    return RunRow(**{**dict(row), "options": json.loads(row["options"])})


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")

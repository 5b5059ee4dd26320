"""Runs, their numbered events and their answers, in the store's database."""

import json
import sqlite3
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from tools.database import Database
from tools.errors import RunBusyError, UnknownRunError

RunStatus = Literal["running", "waiting", "done", "failed", "cancelled"]
STALE_SECONDS = 10.0
"""A run whose owner has not been heard of for so long may be continued by another process."""


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
            rows = db.execute(
                "SELECT * FROM runs WHERE id = ? OR substr(id, 1, ?) = ? LIMIT 2", (run_id, len(run_id), run_id)
            ).fetchall()
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

    def claim(self, run_id: str, owner: str) -> None:
        """Makes `owner` the run's only worker; raises RunBusyError while another one is alive."""
        stale = time.time() - STALE_SECONDS
        with self._db.write() as db:
            changed = db.execute(
                "UPDATE runs SET owner = ?, heartbeat = ?, status = 'running', error = NULL, finished_at = NULL"
                " WHERE id = ? AND (owner IS NULL OR owner = ? OR heartbeat < ?)",
                (owner, time.time(), run_id, owner, stale),
            ).rowcount
        if not changed:
            raise RunBusyError(f"another process is working on run {run_id}. Wait for it, or cancel the run first.")

    def beat(self, run_id: str, owner: str) -> bool:
        """Shows that the owner is alive; False when the run is not its own any more, as after a cancel."""
        with self._db.write() as db:
            query = "UPDATE runs SET heartbeat = ? WHERE id = ? AND owner = ? AND status = 'running'"
            return db.execute(query, (time.time(), run_id, owner)).rowcount == 1

    def finish(
        self, run_id: str, owner: str, status: RunStatus, answer: str | None = None, error: str | None = None
    ) -> bool:
        """Records how the owner's part ended; False, and nothing recorded, when the run was taken from it meanwhile."""
        with self._db.write() as db:
            query = (
                "UPDATE runs SET status = ?, finished_at = ?, owner = NULL, heartbeat = NULL, answer = ?, error = ?"
                " WHERE id = ? AND owner = ?"
            )
            return db.execute(query, (status, _now(), answer, error, run_id, owner)).rowcount == 1

    def mark_cancelled(self, run_id: str) -> bool:
        """Takes a running or waiting run from its owner; False when it had ended already."""
        with self._db.write() as db:
            query = (
                "UPDATE runs SET status = 'cancelled', finished_at = ?, owner = NULL, heartbeat = NULL"
                " WHERE id = ? AND status IN ('running', 'waiting')"
            )
            return db.execute(query, (_now(), run_id)).rowcount == 1

    def delete(self, run_id: str) -> None:
        with self._db.write() as db:
            db.execute("DELETE FROM runs WHERE id = ?", (run_id,))

    def add_events(self, run_id: str, events: Sequence[tuple[str, dict[str, Any]]]) -> list[Event]:
        """Appends events; their numbers go on from the last one."""
        added: list[Event] = []
        with self._db.write() as db:
            last = db.execute("SELECT COALESCE(MAX(number), 0) FROM events WHERE run_id = ?", (run_id,)).fetchone()[0]
            for number, (kind, data) in enumerate(events, start=last + 1):
                event = Event(number, time.time(), kind, data)
                db.execute(
                    "INSERT INTO events VALUES (?, ?, ?, ?, ?)", (run_id, number, event.at, kind, json.dumps(data))
                )
                added.append(event)
        return added

    def events(self, run_id: str, after: int) -> list[Event]:
        with self._db.read() as db:
            rows = db.execute("SELECT * FROM events WHERE run_id = ? AND number > ? ORDER BY number", (run_id, after))
            return [Event(r["number"], r["at"], r["kind"], json.loads(r["data"])) for r in rows]


def _row(row: sqlite3.Row) -> RunRow:
    return RunRow(**{**dict(row), "options": json.loads(row["options"])})


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")

"""Runs, numbered events and answers in the store's database. A heartbeat shows which process works on a run."""

import json
import sqlite3
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Literal

from agent.answer.corrections import Corrections, apply_corrections
from agent.answer.model import Answer
from tools.errors import RunBusyError, UnknownRunError
from tools.store.database import Database
from tools.store.run_passages import RunPassages, WebPassages, drop_stored_copies

RunStatus = Literal["running", "waiting", "done", "failed", "cancelled"]
STALE_SECONDS = 10.0
"""Without a heartbeat for so long, another process may continue the run."""
INTERRUPTED = "This question was interrupted: the process that worked on it is gone."
_OWNED = "owner = ? AND status = 'running'"
COLUMNS_WITHOUT_ANSWER = (
    "id, thread, question, options, status, created_at, finished_at, owner, heartbeat, error, NULL AS answer, person"
)
"""The columns of a run without its answer."""
VISIBLE_RUNS = """(:person IS NULL OR person = :person OR person = ''
    AND id NOT IN (SELECT run_id FROM api_runs WHERE key_id <> ''))"""
"""A person sees their own runs and public ones, not those of API keys. Without logins the person is empty and also sees
keys' runs; NULL sees all."""
_THREAD = (
    f"SELECT {COLUMNS_WITHOUT_ANSWER} FROM runs WHERE thread = :thread AND {VISIBLE_RUNS} ORDER BY created_at, rowid"
)


@dataclass(frozen=True, slots=True)
class RunEvent:
    """One step of a run. number: from 1 without gaps; clients reconnect with it."""

    number: int
    at: float
    kind: str
    data: dict[str, Any]


@dataclass(frozen=True)
class RunHealth:
    """A run's status, its last heartbeat (seconds since the epoch) and its error."""

    status: RunStatus
    heartbeat: float | None
    error: str | None

    @property
    def held(self) -> bool:
        """Whether a process works on the run or has not released it. A heartbeat far in the future does not count,
        because the clock was set back."""
        return self.heartbeat is not None and abs(time.time() - self.heartbeat) <= STALE_SECONDS

    @property
    def abandoned(self) -> bool:
        """Whether the run's status is running without a process."""
        return self.status == "running" and not self.held

    @property
    def interrupted(self) -> bool:
        """Whether the run's process ended before the run; it can be resumed. Earlier versions marked it cancelled."""
        return self.abandoned or (self.status == "cancelled" and self.error is not None)

    @property
    def state(self) -> str:
        """The status in words."""
        return "interrupted" if self.interrupted else self.status


@dataclass(frozen=True)
class RunRow(RunHealth):
    """A run. stored: the answer's JSON. moves: a reader's corrections, the target by claim key."""

    id: str
    thread: str
    question: str
    options: dict[str, Any]
    created_at: str
    finished_at: str | None
    owner: str | None
    stored: str | None
    person: str
    moves: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def answer(self) -> Answer | None:
        """The answer with the corrections."""
        return apply_corrections(Answer.model_validate_json(self.stored), self.moves) if self.stored else None


class RunStore:
    def __init__(self, database: Database, person: str | None = None) -> None:
        """person: who reads here; see `VISIBLE_RUNS`."""
        self._db, self._person, self._corrections = database, person, Corrections(database)

    def create(
        self, run_id: str, thread: str, question: str, options: dict[str, Any], owner: str, person: str = ""
    ) -> None:
        row = (run_id, thread, question, json.dumps(options), "running", utc_now(), owner, time.time(), person)
        columns = "id, thread, question, options, status, created_at, owner, heartbeat, person"
        with self._db.write() as db:
            db.execute(f"INSERT INTO runs ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)

    def get(self, run_id: str) -> RunRow:
        """Returns the run with corrections, by its id or an unambiguous prefix. Raises UnknownRunError."""
        asked = {"id": run_id, "person": self._person}
        query = f"SELECT * FROM runs WHERE {{}} = :id AND {VISIBLE_RUNS} LIMIT 2"
        begins = query.format("substr(id, 1, length(:id))")
        rows = self._db.rows(query.format("id"), asked) or self._db.rows(begins, asked)
        if len(rows) != 1 or not run_id:
            what = "several runs begin" if len(rows) > 1 else "there is no run that begins"
            raise UnknownRunError(f"{what} with '{run_id}'.", hint="See the last ones: `python -m agent runs`.")
        return self._corrected(rows[0])

    def _corrected(self, row: sqlite3.Row) -> RunRow:
        return replace(run_row(row), moves=self._corrections.moves(row["id"]))

    def latest(self, limit: int) -> list[RunRow]:
        query = f"SELECT {COLUMNS_WITHOUT_ANSWER} FROM runs ORDER BY created_at DESC, rowid DESC LIMIT ?"
        return [run_row(r) for r in self._db.rows(query, (limit,))]

    def thread(self, thread: str) -> list[RunRow]:
        """Returns the thread's runs without answers, oldest first."""
        return [run_row(r) for r in self._db.rows(_THREAD, {"thread": thread, "person": self._person})]

    def thread_answers(self, thread: str, by: str = "") -> list[Answer]:
        """Returns the thread's answers with corrections, oldest first. by: only those until then (ISO, UTC)."""
        query = f"""SELECT * FROM runs WHERE thread = :thread AND answer IS NOT NULL AND {VISIBLE_RUNS}
            AND (:by = '' OR finished_at <= :by) ORDER BY created_at, rowid"""
        asked = {"thread": thread, "person": self._person, "by": by}
        return [answer for row in self._db.rows(query, asked) if (answer := self._corrected(row).answer)]

    def claim(self, run_id: str, owner: str) -> bool:
        """Makes `owner` the run's worker. Returns False if the run is done. Raises RunBusyError, UnknownRunError."""
        with self._db.write() as db:
            run = self.get(run_id)
            if run.status == "done":
                return False
            if run.held:
                raise RunBusyError(
                    f"somebody is working on run {run_id} already. Wait for it, or cancel the run first; if its "
                    f"process was killed, try again in {STALE_SECONDS:.0f} seconds."
                )
            claimed = "owner = ?, heartbeat = ?, status = 'running', error = NULL, finished_at = NULL"
            db.execute(f"UPDATE runs SET {claimed} WHERE id = ?", (owner, time.time(), run_id))
        return True

    def record_heartbeat(self, run_id: str, owner: str) -> bool:
        """Renews the heartbeat. Returns False if the run is no longer the owner's."""
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
        """Records the end with a last event and releases the run.

        Returns False if the run was cancelled or taken over meanwhile.
        """
        query = f"UPDATE runs SET status = ?, finished_at = ?, answer = ?, error = ? WHERE id = ? AND {_OWNED}"
        with self._db.write() as db:
            ended = db.execute(query, (status, utc_now(), answer, error, run_id, owner)).rowcount == 1
            if ended:
                _append(db, run_id, status, data)
                if status == "done":
                    drop_stored_copies(db, run_id)
            db.execute("UPDATE runs SET owner = NULL, heartbeat = NULL WHERE id = ? AND owner = ?", (run_id, owner))
        return ended

    def cancel_owned(self, owner: str) -> None:
        """Cancels and releases the owner's runs."""
        for row in self._db.rows("SELECT id FROM runs WHERE owner = ?", (owner,)):
            self.finish(row["id"], owner, "cancelled", {})

    def mark_cancelled(self, run_id: str) -> bool:
        """Ends a running or waiting run. Returns False if it had ended. Its owner releases it."""
        with self._db.write() as db:
            stopped = "status = 'cancelled', finished_at = ? WHERE id = ? AND status IN ('running', 'waiting')"
            ended = db.execute(f"UPDATE runs SET {stopped}", (utc_now(), run_id)).rowcount == 1
            if ended:
                _append(db, run_id, "cancelled", {})
        return ended

    def check_free(self, run_ids: Sequence[str]) -> None:
        """Raises RunBusyError if a run is held, UnknownRunError if one is missing."""
        for run_id in run_ids:
            if (row := self.get(run_id)).held:
                raise RunBusyError(f"run {row.id} is still at work. Stop it first, then try again.")

    def release(self, owner: str) -> None:
        """Releases the owner's runs without a change."""
        with self._db.write() as db:
            db.execute("UPDATE runs SET owner = NULL, heartbeat = NULL WHERE owner = ?", (owner,))

    def delete(self, *run_ids: str) -> None:
        """Deletes the runs with their events and passages."""
        for run_id in run_ids:
            WebPassages(self._db).forget(run_id)
            RunPassages(self._db).forget(run_id)
        with self._db.write() as db:
            db.executemany("DELETE FROM runs WHERE id = ?", [(run_id,) for run_id in run_ids])

    def add_event(self, run_id: str, owner: str, kind: str, data: dict[str, Any]) -> None:
        """Appends an event. Raises RunBusyError if the run is not the owner's."""
        with self._db.write() as db:
            if db.execute(f"SELECT 1 FROM runs WHERE id = ? AND {_OWNED}", (run_id, owner)).fetchone() is None:
                raise RunBusyError(f"run {run_id} was cancelled, or another process has taken it over.")
            _append(db, run_id, kind, data)

    def events(self, run_id: str, after: int) -> list[RunEvent]:
        rows = self._db.rows("SELECT * FROM events WHERE run_id = ? AND number > ? ORDER BY number", (run_id, after))
        return [RunEvent(r["number"], r["at"], r["kind"], json.loads(r["data"])) for r in rows]

    def failures(self, run_ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Returns the data of the last failure by run id."""
        marks = ", ".join("?" * len(run_ids))
        query = f"SELECT run_id, data FROM events WHERE kind = 'failed' AND run_id IN ({marks}) ORDER BY number"
        return {run_id: json.loads(data) for run_id, data in self._db.rows(query, run_ids)}


def _append(db: sqlite3.Connection, run_id: str, kind: str, data: dict[str, Any]) -> None:
    db.execute(
        "INSERT INTO events SELECT ?, COALESCE(MAX(number), 0) + 1, ?, ?, ? FROM events WHERE run_id = ?",
        (run_id, time.time(), kind, json.dumps(data), run_id),
    )


def run_row(row: sqlite3.Row) -> RunRow:
    known = dict(row)
    return RunRow(stored=known.pop("answer"), **known | {"options": json.loads(row["options"])})


def utc_now() -> str:
    """ISO, UTC."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")

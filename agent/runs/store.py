"""Runs, numbered events and answers in the store's database. A heartbeat shows which process works on a run."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Literal

from sqlalchemy import ColumnElement, Connection, Update, delete, func, insert, null, select, true, update

from agent.answer.corrections import Corrections, apply_corrections
from agent.answer.model import Answer, answer_from_json
from tools.errors import RunBusyError, UnknownRunError
from tools.store.database import AnyRow, Database
from tools.store.notices import notify
from tools.store.run_passages import RunPassages, WebPassages, drop_stored_copies
from tools.store.schema import api_runs, events, runs
from tools.translation import mark

RunStatus = Literal["running", "waiting", "done", "failed", "cancelled"]
STALE_SECONDS = 10.0
"""Without a heartbeat for so long, another process may continue the run."""
INTERRUPTED = mark("This question was interrupted: the process that worked on it is gone.")
RUNS_WITHOUT_ANSWER = select(*(c if c.name != "answer" else null().label("answer") for c in runs.c))
"""Selects runs without their answers."""
_OLDEST_FIRST = runs.c.created_at, runs.c.id
WORKERS = "worker"
"""Owner of a run that waits for a worker. The ids of workers begin with it."""


def visible_runs(person: str | None) -> ColumnElement[bool]:
    """A person sees their own runs and public ones, not those of API keys. Without logins the person is empty and also
    sees keys' runs; None sees all."""
    if person is None:
        return true()
    of_keys = select(api_runs.c.run_id).where(api_runs.c.key_id != "")
    return (runs.c.person == person) | (runs.c.person == "") & runs.c.id.not_in(of_keys)


def _owned(run_id: str, owner: str) -> ColumnElement[bool]:
    return (runs.c.id == run_id) & (runs.c.owner == owner) & (runs.c.status == "running")


@dataclass(frozen=True, slots=True)
class RunEvent:
    """One step of a run. number: from 1 without gaps; clients reconnect with it."""

    number: int
    at: float
    kind: str
    data: dict[str, Any]


@dataclass(frozen=True)
class RunHealth:
    """A run's status, its last heartbeat (seconds since the epoch), its error and its process."""

    status: RunStatus
    heartbeat: float | None
    error: str | None
    owner: str | None

    @property
    def held(self) -> bool:
        """Whether a process holds the run. A heartbeat far in the future, after the clock was set back, is none."""
        return self.heartbeat is not None and abs(time.time() - self.heartbeat) <= STALE_SECONDS

    @property
    def abandoned(self) -> bool:
        """Whether the run's process ended before the run; it can be resumed. Some worker continues a worker's run."""
        return self.status == "running" and not self.held and not (self.owner or "").startswith(WORKERS)

    @property
    def state(self) -> str:
        """The status in words."""
        return "interrupted" if self.abandoned else self.status


@dataclass(frozen=True)
class RunRow(RunHealth):
    """A run. stored: the answer's JSON. moves: a reader's corrections, the target by claim key."""

    id: str
    thread: str
    question: str
    options: dict[str, Any]
    created_at: str
    finished_at: str | None
    stored: str | None
    person: str
    moves: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def answer(self) -> Answer | None:
        """The answer with the corrections."""
        return apply_corrections(answer_from_json(self.stored), self.moves) if self.stored else None


RecordRun = Callable[[Connection, str], None]


class RunStore:
    def __init__(self, database: Database, person: str | None = None) -> None:
        """person: who reads here; see `visible_runs`."""
        self.database, self._person, self._corrections = database, person, Corrections(database)

    def create(
        self,
        run_id: str,
        thread: str,
        question: str,
        options: dict[str, Any],
        owner: str,
        person: str = "",
        by: str = "",
        record: RecordRun = lambda *_: None,
        follows: str = "",
    ) -> None:
        """Stores a new run and its first event. by: see `Runs.start`. record: stores more in the same transaction; if
        it raises, there is no run. follows: another thread that the question follows up."""
        row = {"id": run_id, "thread": thread, "question": question, "options": json.dumps(options), "person": person}
        row |= {"status": "running", "created_at": utc_now()}
        with self.database.write() as db:
            db.execute(insert(runs).values(row | _worked_on(owner)))
            given = {"question": question, "by": by, "follows": follows}
            _append(db, run_id, "started", {name: value for name, value in given.items() if value})
            if owner == WORKERS and (ahead := _waiting(db) - 1):
                _append(db, run_id, "queued", {"ahead": ahead})
            record(db, run_id)

    def get(self, run_id: str) -> RunRow:
        """Returns the run with corrections, by its id or an unambiguous prefix. Raises UnknownRunError."""
        seen = select(runs).where(visible_runs(self._person)).limit(2)
        begins = func.substr(runs.c.id, 1, len(run_id)) == run_id
        rows = self.database.rows(seen.where(runs.c.id == run_id)) or self.database.rows(seen.where(begins))
        if len(rows) != 1 or not run_id:
            hint = "See the last ones: `python -m agent runs`."
            if len(rows) > 1:
                raise UnknownRunError(f"several runs begin with '{run_id}'.", hint=hint)
            raise UnknownRunError(f"there is no run that begins with '{run_id}'.", hint=hint)
        return self._corrected(rows[0])

    def _corrected(self, row: AnyRow) -> RunRow:
        return replace(run_row(row), moves=self._corrections.moves(row.id))

    def latest(self, limit: int) -> list[RunRow]:
        query = RUNS_WITHOUT_ANSWER.order_by(*(c.desc() for c in _OLDEST_FIRST)).limit(limit)
        return [run_row(r) for r in self.database.rows(query)]

    def thread(self, thread: str) -> list[RunRow]:
        """Returns the thread's runs without answers, oldest first."""
        query = RUNS_WITHOUT_ANSWER.where(runs.c.thread == thread, visible_runs(self._person)).order_by(*_OLDEST_FIRST)
        return [run_row(r) for r in self.database.rows(query)]

    def thread_answers(self, thread: str, by: str = "") -> list[Answer]:
        """Returns the thread's answers with corrections, oldest first. by: only those until then (ISO, UTC)."""
        query = select(runs).where(runs.c.thread == thread, runs.c.answer.is_not(None), visible_runs(self._person))
        in_time = query.where(runs.c.finished_at <= by) if by else query
        rows = self.database.rows(in_time.order_by(*_OLDEST_FIRST))
        return [answer for row in rows if (answer := self._corrected(row).answer)]

    def claim(self, run_id: str, owner: str, data: dict[str, Any] | None = None) -> bool:
        """Makes `owner` the run's worker, and records the event 'resumed' with the data. Returns False if the run is
        done. Raises RunBusyError, UnknownRunError."""
        with self.database.write() as db:
            db.execute(select(runs.c.id).where(runs.c.id == run_id).with_for_update())
            run = self.get(run_id)
            if run.status == "done":
                return False
            queued = owner == run.owner == WORKERS and run.status == "running"
            if run.held or queued:
                raise RunBusyError(
                    f"somebody is working on run {run_id} already. Wait for it, or cancel the run first; if its "
                    f"process was killed, try again in {STALE_SECONDS:.0f} seconds."
                )
            claimed = _worked_on(owner) | {"status": "running", "error": None, "finished_at": None}
            db.execute(update(runs).where(runs.c.id == run_id).values(claimed))
            _append(db, run_id, "resumed", data or {})
        return True

    def claim_next(self, owner: str, at_work: Sequence[str]) -> RunRow | None:
        """Makes `owner` the worker of the oldest run that waits for one, or whose worker is gone. Returns the run as it
        was before. at_work: the owner's runs; after a long pause of the process they look left."""
        waiting = select(runs).where(_for_workers(), runs.c.id.not_in(at_work)).order_by(*_OLDEST_FIRST).limit(1)
        if not self.database.rows(waiting):  # a look takes no lock
            return None
        with self.database.write() as db:
            if (row := db.execute(waiting.with_for_update(skip_locked=True)).first()) is not None:
                db.execute(update(runs).where(runs.c.id == row.id).values(_worked_on(owner)))
        return run_row(row) if row is not None else None

    def waiting(self, before: str = "9999") -> int:
        """Returns how many runs wait for a worker. before: only those created before (ISO, UTC)."""
        with self.database.read() as db:
            return _waiting(db, before)

    def record_heartbeat(self, run_id: str, owner: str) -> bool:
        """Renews the heartbeat. Returns False if the run is no longer the owner's."""
        with self.database.write() as db:
            beat = update(runs).where(_owned(run_id, owner)).values(heartbeat=time.time())
            return db.execute(beat).rowcount == 1

    def finish(
        self,
        run_id: str,
        owner: str,
        status: RunStatus,
        data: dict[str, Any],
        answer: str | None = None,
        error: str | None = None,
    ) -> bool:
        """Records the end with a last event and releases the run. Returns False if it is not the owner's any more."""
        end = {"status": status, "finished_at": utc_now(), "answer": answer, "error": error}
        with self.database.write() as db:
            ended = db.execute(update(runs).where(_owned(run_id, owner)).values(end)).rowcount == 1
            if ended:
                _append(db, run_id, status, data)
                if status == "done":
                    drop_stored_copies(db, run_id)
            db.execute(_released(owner).where(runs.c.id == run_id))
        return ended

    def cancel_owned(self, owner: str) -> None:
        """Cancels and releases the owner's runs."""
        for row in self.database.rows(select(runs.c.id).where(runs.c.owner == owner)):
            self.finish(row.id, owner, "cancelled", {})

    def mark_cancelled(self, run_id: str) -> bool:
        """Ends a running or waiting run. Returns False if it had ended. Its owner releases it."""
        with self.database.write() as db:
            stop = update(runs).where(runs.c.id == run_id, runs.c.status.in_(("running", "waiting")))
            ended = db.execute(stop.values(status="cancelled", finished_at=utc_now())).rowcount == 1
            if ended:
                _append(db, run_id, "cancelled", {})
        return ended

    def check_free(self, run_ids: Sequence[str]) -> None:
        """Raises RunBusyError if a run is held, UnknownRunError if one is missing."""
        for run_id in run_ids:
            if (row := self.get(run_id)).held or (row.status == "running" and not row.abandoned):
                raise RunBusyError(f"run {row.id} is still at work. Stop it first, then try again.")

    def release(self, owner: str) -> None:
        """Releases the owner's runs without a change. A worker's run then waits for another worker."""
        with self.database.write() as db:
            db.execute(_released(owner))

    def delete(self, *run_ids: str) -> None:
        """Deletes the runs with their events and passages."""
        for run_id in run_ids:
            WebPassages(self.database).forget(run_id)
            RunPassages(self.database).forget(run_id)
        with self.database.write() as db:
            db.execute(delete(runs).where(runs.c.id.in_(run_ids)))

    def add_event(self, run_id: str, owner: str, kind: str, data: dict[str, Any], at: float | None = None) -> None:
        """Appends an event. at: its time. An event with the same time and kind is not added again, so that a caller can
        repeat a call whose reply was lost. Raises RunBusyError if the run is not the owner's."""
        with self.database.write() as db:
            if db.scalar(select(runs.c.id).where(_owned(run_id, owner)).with_for_update()) is None:
                raise RunBusyError(f"run {run_id} was cancelled, or another process has taken it over.")
            _append(db, run_id, kind, data, at)

    def events(self, run_id: str, after: int) -> list[RunEvent]:
        e = events.c
        rows = self.database.rows(select(events).where(e.run_id == run_id, e.number > after).order_by(e.number))
        return [RunEvent(r.number, r.at, r.kind, json.loads(r.data)) for r in rows]

    def last_data(self, kind: str, run_ids: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Returns the data of the last event of this kind by run id."""
        e = events.c
        query = select(e.run_id, e.data).where(e.kind == kind, e.run_id.in_(run_ids)).order_by(e.number)
        return {run_id: json.loads(data) for run_id, data in self.database.rows(query)}


def _released(owner: str) -> Update:
    following = WORKERS if owner.startswith(WORKERS) else None
    return update(runs).where(runs.c.owner == owner).values(owner=following, heartbeat=None)


def _worked_on(owner: str) -> dict[str, Any]:
    return {"owner": owner, "heartbeat": None if owner == WORKERS else time.time()}


def is_active() -> ColumnElement[bool]:
    """Whether a process works on a run, or the run waits for a worker."""
    held = func.abs(runs.c.heartbeat - time.time()) <= STALE_SECONDS
    return (runs.c.status == "running") & (held | runs.c.owner.startswith(WORKERS))


def _for_workers() -> ColumnElement[bool]:
    """Whether a run is the workers' and none of them works on it."""
    silent = func.abs(runs.c.heartbeat - time.time()) > STALE_SECONDS
    return (runs.c.status == "running") & runs.c.owner.startswith(WORKERS) & (runs.c.heartbeat.is_(None) | silent)


def _append(db: Connection, run_id: str, kind: str, data: dict[str, Any], at: float | None = None) -> None:
    """Adds the run's next event. The transaction holds the run's row, so no other one adds the same number."""
    e = events.c
    if at and db.scalar(select(e.number).where(e.run_id == run_id, e.at == at, e.kind == kind)):
        return
    last = select(func.coalesce(func.max(e.number), 0) + 1).where(e.run_id == run_id).scalar_subquery()
    event = {"run_id": run_id, "number": last, "at": at or time.time(), "kind": kind, "data": json.dumps(data)}
    db.execute(insert(events).values(event))
    notify(db, run_id)


def _waiting(db: Connection, before: str = "9999") -> int:
    query = select(func.count()).where(_for_workers(), runs.c.created_at < before)
    return int(db.scalar(query) or 0)


def run_row(row: AnyRow) -> RunRow:
    known = row._asdict()
    return RunRow(stored=known.pop("answer"), **known | {"options": json.loads(row.options)})


def utc_now() -> str:
    """ISO, UTC."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")

"""A person's threads of runs: list, names and deleted threads. Without logins the person is empty."""

from dataclasses import dataclass
from functools import partial

from sqlalchemy import Integer, Over, case, cast, exists, func, or_, select

from agent.runs.store import RunHealth, visible_runs
from tools.store.database import Database, upsert
from tools.store.schema import runs, threads


@dataclass(frozen=True)
class RunThread(RunHealth):
    """A question with its follow-ups, and the health of its newest run. name: the first question unless renamed. runs,
    own: runs, and the person's. first, latest: run ids. at: last activity (ISO, UTC)."""

    id: str
    name: str
    runs: int
    own: int
    first: str
    latest: str
    at: str


class ThreadStore:
    def __init__(self, database: Database, person: str = "") -> None:
        self._db, self._person = database, person

    def latest(self, limit: int, words: str = "") -> list[RunThread]:
        """Returns the threads whose name or questions contain each of the words, newest first, without deleted ones."""
        r, seen, order = runs.c, visible_runs(self._person), (runs.c.created_at, runs.c.id)
        later = func.coalesce(r.finished_at, "")
        mine = partial(Over, partition_by=r.thread)
        places = {
            "first": mine(func.row_number(), order_by=order),
            "last": mine(func.row_number(), order_by=[c.desc() for c in order]),
            "runs": mine(func.count()),
            "own": mine(func.sum(cast(r.person == self._person, Integer))),
            "at": mine(func.max(case((later > r.created_at, later), else_=r.created_at))),
        }
        facts = r.thread, r.id, r.question, r.created_at, r.status, r.heartbeat, r.error, r.owner  # answers are long
        n = select(*facts, *(place.label(f"n_{name}") for name, place in places.items())).where(seen).subquery()
        first, latest = n.alias(), n.alias()
        f, last, t = first.c, latest.c, threads.c
        name = func.coalesce(func.nullif(t.name, ""), f.question)
        query = (
            select(f.thread.label("id"), name.label("name"), f.n_runs.label("runs"), f.n_own.label("own"))
            .add_columns(f.id.label("first"), last.id.label("latest"), f.n_at.label("at"))
            .add_columns(last.status, last.heartbeat, last.error, last.owner)
            .join_from(first, latest, (f.thread == last.thread) & (f.n_first == 1) & (last.n_last == 1))
            .outerjoin(threads, (t.thread == f.thread) & (t.person == self._person))
            .where(t.removed_at.is_(None))
            .order_by(f.n_at.desc(), last.created_at.desc(), last.id.desc())
        )
        for word in words.split():
            asked = exists().where(r.thread == f.thread, seen, r.question.icontains(word, autoescape=True))
            query = query.where(or_(asked, t.name.icontains(word, autoescape=True)))
        return [RunThread(**row._mapping) for row in self._db.rows(query.limit(limit))]

    def name_thread(self, thread: str, name: str) -> None:
        """Renames the thread; an empty name removes the name."""
        self._set(thread, "name", name.strip())

    def set_removed(self, thread: str, at: float | None) -> None:
        """Marks the thread as deleted at a time (seconds since the epoch), or restores it (None)."""
        self._set(thread, "removed_at", at)

    def _set(self, thread: str, column: str, value: str | float | None) -> None:
        with self._db.write() as db:
            upsert(db, threads, [{"thread": thread, "person": self._person, column: value}], replace=True)

    def removed(self, before: float) -> list[tuple[str, str]]:
        """Returns (thread, person) pairs deleted before a time whose runs still exist."""
        t, kept = threads.c, exists().where(runs.c.thread == threads.c.thread, runs.c.person == threads.c.person)
        rows = self._db.rows(select(t.thread, t.person).where(t.removed_at < before, kept))
        return [(row.thread, row.person) for row in rows]

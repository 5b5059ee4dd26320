"""A person's threads of runs: list, names and deleted threads. Without logins the person is empty."""

import json
from dataclasses import dataclass

from agent.runs.store import VISIBLE_RUNS, RunHealth
from tools.store.database import Database

_THREADS = f"""
    WITH newest AS (
        SELECT MIN(rowid) AS first, MAX(rowid) AS last, COUNT(*) AS runs,
            MAX(MAX(created_at, COALESCE(finished_at, ''))) AS at, GROUP_CONCAT(question, char(10)) AS asked,
            SUM(person = :person) AS own
        FROM runs WHERE {VISIBLE_RUNS} GROUP BY thread
    )
    SELECT first.thread AS id, COALESCE(NULLIF(t.name, ''), first.question) AS name, n.runs, n.own,
        first.id AS first, latest.id AS latest, n.at, latest.status, latest.heartbeat, latest.error
    FROM newest n JOIN runs first ON first.rowid = n.first JOIN runs latest ON latest.rowid = n.last
    LEFT JOIN threads t ON t.thread = first.thread AND t.person = :person
    WHERE t.removed_at IS NULL AND NOT EXISTS (
        SELECT 1 FROM json_each(:words)
        WHERE NOT instr(lower(n.asked || char(10) || COALESCE(t.name, '')), lower(value))
    )
    ORDER BY n.at DESC, n.last DESC LIMIT :limit
"""


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
        """Returns the last threads whose name or questions contain each of the words, newest activity first, without
        deleted ones."""
        asked = {"person": self._person, "words": json.dumps(words.split()), "limit": limit}
        return [RunThread(**dict(r)) for r in self._db.rows(_THREADS, asked)]

    def name_thread(self, thread: str, name: str) -> None:
        """Renames the thread; an empty name removes the name."""
        self._set(thread, "name", name.strip())

    def set_removed(self, thread: str, at: float | None) -> None:
        """Marks the thread as deleted at a time (seconds since the epoch), or restores it (None)."""
        self._set(thread, "removed_at", at)

    def _set(self, thread: str, column: str, value: str | float | None) -> None:
        query = f"INSERT INTO threads (thread, person, {column}) VALUES (?, ?, ?)"
        with self._db.write() as db:
            db.execute(f"{query} ON CONFLICT DO UPDATE SET {column} = excluded.{column}", (thread, self._person, value))

    def removed(self, before: float) -> list[tuple[str, str]]:
        """Returns (thread, person) pairs deleted before a time whose runs still exist."""
        query = """SELECT thread, person FROM threads t WHERE removed_at < ?
            AND EXISTS (SELECT 1 FROM runs r WHERE r.thread = t.thread AND r.person = t.person)"""
        return [(r["thread"], r["person"]) for r in self._db.rows(query, (before,))]

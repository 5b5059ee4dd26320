"""The threads of runs as a person keeps them: their list, their names, those that were deleted and can be put back.
Where nobody logs in to the page, the person is empty.
"""

from dataclasses import dataclass

from agent.runs.store import STALE_SECONDS, VISIBLE_RUNS, RunStatus, is_alive
from tools.store.database import Database

_THREADS = f"""
    WITH newest AS (
        SELECT MIN(rowid) AS first, MAX(rowid) AS last, COUNT(*) AS runs,
            MAX(MAX(created_at, COALESCE(finished_at, ''))) AS at, GROUP_CONCAT(question, char(10)) AS asked,
            SUM(person = :person) AS own
        FROM runs WHERE {VISIBLE_RUNS} GROUP BY thread
    )
    SELECT first.thread AS id, COALESCE(NULLIF(t.name, ''), first.question) AS name, n.runs, n.own,
        first.id AS first, latest.id AS latest, n.at, latest.status, latest.heartbeat, latest.owner, latest.error
    FROM newest n JOIN runs first ON first.rowid = n.first JOIN runs latest ON latest.rowid = n.last
    LEFT JOIN threads t ON t.thread = first.thread AND t.person = :person
    WHERE t.removed_at IS NULL
        AND (instr(lower(n.asked), lower(:words)) OR instr(lower(COALESCE(t.name, '')), lower(:words)))
    ORDER BY n.at DESC, n.last DESC LIMIT :limit
"""


@dataclass(frozen=True, slots=True)
class RunThread:
    """A question with its follow-ups: its name, which is the first question where nobody gave another, how many runs it
    has, `own` how many of them are the person's, the first one's id and the newest one's, how that one stands, and when
    something last happened (ISO, UTC)."""

    id: str
    name: str
    runs: int
    own: int
    first: str
    latest: str
    at: str
    status: RunStatus
    heartbeat: float | None
    owner: str | None
    error: str | None

    @property
    def state(self) -> str:
        """The newest run's status in a word for people."""
        gone = self.error if self.status == "cancelled" else not is_alive(self.owner, self.heartbeat, STALE_SECONDS)
        return "interrupted" if gone and self.status in ("cancelled", "running") else self.status


class ThreadStore:
    """The list of threads, and what a person made of each."""

    def __init__(self, database: Database, person: str = "") -> None:
        self._db, self._person = database, person

    def latest(self, limit: int, words: str = "") -> list[RunThread]:
        """The last threads in whose name or questions the words stand, the one with the newest activity first; without
        those that were deleted."""
        asked = {"person": self._person, "words": words.strip(), "limit": limit}
        return [RunThread(**dict(r)) for r in self._db.rows(_THREADS, asked)]

    def name_thread(self, thread: str, name: str) -> None:
        """Gives the thread a name of its own; an empty one takes it away."""
        self._set(thread, "name", name.strip())

    def set_removed(self, thread: str, at: float | None) -> None:
        """Takes the thread out of the list from a moment on (seconds since the epoch), or puts it back (None)."""
        self._set(thread, "removed_at", at)

    def _set(self, thread: str, column: str, value: str | float | None) -> None:
        query = f"INSERT INTO threads (thread, person, {column}) VALUES (?, ?, ?)"
        with self._db.write() as db:
            db.execute(f"{query} ON CONFLICT DO UPDATE SET {column} = excluded.{column}", (thread, self._person, value))

    def removed(self, before: float) -> list[tuple[str, str]]:
        """The threads that anybody took out of their list before a moment, each with who it was, of whom runs of it are
        still here."""
        query = """SELECT thread, person FROM threads t WHERE removed_at < ?
            AND EXISTS (SELECT 1 FROM runs r WHERE r.thread = t.thread AND r.person = t.person)"""
        return [(r["thread"], r["person"]) for r in self._db.rows(query, (before,))]

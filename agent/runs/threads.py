"""The threads of runs as a person keeps them: their list, their names, those that were deleted and can be put back."""

from dataclasses import dataclass

from agent.runs.store import STALE_SECONDS, RunStatus, is_alive
from tools.store.database import Database

_THREADS = """
    WITH newest AS (
        SELECT MIN(rowid) AS first, MAX(rowid) AS last, COUNT(*) AS runs,
            MAX(MAX(created_at, COALESCE(finished_at, ''))) AS at, GROUP_CONCAT(question, char(10)) AS asked
        FROM runs GROUP BY thread
    )
    SELECT first.thread AS id, COALESCE(NULLIF(t.name, ''), first.question) AS name, n.runs, latest.id AS latest,
        n.at, latest.status, latest.heartbeat
    FROM newest n JOIN runs first ON first.rowid = n.first JOIN runs latest ON latest.rowid = n.last
    LEFT JOIN threads t ON t.thread = first.thread
    WHERE t.removed_at IS NULL AND (instr(lower(n.asked), lower(?1)) OR instr(lower(COALESCE(t.name, '')), lower(?1)))
    ORDER BY n.at DESC, n.last DESC LIMIT ?2
"""


@dataclass(frozen=True, slots=True)
class Thread:
    """A question with its follow-ups: its name, which is the first question where nobody gave another, how many runs it
    has, the newest one's id and how that one stands, and when something last happened (ISO, UTC)."""

    id: str
    name: str
    runs: int
    latest: str
    at: str
    status: RunStatus
    heartbeat: float | None

    @property
    def state(self) -> str:
        """The newest run's status in a word for people."""
        gone = self.status == "running" and not is_alive(self.heartbeat, STALE_SECONDS)
        return "interrupted" if gone else self.status


class ThreadStore:
    """The list of threads, and what a person made of each."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def latest(self, limit: int, words: str = "") -> list[Thread]:
        """The last threads in whose name or questions the words stand, the one with the newest activity first; without
        those that were deleted."""
        with self._db.read() as db:
            return [Thread(**dict(r)) for r in db.execute(_THREADS, (words.strip(), limit))]

    def name_thread(self, thread: str, name: str) -> None:
        """Gives the thread a name of its own; an empty one takes it away."""
        with self._db.write() as db:
            db.execute(
                "INSERT INTO threads (thread, name) VALUES (?, ?) ON CONFLICT DO UPDATE SET name = excluded.name",
                (thread, name.strip()),
            )

    def set_removed(self, thread: str, at: float | None) -> None:
        """Takes the thread out of the list from a moment on (seconds since the epoch), or puts it back (None)."""
        with self._db.write() as db:
            db.execute(
                "INSERT INTO threads (thread, removed_at) VALUES (?, ?)"
                " ON CONFLICT DO UPDATE SET removed_at = excluded.removed_at",
                (thread, at),
            )

    def removed(self, before: float) -> list[str]:
        """The threads that were taken out of the list before a moment, and are still here."""
        query = "SELECT thread FROM threads WHERE removed_at < ? AND thread IN (SELECT thread FROM runs)"
        with self._db.read() as db:
            return [r["thread"] for r in db.execute(query, (before,))]

"""Which key began which run: a caller sees its own runs, and a request that is sent twice begins one run."""

from collections.abc import Sequence
from dataclasses import dataclass

from agent.runs.store import WITHOUT_ANSWER, RunRow, run_row
from api.pages import OF_PAGE, Page
from tools.store.database import Database

_ANSWERED = """
    SELECT r.id, r.question, r.finished_at FROM runs r LEFT JOIN api_runs a ON a.run_id = r.id
    WHERE r.status = 'done' AND json_extract(r.answer, '$.outcome') <> 'retrieved' AND (? = '' OR a.key_id = ?)
    ORDER BY r.created_at DESC, r.rowid DESC LIMIT ?
"""
_LISTED = f"""
    SELECT {WITHOUT_ANSWER} FROM runs
    WHERE (:key = '' OR id IN (SELECT run_id FROM api_runs WHERE key_id = :key))
        AND (:status IS NULL OR status = :status) AND (:thread IS NULL OR thread = :thread)
        AND {OF_PAGE}
"""


@dataclass(frozen=True, slots=True)
class AnsweredRun:
    """A run that has an answer, and when it had it (ISO, UTC)."""

    id: str
    question: str
    finished_at: str


class CallerRuns:
    """The table of runs that were begun by callers of the API."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def record(self, run_id: str, key_id: str, idempotency_key: str | None) -> bool:
        """False when another run has this key's idempotency key already."""
        query = "INSERT INTO api_runs VALUES (?, ?, ?) ON CONFLICT (key_id, idempotency_key) DO NOTHING"
        with self._db.write() as db:
            return db.execute(query, (run_id, key_id, idempotency_key)).rowcount == 1

    def begun(self, key_id: str, idempotency_key: str) -> str | None:
        """The run that a key began under this name."""
        query = "SELECT run_id FROM api_runs WHERE key_id = ? AND idempotency_key = ?"
        with self._db.read() as db:
            row = db.execute(query, (key_id, idempotency_key)).fetchone()
        return None if row is None else str(row["run_id"])

    def is_of(self, run_id: str, key_id: str) -> bool:
        with self._db.read() as db:
            query = "SELECT 1 FROM api_runs WHERE run_id = ? AND key_id = ?"
            return db.execute(query, (run_id, key_id)).fetchone() is not None

    def answered(self, key_id: str, limit: int) -> list[AnsweredRun]:
        """The same of those that wrote an answer, and did not end with their passages."""
        with self._db.read() as db:
            return [AnsweredRun(**dict(r)) for r in db.execute(_ANSWERED, (key_id, key_id, limit))]

    def listed(self, key_id: str, page: Page, status: str | None, thread: str | None) -> list[RunRow]:
        """The runs of a page that a key may see, without their answers: its own, or all where no key is needed."""
        given = {"key": key_id, "status": status, "thread": thread, **page.given()}
        with self._db.read() as db:
            return [run_row(r) for r in db.execute(_LISTED, given)]

    def cut_short(self) -> Sequence[str]:
        """Runs that were begun here and that count as running."""
        query = "SELECT a.run_id FROM api_runs a JOIN runs r ON r.id = a.run_id WHERE r.status = 'running'"
        with self._db.read() as db:
            return [str(r["run_id"]) for r in db.execute(query)]

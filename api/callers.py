"""Who calls, and which runs are a caller's: a request that is sent twice begins one run, and lists come in pages."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from agent.runs.store import WITHOUT_ANSWER, RunRow, run_row
from tools.store.database import Database

_OF_KEY = "(:key = '' OR id IN (SELECT run_id FROM api_runs WHERE key_id = :key))"
_LISTED = f"""
    SELECT {WITHOUT_ANSWER} FROM runs
    WHERE {_OF_KEY} AND (:status IS NULL OR status = :status) AND (:thread IS NULL OR thread = :thread)
        AND (:at IS NULL OR (created_at, id) < (:at, :id))
    ORDER BY created_at DESC, id DESC LIMIT :limit
"""


@dataclass(frozen=True, slots=True)
class Caller:
    """A key that a request came with; `key_id` is empty where no key is needed."""

    key_id: str = ""


def caller_of(request: Request) -> Caller:
    """As the guard found out before the request came here."""
    caller: Caller = request.scope["state"]["caller"]
    return caller


TheCaller = Annotated[Caller, Depends(caller_of)]


class CallerRuns:
    """The table of runs that were begun by callers of the API. A key that is empty sees all that there are."""

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

    def listed(
        self, key_id: str, limit: int, after: str | None, status: str | None, thread: str | None
    ) -> tuple[Sequence[RunRow], str | None]:
        """A page of runs without their answers, newest first, and the cursor of the next page: when the last row was
        made, and its id. `after` is such a cursor, whose row may have been deleted since."""
        made, _, last = (after or "").rpartition("Z-")
        asked = {"key": key_id, "status": status, "thread": thread}
        place = {"limit": limit + 1, "at": f"{made}+00:00" if after else None, "id": last}
        with self._db.read() as db:
            rows = [run_row(r) for r in db.execute(_LISTED, asked | place)]
        page = rows[:limit]
        more = len(rows) > limit  # one more was asked for
        return page, f"{page[-1].created_at.removesuffix('+00:00')}Z-{page[-1].id}" if more else None

    def cut_short(self) -> set[str]:
        """Runs that were begun here and that count as running."""
        query = "SELECT a.run_id FROM api_runs a JOIN runs r ON r.id = a.run_id WHERE r.status = 'running'"
        with self._db.read() as db:
            return {str(r["run_id"]) for r in db.execute(query)}

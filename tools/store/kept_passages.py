"""Passages of the store that a run works on, kept with the run: whatever becomes of their documents meanwhile, what was
judged is what is written from and verified."""

import json
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import astuple

import numpy as np
from numpy.typing import NDArray

from tools.passages import Passage
from tools.store.database import Database
from tools.store.documents import from_half, to_half

_KEPT = "FROM run_passages WHERE passage_id IN"


class KeptPassages:
    """The table of what runs keep. An id is never given twice, so that what two runs keep of a passage is the same."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def put(self, run_id: str, passages: Iterable[Passage], vectors: Mapping[int, NDArray[np.float32]]) -> None:
        """Keeps the passages as they are, but for those of the web, which are their run's already; each has its vector
        among `vectors`."""
        rows = [(p.id, run_id, json.dumps(astuple(p)), to_half(vectors[p.id])) for p in passages if p.id > 0]
        with self._db.write() as db:
            db.executemany("INSERT OR IGNORE INTO run_passages VALUES (?, ?, ?, ?)", rows)

    def passages(self, ids: Iterable[int]) -> dict[int, Passage]:
        """The passages of these ids that a run keeps."""
        rows = self._db.rows_of(f"SELECT DISTINCT passage {_KEPT}", list(ids))
        return {p.id: p for p in (Passage(*json.loads(row["passage"])) for row in rows)}

    def vectors(self, ids: Iterable[int]) -> dict[int, NDArray[np.float32]]:
        rows = self._db.rows_of(f"SELECT DISTINCT passage_id, vector {_KEPT}", list(ids))
        return {row["passage_id"]: from_half(row["vector"]) for row in rows}

    def forget(self, run_id: str) -> None:
        """Removes everything that the run keeps."""
        with self._db.write() as db:
            db.execute("DELETE FROM run_passages WHERE run_id = ?", (run_id,))


def keep_what_is_gone(db: sqlite3.Connection, run_id: str) -> None:
    """Of a run that is done: what is still stored need not be kept for it."""
    stored = "passage_id IN (SELECT id FROM passages)"
    db.execute(f"DELETE FROM run_passages WHERE run_id = ? AND {stored}", (run_id,))

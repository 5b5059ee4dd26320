"""What the indexes follow: passages come with numbers that only grow, and those that go leave a line."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from tools.store.database import Database

EVERYTHING = 0
"""Stands for all passages of a collection where they are removed: a line for each would take minutes."""


@dataclass(frozen=True, slots=True)
class Removal:
    """A passage that an index has to remove, or `EVERYTHING` of a collection."""

    number: int
    collection_id: int
    passage_id: int


@dataclass(frozen=True, slots=True)
class Position:
    """How far an index has followed the store: the last passage that it was given, and the last removal. making: names
    this making of the index, and the last removal before it."""

    making: str
    passage: int
    removal: int

    def __str__(self) -> str:
        return f"{self.making} {self.passage} {self.removal}"

    @property
    def begun(self) -> int:
        """The last removal before this making."""
        return int(self.making.partition("-")[2] or self.removal)


class Changes:
    """The tables of what went, and of how far each index is."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def size(self) -> tuple[int, int, int]:
        """The count of all passages, and the last passage and the last removal that there ever were, at one moment."""
        query = """
            SELECT (SELECT COUNT(*) FROM passages), (SELECT seq FROM sqlite_sequence WHERE name = 'passages'),
                (SELECT seq FROM sqlite_sequence WHERE name = 'removals')
        """
        [(passages, passage, removal)] = self._db.rows(query)
        return passages, passage or 0, removal or 0

    def last(self) -> tuple[int, int]:
        """The last passage and the last removal that there ever were; both stay where nothing changes."""
        last = dict(tuple(row) for row in self._db.rows("SELECT name, seq FROM sqlite_sequence"))
        return last.get("passages", 0), last.get("removals", 0)

    def removals(self, after: int, limit: int) -> list[Removal]:
        """Up to `limit` of those with numbers above `after`, as far as an index still needs them."""
        query = "SELECT number, collection_id, passage_id FROM removals WHERE number > ? ORDER BY number LIMIT ?"
        return [Removal(*row) for row in self._db.rows(query, (after, limit))]

    def position(self, index: str) -> Position | None:
        """How far the index of that name is; None before it was first made."""
        rows = self._db.rows("SELECT making, passage, removal FROM indexes WHERE name = ?", (index,))
        return next((Position(*row) for row in rows), None)

    def set_position(self, index: str, position: Position) -> None:
        """Records how far the index is; removals that every index has applied are dropped."""
        with self._db.write() as db:
            values = (index, position.making, position.passage, position.removal)
            db.execute("INSERT OR REPLACE INTO indexes VALUES (?, ?, ?, ?)", values)
            db.execute("DELETE FROM removals WHERE number <= (SELECT MIN(removal) FROM indexes)")


def removed(db: sqlite3.Connection, collection_id: int, ids: Sequence[int]) -> None:
    """Leaves the lines of passages that go, for the indexes."""
    rows = [(collection_id, i) for i in ids]
    db.executemany("INSERT INTO removals (collection_id, passage_id) VALUES (?, ?)", rows)

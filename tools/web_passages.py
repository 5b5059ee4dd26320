"""Passages of pages that runs read on the web: kept with their run, never in a collection. Their ids are below zero."""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from tools.batching import parts
from tools.copies import copy_groups
from tools.database import Database
from tools.passages import Passage, SourceDocument, SourceKind

WEB = "web"
"""What stands for a collection with passages from the web."""
_PART = 500

_ROW = """
    SELECT -p.id AS id, d.url, p.text, d.title, d.publisher, d.kind, d.date, p.position, d.original, p.vector
    FROM web_passages p JOIN web_documents d ON d.id = p.document_id
"""


@dataclass(frozen=True, slots=True)
class WebPage:
    """A page that was read, cut into passages, with their vectors of shape (passages, dimensions)."""

    source: SourceDocument
    passages: tuple[str, ...]
    vectors: NDArray[np.float32]


class WebPassages:
    """The tables of what was read on the web."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def put(self, run_id: str, pages: Sequence[WebPage]) -> None:
        """Keeps pages that the run has not kept yet, each with the page of the run that it is a copy of.

        A copy shares at least half of the shorter text's 4-word shingles (tools.copies), whatever its site.
        """
        with self._db.write() as db:
            known = db.execute("SELECT url, original, text FROM web_documents WHERE run_id = ? ORDER BY id", (run_id,))
            before = [(r["url"], r["original"] or r["url"], r["text"]) for r in known]
            fresh = [p for p in _each_once(pages) if p.source.external_id not in {url for url, _, _ in before}]
            names = [*(first for _, first, _ in before), *(p.source.external_id for p in fresh)]
            groups = copy_groups([*(text for _, _, text in before), *(p.source.text for p in fresh)])
            for i, page in enumerate(fresh, start=len(before)):
                _insert(db, run_id, page, names[groups[i]] if groups[i] != i else "")

    def of_page(self, run_id: str, urls: Sequence[str]) -> dict[str, list[int]]:
        """The ids of each page's passages, in their order; a page that the run has not read is left out."""
        query = (
            "SELECT d.url, -p.id AS id FROM web_passages p JOIN web_documents d ON d.id = p.document_id"
            " WHERE d.run_id = ? AND d.url = ? ORDER BY p.position"
        )
        with self._db.read() as db:
            found = {url: [int(r["id"]) for r in db.execute(query, (run_id, url))] for url in urls}
        return {url: ids for url, ids in found.items() if ids}

    def passages(self, ids: Iterable[int]) -> dict[int, Passage]:
        """The passages of these ids; an id that is gone is left out."""
        return {row["id"]: _passage(row) for row in self._rows(ids)}

    def vectors(self, ids: Iterable[int]) -> dict[int, NDArray[np.float32]]:
        return {row["id"]: np.frombuffer(row["vector"], np.float16).astype(np.float32) for row in self._rows(ids)}

    def forget(self, run_id: str) -> None:
        """Removes everything that the run read."""
        with self._db.write() as db:
            db.execute("DELETE FROM web_documents WHERE run_id = ?", (run_id,))

    def _rows(self, ids: Iterable[int]) -> Iterator[sqlite3.Row]:
        wanted = [-i for i in ids]
        if not wanted:
            return
        with self._db.read() as db:
            for part in parts(wanted, _PART):
                yield from db.execute(f"{_ROW} WHERE p.id IN ({','.join('?' * len(part))})", part).fetchall()


def _each_once(pages: Sequence[WebPage]) -> list[WebPage]:
    return list({p.source.external_id: p for p in reversed(pages)}.values())[::-1]


def _insert(db: sqlite3.Connection, run_id: str, page: WebPage, original: str) -> None:
    source = page.source
    row = db.execute(
        "INSERT INTO web_documents (run_id, url, original, title, publisher, kind, date, text)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (run_id, source.external_id, original, source.title, source.publisher, source.kind, source.date, source.text),
    )
    db.executemany(
        "INSERT INTO web_passages (document_id, position, text, vector) VALUES (?, ?, ?, ?)",
        [
            (row.lastrowid, position, text, vector.astype(np.float16).tobytes())
            for position, (text, vector) in enumerate(zip(page.passages, page.vectors, strict=True))
        ],
    )


def _passage(row: sqlite3.Row) -> Passage:
    return Passage(
        id=row["id"],
        document_id=row["url"],
        collection=WEB,
        text=row["text"],
        title=row["title"],
        url=row["url"],
        publisher=row["publisher"],
        kind=cast(SourceKind, row["kind"]),
        date=row["date"],
        position=row["position"],
        original=row["original"],
    )

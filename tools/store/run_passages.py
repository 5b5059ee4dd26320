"""Passages stored with runs: web pages, and copies of store passages.

Web passages belong to no collection and have negative ids. Copies keep judged passages unchanged for writing and
verification, even if someone changes their documents.
"""

import json
import sqlite3
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from tools.language.near_duplicates import copy_groups
from tools.passages import Passage, PassageText, SourceDocument
from tools.store.database import Database, from_float16, to_float16

WEB = "web"
"""The collection name of web passages."""
_COMPARED = 20_000  # characters of a page, stored to detect copies

_ROW = f"""
    SELECT -p.id AS id, d.url, '{WEB}', p.text, d.title, d.url, d.publisher, d.kind, d.date, p.position,
        d.original, p.section, p.form, p.page, p.last_page, d.language, '',
        d.owner, p.speaker, d.author, COALESCE(NULLIF(o.owner, ''), o.publisher, '') AS first, p.vector
    FROM web_passages p JOIN web_documents d ON d.id = p.document_id
    LEFT JOIN web_documents o ON o.run_id = d.run_id AND o.url = d.original
    WHERE p.id IN
"""
"""The fields of `Passage` in order, the publisher of the original, and the vector."""


@dataclass(frozen=True, slots=True)
class WebPage:
    """A web page cut into passages, with their vectors, shape (passages, dimensions)."""

    source: SourceDocument
    passages: tuple[PassageText, ...]
    vectors: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class StoredPages:
    """The passages' ids by page address, and the number of pages that are new to the run."""

    ids: dict[str, list[int]]
    new: int


class WebPassages:
    """The tables of web pages."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._putting = threading.Lock()  # detecting copies is slow; other runs may write meanwhile

    def put(self, run_id: str, pages: Sequence[WebPage]) -> StoredPages:
        """Stores the pages that are new to the run. Records for each page which page it copies.

        A page is a copy if it shares at least half of the shorter text's 4-word shingles
        (tools.language.near_duplicates). The two pages may be on different sites.
        """
        if not pages:
            return StoredPages({}, 0)
        pages = list({p.source.external_id: p for p in pages}.values())
        with self._putting:
            originals = self._originals(run_id, pages)
            with self._db.write() as db:
                ids = {p.source.external_id: _insert(db, run_id, p, originals) for p in pages}
        return StoredPages(ids, len(originals))

    def _originals(self, run_id: str, pages: Sequence[WebPage]) -> dict[str, str]:
        """For each page that is new to the run: the address of the page that it copies, or an empty string."""
        known = self._db.rows("SELECT url, original, text FROM web_documents WHERE run_id = ? ORDER BY id", (run_id,))
        before = {r["url"] for r in known}
        fresh = [p.source for p in pages if p.source.external_id not in before]
        firsts = [*(r["original"] or r["url"] for r in known), *(d.external_id for d in fresh)]
        groups = copy_groups([*(r["text"] for r in known), *(d.text[:_COMPARED] for d in fresh)])
        return {
            document.external_id: firsts[groups[i]] if groups[i] != i else ""
            for i, document in enumerate(fresh, start=len(known))
        }

    def passages(self, ids: Iterable[int]) -> dict[int, Passage]:
        """The passages with these ids. Missing ids are left out."""
        return {row["id"]: _passage(row) for row in self._rows(ids)}

    def document_passages(self, passage_id: int) -> list[Passage]:
        """The stored passages of the same page as this passage, in order."""
        query = "SELECT id FROM web_passages WHERE document_id = (SELECT document_id FROM web_passages WHERE id = ?)"
        rows = self._db.rows(f"{query} ORDER BY position", (-passage_id,))
        found = self.passages(-row["id"] for row in rows)
        return [found[-row["id"]] for row in rows]

    def vectors(self, ids: Iterable[int]) -> dict[int, NDArray[np.float32]]:
        return {row["id"]: from_float16(row["vector"]) for row in self._rows(ids)}

    def forget(self, run_id: str) -> None:
        """Removes the run's pages."""
        with self._putting, self._db.write() as db:
            db.execute("DELETE FROM web_documents WHERE run_id = ?", (run_id,))

    def _rows(self, ids: Iterable[int]) -> list[sqlite3.Row]:
        return self._db.rows_of(_ROW, [-i for i in ids])


def _insert(db: sqlite3.Connection, run_id: str, page: WebPage, originals: dict[str, str]) -> list[int]:
    """Inserts the page's passages and returns their ids. If the page is known, only its new passages are added."""
    source, key = page.source, (run_id, page.source.external_id)
    if source.external_id in originals:
        described = (source.title, source.publisher, source.kind, source.date, source.language, source.owner)
        db.execute(
            "INSERT INTO web_documents"
            " (run_id, url, original, title, publisher, kind, date, language, owner, author, text)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*key, originals[source.external_id], *described, source.author, source.text[:_COMPARED]),
        )
    document = db.execute("SELECT id FROM web_documents WHERE run_id = ? AND url = ?", key).fetchone()["id"]
    rows = db.execute("SELECT id, text FROM web_passages WHERE document_id = ?", (document,))
    ids: dict[str, int] = {r["text"]: r["id"] for r in rows}
    for position, (passage, vector) in enumerate(zip(page.passages, page.vectors, strict=True)):
        if passage.text not in ids:
            where = (passage.section, passage.form, passage.page, passage.last_page, passage.speaker)
            row = db.execute(
                "INSERT INTO web_passages"
                " (document_id, position, text, vector, section, form, page, last_page, speaker)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (document, position, passage.text, to_float16(vector), *where),
            )
            ids[passage.text] = cast(int, row.lastrowid)
    return [-ids[text] for text in dict.fromkeys(p.text for p in page.passages)]


def _passage(row: sqlite3.Row) -> Passage:
    passage = Passage(*row[:-2])
    return replace(passage, original=row["first"].casefold() or passage.original)


_KEPT = "FROM run_passages WHERE passage_id IN"


class RunPassages:
    """The table of the runs' copies. Passage ids are never used again, so two runs' copies of a passage are
    identical."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def put(self, run_id: str, passages: Iterable[Passage], vectors: Mapping[int, NDArray[np.float32]]) -> None:
        """Stores copies of the passages with their `vectors`. Web passages are skipped, because they belong to their
        run already."""
        rows = [(p.id, run_id, json.dumps(astuple(p)), to_float16(vectors[p.id])) for p in passages if p.id > 0]
        with self._db.write() as db:
            db.executemany("INSERT OR IGNORE INTO run_passages VALUES (?, ?, ?, ?)", rows)

    def passages(self, ids: Iterable[int]) -> dict[int, Passage]:
        """The copied passages of these ids."""
        rows = self._db.rows_of(f"SELECT DISTINCT passage {_KEPT}", list(ids))
        return {p.id: p for p in (Passage(*json.loads(row["passage"])) for row in rows)}

    def vectors(self, ids: Iterable[int]) -> dict[int, NDArray[np.float32]]:
        rows = self._db.rows_of(f"SELECT DISTINCT passage_id, vector {_KEPT}", list(ids))
        return {row["passage_id"]: from_float16(row["vector"]) for row in rows}

    def forget(self, run_id: str) -> None:
        """Removes the run's copies."""
        with self._db.write() as db:
            db.execute("DELETE FROM run_passages WHERE run_id = ?", (run_id,))


def drop_stored_copies(db: sqlite3.Connection, run_id: str) -> None:
    """Removes a finished run's copies of passages that are still stored."""
    stored = "passage_id IN (SELECT id FROM passages)"
    db.execute(f"DELETE FROM run_passages WHERE run_id = ? AND {stored}", (run_id,))

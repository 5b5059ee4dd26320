"""Passages stored with runs: web pages, and copies of store passages.

Web passages belong to no collection and have negative ids. Copies keep judged passages unchanged for writing and
verification, even if someone changes their documents.
"""

import json
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, replace
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Table, and_, delete, func, insert, literal, select, update

from tools.language.near_duplicates import copy_groups
from tools.passages import WEB, Passage, PassageText, SourceDocument
from tools.store.database import AnyRow, Database, from_float16, to_float16, upsert
from tools.store.schema import passages as stored_passages
from tools.store.schema import run_passages, web_documents, web_passages

_COMPARED = 20_000  # characters of a page, stored to detect copies

_ORIGINAL = web_documents.alias("original")
_p, _d, _o = web_passages.c, web_documents.c, _ORIGINAL.c
_ROW = select(
    *((-_p.id).label("id"), _d.url, literal(WEB), _p.text, _d.title, _d.url, _d.publisher, _d.kind, _d.date),
    *(_p.position, _d.original, _p.section, _p.form, _p.page, _p.last_page, _d.language, literal(""), _d.owner),
    *(_p.speaker, _d.author, _d.venue, _d.extent),
    *(func.coalesce(func.nullif(_o.owner, ""), _o.publisher, "").label("first"), _p.vector),
).select_from(
    web_passages.join(web_documents).outerjoin(_ORIGINAL, and_(_o.run_id == _d.run_id, _o.url == _d.original))
)
"""The fields of `Passage` in order, the publisher of the original, and the vector."""


@dataclass(frozen=True, slots=True)
class WebPage:
    """A web page cut into passages, with their vectors, shape (passages, dimensions)."""

    source: SourceDocument
    passages: tuple[PassageText, ...]
    vectors: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class StoredPages:
    """The passages' ids by page address, and the addresses that are new to the run."""

    ids: dict[str, list[int]]
    new: frozenset[str]


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
            return StoredPages({}, frozenset())
        pages = list({p.source.external_id: p for p in pages}.values())
        with self._putting:
            originals = self._originals(run_id, pages)
            with self._db.write(in_turn=True) as db:
                # A process that lost the run may have written meanwhile.
                there = set(db.scalars(select(_d.url).where(_d.run_id == run_id)))
                new = {url: first for url, first in originals.items() if url not in there}
                ids = {p.source.external_id: _insert(db, run_id, p, new) for p in pages}
        return StoredPages(ids, frozenset(new))

    def _originals(self, run_id: str, pages: Sequence[WebPage]) -> dict[str, str]:
        """For each page that is new to the run: the address of the page that it copies, or an empty string."""
        known = self._db.rows(select(_d.url, _d.original, _d.text).where(_d.run_id == run_id).order_by(_d.id))
        before = {r.url for r in known}
        fresh = [p.source for p in pages if p.source.external_id not in before]
        firsts = [*(r.original or r.url for r in known), *(d.external_id for d in fresh)]
        groups = copy_groups([*(r.text for r in known), *(d.text[:_COMPARED] for d in fresh)])
        return {
            document.external_id: firsts[groups[i]] if groups[i] != i else ""
            for i, document in enumerate(fresh, start=len(known))
        }

    def passages(self, ids: Iterable[int]) -> dict[int, Passage]:
        """The passages with these ids. Missing ids are left out."""
        return {row.id: _passage(row) for row in self._rows(ids)}

    def document_passages(self, passage_id: int) -> list[Passage]:
        """The stored passages of the same page as this passage, in order."""
        page = select(_p.document_id).where(_p.id == -passage_id).scalar_subquery()
        rows = self._db.rows(select(_p.id).where(_p.document_id == page).order_by(_p.position))
        found = self.passages(-row.id for row in rows)
        return [found[-row.id] for row in rows]

    def passage_ids(self, run_id: str) -> list[int]:
        """The ids of all passages of the run's pages, in order."""
        query = select(_p.id).select_from(web_passages.join(web_documents)).where(_d.run_id == run_id)
        return [-row.id for row in self._db.rows(query.order_by(_p.document_id, _p.position))]

    def vectors(self, ids: Iterable[int]) -> dict[int, NDArray[np.float32]]:
        return {row.id: from_float16(row.vector) for row in self._rows(ids)}

    def forget(self, run_id: str) -> None:
        """Removes the run's pages."""
        with self._putting, self._db.write() as db:
            db.execute(delete(web_documents).where(_d.run_id == run_id))

    def _rows(self, ids: Iterable[int]) -> list[AnyRow]:
        return self._db.rows_of(_ROW, _p.id, [-i for i in ids])


def insert_passages(db: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> Sequence[int]:
    """Inserts passages and returns their ids in the order of the rows."""
    made = insert(table).returning(table.c.id, sort_by_parameter_order=True)
    return db.scalars(made, rows).all() if rows else []


def _insert(db: Connection, run_id: str, page: WebPage, originals: dict[str, str]) -> list[int]:
    """Inserts the page's passages and returns their ids. If the page is known, only its new passages are added."""
    source = page.source
    if source.external_id in originals:
        names = "title publisher kind date language owner author venue extent".split()
        row = {name: getattr(source, name) for name in names} | {"run_id": run_id, "url": source.external_id}
        row |= {"original": originals[source.external_id], "text": source.text[:_COMPARED]}
        db.execute(insert(web_documents).values(row))
    elif source.extent == "full text":  # another search knew the abstract
        known = _d.run_id == run_id, _d.url == source.external_id
        db.execute(update(web_documents).where(*known).values(extent=source.extent))
    document = db.scalars(select(_d.id).where(_d.run_id == run_id, _d.url == source.external_id)).one()
    ids = {r.text: r.id for r in db.execute(select(_p.id, _p.text).where(_p.document_id == document))}
    new = {
        p.text: {"document_id": document, "position": n, "vector": to_float16(page.vectors[n]), **asdict(p)}
        for n, p in reversed([*enumerate(page.passages)])
        if p.text not in ids
    }
    rows = sorted(new.values(), key=itemgetter("position"))
    ids |= dict(zip((r["text"] for r in rows), insert_passages(db, web_passages, rows), strict=True))
    return [-ids[text] for text in dict.fromkeys(p.text for p in page.passages)]


def _passage(row: AnyRow) -> Passage:
    passage = Passage(*row[:-2])
    return replace(passage, original=row.first.casefold() or passage.original)


class RunPassages:
    """The table of the runs' copies. Passage ids are never used again, so two runs' copies of a passage are
    identical."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def put(self, run_id: str, passages: Iterable[Passage], vectors: Mapping[int, NDArray[np.float32]]) -> None:
        """Stores copies of the passages with their `vectors`. Web passages are skipped, because they belong to their
        run already."""
        own = [(p.id, run_id, json.dumps(astuple(p)), to_float16(vectors[p.id])) for p in passages if p.id > 0]
        if own:
            with self._db.write() as db:
                upsert(db, run_passages, [dict(zip(run_passages.c.keys(), row, strict=True)) for row in own])

    def passages(self, ids: Iterable[int]) -> dict[int, Passage]:
        """The copied passages of these ids."""
        rows = self._db.rows_of(select(run_passages.c.passage).distinct(), run_passages.c.passage_id, list(ids))
        return {p.id: p for p in (Passage(*json.loads(row.passage)) for row in rows)}

    def vectors(self, ids: Iterable[int]) -> dict[int, NDArray[np.float32]]:
        number = run_passages.c.passage_id
        rows = self._db.rows_of(select(number, run_passages.c.vector).distinct(), number, list(ids))
        return {row.passage_id: from_float16(row.vector) for row in rows}

    def forget(self, run_id: str) -> None:
        """Removes the run's copies."""
        with self._db.write() as db:
            db.execute(delete(run_passages).where(run_passages.c.run_id == run_id))


def drop_stored_copies(db: Connection, run_id: str) -> None:
    """Removes a finished run's copies of passages that are still stored."""
    stored = run_passages.c.passage_id.in_(select(stored_passages.c.id))
    db.execute(delete(run_passages).where(run_passages.c.run_id == run_id, stored))

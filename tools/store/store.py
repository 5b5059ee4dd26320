"""Documents, passages and vectors in SQLite, with a journal from which the indexes are brought up to date."""

import sqlite3
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, cast

import numpy as np
from numpy.typing import NDArray

from tools.errors import AmbiguousDocumentError, EncoderMismatchError, UnknownCollectionError
from tools.inference.batching import parts
from tools.passages import Passage, PassageForm, SourceDocument, SourceKind
from tools.store.database import Database
from tools.store.documents import (
    READING,
    KnownDocument,
    PreparedDocument,
    adopt_document,
    halves,
    insert_document,
    journal,
    remove_document,
)
from tools.store.web_passages import WebPassages

SAMPLES = "samples"
"""The collection that holds the starter corpus; what comes from it is marked as a sample wherever it is cited."""

EVERYTHING = 0
"""Stands for all passages of a collection where the journal removes them: a line for each would take minutes."""

_NAMED = 3
_PART = 500  # SQLite limits the number of parameters of a statement

_JOINED = "passages p JOIN documents d ON d.id = p.document_id JOIN collections c ON c.id = d.collection_id"
_SHOWN = "CASE d.shown_id WHEN '' THEN d.external_id ELSE d.shown_id END"
_PASSAGE = f"""
    SELECT p.id, {_SHOWN} AS document, c.name, p.text, d.title, d.url, d.publisher, d.kind, d.date, p.position,
        p.section, p.form, p.page, p.last_page, d.language, d.external_id
    FROM {_JOINED}
"""


@dataclass(frozen=True, slots=True)
class CollectionInfo:
    id: int
    name: str
    encoder: str
    documents: int
    passages: int


@dataclass(frozen=True, slots=True)
class Change:
    """One line of the journal: a passage that an index has to add or to remove, or `EVERYTHING` of a collection."""

    seq: int
    collection_id: int
    passage_id: int
    op: Literal["add", "remove"]


class Store:
    """What was ingested. Every change and its journal lines are one transaction."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self.web = WebPassages(database)

    # Collections

    def collections(self) -> list[CollectionInfo]:
        query = """
            SELECT c.id, c.name, c.encoder, COUNT(DISTINCT d.id) AS documents, COUNT(p.id) AS passages
            FROM collections c
            LEFT JOIN documents d ON d.collection_id = c.id LEFT JOIN passages p ON p.document_id = d.id
            GROUP BY c.id ORDER BY c.name
        """
        with self._db.read() as db:
            return [CollectionInfo(**dict(row)) for row in db.execute(query)]

    def encoders(self) -> set[str]:
        """What the collections were indexed with."""
        with self._db.read() as db:
            return {row["encoder"] for row in db.execute("SELECT DISTINCT encoder FROM collections")}

    def collection(self, name: str) -> tuple[int, str]:
        """The id and the encoder of a collection; raises UnknownCollectionError, which names the ones there are."""
        with self._db.read() as db:
            row = db.execute("SELECT id, encoder FROM collections WHERE name = ?", (name,)).fetchone()
            if row is not None:
                return int(row["id"]), str(row["encoder"])
            names = [r["name"] for r in db.execute("SELECT name FROM collections ORDER BY name")]
        known = f"There are: {', '.join(names)}." if names else "There is none yet."
        raise UnknownCollectionError(
            f"there is no collection '{name}'. {known}",
            hint=f"Make one: `python -m agent ingest YOUR_FOLDER --collection {name}`.",
        )

    def has_collection(self, name: str) -> bool:
        with self._db.read() as db:
            return db.execute("SELECT 1 FROM collections WHERE name = ?", (name,)).fetchone() is not None

    def ensure_collection(self, name: str, encoder: str) -> int:
        """The collection's id, made if need be. Raises EncoderMismatchError when another encoder filled it."""
        with self._db.write() as db:
            now = datetime.now(UTC).isoformat(timespec="seconds")
            db.execute(
                "INSERT OR IGNORE INTO collections (name, encoder, created_at) VALUES (?, ?, ?)", (name, encoder, now)
            )
        collection_id, made_by = self.collection(name)
        check_encoder(name, made_by, encoder)
        return collection_id

    def delete_collection(self, name: str) -> int:
        """Removes the collection with all it holds; returns the number of passages removed."""
        collection_id, _ = self.collection(name)
        with self._db.write() as db:
            query = "SELECT COUNT(*) FROM passages p JOIN documents d ON d.id = p.document_id WHERE d.collection_id = ?"
            count = int(db.execute(query, (collection_id,)).fetchone()[0])
            journal(db, collection_id, [EVERYTHING], "remove")
            db.execute("DELETE FROM collections WHERE id = ?", (collection_id,))
        return count

    # Documents

    def known_documents(self, collection_id: int) -> dict[str, KnownDocument]:
        """What is stored, by identity, for telling what an ingest need not do again."""
        query = "SELECT external_id, content_hash, origin, reading FROM documents WHERE collection_id = ?"
        with self._db.read() as db:
            return {key: KnownDocument(*known) for key, *known in db.execute(query, (collection_id,))}

    def adopt(self, collection_id: int, documents: Sequence[tuple[str, SourceDocument]]) -> None:
        """Gives stored documents of the same content, each by its identity so far, that which they are known by now."""
        with self._db.write() as db:
            for known_as, source in documents:
                adopt_document(db, collection_id, known_as, source)

    def read_from(self, name: str, paths: Sequence[str]) -> dict[str, str]:
        """Identities of the documents that were read from these files or below these folders (whole paths), with the
        file of each."""
        collection_id, _ = self.collection(name)
        query = "SELECT external_id, origin FROM documents WHERE collection_id = ? AND origin <> '' ORDER BY id"
        starts = tuple(p.rstrip("/") + "/" for p in paths)
        with self._db.read() as db:
            rows = db.execute(query, (collection_id,)).fetchall()
        return {key: origin for key, origin in rows if origin in paths or origin.startswith(starts)}

    def read_before(self, name: str, endings: Sequence[str]) -> int:
        """How many files with these endings were read by earlier versions of the readers."""
        collection_id, _ = self.collection(name)
        query = "SELECT external_id FROM documents WHERE collection_id = ? AND reading < ?"
        with self._db.read() as db:
            rows = db.execute(query, (collection_id, READING)).fetchall()
        files = (key.lower() for (key,) in rows if not key.startswith(("http://", "https://")))
        return sum(name.endswith(tuple(endings)) for name in files)

    def put(self, collection_id: int, documents: Sequence[PreparedDocument]) -> int:
        """Stores the documents, each replacing an older one of the same id; returns the passages stored."""
        stored = 0
        with self._db.write() as db:
            for document in documents:
                for older in {document.replaces or document.source.identity, document.source.identity}:
                    remove_document(db, collection_id, older)
                stored += insert_document(db, collection_id, document)
        return stored

    def documents(self, name: str, limit: int = -1, offset: int = 0) -> list[sqlite3.Row]:
        """Rows of number, external_id (the identity), shown_id (the name), origin, language, title, url, publisher,
        kind, date and the count of passages, as they were stored.

        `limit`: so many at most, all where it is -1, after the first `offset`.
        """
        collection_id, _ = self.collection(name)
        query = f"""
            SELECT d.id AS number, d.external_id, {_SHOWN} AS shown_id, d.origin, d.language, d.title, d.url,
                d.publisher, d.kind, d.date, COUNT(p.id) AS passages
            FROM documents d LEFT JOIN passages p ON p.document_id = d.id
            WHERE d.collection_id = ? GROUP BY d.id ORDER BY d.id LIMIT ? OFFSET ?
        """
        with self._db.read() as db:
            return db.execute(query, (collection_id, limit, offset)).fetchall()

    def delete_document(self, name: str, document: str, number: int | None = None) -> int:
        """Removes the document of this identity or name; returns the number of passages removed, 0 when there was none.

        number: of the one that is meant. Raises AmbiguousDocumentError where several documents have the name.
        """
        collection_id, _ = self.collection(name)
        with self._db.write() as db:
            query = (
                "SELECT external_id, id FROM documents WHERE collection_id = ? AND (external_id = ? OR shown_id = ?)"
            )
            rows = db.execute(query, (collection_id, document, document)).fetchall()
            found = [key for key, own in rows if number in (None, own)]
            if len(found) > 1 and document not in found:
                named = ", ".join(found[:_NAMED]) + (" …" if len(found) > _NAMED else "")
                raise AmbiguousDocumentError(
                    f"{len(found)} documents of '{name}' are called '{document}'. Name one of: {named}"
                )
            return remove_document(db, collection_id, document if document in found else found[0]) if found else 0

    def delete_documents(self, name: str, identities: Iterable[str]) -> int:
        """Removes the documents of these identities at once; returns the number of passages removed."""
        collection_id, _ = self.collection(name)
        with self._db.write() as db:
            return sum(remove_document(db, collection_id, identity) for identity in identities)

    # Passages

    def passages(self, ids: Iterable[int]) -> dict[int, Passage]:
        """The passages of these ids, those of the web among them; an id that is gone is left out."""
        wanted = list(ids)
        found = self.web.passages(i for i in wanted if i < 0)
        with self._db.read() as db:
            for part in parts([i for i in wanted if i > 0], _PART):
                marks = ",".join("?" * len(part))
                for row in db.execute(f"{_PASSAGE} WHERE p.id IN ({marks})", part):
                    found[row[0]] = _passage(row)
        return found

    def vectors(self, ids: Iterable[int]) -> dict[int, NDArray[np.float32]]:
        wanted = list(ids)
        found = self.web.vectors(i for i in wanted if i < 0)
        with self._db.read() as db:
            for part in parts([i for i in wanted if i > 0], _PART):
                marks = ",".join("?" * len(part))
                for row in db.execute(f"SELECT passage_id, vector FROM vectors WHERE passage_id IN ({marks})", part):
                    found[row[0]] = np.frombuffer(row[1], dtype=np.float16).astype(np.float32)
        return found

    def sentence_vectors(self, ids: Iterable[int]) -> dict[int, NDArray[np.float32]]:
        """For each passage the vectors of its sentences, (sentences, dimensions), a row for each of `split_sentences`.

        A passage of which none are stored, such as one of the web, is left out.
        """
        found: dict[int, NDArray[np.float32]] = {}
        with self._db.read() as db:
            for part in parts(list(ids), _PART):
                query = f"SELECT * FROM sentence_vectors WHERE passage_id IN ({','.join('?' * len(part))})"
                for number, count, blob in db.execute(query, part):
                    width = len(blob) // np.dtype(np.float16).itemsize // max(1, count)
                    found[number] = np.frombuffer(blob, np.float16).astype(np.float32).reshape(count, width)
        return found

    def without_sentences(self, encoder: str, after: int, limit: int) -> list[Passage]:
        """Up to `limit` passages with ids above `after` that this encoder indexed, but not their sentences."""
        missing = "NOT EXISTS (SELECT 1 FROM sentence_vectors s WHERE s.passage_id = p.id)"
        query = f"{_PASSAGE} WHERE p.id > ? AND c.encoder = ? AND {missing} ORDER BY p.id LIMIT ?"
        with self._db.read() as db:
            return [_passage(row) for row in db.execute(query, (after, encoder, limit))]

    def keep_sentence_vectors(self, encoder: str, vectors: dict[int, NDArray[np.float32]]) -> None:
        """Stores the vectors of passages' sentences; nothing for one that is gone or that another encoder indexed."""
        query = f"""
            INSERT OR REPLACE INTO sentence_vectors
            SELECT p.id, ?, ? FROM {_JOINED} WHERE p.id = ? AND c.encoder = ?
        """
        with self._db.write() as db:
            db.executemany(query, [(len(v), halves(v), i, encoder) for i, v in vectors.items()])

    def scan(self, after: int, limit: int) -> list[tuple[int, Passage]]:
        """Up to `limit` passages of all collections with ids above `after`, each with its collection's id."""
        columns = _PASSAGE.replace("SELECT p.id", "SELECT d.collection_id AS cid, p.id")
        query = f"{columns} WHERE p.id > ? ORDER BY p.id LIMIT ?"
        with self._db.read() as db:
            return [(row["cid"], _passage(row[1:])) for row in db.execute(query, (after, limit))]

    def replace_vectors(self, vectors: dict[int, NDArray[np.float32]]) -> None:
        """Other vectors for stored passages; one that was deleted in the meantime stays deleted."""
        with self._db.write() as db:
            rows = [(halves(v), i) for i, v in vectors.items()]
            db.executemany("UPDATE vectors SET vector = ? WHERE passage_id = ?", rows)

    def set_encoder(self, encoder: str) -> None:
        """Names what the vectors of all collections are made by; those of sentences go, since another one made them."""
        with self._db.write() as db:
            db.execute("DELETE FROM sentence_vectors")
            db.execute("UPDATE collections SET encoder = ?", (encoder,))

    # Notes of this machine

    def note(self, key: str) -> str:
        """What was noted under the key; empty when nothing was."""
        with self._db.read() as db:
            row = db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
            return str(row["value"]) if row else ""

    def set_note(self, key: str, value: str) -> None:
        with self._db.write() as db:
            db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def store_id(self) -> str:
        """Names this store where several share a server; made once, and copied where the file is copied."""
        if not (known := self.note("store_id")):
            with self._db.write() as db:
                db.execute("INSERT OR IGNORE INTO meta VALUES ('store_id', ?)", (uuid.uuid4().hex,))
            known = self.note("store_id")
        return known

    # The journal

    def last_seq(self) -> int:
        with self._db.read() as db:
            return int(
                db.execute("SELECT COALESCE((SELECT seq FROM sqlite_sequence WHERE name = 'journal'), 0)").fetchone()[0]
            )

    def changes(self, after: int, limit: int) -> list[Change]:
        with self._db.read() as db:
            rows = db.execute("SELECT * FROM journal WHERE seq > ? ORDER BY seq LIMIT ?", (after, limit))
            return [Change(r["seq"], r["collection_id"], r["passage_id"], r["op"]) for r in rows]

    def projection(self, name: str) -> sqlite3.Row | None:
        """The row of stamp, applied_seq and rebuilt_to of an index, or None before it was first made."""
        with self._db.read() as db:
            row: sqlite3.Row | None = db.execute("SELECT * FROM projections WHERE name = ?", (name,)).fetchone()
            return row

    def set_projection(self, name: str, stamp: str, applied_seq: int, rebuilt_to: int | None) -> None:
        """Records how far an index is; lines of the journal that every index has applied are dropped."""
        with self._db.write() as db:
            db.execute("INSERT OR REPLACE INTO projections VALUES (?, ?, ?, ?)", (name, stamp, applied_seq, rebuilt_to))
            db.execute("DELETE FROM journal WHERE seq <= (SELECT MIN(applied_seq) FROM projections)")


def check_encoder(collection: str, made_by: str, encoder: str) -> None:
    """Raises EncoderMismatchError when vectors of the two could not be compared."""
    if made_by != encoder:
        raise EncoderMismatchError(
            f"collection '{collection}' was indexed with the encoder {made_by}, but {encoder} is in use. "
            "Encode it again with `python -m agent rebuild`, or set the encoder back.",
            hint="Encode it again with `python -m agent rebuild`, or ",
        )


def _passage(row: Sequence[object]) -> Passage:
    number, document, collection, text, title, url, publisher, kind, date, position = row[:10]
    section, form, page, last_page, language, key = row[10:]
    return Passage(
        id=cast(int, number),
        document_id=str(document),
        collection=str(collection),
        text=str(text),
        title=str(title),
        url=str(url),
        publisher=str(publisher),
        kind=cast(SourceKind, kind),
        date=str(date),
        position=cast(int, position),
        section=str(section),
        form=cast(PassageForm, form),
        page=cast(int, page),
        last_page=cast(int, last_page),
        language=str(language),
        key="" if key == document else str(key),
    )

"""Collections, documents, passages and vectors in SQLite."""

import hashlib
import sqlite3
import unicodedata
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import cast

import numpy as np
from numpy.typing import NDArray

from tools.errors import AmbiguousDocumentError, EncoderMismatchError, InputError, UnknownCollectionError, command
from tools.passages import PROBABLY, Passage, PassageText, SourceDocument
from tools.store.database import Database, from_float16, to_float16
from tools.store.index import ALL_PASSAGES, ChangeLog, log_removals
from tools.store.run_passages import RunPassages, WebPassages

READERS_VERSION = 3
"""Raise this version when a parser's output changes, so that the next ingest stores the files again."""


@dataclass(frozen=True, slots=True)
class KnownDocument:
    """A stored document's content hash, file (empty if unknown) and language. Ingest compares them to detect
    changes."""

    content_hash: str
    origin: str
    language: str = ""


@dataclass(frozen=True, slots=True)
class PreparedDocument:
    """A document cut into passages, with their vectors, shape (passages, dimensions).

    sentences: for each passage the vectors of its sentences, (sentences, dimensions); empty if none are stored.
    """

    source: SourceDocument
    passages: tuple[PassageText, ...]
    vectors: NDArray[np.float32]
    sentences: tuple[NDArray[np.float32], ...] = ()


def content_hash(source: SourceDocument) -> str:
    """A hash that changes with any stored part of the document, and with READERS_VERSION."""
    fields = [str(READERS_VERSION), source.text, source.title, source.url, source.publisher, source.kind, source.date]
    fields += [source.author]
    fields += (f"{b.form} {b.level} {b.page} {b.last_page} {b.text} {b.speaker}" for b in source.blocks)
    return hashlib.sha256("\x1f".join(fields).encode("utf-8", "surrogatepass")).hexdigest()


SAMPLES = "samples"
"""The collection of the sample documents. Citations mark its documents as samples."""

_MOST_NAMES = 3

_ALL_TABLES = "passages p JOIN documents d ON d.id = p.document_id JOIN collections c ON c.id = d.collection_id"
_SHOWN_ID = "CASE d.shown_id WHEN '' THEN d.external_id ELSE d.shown_id END"
_PASSAGE = f"""
    SELECT p.id, {_SHOWN_ID}, c.name, p.text, d.title, d.url, d.publisher, d.kind, d.date, p.position, '',
        p.section, p.form, p.page, p.last_page, d.language,
        CASE WHEN d.shown_id IN ('', d.external_id) THEN '' ELSE d.external_id END, '', p.speaker, d.author
    FROM {_ALL_TABLES}
"""
"""The fields of `Passage`, in order."""


@dataclass(frozen=True, slots=True)
class CollectionInfo:
    id: int
    name: str
    encoder: str
    documents: int
    passages: int
    person: str


_VISIBLE = "(:person IS NULL OR person IN ('', :person))"


class Store:
    """The ingested documents. Each change and its log entries for the indexes are one transaction."""

    def __init__(self, database: Database, person: str | None = None) -> None:
        """person: the user of this view. A person sees everybody's collections and their own. None sees all
        collections."""
        self._db, self._person = database, person
        self.web = WebPassages(database)
        self.kept = RunPassages(database)
        self.changes = ChangeLog(database)

    def of(self, person: str) -> "Store":
        """A view of the store as this person sees it."""
        return Store(self._db, person)

    # Collections

    def collections(self) -> list[CollectionInfo]:
        query = f"""
            SELECT c.id, c.name, c.encoder, COUNT(DISTINCT d.id) AS documents, COUNT(p.id) AS passages, c.person
            FROM collections c
            LEFT JOIN documents d ON d.collection_id = c.id LEFT JOIN passages p ON p.document_id = d.id
            WHERE {_VISIBLE} GROUP BY c.id ORDER BY c.name
        """
        return [CollectionInfo(*row) for row in self._db.rows(query, {"person": self._person})]

    def encoders(self) -> set[str]:
        """The encoders of all collections."""
        return {row["encoder"] for row in self._db.rows("SELECT DISTINCT encoder FROM collections")}

    def collection(self, name: str) -> tuple[int, str]:
        """A collection's id and encoder. Raises UnknownCollectionError, which lists the collections."""
        query = f"SELECT name, id, encoder, person FROM collections WHERE {_VISIBLE} ORDER BY name"
        rows = self._db.rows(query, {"person": self._person})
        for row in rows:
            if row["name"] == name:
                return row["id"], row["encoder"]
        names = [row["name"] for row in rows if row["person"] in ("", self._person)]
        known = f"There are: {', '.join(names)}." if names else "There is none yet."
        raise UnknownCollectionError(
            f"there is no collection '{name}'. {known}",
            hint=f"Make one: `{command('python -m agent ingest YOUR_FOLDER', collection=name)}`.",
        )

    def has_collection(self, name: str) -> bool:
        query = f"SELECT 1 FROM collections WHERE name = :name AND {_VISIBLE}"
        return bool(self._db.rows(query, {"name": name, "person": self._person}))

    def check_name(self, name: str) -> None:
        """Raises InputError for an invalid name of a new collection. `~` is reserved for persons' collections."""
        whole = name.isprintable() and name == name.strip() != ""
        if not self.has_collection(name) and (not whole or ("~" in name and not self._person)):
            rule = "a new collection's name needs printable characters, no ~, and no spaces at its ends"
            raise InputError(f"{rule}, unlike '{name}'. Give another name.")

    def ensure_collection(self, name: str, encoder: str) -> int:
        """The collection's id. Creates the collection if needed. Raises EncoderMismatchError if another encoder filled
        the collection, and the errors of `check_name`."""
        self.check_name(name)
        with self._db.write() as db:
            made = name, encoder, datetime.now(UTC).isoformat(timespec="seconds"), self._person or ""
            columns = "name, encoder, created_at, person"
            db.execute(f"INSERT OR IGNORE INTO collections ({columns}) VALUES (?, ?, ?, ?)", made)
        collection_id, made_by = self.collection(name)
        check_encoder(name, made_by, encoder)
        return collection_id

    def delete_collection(self, name: str) -> int:
        """Removes the collection with its documents. Returns the number of removed passages."""
        collection_id, _ = self.collection(name)
        with self._db.write() as db:
            query = "SELECT COUNT(*) FROM passages p JOIN documents d ON d.id = p.document_id WHERE d.collection_id = ?"
            count = int(db.execute(query, (collection_id,)).fetchone()[0])
            log_removals(db, collection_id, [ALL_PASSAGES])
            db.execute("DELETE FROM collections WHERE id = ?", (collection_id,))
        return count

    # Documents

    def known_documents(self, collection_id: int) -> dict[str, KnownDocument]:
        """The stored documents by identity. Ingest uses them to detect changes."""
        columns = "external_id, content_hash, origin, language"
        query = f"SELECT {columns} FROM documents WHERE collection_id = ?"
        return {key: KnownDocument(*known) for key, *known in self._db.rows(query, (collection_id,))}

    def read_from(self, name: str, paths: Sequence[str]) -> dict[str, str]:
        """The identities of the documents from these files or folders (whole paths). Each identity comes with its
        file."""
        collection_id, _ = self.collection(name)
        query = "SELECT external_id, origin FROM documents WHERE collection_id = ? AND origin <> '' ORDER BY id"
        starts = tuple(p.rstrip("/") + "/" for p in paths)
        rows = self._db.rows(query, (collection_id,))
        return {key: origin for key, origin in rows if origin in paths or origin.startswith(starts)}

    def put(self, collection_id: int, documents: Sequence[PreparedDocument]) -> int:
        """Stores the documents and replaces earlier versions. Returns the number of stored passages."""
        stored = 0
        with self._db.write() as db:
            for document in documents:
                remove_document(db, collection_id, document.source.identity)
                stored += insert_document(db, collection_id, document)
        return stored

    def documents(self, name: str, limit: int = -1, offset: int = 0) -> list[sqlite3.Row]:
        """Rows of number, external_id (identity), shown_id (name), origin, language, title, url, publisher, kind, date,
        author, provenance, readers' version, and counts of speakers and passages.

        `limit`: -1 for all. `offset`: rows to skip.
        """
        collection_id, _ = self.collection(name)
        query = f"""
            SELECT d.id AS number, d.external_id, {_SHOWN_ID} AS shown_id, d.origin, d.language, d.title, d.url,
                d.publisher, d.kind, d.date, d.author, d.provenance, d.readers, COUNT(p.id) AS passages,
                COUNT(DISTINCT NULLIF(REPLACE(p.speaker, '{PROBABLY}', ''), '')) AS speakers
            FROM documents d LEFT JOIN passages p ON p.document_id = d.id
            WHERE d.collection_id = ? GROUP BY d.id ORDER BY d.id LIMIT ? OFFSET ?
        """
        return self._db.rows(query, (collection_id, limit, offset))

    def delete_document(self, name: str, document: str, number: int | None = None) -> int:
        """Removes the document with this identity or name. Returns the number of removed passages.

        number: selects a document if several have the name. Raises AmbiguousDocumentError.
        """
        collection_id, _ = self.collection(name)
        with self._db.write() as db:
            found = find_document(db, collection_id, document, number)
            if len(found) > 1:
                named = ", ".join(found[:_MOST_NAMES]) + (" …" if len(found) > _MOST_NAMES else "")
                raise AmbiguousDocumentError(
                    f"{len(found)} documents of '{name}' are called '{document}'. Name one of: {named}"
                )
            return remove_document(db, collection_id, found[0]) if found else 0

    def delete_documents(self, name: str, identities: Iterable[str]) -> int:
        """Removes the documents with these identities. Returns the number of removed passages."""
        collection_id, _ = self.collection(name)
        with self._db.write() as db:
            return sum(remove_document(db, collection_id, identity) for identity in identities)

    # Passages

    def passages(self, ids: Iterable[int]) -> dict[int, Passage]:
        """The passages with these ids, including web passages. Missing ids are left out."""
        wanted = list(ids)
        rows = self._db.rows_of(f"{_PASSAGE} WHERE p.id IN", [i for i in wanted if i > 0])
        return self.web.passages(i for i in wanted if i < 0) | {row[0]: Passage(*row) for row in rows}

    def passage_ids(self, names: Iterable[str], limit: int) -> list[int]:
        """The ids of the collections' passages, at most `limit` of each. Unknown collections have none."""
        numbers = [self.collection(name)[0] for name in names if self.has_collection(name)]
        query = "SELECT p.id FROM documents d JOIN passages p ON p.document_id = d.id WHERE d.collection_id = ? LIMIT ?"
        return [row["id"] for number in numbers for row in self._db.rows(query, (number, limit))]

    def document_passages(self, passage_id: int) -> list[Passage]:
        """All passages of the same document as this passage, in order; none if the document is gone."""
        if passage_id < 0:
            return self.web.document_passages(passage_id)
        rows = self._db.rows("SELECT document_id FROM passages WHERE id = ?", (passage_id,))
        return self.passages_of(rows[0][0]) if rows else []

    def passages_of(self, document: int) -> list[Passage]:
        """All passages of the document of this number, in order."""
        query = f"{_PASSAGE} WHERE p.document_id = ? ORDER BY p.position"
        return [Passage(*row) for row in self._db.rows(query, (document,))]

    def vectors(self, ids: Iterable[int]) -> dict[int, NDArray[np.float32]]:
        wanted = list(ids)
        query = "SELECT passage_id, vector FROM vectors WHERE passage_id IN"
        rows = self._db.rows_of(query, [i for i in wanted if i > 0])
        return self.web.vectors(i for i in wanted if i < 0) | {row[0]: from_float16(row[1]) for row in rows}

    def sentence_vectors(self, ids: Iterable[int]) -> dict[int, NDArray[np.float32]]:
        """Vectors of each passage's sentences, (sentences, dimensions), in the order of `split_sentences`.

        Passages without stored sentence vectors, such as web passages, are left out.
        """
        rows = self._db.rows_of("SELECT * FROM sentence_vectors WHERE passage_id IN", list(ids))
        return {number: from_float16(blob).reshape(count, -1 if count else 0) for number, count, blob in rows}

    def scan(self, after: int, limit: int) -> list[tuple[int, Passage]]:
        """Up to `limit` passages with ids above `after`, from all collections. Each comes with its collection's id."""
        columns = _PASSAGE.replace("SELECT p.id", "SELECT d.collection_id, p.id")
        query = f"{columns} WHERE p.id > ? ORDER BY p.id LIMIT ?"
        return [(collection, Passage(*row)) for collection, *row in self._db.rows(query, (after, limit))]

    def replace_vectors(
        self, vectors: dict[int, NDArray[np.float32]], sentences: dict[int, NDArray[np.float32]]
    ) -> None:
        """Replaces the vectors of stored passages and of their sentences. Deleted passages are ignored."""
        kept = "INSERT OR REPLACE INTO sentence_vectors SELECT id, ?, ? FROM passages WHERE id = ?"
        with self._db.write() as db:
            rows = [(to_float16(v), i) for i, v in vectors.items()]
            db.executemany("UPDATE vectors SET vector = ? WHERE passage_id = ?", rows)
            db.executemany(kept, [(len(v), to_float16(v), i) for i, v in sentences.items()])

    def set_encoder(self, encoder: str) -> None:
        """Sets the encoder of all collections."""
        with self._db.write() as db:
            db.execute("UPDATE collections SET encoder = ?", (encoder,))

    def drop_sentence_vectors(self) -> None:
        with self._db.write() as db:
            db.execute("DELETE FROM sentence_vectors")

    # Notes of this machine

    def note(self, key: str) -> str:
        """The value of the key; empty if there is none."""
        rows = self._db.rows("SELECT value FROM meta WHERE key = ?", (key,))
        return str(rows[0]["value"]) if rows else ""

    def set_note(self, key: str, value: str) -> None:
        with self._db.write() as db:
            db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def store_id(self) -> str:
        """Identifies this store on a shared server. A copy of the file has the same id."""
        if not (known := self.note("store_id")):
            with self._db.write() as db:
                db.execute("INSERT OR IGNORE INTO meta VALUES ('store_id', ?)", (uuid.uuid4().hex,))
            known = self.note("store_id")
        return known


def check_encoder(collection: str, made_by: str, encoder: str) -> None:
    """Raises EncoderMismatchError if the two encoders' vectors are not comparable."""
    if made_by != encoder:
        raise EncoderMismatchError(
            f"collection '{collection}' was indexed with the encoder {made_by}, but {encoder} is in use. "
            "Encode it again with `python -m agent rebuild`, or set the encoder back.",
            hint="Encode it again with `python -m agent rebuild`, or ",
        )


def remove_document(db: sqlite3.Connection, collection_id: int, external_id: str) -> int:
    """Removes the document of this identity with its passages. Returns the number of passages."""
    query = "SELECT id FROM documents WHERE collection_id = ? AND external_id = ?"
    row = db.execute(query, (collection_id, external_id)).fetchone()
    if row is None:
        return 0
    ids = [r[0] for r in db.execute("SELECT id FROM passages WHERE document_id = ?", (row["id"],))]
    log_removals(db, collection_id, ids)
    db.execute("DELETE FROM documents WHERE id = ?", (row["id"],))
    return len(ids)


def find_document(db: sqlite3.Connection, collection_id: int, name: str, number: int | None) -> list[str]:
    """The identities of the documents with this name. If no document has the name: the document with this identity.
    number: find only the document with this number.

    If several documents have the name and it is the identity of one of them, only that document counts, because it has
    no other name.
    """
    query = """
        SELECT external_id, id, shown_id IN ('', ?) AND (shown_id <> '' OR external_id = ?) AS named FROM documents
        WHERE collection_id = ? AND (external_id = ? OR shown_id = ?)
    """
    name = unicodedata.normalize("NFC", name)
    rows = db.execute(query, (name, name, collection_id, name, name)).fetchall()
    rows = [row for row in rows if number in (None, row["id"])]
    found = [row["external_id"] for row in rows if row["named"]] or [row["external_id"] for row in rows]
    return [name] if name in found else found


def insert_document(db: sqlite3.Connection, collection_id: int, document: PreparedDocument) -> int:
    """Stores a document with its passages and vectors. Returns the number of passages."""
    source = document.source
    shown, now = source.external_id if source.key else "", datetime.now(UTC).isoformat(timespec="seconds")
    described = (source.title, source.url, source.publisher, source.kind, source.date, source.author, source.provenance)
    known_as = (source.identity, shown, source.origin, source.language)
    cursor = db.execute(
        "INSERT INTO documents"
        " (collection_id, content_hash, title, url, publisher, kind, date, author, provenance, ingested_at, readers,"
        " external_id, shown_id, origin, language)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (collection_id, content_hash(source), *described, now, READERS_VERSION, *known_as),
    )
    ids: list[int] = []
    for position, passage in enumerate(document.passages):
        where = (passage.section, passage.form, passage.page, passage.last_page, passage.speaker)
        row = db.execute(
            "INSERT INTO passages (document_id, position, text, section, form, page, last_page, speaker)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (cursor.lastrowid, position, passage.text, *where),
        )
        ids.append(cast(int, row.lastrowid))
    blobs = [(i, to_float16(v)) for i, v in zip(ids, document.vectors, strict=True)]
    db.executemany("INSERT INTO vectors (passage_id, vector) VALUES (?, ?)", blobs)
    if document.sentences:
        rows = [(i, len(v), to_float16(v)) for i, v in zip(ids, document.sentences, strict=True)]
        db.executemany("INSERT INTO sentence_vectors VALUES (?, ?, ?)", rows)
    return len(ids)

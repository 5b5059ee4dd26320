"""The rows of a document: its own, its passages', their vectors', and what tells the indexes of those that go."""

import hashlib
import sqlite3
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import cast

import numpy as np
from numpy.typing import NDArray

from tools.passages import PassageText, SourceDocument
from tools.store.changes import removed

READING = 1
"""The version of the readers: raised when they get so much more out of files that reading these again is worth it."""


@dataclass(frozen=True, slots=True)
class KnownDocument:
    """What tells whether a stored document has changed: the hash of its content, the file it was read from (empty
    where that is not known), the version of the readers; with its language and the name that people see, where that
    is not its identity."""

    content_hash: str
    origin: str
    reading: int
    language: str = ""
    shown: str = ""


@dataclass(frozen=True, slots=True)
class PreparedDocument:
    """A document cut into passages, with their vectors of shape (passages, dimensions).

    sentences: for each passage the vectors of its sentences, (sentences, dimensions); empty where none are kept.
    replaces: the identity of an older state of the document, where that is another.
    """

    source: SourceDocument
    passages: tuple[PassageText, ...]
    vectors: NDArray[np.float32]
    sentences: tuple[NDArray[np.float32], ...] = ()
    replaces: str = ""

    @property
    def content_hash(self) -> str:
        return content_hash(self.source)


def content_hash(source: SourceDocument) -> str:
    """Changes whenever anything that would be stored of the document changes."""
    fields = [source.text, source.title, source.url, source.publisher, source.kind, source.date]
    fields += (f"{b.form} {b.level} {b.page} {b.last_page} {b.text}" for b in source.blocks)
    return hashlib.sha256("\x1f".join(fields).encode("utf-8", "surrogatepass")).hexdigest()


def remove_document(db: sqlite3.Connection, collection_id: int, external_id: str) -> int:
    """Removes the document of this identity with its passages; returns how many these were."""
    row = db.execute(
        "SELECT id FROM documents WHERE collection_id = ? AND external_id = ?", (collection_id, external_id)
    ).fetchone()
    if row is None:
        return 0
    ids = [r[0] for r in db.execute("SELECT id FROM passages WHERE document_id = ?", (row["id"],))]
    removed(db, collection_id, ids)
    db.execute("DELETE FROM documents WHERE id = ?", (row["id"],))
    return len(ids)


def find_document(db: sqlite3.Connection, collection_id: int, name: str, number: int | None) -> list[str]:
    """Identities of the documents of this name, or of this number among them; else the one with this identity.

    Of several with the name, the one that it is the identity of is meant, since it has no other.
    """
    query = """
        SELECT external_id, id, shown_id IN ('', ?) AND (shown_id <> '' OR external_id = ?) AS named FROM documents
        WHERE collection_id = ? AND (external_id = ? OR shown_id = ?)
    """
    rows = db.execute(query, (name, name, collection_id, name, name)).fetchall()
    rows = [row for row in rows if number in (None, row["id"])]
    found = [row["external_id"] for row in rows if row["named"]] or [row["external_id"] for row in rows]
    return [name] if name in found else found


def insert_document(db: sqlite3.Connection, collection_id: int, document: PreparedDocument) -> int:
    """Stores a document with its passages and their vectors; returns how many passages it has."""
    source, now = document.source, datetime.now(UTC).isoformat(timespec="seconds")
    described = (source.title, source.url, source.publisher, source.kind, source.date)
    cursor = db.execute(
        "INSERT INTO documents"
        " (collection_id, content_hash, title, url, publisher, kind, date, ingested_at,"
        " external_id, shown_id, origin, language, reading)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (collection_id, document.content_hash, *described, now, *_identity(source)),
    )
    ids: list[int] = []
    for position, passage in enumerate(document.passages):
        where = (passage.section, passage.form, passage.page, passage.last_page)
        row = db.execute(
            "INSERT INTO passages (document_id, position, text, section, form, page, last_page)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (cursor.lastrowid, position, passage.text, *where),
        )
        ids.append(cast(int, row.lastrowid))
    blobs = [(i, to_half(v)) for i, v in zip(ids, document.vectors, strict=True)]
    db.executemany("INSERT INTO vectors (passage_id, vector) VALUES (?, ?)", blobs)
    if document.sentences:
        rows = [(i, len(v), to_half(v)) for i, v in zip(ids, document.sentences, strict=True)]
        db.executemany("INSERT INTO sentence_vectors VALUES (?, ?, ?)", rows)
    return len(ids)


def adopt_document(db: sqlite3.Connection, collection_id: int, known_as: str, source: SourceDocument) -> None:
    """Gives a stored document of the same content the identity and the origin that it is known by now."""
    db.execute(
        "UPDATE documents SET external_id = ?, shown_id = ?, origin = ?, language = ?, reading = ?"
        " WHERE collection_id = ? AND external_id = ?",
        (*_identity(source), collection_id, known_as),
    )


def _identity(source: SourceDocument) -> tuple[str, str, str, str, int]:
    shown = source.external_id if source.key else ""
    return source.identity, shown, source.origin, source.language, READING


def origins_of(db: sqlite3.Connection, collection_id: int, paths: Collection[str]) -> dict[str, str]:
    """Identities of the documents that were read from these files or below these folders, with the file of each."""
    query = "SELECT external_id, origin FROM documents WHERE collection_id = ? AND origin <> '' ORDER BY id"
    starts = tuple(p.rstrip("/") + "/" for p in paths)
    rows = db.execute(query, (collection_id,)).fetchall()
    return {key: origin for key, origin in rows if origin in paths or origin.startswith(starts)}


def documents_before(db: sqlite3.Connection, collection_id: int) -> dict[str, str]:
    """Identities of the documents that earlier versions of the readers read, but for web pages, with the file of
    each, empty where that is not known."""
    query = "SELECT external_id, origin FROM documents WHERE collection_id = ? AND reading < ? ORDER BY id"
    rows = db.execute(query, (collection_id, READING)).fetchall()
    return {key: origin for key, origin in rows if not key.startswith(("http://", "https://"))}


def texts_of(db: sqlite3.Connection, collection_id: int, identity: str) -> list[str]:
    """The texts of a document's passages, in order."""
    query = """
        SELECT p.text FROM passages p JOIN documents d ON d.id = p.document_id
        WHERE d.collection_id = ? AND d.external_id = ? ORDER BY p.position
    """
    return [text for (text,) in db.execute(query, (collection_id, identity))]


def to_half(vectors: NDArray[np.float32]) -> bytes:
    """As vectors are stored: float16."""
    return vectors.astype(np.float16).tobytes()


def from_half(blob: bytes) -> NDArray[np.float32]:
    """What `to_half` stored, shape (n,)."""
    return np.frombuffer(blob, np.float16).astype(np.float32)

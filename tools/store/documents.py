"""The rows of a document: its own, its passages', their vectors', and what tells the indexes of those that go."""

import hashlib
import sqlite3
import unicodedata
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import cast

import numpy as np
from numpy.typing import NDArray

from tools.passages import PassageText, SourceDocument
from tools.store.index import log_removals

READERS_VERSION = 3
"""Raised when a reader makes other documents of the same files, which are then stored anew."""


@dataclass(frozen=True, slots=True)
class KnownDocument:
    """What tells whether a stored document has changed: the hash of its content, and the file it was read from (empty
    where it is from none); with its language."""

    content_hash: str
    origin: str
    language: str = ""


@dataclass(frozen=True, slots=True)
class PreparedDocument:
    """A document cut into passages, with their vectors of shape (passages, dimensions).

    sentences: for each passage the vectors of its sentences, (sentences, dimensions); empty where none are kept.
    """

    source: SourceDocument
    passages: tuple[PassageText, ...]
    vectors: NDArray[np.float32]
    sentences: tuple[NDArray[np.float32], ...] = ()

    @property
    def content_hash(self) -> str:
        return content_hash(self.source)


def content_hash(source: SourceDocument) -> str:
    """Changes whenever anything that would be stored of the document changes, and with the readers."""
    fields = [str(READERS_VERSION), source.text, source.title, source.url, source.publisher, source.kind, source.date]
    fields += [source.author]
    fields += (f"{b.form} {b.level} {b.page} {b.last_page} {b.text} {b.speaker}" for b in source.blocks)
    return hashlib.sha256("\x1f".join(fields).encode("utf-8", "surrogatepass")).hexdigest()


def remove_document(db: sqlite3.Connection, collection_id: int, external_id: str) -> int:
    """Removes the document of this identity with its passages; returns how many these were."""
    row = db.execute(
        "SELECT id FROM documents WHERE collection_id = ? AND external_id = ?", (collection_id, external_id)
    ).fetchone()
    if row is None:
        return 0
    ids = [r[0] for r in db.execute("SELECT id FROM passages WHERE document_id = ?", (row["id"],))]
    log_removals(db, collection_id, ids)
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
    name = unicodedata.normalize("NFC", name)
    rows = db.execute(query, (name, name, collection_id, name, name)).fetchall()
    rows = [row for row in rows if number in (None, row["id"])]
    found = [row["external_id"] for row in rows if row["named"]] or [row["external_id"] for row in rows]
    return [name] if name in found else found


def insert_document(db: sqlite3.Connection, collection_id: int, document: PreparedDocument) -> int:
    """Stores a document with its passages and their vectors; returns how many passages it has."""
    source = document.source
    shown, now = source.external_id if source.key else "", datetime.now(UTC).isoformat(timespec="seconds")
    described = (source.title, source.url, source.publisher, source.kind, source.date, source.author, source.provenance)
    known_as = (source.identity, shown, source.origin, source.language)
    cursor = db.execute(
        "INSERT INTO documents"
        " (collection_id, content_hash, title, url, publisher, kind, date, author, provenance, ingested_at, readers,"
        " external_id, shown_id, origin, language)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (collection_id, document.content_hash, *described, now, READERS_VERSION, *known_as),
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
    blobs = [(i, to_half(v)) for i, v in zip(ids, document.vectors, strict=True)]
    db.executemany("INSERT INTO vectors (passage_id, vector) VALUES (?, ?)", blobs)
    if document.sentences:
        rows = [(i, len(v), to_half(v)) for i, v in zip(ids, document.sentences, strict=True)]
        db.executemany("INSERT INTO sentence_vectors VALUES (?, ?, ?)", rows)
    return len(ids)


def to_half(vectors: NDArray[np.float32]) -> bytes:
    """As vectors are stored: float16."""
    return vectors.astype(np.float16).tobytes()


def from_half(blob: bytes) -> NDArray[np.float32]:
    """What `to_half` stored, shape (n,)."""
    return np.frombuffer(blob, np.float16).astype(np.float32)

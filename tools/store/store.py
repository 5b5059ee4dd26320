"""Collections, documents, passages and vectors in the database."""

import hashlib
import unicodedata
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import ColumnElement, Connection, case, delete, func, insert, literal, select, true, update

from tools.errors import AmbiguousDocumentError, EncoderMismatchError, InputError, UnknownCollectionError, command
from tools.passages import PROBABLY, Passage, PassageText, SourceDocument
from tools.store.database import AnyRow, Database, from_float16, to_float16, upsert
from tools.store.index import ALL_PASSAGES, ChangeLog, log_last, log_removals
from tools.store.run_passages import RunPassages, WebPassages, insert_passages
from tools.store.schema import collections, documents, meta, passages, sentence_vectors, vectors

READERS_VERSION = 8
"""Raise this version when a parser's output changes, so that the next ingest stores the files again."""


@dataclass(frozen=True, slots=True)
class KnownDocument:
    """A stored document's content hash, file (empty if unknown), language and time (ISO, UTC). Ingest compares them
    to detect changes."""

    content_hash: str
    origin: str
    language: str = ""
    ingested_at: str = ""


@dataclass(frozen=True, slots=True)
class PreparedDocument:
    """A document cut into passages, with their vectors, shape (passages, dimensions). replaces: whether an older
    version is stored."""

    source: SourceDocument
    passages: tuple[PassageText, ...]
    vectors: NDArray[np.float32]
    replaces: bool = False


def content_hash(source: SourceDocument) -> str:
    """A hash that changes with any stored part of the document, and with READERS_VERSION."""
    fields = [str(READERS_VERSION), source.text, source.title, source.url, source.publisher, source.kind, source.date]
    fields += [source.author]
    fields += (f"{b.form} {b.level} {b.page} {b.last_page} {b.text} {b.speaker}" for b in source.blocks)
    return hashlib.sha256("\x1f".join(fields).encode("utf-8", "surrogatepass")).hexdigest()


SAMPLES = "samples"
"""The collection of the sample documents. Citations mark its documents as samples."""

_MOST_NAMES = 3

_d = documents.c
_TABLES = passages.join(documents).join(collections)
_SHOWN_ID = case((_d.shown_id == "", _d.external_id), else_=_d.shown_id)
_PASSAGE = select(
    *(passages.c.id, _SHOWN_ID, collections.c.name, passages.c.text, _d.title, _d.url, _d.publisher, _d.kind, _d.date),
    *(passages.c.position, literal(""), passages.c.section, passages.c.form, passages.c.page, passages.c.last_page),
    *(_d.language, case((_d.shown_id.in_(("", _d.external_id)), ""), else_=_d.external_id), literal("")),
    *(passages.c.speaker, _d.author),
).select_from(_TABLES)
"""The fields of `Passage`, in order."""


@dataclass(frozen=True, slots=True)
class CollectionInfo:
    id: int
    name: str
    encoder: str
    documents: int
    passages: int
    person: str


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
        c, counts = collections.c, (func.count(_d.id.distinct()), func.count(passages.c.id))
        query = (
            select(c.id, c.name, c.encoder, *counts, c.person)
            .select_from(collections.outerjoin(documents).outerjoin(passages))
            .where(self._visible)
            .group_by(c.id)
            .order_by(c.name)
        )
        return [CollectionInfo(*row) for row in self._db.rows(query)]

    @property
    def _visible(self) -> ColumnElement[bool]:
        return true() if self._person is None else collections.c.person.in_(("", self._person))

    def encoders(self) -> set[str]:
        """The encoders of all collections."""
        return {row.encoder for row in self._db.rows(select(collections.c.encoder).distinct())}

    def collection(self, name: str) -> tuple[int, str]:
        """A collection's id and encoder. Raises UnknownCollectionError, which lists the collections."""
        rows = self._db.rows(select(collections).where(self._visible).order_by(collections.c.name))
        for row in rows:
            if row.name == name:
                return row.id, row.encoder
        names = [row.name for row in rows if row.person in ("", self._person)]
        hint = f"Make one: `{command('python -m agent ingest YOUR_FOLDER', collection=name)}`."
        if not names:
            raise UnknownCollectionError(f"there is no collection '{name}'. There is none yet.", hint=hint)
        raise UnknownCollectionError(f"there is no collection '{name}'. There are: {', '.join(names)}.", hint=hint)

    def has_collection(self, name: str) -> bool:
        return bool(self._db.rows(select(collections.c.id).where(collections.c.name == name, self._visible)))

    def check_name(self, name: str) -> None:
        """Raises InputError for an invalid name of a new collection. `~` is reserved for persons' collections."""
        whole = name.isprintable() and name == name.strip() != ""
        if not self.has_collection(name) and (not whole or ("~" in name and not self._person)):
            raise InputError(
                "a new collection's name needs printable characters, no ~, and no spaces at its ends, unlike "
                f"'{name}'. Give another name."
            )

    def ensure_collection(self, name: str, encoder: str) -> int:
        """The collection's id. Creates the collection if needed. Raises EncoderMismatchError if another encoder filled
        the collection, and the errors of `check_name`."""
        self.check_name(name)
        with self._db.write() as db:
            at, person = datetime.now(UTC).isoformat(timespec="seconds"), self._person or ""
            upsert(db, collections, [{"name": name, "encoder": encoder, "created_at": at, "person": person}])
        collection_id, made_by = self.collection(name)
        check_encoder(name, made_by, encoder)
        return collection_id

    def delete_collection(self, name: str) -> int:
        """Removes the collection with its documents. Returns the number of removed passages."""
        collection_id, _ = self.collection(name)
        with self._db.write(in_turn=True) as db:
            held = passages.join(documents)
            count = db.scalar(select(func.count()).select_from(held).where(_d.collection_id == collection_id))
            log_removals(db, collection_id, [ALL_PASSAGES])
            db.execute(delete(collections).where(collections.c.id == collection_id))
        return count or 0

    # Documents

    def known_documents(self, collection_id: int) -> dict[str, KnownDocument]:
        """The stored documents by identity. Ingest uses them to detect changes."""
        known = _d.content_hash, _d.origin, _d.language, _d.ingested_at
        query = select(_d.external_id, *known).where(_d.collection_id == collection_id)
        return {key: KnownDocument(*known) for key, *known in self._db.rows(query)}

    def read_from(self, name: str, paths: Sequence[str]) -> dict[str, str]:
        """The identities of the documents from these files or folders (whole paths). Each identity comes with its
        file."""
        collection_id, _ = self.collection(name)
        query = select(_d.external_id, _d.origin).where(_d.collection_id == collection_id, _d.origin != "")
        starts = tuple(p.rstrip("/") + "/" for p in paths)
        rows = self._db.rows(query.order_by(_d.id))
        return {key: origin for key, origin in rows if origin in paths or origin.startswith(starts)}

    def put(self, collection_id: int, documents: Sequence[PreparedDocument]) -> int:
        """Stores the documents and replaces earlier versions. Returns the number of stored passages."""
        stored = 0
        with self._db.write(in_turn=True) as db:
            for document in documents:
                remove_document(db, collection_id, document.source.identity)
                stored += insert_document(db, collection_id, document)
        return stored

    def documents(self, name: str, limit: int = -1, offset: int = 0) -> Sequence[AnyRow]:
        """Rows of number, external_id (identity), shown_id (name), origin, language, title, url, publisher, kind, date,
        author, provenance, readers' version, and counts of speakers and passages.

        `limit`: -1 for all. `offset`: rows to skip.
        """
        collection_id, _ = self.collection(name)
        speakers = func.nullif(func.replace(passages.c.speaker, PROBABLY, ""), "")
        query = (
            select(
                *(_d.id.label("number"), _d.external_id, _SHOWN_ID.label("shown_id"), _d.origin, _d.language, _d.title),
                *(_d.url, _d.publisher, _d.kind, _d.date, _d.author, _d.provenance, _d.readers),
                *(func.count(passages.c.id).label("passages"), func.count(speakers.distinct()).label("speakers")),
            )
            .select_from(documents.outerjoin(passages))
            .where(_d.collection_id == collection_id)
            .group_by(_d.id)
            .order_by(_d.id)
        )
        return self._db.rows(query.limit(limit if limit >= 0 else None).offset(offset))

    def delete_document(self, name: str, document: str, number: int | None = None) -> int:
        """Removes the document with this identity or name. Returns the number of removed passages.

        number: selects a document if several have the name. Raises AmbiguousDocumentError.
        """
        collection_id, _ = self.collection(name)
        with self._db.write(in_turn=True) as db:
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
        with self._db.write(in_turn=True) as db:
            return sum(remove_document(db, collection_id, identity) for identity in identities)

    # Passages

    def passages(self, ids: Iterable[int]) -> dict[int, Passage]:
        """The passages with these ids, including web passages. Missing ids are left out."""
        wanted = list(ids)
        rows = self._db.rows_of(_PASSAGE, passages.c.id, [i for i in wanted if i > 0])
        return self.web.passages(i for i in wanted if i < 0) | {row[0]: Passage(*row) for row in rows}

    def passage_ids(self, names: Iterable[str], limit: int) -> list[int]:
        """The ids of the collections' passages, at most `limit` of each. Unknown collections have none."""
        numbers = [self.collection(name)[0] for name in names if self.has_collection(name)]
        query = select(passages.c.id).select_from(passages.join(documents)).limit(limit)
        return [row.id for number in numbers for row in self._db.rows(query.where(_d.collection_id == number))]

    def document_passages(self, passage_id: int) -> list[Passage]:
        """All passages of the same document as this passage, in order; none if the document is gone."""
        if passage_id < 0:
            return self.web.document_passages(passage_id)
        rows = self._db.rows(select(passages.c.document_id).where(passages.c.id == passage_id))
        return self.passages_of(rows[0][0]) if rows else []

    def passages_of(self, document: int) -> list[Passage]:
        """All passages of the document of this number, in order."""
        query = _PASSAGE.where(passages.c.document_id == document).order_by(passages.c.position)
        return [Passage(*row) for row in self._db.rows(query)]

    def vectors(self, ids: Iterable[int]) -> dict[int, NDArray[np.float32]]:
        wanted = list(ids)
        rows = self._db.rows_of(select(vectors), vectors.c.passage_id, [i for i in wanted if i > 0])
        return self.web.vectors(i for i in wanted if i < 0) | {row[0]: from_float16(row[1]) for row in rows}

    def sentence_vectors(self, ids: Iterable[int]) -> dict[int, NDArray[np.float32]]:
        """Vectors of each passage's sentences, (sentences, dimensions), in the order of `split_sentences`.

        Passages without stored sentence vectors, such as web passages and passages never read, are left out.
        """
        rows = self._db.rows_of(select(sentence_vectors), sentence_vectors.c.passage_id, list(ids))
        return {number: from_float16(blob).reshape(count, -1 if count else 0) for number, count, blob in rows}

    def add_sentence_vectors(
        self, new: Mapping[int, NDArray[np.float32]], encoder: str, seconds: int | None = None
    ) -> None:
        """Stores the sentence vectors of passages that have none, as `sentence_vectors` returns them.

        Ignores deleted passages, and passages that another encoder has encoded since. seconds: the longest wait for
        other writers.
        """
        with self._db.write(in_turn=True, seconds=seconds) as db:
            query = select(passages.c.id).select_from(_TABLES).where(collections.c.encoder == encoder)
            ids = [row.id for row in self._db.rows_of(query, passages.c.id, list(new))]
            rows = [{"passage_id": i, "sentences": len(new[i]), "vectors": to_float16(new[i])} for i in ids]
            if rows:
                upsert(db, sentence_vectors, rows)

    def scan(self, after: int, limit: int) -> list[tuple[int, Passage]]:
        """Up to `limit` passages with ids above `after`, from all collections. Each comes with its collection's id."""
        query = select(_d.collection_id, *_PASSAGE.selected_columns).select_from(_TABLES)
        rows = self._db.rows(query.where(passages.c.id > after).order_by(passages.c.id).limit(limit))
        return [(collection, Passage(*row)) for collection, *row in rows]

    def replace_vectors(self, new: Mapping[int, NDArray[np.float32]]) -> None:
        """Replaces the vectors of stored passages. Deleted passages are ignored."""
        with self._db.write(in_turn=True) as db:
            stored = set(db.scalars(select(passages.c.id).where(passages.c.id.in_(list(new)))))
            rows = [{"passage_id": i, "vector": to_float16(v)} for i, v in new.items() if i in stored]
            if rows:
                upsert(db, vectors, rows, replace=True)

    def set_encoder(self, encoder: str) -> None:
        """Sets the encoder of all collections."""
        with self._db.write(in_turn=True) as db:
            db.execute(update(collections).values(encoder=encoder))

    def drop_sentence_vectors(self) -> None:
        with self._db.write() as db:
            db.execute(delete(sentence_vectors))

    # Notes of this machine

    def note(self, key: str) -> str:
        """The value of the key; empty if there is none."""
        rows = self._db.rows(select(meta.c.value).where(meta.c.key == key))
        return str(rows[0].value) if rows else ""

    def set_note(self, key: str, value: str) -> None:
        with self._db.write() as db:
            upsert(db, meta, [{"key": key, "value": value}], replace=True)

    def store_id(self) -> str:
        """Identifies this store on a shared server. A copy of the file has the same id."""
        if not (known := self.note("store_id")):
            with self._db.write() as db:
                upsert(db, meta, [{"key": "store_id", "value": uuid.uuid4().hex}])
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


def remove_document(db: Connection, collection_id: int, external_id: str) -> int:
    """Removes the document of this identity with its passages. Returns the number of passages."""
    same = _d.collection_id == collection_id, _d.external_id == external_id
    if (number := db.scalar(select(_d.id).where(*same))) is None:
        return 0
    ids = db.scalars(select(passages.c.id).where(passages.c.document_id == number)).all()
    log_removals(db, collection_id, ids)
    db.execute(delete(documents).where(_d.id == number))
    return len(ids)


def find_document(db: Connection, collection_id: int, name: str, number: int | None) -> list[str]:
    """The identities of the documents with this name. If no document has the name: the document with this identity.
    number: find only the document with this number.

    If several documents have the name and it is the identity of one of them, only that document counts, because it has
    no other name.
    """
    name = unicodedata.normalize("NFC", name)
    named = (_d.shown_id == name) | (_d.shown_id == "") & (_d.external_id == name)
    query = select(_d.external_id, _d.id, named.label("named")).where(
        _d.collection_id == collection_id, (_d.external_id == name) | (_d.shown_id == name)
    )
    rows = [row for row in db.execute(query.order_by(_d.id)) if number in (None, row.id)]
    found = [row.external_id for row in rows if row.named] or [row.external_id for row in rows]
    return [name] if name in found else found


def insert_document(db: Connection, collection_id: int, document: PreparedDocument) -> int:
    """Stores a document with its passages and vectors. Returns the number of passages."""
    source = document.source
    described = "title url publisher kind date author provenance origin language".split()
    values = {name: getattr(source, name) for name in described} | {
        "collection_id": collection_id,
        "content_hash": content_hash(document.source),
        "ingested_at": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "readers": READERS_VERSION,
        "external_id": source.identity,
        "shown_id": source.external_id if source.key else "",
    }
    number = db.scalars(insert(documents).values(values).returning(_d.id)).one()
    rows = [{"document_id": number, "position": n, **asdict(p)} for n, p in enumerate(document.passages)]
    ids = insert_passages(db, passages, rows)
    log_last(db, passages.name, ids)
    blobs = [{"passage_id": i, "vector": to_float16(v)} for i, v in zip(ids, document.vectors, strict=True)]
    if blobs:
        db.execute(insert(vectors), blobs)
    return len(ids)

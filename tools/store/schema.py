"""The tables of the store's database, SQLite or Postgres alike.

After a change, add a revision to `tools/store/migrations/versions` and raise `REVISION`.
"""

from collections.abc import Iterator
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Dialect,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    UniqueConstraint,
)
from sqlalchemy.types import TypeDecorator, TypeEngine

REVISION = "0001"
"""The last revision of `tools/store/migrations`."""
SCHEMA_VERSION = 5
"""`PRAGMA user_version` of revision 0001, for versions of Steelman without revisions."""
_Number = BigInteger().with_variant(Integer(), "sqlite")


class _Words(TypeDecorator[str]):
    """Text in the order of its code points, as SQLite has it. Postgres stores no NUL: U+FFFD replaces the NUL."""

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[str]:
        return dialect.type_descriptor(Text(collation="C" if dialect.name == "postgresql" else None))

    def process_bind_param(self, value: Any, dialect: Dialect) -> Any:
        return value.replace("\0", "\ufffd") if value and dialect.name == "postgresql" else value


def _texts(names: str) -> list[Column[str]]:
    return [Column(name, _Words(), nullable=False) for name in names.split()]


def _numbers(names: str) -> list[Column[int]]:
    return [Column(name, _Number, nullable=False) for name in names.split()]


def _of(name: str, parent: str, **more: Any) -> Column[Any]:
    """A reference to a row that takes this row along when it is deleted."""
    return Column(name, ForeignKey(parent, ondelete="CASCADE"), **{"nullable": False} | more)


def _id() -> Column[int]:
    return Column("id", _Number, primary_key=True)


def _postgres_indexes(name: str, text: str, number: str) -> Iterator[Index]:
    """Replaces an index over a long text: Postgres has at most 2,700 bytes in other indexes than hashes. Writers that
    take turns keep the texts unique."""
    yield Index(name, text, postgresql_using="hash").ddl_if(dialect="postgresql")
    yield Index(f"{name}_of", number).ddl_if(dialect="postgresql")


metadata = MetaData()
meta = Table("meta", metadata, Column("key", _Words(), primary_key=True), *_texts("value"))
# person, here and below: the logged-in person who made it. Empty: everybody may see it.
collections = Table(
    "collections",
    metadata,
    _id(),
    Column("name", _Words(), nullable=False, unique=True),
    *_texts("encoder created_at person"),
    sqlite_autoincrement=True,
)
documents = Table(
    "documents",
    metadata,
    _id(),
    _of("collection_id", "collections.id"),
    # external_id: a document's identity. shown_id: its name if different. origin: its file.
    *_texts("external_id shown_id origin content_hash title url publisher kind date language ingested_at"),
    # provenance: the places of date and author. readers: READERS_VERSION at ingest.
    *_texts("author provenance"),
    *_numbers("readers"),
    UniqueConstraint("collection_id", "external_id").ddl_if(dialect="sqlite"),
    Index("documents_by_origin", "collection_id", "origin").ddl_if(dialect="sqlite"),
    *_postgres_indexes("documents_by_identity", "external_id", "collection_id"),
)
# AUTOINCREMENT never hands out an id twice, so a stale index entry finds nothing instead of another passage.
passages = Table(
    "passages",
    metadata,
    _id(),
    _of("document_id", "documents.id"),
    *_numbers("position"),
    *_texts("text speaker section form"),
    *_numbers("page last_page"),
    Index("passages_by_document", "document_id"),
    sqlite_autoincrement=True,
)
vectors = Table(
    "vectors",
    metadata,
    _of("passage_id", "passages.id", primary_key=True),
    Column("vector", LargeBinary, nullable=False),
)
# A row per sentence of split_sentences. Empty this table after changing split_sentences.
sentence_vectors = Table(
    "sentence_vectors",
    metadata,
    _of("passage_id", "passages.id", primary_key=True),
    *_numbers("sentences"),
    Column("vectors", LargeBinary, nullable=False),
)
# The indexes' change log and positions: `ChangeLog`, `IndexPosition`.
removals = Table(
    "removals",
    metadata,
    Column("number", _Number, primary_key=True),
    *_numbers("collection_id passage_id"),
    sqlite_autoincrement=True,
)
indexes = Table(
    "indexes", metadata, Column("name", _Words(), primary_key=True), *_texts("making"), *_numbers("passage removal")
)
runs = Table(
    "runs",
    metadata,
    Column("id", _Words(), primary_key=True),
    *_texts("thread question options status created_at"),
    Column("finished_at", _Words()),
    Column("owner", _Words()),
    Column("heartbeat", Double),
    Column("error", _Words()),
    Column("answer", _Words()),
    *_texts("person"),
    Index("runs_by_thread", "thread", "created_at"),
)
# A person's name for a thread, and the time of its deletion, which can be undone for a while.
threads = Table(
    "threads",
    metadata,
    *_texts("thread person"),
    Column("name", _Words(), nullable=False, server_default=""),
    Column("removed_at", Double),
    PrimaryKeyConstraint("thread", "person"),
)
events = Table(
    "events",
    metadata,
    _of("run_id", "runs.id"),
    *_numbers("number"),
    Column("at", Double, nullable=False),
    *_texts("kind data"),
    PrimaryKeyConstraint("run_id", "number"),
    sqlite_with_rowid=False,
)
# Web pages, stored with the run that read them, in no collection. owner: responsible for the page, by its address and
# not by its site name.
web_documents = Table(
    "web_documents",
    metadata,
    _id(),
    *_texts("run_id url original title publisher kind date text language owner author"),
    UniqueConstraint("run_id", "url").ddl_if(dialect="sqlite"),
    *_postgres_indexes("web_documents_by_url", "url", "run_id"),
)
web_passages = Table(
    "web_passages",
    metadata,
    _id(),
    _of("document_id", "web_documents.id"),
    *_numbers("position"),
    *_texts("text"),
    Column("vector", LargeBinary, nullable=False),
    *_texts("speaker section form"),
    *_numbers("page last_page"),
    Index("web_passages_by_document", "document_id"),
    sqlite_autoincrement=True,
)
# API keys. A digest does not grant access.
api_keys = Table(
    "api_keys",
    metadata,
    Column("id", _Words(), primary_key=True),
    *_texts("name"),
    Column("digest", LargeBinary, nullable=False, unique=True),
    *_texts("created_at"),
    Column("revoked_at", _Words()),
)
# The key that began a run (empty if none was needed), and its idempotency key.
api_runs = Table(
    "api_runs",
    metadata,
    _of("run_id", "runs.id", primary_key=True),
    *_texts("key_id"),
    Column("idempotency_key", _Words()),
    UniqueConstraint("key_id", "idempotency_key"),
)
# Copies of retrieved passages. passage: its fields in order, as JSON.
run_passages = Table(
    "run_passages",
    metadata,
    *_numbers("passage_id"),
    *_texts("run_id passage"),
    Column("vector", LargeBinary, nullable=False),
    PrimaryKeyConstraint("passage_id", "run_id"),
    Index("run_passages_by_run", "run_id"),
    sqlite_with_rowid=False,
)
# A preference study (`agent/answer/ballots.py`): two pages per question as JSON, and the voters' choices.
ballots = Table(
    "ballots",
    metadata,
    _id(),
    Column("question", _Words(), nullable=False, unique=True),
    *_texts("answer ranked providers"),
    *_numbers("seed"),
)
votes = Table(
    "votes",
    metadata,
    _of("ballot_id", "ballots.id"),
    *_texts("voter kind"),
    *_numbers("answer_left"),
    *_texts("choices reason"),
    PrimaryKeyConstraint("ballot_id", "voter"),
    sqlite_with_rowid=False,
)
# Users' corrections of answers (`agent/answer/corrections.py`).
corrections = Table("corrections", metadata, _id(), _of("run_id", "runs.id"), *_texts("claim target person at"))

alembic_version = Table("alembic_version", MetaData(), Column("version_num", String(32), primary_key=True))
"""The revision of a database, as Alembic writes it."""

"""The tables of the store's database, SQLite or Postgres alike.

After a change, add a revision to `tools/store/migrations/versions` and raise `REVISION`.
"""

from typing import Any

import sqlalchemy as sa
from sqlalchemy import Column, Table, UniqueConstraint
from sqlalchemy.types import TypeDecorator, TypeEngine

REVISION = "0003"
"""The last revision of `tools/store/migrations`."""
SCHEMA_VERSION = 5
"""`PRAGMA user_version` of revision 0001, for versions of Steelman without revisions."""
_Number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


class _Words(TypeDecorator[str]):
    """Text in the order of its code points, as SQLite has it. Postgres stores no NUL: U+FFFD replaces the NUL."""

    impl = sa.Text
    cache_ok = True

    def load_dialect_impl(self, dialect: sa.Dialect) -> TypeEngine[str]:
        return dialect.type_descriptor(sa.Text(collation="C" if dialect.name == "postgresql" else None))

    def process_bind_param(self, value: Any, dialect: sa.Dialect) -> Any:
        return value.replace("\0", "\ufffd") if value and dialect.name == "postgresql" else value


def _texts(names: str, **more: Any) -> list[Column[str]]:
    return [Column(name, _Words(), **{"nullable": False} | more) for name in names.split()]


def _numbers(names: str, **more: Any) -> list[Column[int]]:
    return [Column(name, _Number, nullable=False, **more) for name in names.split()]


def _bytes(name: str, **more: Any) -> Column[bytes]:
    return Column(name, sa.LargeBinary, nullable=False, **more)


def _of(name: str, parent: str, **more: Any) -> Column[Any]:
    """A reference to a row that takes this row along when it is deleted."""
    return Column(name, sa.ForeignKey(parent, ondelete="CASCADE"), nullable=False, **more)


def _table(name: str, *parts: Any, **more: Any) -> Table:
    """parts: columns, lists of columns, and indexes."""
    return Table(name, metadata, *(x for part in parts for x in (part if isinstance(part, list) else [part])), **more)


def _postgres_indexes(name: str, text: str, number: str) -> list[sa.Index]:
    """Replaces an index over a long text: Postgres has at most 2,700 bytes in other indexes than hashes. Writers that
    take turns keep the texts unique."""
    indexes = sa.Index(name, text, postgresql_using="hash"), sa.Index(f"{name}_of", number)
    return [index.ddl_if(dialect="postgresql") for index in indexes]


_KEY: dict[str, Any] = {"primary_key": True}
_IDS: dict[str, Any] = {"sqlite_autoincrement": True}
"""AUTOINCREMENT never hands out an id twice, so a stale index entry finds nothing instead of another passage."""
_BY_KEY: dict[str, Any] = {"sqlite_with_rowid": False}
_PLACE = "speaker section form"
_PAGES = "page last_page"

metadata = sa.MetaData()
meta = _table("meta", _texts("key", **_KEY), _texts("value"))
# person, here and below: the logged-in person who made it. Empty: everybody may see it.
collections = _table(
    "collections", _numbers("id", **_KEY), _texts("name", unique=True), _texts("encoder created_at person"), **_IDS
)
documents = _table(
    "documents",
    *(_numbers("id", **_KEY), _of("collection_id", "collections.id")),
    # external_id: a document's identity. shown_id: its name if different. origin: its file.
    _texts("external_id shown_id origin content_hash title url publisher kind date language ingested_at"),
    # provenance: the places of date and author. readers: READERS_VERSION at ingest.
    *(_texts("author provenance"), _numbers("readers")),
    UniqueConstraint("collection_id", "external_id").ddl_if(dialect="sqlite"),
    sa.Index("documents_by_origin", "collection_id", "origin").ddl_if(dialect="sqlite"),
    _postgres_indexes("documents_by_identity", "external_id", "collection_id"),
)
passages = _table(
    "passages",
    *(_numbers("id", **_KEY), _of("document_id", "documents.id"), _numbers("position"), _texts(f"text {_PLACE}")),
    *(_numbers(_PAGES), sa.Index("passages_by_document", "document_id")),
    **_IDS,
)
vectors = _table("vectors", _of("passage_id", "passages.id", **_KEY), _bytes("vector"))
# A row per sentence of split_sentences. Empty this table after changing split_sentences.
sentence_vectors = _table(
    "sentence_vectors", _of("passage_id", "passages.id", **_KEY), _numbers("sentences"), _bytes("vectors")
)
# The indexes' change log and positions: `ChangeLog`, `IndexPosition`.
removals = _table("removals", _numbers("number", **_KEY), _numbers("collection_id passage_id"), **_IDS)
indexes = _table("indexes", _texts("name", **_KEY), _texts("making"), _numbers("passage removal"))
runs = _table(
    "runs",
    *(_texts("id", **_KEY), _texts("thread question options status created_at")),
    *(_texts("finished_at owner", nullable=True), Column("heartbeat", sa.Double)),
    *(_texts("error answer", nullable=True), _texts("person"), sa.Index("runs_by_thread", "thread", "created_at")),
)
# A person's name for a thread, and the time of its deletion, which can be undone for a while.
threads = _table(
    "threads", _texts("thread person", **_KEY), _texts("name", server_default=""), Column("removed_at", sa.Double)
)
events = _table(
    "events",
    *(_of("run_id", "runs.id", **_KEY), _numbers("number", **_KEY), Column("at", sa.Double, nullable=False)),
    _texts("kind data"),
    **_BY_KEY,
)
# Web pages, stored with the run that read them, in no collection. owner: responsible for the page, by its address and
# not by its site name.
web_documents = _table(
    "web_documents",
    _numbers("id", **_KEY),
    _texts("run_id url original title publisher kind date text language owner author"),
    _texts("venue extent", server_default=""),
    UniqueConstraint("run_id", "url").ddl_if(dialect="sqlite"),
    _postgres_indexes("web_documents_by_url", "url", "run_id"),
)
web_passages = _table(
    "web_passages",
    *(_numbers("id", **_KEY), _of("document_id", "web_documents.id"), _numbers("position"), _texts("text")),
    *(_bytes("vector"), _texts(_PLACE), _numbers(_PAGES), sa.Index("web_passages_by_document", "document_id")),
    **_IDS,
)
# API keys. A digest does not grant access.
api_keys = _table(
    "api_keys",
    *(_texts("id", **_KEY), _texts("name"), _bytes("digest", unique=True), _texts("created_at")),
    _texts("revoked_at", nullable=True),
)
# The key that began a run (empty if none was needed), and its idempotency key.
api_runs = _table(
    "api_runs",
    *(_of("run_id", "runs.id", **_KEY), _texts("key_id"), _texts("idempotency_key", nullable=True)),
    UniqueConstraint("key_id", "idempotency_key"),
)
# Requests of a key in the latest window of a rate, of all servers on a Postgres database. window: its number.
api_rates = _table("api_rates", _texts("name", **_KEY), _numbers("window requests"))
# Copies of retrieved passages. passage: its fields in order, as JSON.
run_passages = _table(
    "run_passages",
    *(_numbers("passage_id", **_KEY), _texts("run_id", **_KEY), _texts("passage"), _bytes("vector")),
    sa.Index("run_passages_by_run", "run_id"),
    **_BY_KEY,
)
# A preference study (`agent/answer/ballots.py`): two pages per question as JSON, and the voters' choices.
ballots = _table(
    "ballots",
    *(_numbers("id", **_KEY), _texts("question", unique=True), _texts("answer ranked providers"), _numbers("seed")),
)
votes = _table(
    "votes",
    *(_of("ballot_id", "ballots.id", **_KEY), _texts("voter", **_KEY), _texts("kind"), _numbers("answer_left")),
    _texts("choices reason"),
    **_BY_KEY,
)
# Users' corrections of answers (`agent/answer/corrections.py`).
corrections = _table("corrections", _numbers("id", **_KEY), _of("run_id", "runs.id"), _texts("claim target person at"))

# Large uploads to the API, and their files in parts. state: `JobDetails` as JSON. sent: the files' names and columns.
jobs = _table(
    "jobs",
    *(_texts("id", **_KEY), _texts("key_id status state sent created_at"), _texts("owner", nullable=True)),
    *(Column("heartbeat", sa.Double), _numbers("tries", server_default="0"), sa.Index("jobs_by_status", "status")),
)
job_files = _table("job_files", *(_of("job_id", "jobs.id", **_KEY), _numbers("file part", **_KEY), _bytes("content")))

alembic_version = Table("alembic_version", sa.MetaData(), Column("version_num", sa.String(32), primary_key=True))
"""The revision of a database, as Alembic writes it."""

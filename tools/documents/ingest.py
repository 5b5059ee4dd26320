"""Ingests documents into a collection in two steps. `prepare` cuts documents into passages and encodes the passages;
`Ingester.store` stores and indexes the result. A second ingest of the same documents changes nothing."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tools.documents.document import GUESSED_COLUMNS, LARGEST_TEXT, ColumnNames, InputFile, normalized_name
from tools.documents.passage_cutting import cut_document
from tools.documents.sandbox import DEFAULT_LIMITS, IsCancelled, ReaderLimits, read_in_process
from tools.errors import SourceError
from tools.language.identification import language_of
from tools.models.encoders import Encoder, encode_each_once
from tools.passages import SourceDocument
from tools.store.hybrid import HybridSearch, passage_text
from tools.store.store import KnownDocument, PreparedDocument, Store, check_encoder, content_hash

# Storing

_PASSAGES_PER_BATCH = 256


@dataclass
class IngestReport:
    """Counts and problems of an ingest so far. replaced: stored documents that replace an older version. left_out:
    counts of the parts that parsers skipped, by name. languages: counts of documents by language. left_out and
    languages include unchanged documents. seen: identities of documents with text. reading: the current file. begun:
    the current file's number, from 1 to `files`. broken: whole paths of files that failed. unsure: for each table
    without a clear text column, its columns with examples."""

    stored: int = 0
    replaced: int = 0
    unchanged: int = 0
    passages: int = 0
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    languages: Counter[str] = field(default_factory=Counter)
    seen: set[str] = field(default_factory=set)
    reading: str = ""
    begun: int = 0
    files: int = 0
    broken: set[str] = field(default_factory=set)
    unsure: dict[str, Sequence[tuple[str, str]]] = field(default_factory=dict)

    def add(self, other: "IngestReport") -> None:
        """Adds what another report of `read_all` and `prepare` has counted and recorded."""
        self.unchanged += other.unchanged
        self.problems += other.problems
        self.notes += other.notes
        self.left_out.update(other.left_out)
        self.languages.update(other.languages)
        self.seen |= other.seen
        self.broken |= other.broken
        self.unsure |= other.unsure


Progress = Callable[[IngestReport], None]


def read_all(
    files: Sequence[InputFile],
    report: IngestReport,
    progress: Progress | None = None,
    columns: ColumnNames = GUESSED_COLUMNS,
    limits: ReaderLimits = DEFAULT_LIMITS,
    is_cancelled: IsCancelled = bool,
) -> Iterator[SourceDocument]:
    """Yields the documents of all files. Records problems in the report and continues. A document's key is its file's
    origin, the whole path; a table row's key adds the row's id. Without an origin, the id alone identifies a document.
    columns: the chosen columns of tables. limits: the limits for each file. Raises ReadingCancelledError."""
    report.files += len(files)
    for file in files:
        report.reading, report.begun = normalized_name(file.name), report.begun + 1
        if progress:
            progress(report)

        def skip(problem: SourceError, origin: str = file.origin) -> None:
            report.problems.append(str(problem))
            report.broken.add(origin)
            report.unsure.update({report.reading: problem.columns} if problem.columns else {})

        try:
            name, origin = normalized_name(file.name), file.origin
            for document in read_in_process(file.path, name, skip, columns, report.notes.append, limits, is_cancelled):
                key = origin and origin + document.identity.removeprefix(name)
                yield replace(document, key=key, origin=origin)
        except SourceError as exc:
            skip(exc)


class Ingester:
    def __init__(self, store: Store, search: HybridSearch, encoder: Encoder) -> None:
        self._store = store
        self._search = search
        self._encoder = encoder

    def ingest(
        self,
        documents: Iterable[SourceDocument],
        collection: str,
        progress: Progress | None = None,
        report: IngestReport | None = None,
        since: str = "",
    ) -> IngestReport:
        """Stores new and changed documents. since: the time (ISO, UTC) at which an interrupted ingest began; what it
        has stored counts as stored, not as unchanged. Raises EncoderMismatchError if another encoder filled the
        collection."""
        report = report or IngestReport()
        prepared = prepare(documents, self.known(collection), self._encoder, report, since)
        return self.store(prepared, collection, progress, report)

    def store(
        self, prepared: Iterable[PreparedDocument], collection: str, progress: Progress | None, report: IngestReport
    ) -> IngestReport:
        """Stores the documents in batches and indexes them. Stored batches survive an interruption, and documents that
        come again replace themselves. The first document creates the collection."""
        for batch in passage_batches(prepared):
            self._store.put(self._store.ensure_collection(collection, self._encoder.name), batch)
            self._search.refresh()
            report.stored += len(batch)
            report.replaced += sum(each.replaces for each in batch)
            report.passages += sum(len(each.passages) for each in batch)
            if progress:
                progress(report)
        self._search.refresh()
        return report

    def known(self, collection: str) -> dict[str, KnownDocument]:
        """The collection's documents by identity. Raises EncoderMismatchError."""
        if not self._store.has_collection(collection):
            return {}
        collection_id, made_by = self._store.collection(collection)
        check_encoder(collection, made_by, self._encoder.name)
        return self._store.known_documents(collection_id)


def prepare(
    documents: Iterable[SourceDocument],
    known: dict[str, KnownDocument],
    encoder: Encoder,
    report: IngestReport,
    since: str = "",
) -> Iterator[PreparedDocument]:
    """Yields new and changed documents with passages and vectors. Counts unchanged documents and records problems in
    the report. known: the stored documents; prepared documents are added. since: see `Ingester.ingest`. Needs no store,
    so it runs on any machine."""
    for batch in passage_batches(_changed(documents, known, report, since)):
        texts = [passage_text(d.source.title, p.text, p.section) for d in batch for p in d.passages]
        vectors, start = encode_each_once(encoder, texts), 0
        for made in batch:
            end = start + len(made.passages)
            yield replace(made, vectors=vectors[start:end])
            start = end


def _changed(
    documents: Iterable[SourceDocument], known: dict[str, KnownDocument], report: IngestReport, since: str
) -> Iterator[PreparedDocument]:
    """Cuts new and changed documents into passages, still without vectors. Counts the documents that are stored."""
    taken: dict[str, str] = {}
    for document in documents:
        digest = content_hash(document)
        if taken.setdefault(document.identity, digest) != digest:
            report.problems.append(f"{document.external_id}: this id occurs twice; the second document was skipped.")
            continue
        older = known.get(document.identity)
        if older is not None and older.content_hash == digest:
            document = replace(document, language=older.language)
            if since and older.ingested_at >= since:
                report.stored, report.passages = report.stored + 1, report.passages + len(cut_document(document))
            else:
                report.unchanged += 1
        elif (made := _cut(document, older is not None, report)) is not None:
            document = made.source
            yield made
        else:
            continue
        known[document.identity] = KnownDocument(digest, document.origin, document.language)
        report.seen.add(document.identity)
        report.left_out.update(document.left_out)
        report.languages.update([document.language] if document.language else [])


def _cut(document: SourceDocument, replaces: bool, report: IngestReport) -> PreparedDocument | None:
    """Cuts a document into passages. If it is empty or too long, records a problem and returns None."""
    if len(document.text) > LARGEST_TEXT:
        report.problems.append(f"{document.external_id}: longer than {LARGEST_TEXT:,} characters. Split it.")
        report.broken.add(document.origin)
        return None
    passages = tuple(cut_document(document))
    if not passages:
        report.problems.append(f"{document.external_id}: holds no text.")
        return None
    written = replace(document, language=document.language or language_of(document.text))
    return PreparedDocument(written, passages, np.zeros((0, 0), np.float32), replaces)


def passage_batches(documents: Iterable[PreparedDocument]) -> Iterator[list[PreparedDocument]]:
    """Yields the documents in batches of at least 256 passages; the last batch may have fewer."""
    batch: list[PreparedDocument] = []
    size = 0
    for made in documents:
        batch.append(made)
        size += len(made.passages)
        if size >= _PASSAGES_PER_BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch

"""Brings documents into a collection: read, cut, encode, store, index. Doing it twice changes nothing."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from tools.documents.apart import read_in_process
from tools.documents.cutting import cut_document
from tools.documents.document import GUESS_ALL, LARGEST_TEXT, Columns, InputFile, printable
from tools.documents.limits import DEFAULT_LIMITS, Limits
from tools.errors import SourceError
from tools.language.identification import language_of
from tools.language.sentences import split_sentences
from tools.models.encoders import Encoder, encode_with_sentences
from tools.passages import PassageText, SourceDocument
from tools.store.hybrid import HybridSearch, passage_text
from tools.store.store import KnownDocument, PreparedDocument, Store, check_encoder, content_hash

_PASSAGES_A_BATCH = 256


@dataclass
class IngestReport:
    """What an ingest did, as far as it has come.

    problems: what could not be read, and why. notes: what the reader should know of files that were read.
    replaced: how many of those stored are the new state of one that was stored before. left_out: what the readers did
    not take over, by its name. languages: documents by their language, where that is known; both also of what is
    unchanged. seen: the identities of the documents that were read and hold text. reading: the file at hand, the
    `begun`-th of `files`. broken: the files (whole paths) that could not be read, or not to their end. unsure: by the
    file's name, the columns of a table of which it is not known which is the text, with examples.
    """

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


Progress = Callable[[IngestReport], None]


def read_all(
    files: Sequence[InputFile],
    report: IngestReport,
    progress: Progress | None = None,
    columns: Columns = GUESS_ALL,
    limits: Limits = DEFAULT_LIMITS,
) -> Iterator[SourceDocument]:
    """The documents of all files; what cannot be read goes into the report's problems, and the rest goes on.

    Each is known by its file's whole path, and by its id there where it is a row of it. `columns` are those of tables;
    `limits` hold for each file.
    """
    report.files += len(files)
    for file in files:
        report.reading, report.begun = printable(file.name), report.begun + 1
        if progress:
            progress(report)

        def skip(problem: SourceError, origin: str = file.origin) -> None:
            report.problems.append(str(problem))
            report.broken.add(origin)
            report.unsure.update({report.reading: problem.columns} if problem.columns else {})

        try:
            name, origin = printable(file.name), file.origin
            for document in read_in_process(file.path, name, skip, columns, report.notes.append, limits):
                yield replace(document, key=origin + document.identity.removeprefix(name), origin=origin)
        except SourceError as exc:
            skip(exc)


class Ingester:
    """Takes documents into one collection."""

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
    ) -> IngestReport:
        """Stores each document that is new or changed; what is stored stays stored, however this ends.

        The collection is made with its first document. A batch is encoded while the one before is being written and
        indexed. Raises EncoderMismatchError where another encoder filled the collection.
        """
        report = report or IngestReport()
        known = self._known(collection)
        with ThreadPoolExecutor(1, "steelman-ingest") as writer:
            pending: Future[None] | None = None
            for batch in _batches(self._changed(documents, known, report)):
                prepared = self._encode(batch)
                if pending is not None:
                    pending.result()
                pending = writer.submit(self._write, collection, prepared)
                report.stored += len(prepared)
                report.replaced += sum(made.replaces for made in batch)
                report.passages += sum(len(p.passages) for p in prepared)
                if progress:
                    progress(report)
            if pending is not None:
                pending.result()
        self._search.refresh()
        return report

    def _known(self, collection: str) -> dict[str, KnownDocument]:
        if not self._store.has_collection(collection):
            return {}
        collection_id, made_by = self._store.collection(collection)
        check_encoder(collection, made_by, self._encoder.name)
        return self._store.known_documents(collection_id)

    def _changed(
        self, documents: Iterable[SourceDocument], known: dict[str, KnownDocument], report: IngestReport
    ) -> Iterator["_Cut"]:
        """The documents that have to be stored, cut; what is stored as it is now is counted."""
        taken: dict[str, str] = {}
        for document in documents:
            digest = content_hash(document)
            if taken.setdefault(document.identity, digest) != digest:
                report.problems.append(f"{document.external_id}: this id occurs twice; only the first was taken.")
                continue
            older = known.get(document.identity)
            if older is not None and older.content_hash == digest:
                document = replace(document, language=older.language)
                report.unchanged += 1
            elif (made := _cut(document, older is not None, report)) is not None:
                document = made.document
                yield made
            else:
                continue
            known[document.identity] = KnownDocument(digest, document.origin, document.language)
            report.seen.add(document.identity)
            report.left_out.update(document.left_out)
            report.languages.update([document.language] if document.language else [])

    def _encode(self, batch: Sequence["_Cut"]) -> list[PreparedDocument]:
        every = [(made.document, passage) for made in batch for passage in made.passages]
        own = [split_sentences(p.text) for _, p in every] if self._search.keeps_sentences else []
        texts = [passage_text(d.title, p.text, p.section) for d, p in every]
        vectors, sentences = encode_with_sentences(self._encoder, texts, own)
        prepared, start = [], 0
        for made in batch:
            end = start + len(made.passages)
            own_vectors, own_sentences = vectors[start:end], tuple(sentences[start:end])
            prepared.append(PreparedDocument(made.document, made.passages, own_vectors, own_sentences))
            start = end
        return prepared

    def _write(self, collection: str, prepared: Sequence[PreparedDocument]) -> None:
        self._store.put(self._store.ensure_collection(collection, self._encoder.name), prepared)
        self._search.refresh()


@dataclass(frozen=True, slots=True)
class _Cut:
    """A document with its passages; `replaces`: whether an older state of it is stored."""

    document: SourceDocument
    passages: tuple[PassageText, ...]
    replaces: bool


def _cut(document: SourceDocument, replaces: bool, report: IngestReport) -> _Cut | None:
    """None, and a problem, where there is nothing to store or too much."""
    if len(document.text) > LARGEST_TEXT:
        report.problems.append(f"{document.external_id}: longer than {LARGEST_TEXT:,} characters. Split it.")
        report.broken.add(document.origin)
        return None
    passages = tuple(cut_document(document))
    if not passages:
        report.problems.append(f"{document.external_id}: holds no text.")
        return None
    return _Cut(replace(document, language=document.language or language_of(document.text)), passages, replaces)


def _batches(documents: Iterable[_Cut]) -> Iterator[list[_Cut]]:
    batch: list[_Cut] = []
    size = 0
    for made in documents:
        batch.append(made)
        size += len(made.passages)
        if size >= _PASSAGES_A_BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch

"""Brings documents into a collection: read, cut, encode, store, index. Doing it twice changes nothing."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from tools.encoders.encoder import Encoder
from tools.encoders.sentences import encode_with_sentences
from tools.errors import InputError, SourceError
from tools.ingest.columns import GUESSED, Columns
from tools.ingest.documents import printable
from tools.ingest.readers import IN_FOLDERS, READERS, read_file
from tools.passages import SourceDocument
from tools.store.hybrid import HybridSearch, passage_text
from tools.store.store import PreparedDocument, Store, content_hash
from tools.text.sentences import cut, split_sentences

_PASSAGES_A_BATCH = 256
LARGEST_TEXT = 20_000_000
"""Characters of one document at most."""


@dataclass
class IngestReport:
    """What an ingest did. `problems` name the documents that could not be read, and why.

    `notes` tell how tables were read: the columns that were guessed, the rows that say nothing.
    """

    stored: int = 0
    unchanged: int = 0
    passages: int = 0
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


Progress = Callable[[IngestReport], None]


def find_files(paths: Sequence[str]) -> list[tuple[Path, str]]:
    """Every readable file under the paths with the name it is stored by, in a stable order.

    Raises InputError for a path that does not exist, or when nothing that can be read was found.
    """
    found: list[tuple[Path, str]] = []
    for given in paths:
        path = Path(given)
        if not path.exists():
            raise InputError(f"there is no file or folder '{given}'.")
        if path.is_file():
            found.append((path, given))
            continue
        inside = sorted(p for p in path.rglob("*") if p.is_file() and p.suffix.lower() in IN_FOLDERS)
        found += [(p, os.path.join(given, p.relative_to(path))) for p in inside]
    if not found:
        raise InputError(f"nothing to read in {', '.join(paths)}. Readable are files ending in {', '.join(READERS)}.")
    return found


def read_all(
    files: Sequence[tuple[Path, str]],
    problems: list[str],
    columns: Columns = GUESSED,
    tell: Callable[[str], None] | None = None,
) -> Iterator[SourceDocument]:
    """The documents of all files; what cannot be read goes into `problems`, and the rest goes on.

    `columns` are those of tables; how each was read goes to `tell`.
    """
    for path, name in files:
        try:
            yield from read_file(path, printable(name), lambda wrong: problems.append(str(wrong)), columns, tell)
        except SourceError as exc:
            problems.append(str(exc))


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

        A batch is encoded while the one before is being written and indexed.
        """
        report = report or IngestReport()
        collection_id = self._store.ensure_collection(collection, self._encoder.name)
        known = self._store.known_hashes(collection_id)
        with ThreadPoolExecutor(1, "steelman-ingest") as writer:
            pending: Future[None] | None = None
            for batch in _batches(self._changed(documents, known, report)):
                prepared = self._encode(batch)
                if pending is not None:
                    pending.result()
                pending = writer.submit(self._write, collection_id, prepared)
                report.stored += len(prepared)
                report.passages += sum(len(p.passages) for p in prepared)
                if progress:
                    progress(report)
            if pending is not None:
                pending.result()
        self._search.refresh()
        return report

    def _changed(
        self, documents: Iterable[SourceDocument], known: dict[str, str], report: IngestReport
    ) -> Iterator[tuple[SourceDocument, list[str]]]:
        taken: dict[str, str] = {}
        for document in documents:
            digest = content_hash(document)
            if taken.setdefault(document.external_id, digest) != digest:
                report.problems.append(f"{document.external_id}: this id occurs twice; only the first was taken.")
                continue
            if known.get(document.external_id) == digest:
                report.unchanged += 1
                continue
            if len(document.text) > LARGEST_TEXT:
                report.problems.append(f"{document.external_id}: longer than {LARGEST_TEXT:,} characters. Split it.")
                continue
            passages = list(dict.fromkeys(cut(document.text)))  # what a document repeats, it says once
            if not passages:
                report.problems.append(f"{document.external_id}: holds no text.")
                continue
            known[document.external_id] = digest
            yield document, passages

    def _encode(self, batch: Sequence[tuple[SourceDocument, list[str]]]) -> list[PreparedDocument]:
        texts = [passage_text(d.title, p) for d, ps in batch for p in ps]
        own = [split_sentences(p) for _, ps in batch for p in ps] if self._search.keeps_sentences else []
        vectors, sentences = encode_with_sentences(self._encoder, texts, own)
        prepared, start = [], 0
        for document, passages in batch:
            end = start + len(passages)
            prepared.append(
                PreparedDocument(document, tuple(passages), vectors[start:end], tuple(sentences[start:end]))
            )
            start = end
        return prepared

    def _write(self, collection_id: int, prepared: Sequence[PreparedDocument]) -> None:
        self._store.put(collection_id, prepared)
        self._search.refresh()


def _batches(
    documents: Iterable[tuple[SourceDocument, list[str]]],
) -> Iterator[list[tuple[SourceDocument, list[str]]]]:
    batch: list[tuple[SourceDocument, list[str]]] = []
    size = 0
    for document, passages in documents:
        batch.append((document, passages))
        size += len(passages)
        if size >= _PASSAGES_A_BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch

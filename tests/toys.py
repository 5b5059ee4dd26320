"""Small stand-ins for slow parts, for tests of what is around them."""

import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tools.documents.files import find_files
from tools.documents.ingest import Ingester, IngestReport, read_all
from tools.documents.passage_cutting import cut_document
from tools.passages import SourceDocument
from tools.store.database import Database
from tools.store.dense import ChromaIndex
from tools.store.hybrid import HybridSearch
from tools.store.store import PreparedDocument, Store


def text(number: int) -> str:
    """A document that its own words tell from the others."""
    return f"Text number{number} on tide{number} in harbour{number % 13}."


class ToyEncoder:
    """Bags of hashed words, as unit vectors."""

    def __init__(self, name: str = "toy", dimensions: int = 32) -> None:
        self.name = name
        self.dimensions = dimensions

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = np.full((len(texts), self.dimensions), 1e-3, np.float32)
        for row, text in zip(vectors, texts, strict=True):
            for word in text.lower().split():
                row[zlib.crc32(f"{self.name}{word.strip('.,')}".encode()) % self.dimensions] += 1
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.asarray(vectors / norms, np.float32)

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self.encode(texts)


class House:
    """Store, search and ingester over one folder, as a process has them. `opened`: those that a test has opened, whose
    files are released when it ends."""

    opened: ClassVar[list["House"]] = []

    def __init__(
        self, folder: Path, encoder: ToyEncoder | None = None, dense: Callable[[Store], ChromaIndex] | None = None
    ) -> None:
        self.encoder = encoder or ToyEncoder()
        self.folder = folder
        self.database = self.opened_database(folder)
        self.store = Store(self.database)
        self.search = HybridSearch(self.store, folder / "index", self.encoder, dense(self.store) if dense else None)
        self.ingester = Ingester(self.store, self.search, self.encoder)
        self.opened.append(self)

    def opened_database(self, folder: Path) -> Database:
        return Database(folder / "steelman.db")

    def put(self, collection: str, **texts: str) -> int:
        """Stores texts under their names, without bringing the indexes up to date."""
        prepared = [self.prepared(SourceDocument(name, text)) for name, text in texts.items()]
        return self.store.put(self.store.ensure_collection(collection, self.encoder.name), prepared)

    def ingest_files(self, paths: Sequence[str], collection: str) -> IngestReport:
        """Takes in all readable files under the paths, as the command does."""
        report = IngestReport()
        return self.ingester.ingest(read_all(find_files(paths), report), collection, report=report)

    def prepared(self, source: SourceDocument) -> PreparedDocument:
        passages = tuple(cut_document(source))
        return PreparedDocument(source, passages, self.encoder.encode([p.text for p in passages]))

    def find(self, query: str, *collections: str, k: int = 5) -> list[str]:
        """Names of the documents found, best first."""
        hits = self.search.search(query, self.encoder.encode_queries([query])[0], collections or ("c",), k)
        passages = self.store.passages(h.passage_id for h in hits)
        return [passages[h.passage_id].document_id for h in hits]

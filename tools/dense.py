"""The dense index: Chroma, a projection of the stored vectors that can be made again at any time."""

import logging
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tools.batching import parts
from tools.errors import StoreDamagedError
from tools.passages import Passage

STAMP = "STAMP"
_PART = 2000  # Chroma refuses larger batches than its SQLite build allows


class Projection(Protocol):
    """An index made from the store. All its methods are called under the lock of the data directory."""

    name: str

    def stamp(self) -> str | None:
        """What `clear` wrote last; None when there is no index on disk."""
        ...

    def clear(self, stamp: str) -> None: ...

    def apply(self, adds: Sequence["Entry"], removes: Sequence[tuple[int, int]]) -> None:
        """Adds entries and removes (collection id, passage id) pairs; doing so twice changes nothing."""
        ...

    def reopen(self) -> None:
        """Forgets what is held in memory, after another process changed the files."""
        ...


Entry = tuple[int, Passage, NDArray[np.float32]]
"""Collection id, passage, vector."""


class DenseIndex:
    """Nearest passages by cosine."""

    name = "dense"

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._client: Any = None

    def stamp(self) -> str | None:
        path = self._folder / STAMP
        return path.read_text() if path.exists() else None

    def clear(self, stamp: str) -> None:
        self.reopen()
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(parents=True)
        (self._folder / STAMP).write_text(stamp)

    def reopen(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None

    def apply(self, adds: Sequence[Entry], removes: Sequence[tuple[int, int]]) -> None:
        with _ChromaErrors(self._folder):
            for collection_id in {c for c, _ in removes}:
                gone = [str(i) for c, i in removes if c == collection_id]
                for ids in parts(gone, _PART):
                    self._collection(collection_id).delete(ids=list(ids))
            for collection_id in {c for c, _, _ in adds}:
                mine = [(str(p.id), v) for c, p, v in adds if c == collection_id]
                for part in parts(mine, _PART):
                    vectors = np.stack([v for _, v in part])
                    self._collection(collection_id).upsert(ids=[i for i, _ in part], embeddings=vectors)

    def search(self, vector: NDArray[np.float32], collection_ids: Sequence[int], k: int) -> list[tuple[int, float]]:
        """Up to k (passage id, cosine), best first; `vector` has shape (dimensions,) and unit length."""
        found: list[tuple[int, float]] = []
        with _ChromaErrors(self._folder):
            for collection_id in collection_ids:
                result = self._collection(collection_id).query(
                    query_embeddings=vector[np.newaxis], n_results=k, include=["distances"]
                )
                distances = result["distances"] or [[]]
                found += [(int(i), 1.0 - float(d)) for i, d in zip(result["ids"][0], distances[0], strict=True)]
        return sorted(found, key=lambda hit: (-hit[1], hit[0]))[:k]

    def _collection(self, collection_id: int) -> Any:
        if self._client is None:
            import chromadb
            from chromadb.config import Settings

            # It logs a traceback for its telemetry's own failures; the telemetry is off.
            logging.getLogger("chromadb.telemetry").setLevel(logging.CRITICAL)
            self._client = chromadb.PersistentClient(
                str(self._folder / "chroma"), settings=Settings(anonymized_telemetry=False)
            )
        return self._client.get_or_create_collection(
            f"collection-{collection_id}", configuration={"hnsw": {"space": "cosine"}}, embedding_function=None
        )


class _ChromaErrors:
    """Chroma's failures as an error that says what to do next."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, trace: object) -> None:
        import sqlite3

        from chromadb.errors import ChromaError

        if isinstance(exc, ChromaError | sqlite3.DatabaseError | ValueError | RuntimeError):
            raise StoreDamagedError(
                f"the dense index in {self._folder} cannot be used ({exc}). Make it again: `python -m agent rebuild`. "
                "Your documents are safe in the store."
            ) from exc

"""The dense index: Chroma, built from the stored vectors."""

import contextlib
import itertools
import logging
import re
import shutil
import sqlite3
import struct
import threading
from abc import abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic_settings import BaseSettings

from tools.budget import batches
from tools.errors import EncoderMismatchError
from tools.store.index import ALL_PASSAGES, PANICS, FolderIndex, Index, IndexEntry, damaged_error

# Chroma caches one client per path, even after a failed opening. A different spelling ('x//', 'x/.', 'x/.//', …) gives
# each opening a new client.
_SPELLINGS = ("".join("/." if bit == "1" else "//" for bit in f"{n:b}") for n in itertools.count())
_BATCH = 100  # vectors in one request, if the server names no limit
_FLOATS = 1_000_000  # in one request: servers refuse bodies of some tens of megabytes
_DAMAGED_GRAPH = "damaged vector files"
_GRAPH = {"hnsw": {"space": "cosine"}}
DAMAGED_IDS = ("pickle file: eval error", "pickle file: decoding error")
_DAMAGE = ("malformed", "file is not a database", "no such table", "no such column", *DAMAGED_IDS)
"""Chroma 1.5's words for a damaged database or id list. Its words for a damaged graph, 'Error loading hnsw index', may
also mean too little memory, so `_check_graphs` finds damaged graphs."""


def _ignore_environment(settings: Any, /, **_: Any) -> None:
    """Keeps Chroma from reading `.env` of the current folder and environment variables at import."""
    if settings.__module__.startswith("chromadb."):
        settings.model_config["env_file"] = None
        settings.settings_customise_sources = lambda _, init_settings, **others: (init_settings,)


BaseSettings.__pydantic_init_subclass__ = classmethod(_ignore_environment)  # type: ignore[method-assign,assignment]

_HEADER = struct.Struct("<i4Q")  # version, first place, room, number of elements, bytes of each
_WRITTEN = """SELECT s.id FROM segments s JOIN max_seq_id m ON m.segment_id = s.id WHERE s.scope = 'VECTOR'"""


class ChromaIndex(Index):
    """Nearest passages by cosine, with one Chroma collection per collection of the store. Subclasses choose the Chroma
    client: embedded or server."""

    name = "dense"

    def __init__(self, prefix: str) -> None:
        """prefix: of this store's collection names."""
        self._prefix = prefix
        self._client: Any = None
        self._opening = threading.Lock()

    def apply(self, adds: Sequence[IndexEntry], removes: Sequence[tuple[int, int]]) -> None:
        with self._errors():
            for collection_id in {c for c, _ in removes}:
                self._remove(collection_id, [i for c, i in removes if c == collection_id])
            for collection_id in {c for c, _, _ in adds}:
                collection = self._open().get_or_create_collection(
                    self._name(collection_id), configuration=_GRAPH, embedding_function=None
                )
                mine = [(str(p.id), v) for c, p, v in adds if c == collection_id]
                for part in batches(mine, self._batch_size(len(mine[0][1]))):
                    collection.upsert(ids=[i for i, _ in part], embeddings=np.stack([v for _, v in part]))

    def search(self, vector: NDArray[np.float32], collection_ids: Sequence[int], k: int) -> list[tuple[int, float]]:
        """Up to k (passage id, cosine), best first; `vector` has shape (dimensions,) and unit length."""
        from chromadb.errors import InvalidArgumentError

        found: list[tuple[int, float]] = []
        with self._errors():
            for collection_id in collection_ids:
                if (collection := self._get(self._name(collection_id))) is None:
                    continue
                try:
                    result = collection.query(query_embeddings=vector[np.newaxis], n_results=k, include=["distances"])
                except InvalidArgumentError as exc:
                    if "dimension" not in str(exc):
                        raise
                    hint = ", or delete the collections and ingest their documents again"
                    text = f"the encoder gave a vector of {len(vector)} dimensions, unlike the stored ones"
                    raise EncoderMismatchError(f"{text}. Set the encoder back{hint}.", hint=hint) from exc
                distances = result["distances"] or [[]]
                if not result["ids"][0] and collection.count():
                    raise damaged_error(self.name, "of Chroma", ValueError("a search finds none of its passages"))
                found += [(int(i), 1.0 - float(d)) for i, d in zip(result["ids"][0], distances[0], strict=True)]
        return sorted(found, key=lambda hit: (-hit[1], hit[0]))[:k]

    def close(self) -> None:
        """Closes files and connections; the next use opens them again."""
        with self._opening:
            if self._client is not None:
                self._client.close()
                self._client = None

    def _open(self) -> Any:
        with self._opening:
            if self._client is None:
                # Its disabled telemetry logs tracebacks.
                logging.getLogger("chromadb.telemetry").setLevel(logging.CRITICAL)
                self._client = self._connect()
            return self._client

    @abstractmethod
    def _connect(self) -> Any:
        """A new client."""

    @abstractmethod
    def _errors(self) -> AbstractContextManager[None]:
        """Converts Chroma's errors to errors with advice."""

    def _name(self, collection_id: int) -> str:
        return f"{self._prefix}-{collection_id}"

    def _batch_size(self, width: int) -> int:
        limit = self._open().get_max_batch_size()
        return max(1, min(limit if limit > 0 else _BATCH, _FLOATS // width))

    def _own_collections(self) -> list[Any]:
        pattern = re.compile(rf"{re.escape(self._prefix)}-\d+")
        return [c for c in self._open().list_collections() if pattern.fullmatch(c.name)]

    def count(self) -> int:
        with self._errors():
            return sum(c.count() for c in self._own_collections())

    def _drop(self, name: str) -> None:
        self._open().delete_collection(name)

    def _remove(self, collection_id: int, ids: Sequence[int]) -> None:
        """Removes passages. An empty collection is deleted with its files."""
        if (collection := self._get(self._name(collection_id))) is None:
            return
        if ALL_PASSAGES not in ids:
            for part in batches(ids, self._batch_size(1)):
                collection.delete(ids=[str(i) for i in part])
        if ALL_PASSAGES in ids or collection.count() == 0:
            self._drop(collection.name)

    def _get(self, name: str) -> Any:
        """The collection, or None: a search holds only the shared lock and must not create it."""
        from chromadb.errors import NotFoundError

        try:
            return self._open().get_collection(name, embedding_function=None)
        except NotFoundError:
            return None


class DenseIndex(FolderIndex, ChromaIndex):
    """The embedded index, in the data directory."""

    damage: ClassVar = {
        **dict.fromkeys(("InternalError", "DatabaseError", "OperationalError"), _DAMAGE),
        "PanicException": PANICS,
        "ValueError": (_DAMAGED_GRAPH,),
    }

    def __init__(self, folder: Path) -> None:
        FolderIndex.__init__(self, folder)
        ChromaIndex.__init__(self, "collection")
        self._files = folder / "chroma"

    def reopen(self) -> None:
        self.close()

    def _connect(self) -> Any:
        import chromadb
        from chromadb.config import Settings

        _check_graphs(self._files)
        path = f"{self._files}{next(_SPELLINGS)}"
        return chromadb.PersistentClient(path, settings=Settings(anonymized_telemetry=False))

    def _drop(self, name: str) -> None:
        """Also deletes the vector files, which Chroma leaves behind."""
        super()._drop(name)
        with contextlib.closing(sqlite3.connect(self._files / "chroma.sqlite3")) as db:
            alive = {row[0] for row in db.execute("SELECT id FROM segments")}
        for folder in self._files.iterdir():
            if folder.is_dir() and folder.name not in alive:
                shutil.rmtree(folder)


def _check_graphs(folder: Path) -> None:
    """Raises ValueError for truncated vector files. Chroma's loader (hnswlib) does not check them and would crash the
    process.

    Raises sqlite3.DatabaseError for an unreadable Chroma database.
    """
    database = folder / "chroma.sqlite3"
    if not database.is_file() or not database.stat().st_size:
        return  # empty: the passage count shows whether data is missing
    with contextlib.closing(sqlite3.connect(database)) as db:
        written = [folder / row[0] for row in db.execute(_WRITTEN)]
    for graph in written:
        try:
            _check_sizes(graph)
        except (IndexError, struct.error, FileNotFoundError, OverflowError) as exc:
            raise ValueError(f"{_DAMAGED_GRAPH} in {graph}: {exc}") from exc


def _check_sizes(graph: Path) -> None:
    """Raises IndexError, struct.error, OverflowError or FileNotFoundError for a missing or truncated file.

    `data_level0.bin` holds a record per element, `link_lists.bin` each element's number of bytes and as many bytes.
    """
    _, _, _, count, size = _HEADER.unpack_from((graph / "header.bin").read_bytes())
    for name, least in (("length.bin", 4 * count), ("data_level0.bin", size * count), ("index_metadata.pickle", 1)):
        if (graph / name).stat().st_size < least:
            raise IndexError(f"{name} is cut")
    words, at = np.fromfile(graph / "link_lists.bin", np.uint32).tolist(), 0
    for _ in range(count):
        at += 1 + words[at] // 4
    if at > len(words):
        raise IndexError("link_lists.bin is cut")

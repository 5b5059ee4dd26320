"""The dense index: Chroma, a projection of the stored vectors that can be made again at any time."""

import contextlib
import itertools
import logging
import shutil
import sqlite3
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tools.disk import full_error
from tools.errors import IndexDamagedError, StoreError
from tools.inference.batching import parts
from tools.passages import Passage
from tools.store.manifest import places_in
from tools.store.stamps import empty, read_stamp, write_stamp
from tools.store.store import EVERYTHING

# Chroma keeps one client for all that name the same path, with what it holds in memory, and keeps it even when it could
# not be opened; a spelling of its own ('x//', 'x/.', 'x/.//', …) gives every opening a client of its own.
_SPELLINGS = ("".join("/." if bit == "1" else "//" for bit in f"{n:b}") for n in itertools.count())
_ROUNDING = 1e-3  # of a component of a vector
_PART = 2000  # Chroma refuses larger batches than its SQLite build allows
_GRAPH = {"hnsw": {"space": "cosine"}}
_DEAD = 1000  # vectors that were removed and may stand in a graph beside as many as are alive


class Projection(Protocol):
    """An index made from the store. All its methods are called under the lock of the data directory."""

    name: str

    @property
    def files(self) -> Path | None:
        """The folder of its files; None where they are not on this machine."""
        ...

    def stamp(self) -> str | None:
        """What `clear` wrote last; None when there is no index on disk."""
        ...

    def clear(self, stamp: str) -> None: ...

    def apply(self, adds: Sequence["Entry"], removes: Sequence[tuple[int, int]]) -> None:
        """Removes (collection id, passage id) pairs, of which `EVERYTHING` may be one, then adds entries.

        Doing so twice changes nothing.
        """
        ...

    def reopen(self) -> None:
        """Forgets what is held in memory, after another process changed the files."""
        ...


class EmbeddedProjection(Projection, Protocol):
    """A projection in files of this machine, which can be looked into."""

    def count(self) -> int:
        """How many passages it holds."""
        ...

    def holds(self, entries: Sequence["Entry"]) -> bool:
        """Whether all of these are there, as they were given."""
        ...

    def trouble(self) -> str:
        """What is wrong with the files, by their own sums; empty where nothing is."""
        ...


class DenseProjection(Projection, Protocol):
    """A projection that finds passages by their vectors."""

    def search(self, vector: NDArray[np.float32], collection_ids: Sequence[int], k: int) -> list[tuple[int, float]]:
        """Up to k (passage id, cosine), best first; `vector` has shape (dimensions,) and unit length."""
        ...

    def close(self) -> None:
        """Releases files and connections; the next use opens them again."""
        ...


Entry = tuple[int, Passage, NDArray[np.float32]]
"""Collection id, passage, vector."""


class ChromaIndex(ABC):
    """Nearest passages by cosine: a collection of Chroma for each of the store. Where Chroma runs, the heirs say."""

    name = "dense"

    def apply(self, adds: Sequence[Entry], removes: Sequence[tuple[int, int]]) -> None:
        with self._errors():
            for collection_id in {c for c, _ in removes}:
                self._remove(collection_id, [i for c, i in removes if c == collection_id])
            for collection_id in {c for c, _, _ in adds}:
                mine = [(str(p.id), v) for c, p, v in adds if c == collection_id]
                for part in parts(mine, self._part(len(mine[0][1]))):
                    vectors = np.stack([v for _, v in part])
                    self._made(collection_id).upsert(ids=[i for i, _ in part], embeddings=vectors)

    def search(self, vector: NDArray[np.float32], collection_ids: Sequence[int], k: int) -> list[tuple[int, float]]:
        """Up to k (passage id, cosine), best first; `vector` has shape (dimensions,) and unit length."""
        found: list[tuple[int, float]] = []
        with self._errors():
            for collection_id in collection_ids:
                if (collection := self._existing(self._name(collection_id))) is None:
                    continue
                result = collection.query(query_embeddings=vector[np.newaxis], n_results=k, include=["distances"])
                distances = result["distances"] or [[]]
                found += [(int(i), 1.0 - float(d)) for i, d in zip(result["ids"][0], distances[0], strict=True)]
        return sorted(found, key=lambda hit: (-hit[1], hit[0]))[:k]

    @abstractmethod
    def _open(self) -> Any:
        """Chroma's client, opened on first use."""

    @abstractmethod
    def _errors(self) -> AbstractContextManager[None]:
        """Turns Chroma's failures into errors that say what to do next."""

    @abstractmethod
    def _name(self, collection_id: int) -> str:
        """What Chroma calls a collection of the store."""

    @abstractmethod
    def _part(self, width: int) -> int:
        """Entries of one request at most, for vectors of this width."""

    def _drop(self, name: str) -> None:
        self._open().delete_collection(name)

    def _remove(self, collection_id: int, ids: Sequence[int]) -> None:
        """Takes passages out; a collection that is empty then goes with its files."""
        if (collection := self._existing(self._name(collection_id))) is None:
            return
        if EVERYTHING not in ids:
            for part in parts(ids, self._part(1)):
                collection.delete(ids=[str(i) for i in part])
        if EVERYTHING in ids or collection.count() == 0:
            self._drop(collection.name)

    def _existing(self, name: str) -> Any:
        """None when nothing was ever put in; a search holds only the shared lock and must not make it."""
        from chromadb.errors import NotFoundError

        try:
            return self._open().get_collection(name, embedding_function=None)
        except NotFoundError:
            return None

    def _made(self, collection_id: int) -> Any:
        name = self._name(collection_id)
        return self._open().get_or_create_collection(name, configuration=_GRAPH, embedding_function=None)


class DenseIndex(ChromaIndex):
    """The embedded index, in files of the data directory."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files = folder / "chroma"
        self._client: Any = None
        self._opening = threading.Lock()
        self._thinned: set[str] = set()  # collections of which something was removed, by Chroma's names

    def stamp(self) -> str | None:
        return read_stamp(self._folder, self._files / "chroma.sqlite3")

    def apply(self, adds: Sequence[Entry], removes: Sequence[tuple[int, int]]) -> None:
        super().apply(adds, removes)
        self._thinned |= {self._name(c) for c, _ in removes}

    def clear(self, stamp: str) -> None:
        self.reopen()
        empty(self._folder)
        with self._errors():
            self._open()
        write_stamp(self._folder, stamp)

    def reopen(self) -> None:
        with self._opening:
            if self._client is not None:
                self._client.close()
                self._client = None

    def close(self) -> None:
        """As `reopen`: there is nothing else to release."""
        self.reopen()

    @property
    def files(self) -> Path:
        return self._folder

    def count(self) -> int:
        with self._errors():
            return sum(c.count() for c in self._open().list_collections())

    def holds(self, entries: Sequence[Entry]) -> bool:
        with self._errors():
            for collection_id in {c for c, _, _ in entries}:
                given = {str(p.id): v for c, p, v in entries if c == collection_id}
                if (collection := self._existing(self._name(collection_id))) is None:
                    return False
                found = collection.get(ids=list(given), include=["embeddings"])
                if len(found["ids"]) < len(given):
                    return False
                expected = np.stack([given[i] for i in found["ids"]])
                if not np.allclose(np.asarray(found["embeddings"]), expected, atol=_ROUNDING):
                    return False
        return True

    def trouble(self) -> str:
        with self._errors(), contextlib.closing(sqlite3.connect(self._files / "chroma.sqlite3")) as db:
            said = str(db.execute("PRAGMA integrity_check(1)").fetchone()[0])
        return "" if said == "ok" else said

    def _open(self) -> Any:
        with self._opening:
            if self._client is None:
                import chromadb
                from chromadb.config import Settings

                silence_telemetry()
                path = f"{self._files}{next(_SPELLINGS)}"
                self._client = chromadb.PersistentClient(path, settings=Settings(anonymized_telemetry=False))
            return self._client

    def _errors(self) -> AbstractContextManager[None]:
        return _chroma_errors(self._folder)

    def _name(self, collection_id: int) -> str:
        return f"collection-{collection_id}"

    def _part(self, width: int) -> int:
        return _PART

    def is_worn(self) -> bool:
        """Whether a graph from which something was removed holds more that is dead than what is alive: a graph keeps
        the place of every vector that was ever in it, on disk and in memory, and grows with each document that is
        replaced."""
        with self._errors():
            self._thinned = {name for name in self._thinned if self._is_worn(name)}
        return bool(self._thinned)

    def renew(self) -> None:
        """Copies what is alive in worn graphs into others, which take their places. A process that ends on the way
        leaves an index that does not hold what the store does."""
        with self._errors():
            for name in sorted(self._thinned):
                self._renew(name)
            self._thinned.clear()
            self.reopen()  # for Chroma has the old graphs in memory

    def _is_worn(self, name: str) -> bool:
        collection = self._existing(name)
        return collection is not None and self._places(collection) > 2 * collection.count() + _DEAD

    def _renew(self, name: str) -> None:
        old, anew = self._existing(name), f"{name}-anew"
        if self._existing(anew) is not None:
            self._drop(anew)
        fresh = self._open().create_collection(anew, configuration=_GRAPH, embedding_function=None)
        for ids in parts(old.get(include=[])["ids"], _PART):
            found = old.get(ids=list(ids), include=["embeddings"])  # in an order of its own
            fresh.add(ids=found["ids"], embeddings=found["embeddings"])
        if fresh.count() != old.count():
            raise ValueError(f"of {old.count()} vectors {fresh.count()} could be copied")
        self._drop(name)
        fresh.modify(name=name)

    def _places(self, collection: Any) -> int:
        """Vectors, dead ones too, in the graph of a collection as it was last written."""
        with contextlib.closing(sqlite3.connect(self._files / "chroma.sqlite3")) as db:
            query = "SELECT id FROM segments WHERE collection = ? AND scope = 'VECTOR'"
            segments = [row[0] for row in db.execute(query, (str(collection.id),))]
        return sum(places_in(self._files / segment) or 0 for segment in segments)

    def _drop(self, name: str) -> None:
        super()._drop(name)
        self._sweep()

    def _sweep(self) -> None:
        """Chroma leaves the vector files of a deleted collection behind."""
        with contextlib.closing(sqlite3.connect(self._files / "chroma.sqlite3")) as db:
            alive = {row[0] for row in db.execute("SELECT id FROM segments")}
        for folder in self._files.iterdir():
            if folder.is_dir() and folder.name not in alive:
                shutil.rmtree(folder)


def silence_telemetry() -> None:
    """Chroma logs a traceback for its telemetry's own failures; the telemetry is off."""
    logging.getLogger("chromadb.telemetry").setLevel(logging.CRITICAL)


@contextlib.contextmanager
def _chroma_errors(folder: Path) -> Iterator[None]:
    """Chroma's failures as an error that says what to do next."""
    from chromadb.errors import ChromaError

    try:
        yield
    except StoreError:
        raise
    except BaseException as exc:
        known = (ChromaError, sqlite3.DatabaseError, OSError, ValueError, RuntimeError, IndexError, TypeError)
        if isinstance(exc, known) or is_panic(exc):
            raise index_error("dense", folder, exc) from exc
        raise


def is_panic(exc: BaseException) -> bool:
    """Whether a library in Rust gave up, as on files that are not what it wrote; it's no `Exception`."""
    return type(exc).__name__ == "PanicException"


def index_error(name: str, folder: Path, exc: BaseException) -> StoreError:
    """An index's own words for a failure as an error that says what to do next."""
    text = str(exc)
    if "No space left" in text or "disk is full" in text or "Disk quota" in text:
        return full_error(folder)
    hint = "Make it again: `python -m agent rebuild`."
    error = IndexDamagedError(
        f"the {name} index in {folder} cannot be used ({text}). {hint} Your documents are safe in the store.", hint=hint
    )
    error.index = name
    return error

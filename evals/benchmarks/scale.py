"""A store of many passages: filled, searched and made again, by the code that serves a user's own.

Each step is taken in a process of its own. A folder that is filled already is measured as it is.
"""

import contextlib
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evals.benchmarks.corpus import WIDTH, near, texts, vectors
from evals.benchmarks.timing import apart, peak_memory
from tools.errors import InputError
from tools.passages import PassageText, SourceDocument
from tools.store.database import Database
from tools.store.documents import PreparedDocument
from tools.store.hybrid import HybridSearch
from tools.store.store import Store

PASSAGES = 20_000
_COLLECTION = "scale"
_BATCH = 1_000  # passages that the indexes take in at once
_A_DOCUMENT = 10  # passages
_QUERIES, _WARMING = 200, 20
_FOUND = 24  # hits of one search, as a run of normal depth asks for

Spent = tuple[float, float]
"""That passed, and that the processor worked in this process."""


class _NoEncoder:
    """Names the vectors; here they are given."""

    name = "synthetic"
    dimensions = WIDTH

    def encode(self, texts: object) -> NDArray[np.float32]:
        raise NotImplementedError("the vectors of this store are given")

    encode_queries = encode


class OpenStore:
    """The store and its search, as a process of a user has them."""

    def __init__(self, folder: Path) -> None:
        self.database = Database(folder / "steelman.db")
        self.store = Store(self.database)
        self.search = HybridSearch(self.store, folder / "index", _NoEncoder(), keeps_sentences=False)

    def ask(self, text: str, vector: NDArray[np.float32], k: int = _FOUND) -> list[int]:
        return [h.passage_id for h in self.search.search(text, vector, [_COLLECTION], k)]


def bench_scale(passages: int = PASSAGES, data: Path | None = None) -> dict[str, Any]:
    """Figures of a store of so many passages in `data`, or in a folder that is gone afterwards. Raises InputError."""
    if passages < _A_DOCUMENT:
        raise InputError(f"--passages needs a number from {_A_DOCUMENT}.")
    with contextlib.ExitStack() as stack:
        folder = data or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        return {"passages": passages} | {step.__name__: apart(step, folder, passages) for step in STEPS}


# The steps


def fill(folder: Path, passages: int) -> dict[str, Any]:
    """Batch after batch into the store and both indexes. Raises InputError for a folder with another number of them."""
    opened, began = OpenStore(folder), time.perf_counter()
    collection = opened.store.ensure_collection(_COLLECTION, _NoEncoder.name)
    there = opened.store.collections()[0].passages
    if there not in (0, passages):
        raise InputError(f"{folder} holds a store of {there} passages. Name another folder with --data.")
    for batch in range(-(-passages // _BATCH) if not there else 0):
        opened.store.put(collection, _documents(batch, min(_BATCH, passages - batch * _BATCH)))
        opened.search.refresh()
    filled = {} if there else {"passages_per_second": round(passages / (time.perf_counter() - began), 1)}
    return {**filled, "disk_bytes_a_passage": _size(folder) // passages, "peak_mb": round(peak_memory())}


def query(folder: Path, passages: int) -> dict[str, Any]:
    """Searches with the vectors given, first those that warm the caches; then the two indexes alone.

    Besides the time that passes, the processor's: where others work on the machine, only that says much.
    """
    opened = OpenStore(folder)
    collection = [opened.store.collection(_COLLECTION)[0]]
    searches: dict[str, Callable[[str, NDArray[np.float32]], object]] = {
        "hybrid": opened.ask,
        "dense": lambda _, vector: opened.search.dense.search(vector, collection, _FOUND),
        "lexical": lambda text, _: opened.search.lexical.search(text, collection, _FOUND),
    }
    questions = [_question(i, passages) for i in range(_WARMING + _QUERIES)]
    timed = {name: [_timed(search, *q) for q in questions][_WARMING:] for name, search in searches.items()}
    return {**{name: _milliseconds(pairs) for name, pairs in timed.items()}, "peak_mb": round(peak_memory())}


def start(folder: Path, passages: int) -> dict[str, Any]:
    """A process's first answer, and what it reads of the corpus for that."""
    text, vector = _question(1, passages)
    began = time.perf_counter()
    opened, statements = OpenStore(folder), list[str]()
    with opened.database.connection() as connection:
        connection.set_trace_callback(statements.append)
    found = opened.ask(text, vector)
    seconds = time.perf_counter() - began
    corpus = [s for s in statements if " passages " in s or " vectors " in s]
    scans = [s for s in corpus if " IN (" not in s]
    return {
        "seconds_to_first_answer": round(seconds, 2),
        "hits": len(found),
        "statements_on_the_corpus": len(corpus),
        "of_them_scans": len(scans),
        "peak_mb": round(peak_memory()),
    }


def rebuild(folder: Path, passages: int) -> dict[str, Any]:
    """Both indexes removed and filled again from the vectors in the store, as after damage: seconds of each."""
    opened, began, ended = OpenStore(folder), time.perf_counter(), dict[str, float]()
    opened.search.rebuild(lambda name, _: ended.update({name: time.perf_counter()}))
    return {
        "dense_seconds": round(ended["dense"] - began, 1),
        "lexical_seconds": round(ended["lexical"] - ended["dense"], 1),
        "passages_per_second": round(passages / (time.perf_counter() - began), 1),
        "peak_mb": round(peak_memory()),
    }


STEPS: tuple[Callable[[Path, int], dict[str, Any]], ...] = (fill, query, start, rebuild)


# What the steps share


def _documents(batch: int, count: int) -> list[PreparedDocument]:
    """The batch's passages in documents of ten."""
    words, rows = texts([batch], count), vectors([batch], count)
    made = []
    for start in range(0, count, _A_DOCUMENT):
        part = slice(start, start + _A_DOCUMENT)
        source = SourceDocument(f"{batch}-{start}", "\n".join(words[part]), publisher=f"Press {batch}-{start}")
        made.append(PreparedDocument(source, tuple(map(PassageText, words[part])), rows[part]))
    return made


def _question(number: int, passages: int) -> tuple[str, NDArray[np.float32]]:
    """Eight words of a passage, and a vector near its own."""
    rng = np.random.default_rng([5, number])
    batch, row = divmod(int(rng.integers(passages)), _BATCH)
    document = _documents(batch, min(_BATCH, passages - batch * _BATCH))[row // _A_DOCUMENT]
    text, vector = document.passages[row % _A_DOCUMENT], document.vectors[row % _A_DOCUMENT]
    words = np.random.default_rng([6, number]).choice(text.text.split(), 8)
    return " ".join(words), near(vector, number)


def _timed(search: Callable[[str, NDArray[np.float32]], object], text: str, vector: NDArray[np.float32]) -> Spent:
    began, worked = time.perf_counter(), time.process_time()
    search(text, vector)
    return time.perf_counter() - began, time.process_time() - worked


def _milliseconds(pairs: list[Spent]) -> dict[str, float]:
    passed, worked = (1000 * np.array(pairs)).T
    return {
        "median_ms": round(float(np.median(passed)), 1),
        "p95_ms": round(float(np.quantile(passed, 0.95)), 1),
        "processor_median_ms": round(float(np.median(worked)), 1),
        "processor_p95_ms": round(float(np.quantile(worked, 0.95)), 1),
    }


def _size(folder: Path) -> int:
    """Bytes of all files."""
    return sum(f.stat().st_size for f in folder.rglob("*") if f.is_file())

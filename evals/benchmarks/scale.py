"""A store of many passages: filled, searched, changed and made again, by the code that serves a user's own.

`python -m evals.benchmarks.scale STEP FOLDER PASSAGES` is one step in a process of its own, so that its memory is its
own; `bench_scale` takes them in turn. What is done is kept in the folder: a run that was stopped goes on there.
"""

import contextlib
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evals.benchmarks.corpus import WIDTH, near, texts, vectors
from evals.benchmarks.pace import Pace
from evals.benchmarks.timing import peak_memory, seconds_of
from tools.errors import InputError, SteelmanError, StoreError
from tools.passages import PassageText, SourceDocument
from tools.store.database import Database
from tools.store.documents import PreparedDocument
from tools.store.hybrid import HybridSearch
from tools.store.store import Store

PASSAGES = 20_000
_COLLECTION = "scale"
_BATCH = 1_000  # passages that the indexes take in at once
_A_DOCUMENT = 10  # passages
_CHANGED = 1_000
_QUERIES, _WARMING, _EXACT = 200, 20, 100
_FOUND = 24  # hits of one search, as a run of normal depth asks for
_FIGURES = "figures.json"

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

    def id(self) -> int:
        return self.store.collection(_COLLECTION)[0]


def bench_scale(passages: int = PASSAGES, data: Path | None = None) -> dict[str, Any]:
    """Figures of a store of so many passages in `data`, or in a folder that is gone afterwards. Raises InputError."""
    if passages < _A_DOCUMENT:
        raise InputError(f"--passages needs a number from {_A_DOCUMENT}.")
    with contextlib.ExitStack() as stack:
        folder = data or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        figures = _stored_figures(folder, passages)
        for name in STEPS:
            if name not in figures:
                figures[name] = _in_a_process(name, folder, passages)
                (folder / _FIGURES).write_text(json.dumps(figures, indent=2))
    return figures


def _stored_figures(folder: Path, passages: int) -> dict[str, Any]:
    """What was measured there before. Raises InputError for a folder that was begun with another number."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / _FIGURES
    if not file.exists():
        file.write_text(json.dumps({"passages": passages}))
    figures: dict[str, Any] = json.loads(file.read_text())
    if figures["passages"] != passages:
        raise InputError(f"{folder} holds a store of {figures['passages']} passages. Name another folder with --data.")
    return figures


def _in_a_process(step: str, folder: Path, passages: int) -> dict[str, Any]:
    """Raises StoreError when the process did not come to its end."""
    command = [sys.executable, "-m", "evals.benchmarks.scale", step, str(folder), str(passages)]
    child = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True)
    if child.returncode:
        raise StoreError(
            f"'{step}' ended early, with status {child.returncode}. Run the same command again; it goes on."
        )
    found: dict[str, Any] = json.loads(child.stdout.splitlines()[-1])
    return found


# The steps


def fill(folder: Path, passages: int) -> dict[str, Any]:
    """Batch after batch into the store and both indexes, from where an earlier process stopped."""
    opened, pace = OpenStore(folder), Pace(_BATCH, folder / "pace.jsonl")
    collection = opened.store.ensure_collection(_COLLECTION, _NoEncoder.name)
    for batch in range(len(pace.lines), -(-passages // _BATCH)):
        documents = _documents(batch, min(_BATCH, passages - batch * _BATCH))
        with pace.batch(passages) as parts:
            opened.store.put(collection, documents)
            parts.add("store")
            opened.search.refresh(lambda name, _: parts.add(name))
    return {**pace.summary(), "disk_bytes_a_passage": _size(folder) // passages, "peak_mb": round(peak_memory())}


def query(folder: Path, passages: int) -> dict[str, Any]:
    """Searches with the vectors given, first those that warm the caches; then the two indexes alone.

    Besides the time that passes, the processor's: where others work on the machine, only that says much.
    """
    opened = OpenStore(folder)
    collection = [opened.id()]
    searches: dict[str, Callable[[str, NDArray[np.float32]], object]] = {
        "hybrid": opened.ask,
        "dense": lambda _, vector: opened.search.dense.search(vector, collection, _FOUND),
        "lexical": lambda text, _: opened.search.lexical.search(text, collection, _FOUND),
    }
    questions = [_question(i, passages) for i in range(_WARMING + _QUERIES)]
    timed = {name: [_timed(search, *q) for q in questions][_WARMING:] for name, search in searches.items()}
    return {**{name: _milliseconds(pairs) for name, pairs in timed.items()}, "peak_mb": round(peak_memory())}


def recall(folder: Path, passages: int) -> dict[str, Any]:
    """Of the ten nearest stored vectors, how many the dense index finds."""
    opened = OpenStore(folder)
    asked = np.stack([_question(i, passages)[1] for i in range(_EXACT)])
    exact = _nearest(opened.store, asked, 10)
    collection = [opened.id()]
    shares = []
    for vector, ids in zip(asked, exact, strict=True):
        shares.append(len(ids & dict(opened.search.dense.search(vector, collection, 10)).keys()) / 10)
    return {"recall_at_10": round(statistics.mean(shares), 4), "lowest": min(shares)}


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


def change(folder: Path, passages: int) -> dict[str, Any]:
    """The first passages replaced by others, then deleted; whether the indexes know it. At last all is as before."""
    opened, count = OpenStore(folder), min(_CHANGED, passages)
    documents, others = _documents(0, count), _documents(0, count, version=1)
    collection, figures = opened.id(), dict[str, Any]()
    _replace(opened, collection, documents)  # an earlier process may have been stopped on the way
    before = _ids(opened, documents)
    figures["update_seconds"] = round(seconds_of(lambda: _replace(opened, collection, others)), 2)
    after = _ids(opened, others)
    figures["new_ones_found"] = _found(opened, others, after)
    figures["old_ones_found"] = _found(opened, documents, before)
    figures["delete_seconds"] = round(seconds_of(lambda: _delete(opened, others)), 2)
    figures["deleted_ones_found"] = _found(opened, others, after)
    _replace(opened, collection, documents)
    return {"passages": count, **figures, "peak_mb": round(peak_memory())}


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


STEPS: dict[str, Callable[[Path, int], dict[str, Any]]] = {
    "fill": fill,
    "query": query,
    "recall": recall,
    "start": start,
    "change": change,
    "rebuild": rebuild,
}


# What the steps share


def _documents(batch: int, count: int, version: int = 0) -> list[PreparedDocument]:
    """The batch's passages in documents of ten."""
    words, rows = texts([batch, version], count), vectors([batch, version], count)
    made = []
    for start in range(0, count, _A_DOCUMENT):
        part = slice(start, start + _A_DOCUMENT)
        source = SourceDocument(f"{batch}-{start}", "\n".join(words[part]), publisher=f"Press {batch}-{start}")
        made.append(PreparedDocument(source, tuple(map(PassageText, words[part])), rows[part]))
    return made


def _replace(opened: OpenStore, collection: int, documents: list[PreparedDocument]) -> None:
    opened.store.put(collection, documents)
    opened.search.refresh()


def _delete(opened: OpenStore, documents: list[PreparedDocument]) -> None:
    for document in documents:
        opened.store.delete_document(_COLLECTION, document.source.external_id)
    opened.search.refresh()


def _ids(opened: OpenStore, documents: list[PreparedDocument]) -> list[int]:
    """Of all their passages, in the order of the documents."""
    query = "SELECT p.id FROM passages p JOIN documents d ON d.id = p.document_id WHERE d.external_id = ? ORDER BY p.id"
    with opened.database.read() as db:
        return [row[0] for d in documents for row in db.execute(query, (d.source.external_id,))]


def _found(opened: OpenStore, documents: list[PreparedDocument], ids: list[int]) -> dict[str, float]:
    """The share of these passages that each index finds, asked for by their own vector or by eight of their words."""
    collection = [opened.id()]
    passages = [pair for d in documents for pair in zip(d.passages, d.vectors, strict=True)]
    hits = {"dense": 0, "lexical": 0}
    for number, (text, vector) in zip(ids, passages, strict=True):
        hits["dense"] += number in dict(opened.search.dense.search(vector, collection, _FOUND))
        hits["lexical"] += number in dict(opened.search.lexical.search(_eight(text.text, number), collection, _FOUND))
    return {name: round(count / len(ids), 4) for name, count in hits.items()}


def _eight(text: str, seed: int) -> str:
    return " ".join(np.random.default_rng([6, seed]).choice(text.split(), 8))


def _nearest(store: Store, asked: NDArray[np.float32], k: int) -> list[set[int]]:
    """For each vector the ids of the k nearest of all that are stored."""
    best = [list[tuple[float, int]]() for _ in asked]
    after = 0
    while batch := store.scan(after, _BATCH):
        stored = store.vectors(p.id for _, p in batch)
        ids = np.array(list(stored))
        cosines = asked @ np.stack(list(stored.values())).T
        for i, top in enumerate(np.argsort(-cosines, axis=1)[:, :k]):
            best[i] = sorted([*best[i], *((float(cosines[i, j]), int(ids[j])) for j in top)], reverse=True)[:k]
        after = batch[-1][1].id
    return [{number for _, number in row} for row in best]


def _question(number: int, passages: int) -> tuple[str, NDArray[np.float32]]:
    """Eight words of a passage, and a vector near its own."""
    rng = np.random.default_rng([5, number])
    batch, row = divmod(int(rng.integers(passages)), _BATCH)
    document = _documents(batch, min(_BATCH, passages - batch * _BATCH))[row // _A_DOCUMENT]
    text, vector = document.passages[row % _A_DOCUMENT], document.vectors[row % _A_DOCUMENT]
    return _eight(text.text, number), near(vector, number)


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


if __name__ == "__main__":
    step, folder, passages = sys.argv[1:]
    try:
        print(json.dumps(STEPS[step](Path(folder), int(passages))))
    except SteelmanError as exc:
        sys.exit(f"\n{exc}")

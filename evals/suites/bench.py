"""Measures speed on this machine: later `ask` commands, the judge, ingestion, and an index of many passages.

ask     whole commands with process start: the first `ask` indexes the samples, each later `ask` has a new question
judge   pairs per second: pairs of 160 tokens, pairs with sample passages, pairs with sentences (small and larger judge)
ingest  `agent ingest` of 100 text files into an empty collection: passages per second, with process start
index   a store of --passages synthetic passages: filling, opening, searching, and rebuilding both indexes from vectors

Each part runs in its own process. On a shared machine compare only figures of one run, or CPU seconds.
"""

import argparse
import itertools
import json
import os
import platform
import random
import re
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agent.__main__ import DEGRADED, OK
from agent.samples import sample_documents, sample_questions
from evals.reports.records import Record
from evals.suite import check_known, peak_memory
from tools.disk import ROOT
from tools.errors import InputError, SteelmanError
from tools.language.sentences import split_sentences
from tools.passages import PassageText, SourceDocument
from tools.store.database import Database
from tools.store.hybrid import HybridSearch
from tools.store.store import PreparedDocument, Store

_PAIRS, _FILES, _SENTENCES = 128, 100, 60  # sentences of a file


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("parts", nargs="*", metavar="PART", help=f"any of {', '.join(PARTS)} (default: all)")
    add("--rounds", type=int, default=5, metavar="N", help="rounds of ask and judge (default: %(default)s)")
    add("--passages", type=int, default=20_000, metavar="N", help="passages of index (default: %(default)s)")
    add("--json", action="store_true", help="print one object")


def measure(args: argparse.Namespace) -> Record:
    """Measures each part and prints its figures at once. Raises InputError."""
    check_known(args.parts, PARTS, "part")
    if args.rounds < 1 or args.passages < 1:
        raise InputError("--rounds and --passages must be 1 or more.")
    results: Record = {"machine": _machine()}
    for part in args.parts or PARTS:
        results[part] = _in_own_process(PARTS[part], args.rounds, args.passages)
        if not args.json:
            print(part, json.dumps(results[part]), flush=True)
    return results


def table(result: Record) -> list[str]:
    """Returns a line about the machine. `measure` has already printed the parts."""
    return [f"machine {json.dumps(result['machine'])}"]


def _machine() -> Record:
    cpus, memory = Path("/proc/cpuinfo"), os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    named = re.search(r"^model name\s*: (.+)$", cpus.read_text() if cpus.exists() else "", re.MULTILINE)
    of = {"cores": len(os.sched_getaffinity(0)), "memory_gib": round(memory), "python": platform.python_version()}
    return of | {"processor": named[1] if named else platform.processor()}


def _in_own_process(work: Callable[..., Record], *arguments: object) -> Record:
    """Runs a function of this module in a new process, so that other parts do not add to the memory of this part."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(work, *arguments).result()


def _timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _ask(rounds: int, _: int) -> Record:
    with TemporaryDirectory() as data:
        first, *later = [_command(data, "ask", q) for q in list(sample_questions().values())[: rounds + 1]]
    seconds, processor = zip(*later, strict=True)
    found = {"first_seconds": first[0], "second_seconds": statistics.median(seconds), "slowest_seconds": max(seconds)}
    return found | {"processor_seconds": statistics.median(processor), "peak_mb": _peak_of_commands()}


def _ingest(_: int, __: int) -> Record:
    drawn, sentences = random.Random(1), [s for d in sample_documents() for s in split_sentences(d.text)]
    with TemporaryDirectory() as data:
        (files := Path(data, "files")).mkdir()
        (first := Path(data, "first.txt")).write_text("The encoder's graph is built once a machine.")
        _command(data, "ingest", str(first), "--collection", "first")
        for number in range(_FILES):
            (files / f"{number}.txt").write_text(" ".join(drawn.sample(sentences, _SENTENCES)), encoding="utf-8")
        seconds, processor = _command(data, "ingest", str(files))
        passages = max(c.passages for c in Store(Database(Path(data, "steelman.db"))).collections())
    found = {"passages": passages, "passages_per_second": round(passages / seconds, 1)}
    return found | {"processor_seconds": processor, "peak_mb": _peak_of_commands()}


def _command(data: str, *command: str) -> tuple[float, float]:
    """Runs a command of the agent. Returns wall-clock and CPU seconds. Raises SteelmanError."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "STEELMAN_DATA_DIR": data}
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run([sys.executable, "-P", "-m", "agent", *command], env=environment, capture_output=True)
    seconds, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (OK, DEGRADED):
        reason = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise SteelmanError(f"nothing was measured: `agent {command[0]}` failed. {reason}")
    return round(seconds, 2), round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 2)


def _peak_of_commands() -> int:
    """Returns the peak memory of the largest command in megabytes (Linux)."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024


def _judge(rounds: int, _: int) -> Record:
    from tools.models.judges.embedded import load_judge
    from tools.models.judges.judge import Pair

    def rate(read: Callable[[Sequence[Any]], object], pairs: Sequence[object]) -> float:
        return round(statistics.median(len(pairs) / _timed(partial(read, pairs)) for _ in range(rounds)), 1)

    began, judge = time.perf_counter(), load_judge()
    figures: Record = {"load_seconds": round(time.perf_counter() - began, 3)}
    statement, passages = "Cities should plant more trees.", [d.text for d in sample_documents()]
    sentences = [s for text in passages for s in split_sentences(text)]
    full = [" ".join([*one.split(), *two.split()][:115]) for one, two in itertools.pairwise(passages)]
    for name, texts in (("pairs_of_160_tokens", full), ("passages", passages), ("sentences", sentences)):
        figures[f"{name}_per_second"] = rate(judge.logits, [(statement, text) for text in texts[:_PAIRS]])
    figures["peak_mb"] = round(peak_memory())
    pairs = [Pair(statement, text, "Cities should plant fewer trees.") for text in sentences[:32]]
    judge.score_both(pairs[:1], closely=True)  # loads the larger model
    figures["sentences_closely_per_second"] = rate(partial(judge.score_both, closely=True), pairs)
    return figures | {"peak_mb_closely": round(peak_memory())}


_WIDTH, _LATENT = 384, 32
_GIVEN: Any = SimpleNamespace(name="synthetic", dimensions=_WIDTH)  # replaces the encoder: vectors are random
_BATCH, _A_DOCUMENT = 1_000, 10  # passages of a batch and of a document


def _index(_: int, passages: int) -> Record:
    with TemporaryDirectory() as folder:
        steps = {"fill": _fill, "search": _search, "rebuild": _rebuild}
        return {name: _in_own_process(step, Path(folder), passages) for name, step in steps.items()}


def _fill(folder: Path, passages: int) -> Record:
    store, search = _open(folder)
    collection, seconds = store.ensure_collection("bench", _GIVEN.name), 0.0
    for batch in range(-(-passages // _BATCH)):
        seconds += _timed(partial(store.put, collection, _documents(batch, passages))) + _timed(search.refresh)
    return _rate(passages, seconds) | {"bytes_a_passage": sum(f.stat().st_size for f in folder.rglob("*")) // passages}


def _search(folder: Path, passages: int) -> Record:
    questions = [_question(number, passages) for number in range(201)]
    began, (_, search) = time.perf_counter(), _open(folder)
    times = [1000 * _timed(partial(search.search, *q, ["bench"], 24)) for q in questions]  # 24 hits, as at normal depth
    first = time.perf_counter() - began - sum(times[1:]) / 1000
    median, p95 = (round(float(np.quantile(times[1:], q)), 1) for q in (0.5, 0.95))
    memory = {"peak_mb": round(peak_memory())}
    return {"seconds_to_first_answer": round(first, 2), "median_ms": median, "p95_ms": p95} | memory


def _rebuild(folder: Path, passages: int) -> Record:
    return _rate(passages, _timed(_open(folder)[1].rebuild))


def _rate(passages: int, seconds: float) -> Record:
    return {"passages_per_second": round(passages / seconds, 1), "peak_mb": round(peak_memory())}


PARTS: dict[str, Callable[[int, int], Record]] = {"ask": _ask, "judge": _judge, "ingest": _ingest, "index": _index}


def _open(folder: Path) -> tuple[Store, HybridSearch]:
    store = Store(Database(folder / "steelman.db"))
    return store, HybridSearch(store, folder / "index", _GIVEN)


def _documents(batch: int, passages: int) -> list[PreparedDocument]:
    """Returns a batch's documents. Each batch has its own seed, so that a process can make any batch separately.

    A text has 100 words, drawn by Zipf's law in Mandelbrot's form: p ~ 1 / (rank + 30). Real embeddings lie in clusters
    on few dimensions. So a vector is a point of 32 dimensions near one of 1,000 centres, mapped to the full width with
    noise.
    """
    count, rng = min(_BATCH, passages - batch * _BATCH), np.random.default_rng([1, batch])
    words, chances, centres, to_width = _drawn_from()
    texts = [PassageText(" ".join(row)) for row in rng.choice(words, (count, 100), p=chances)]
    points = centres[rng.integers(len(centres), size=count)] + 0.7 * rng.standard_normal((count, _LATENT))
    vectors = _unit(points @ to_width + 0.02 * rng.standard_normal((count, _WIDTH)))
    made = []
    for first in range(0, count, _A_DOCUMENT):
        part, name = slice(first, first + _A_DOCUMENT), f"{batch}-{first}"
        source = SourceDocument(name, "\n".join(p.text for p in texts[part]), publisher=f"Press {name}")
        made.append(PreparedDocument(source, tuple(texts[part]), vectors[part]))
    return made


def _question(number: int, passages: int) -> tuple[str, NDArray[np.float32]]:
    """Returns eight words of a passage, and a vector whose cosine to the passage's vector is 0.7, as for real
    questions."""
    rng = np.random.default_rng([2, number])
    batch, row = divmod(int(rng.integers(passages)), _BATCH)
    document = _documents(batch, passages)[row // _A_DOCUMENT]
    text, vector = document.passages[row % _A_DOCUMENT].text, document.vectors[row % _A_DOCUMENT]
    return " ".join(rng.choice(text.split(), 8)), _unit(vector + 0.05 * rng.standard_normal(_WIDTH))


def _unit(rows: NDArray[Any]) -> NDArray[np.float32]:
    return np.asarray(rows / np.linalg.norm(rows, axis=-1, keepdims=True), np.float32)


@cache
def _drawn_from() -> tuple[NDArray[Any], ...]:
    """Returns 50,000 words of five letters (the commonest first), their probabilities, the centres, and the map to full
    width."""
    ranks, rng = np.arange(50_000), np.random.default_rng(3)
    words = [f"{rank:05}".translate(str.maketrans("0123456789", "abdegiklno")) for rank in ranks]
    chances, to_width = 1 / (ranks + 31), rng.standard_normal((_LATENT, _WIDTH)) / np.sqrt(_WIDTH)
    return np.array(words), chances / chances.sum(), rng.standard_normal((1_000, _LATENT)), to_width

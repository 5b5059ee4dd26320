"""Measures speed on this machine: later `ask` commands, the judge, ingestion, and an index of many passages.

ask     whole commands with process start: the first `ask` indexes the samples, each later `ask` has a new question
judge   pairs per second: pairs of 160 tokens, pairs with sample passages, pairs with sentences (small and larger judge)
ingest  `agent ingest` of 100 text files into an empty collection: passages per second, with process start

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
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from agent.__main__ import DEGRADED, OK
from agent.samples import sample_documents, sample_questions
from evals.reports.records import Record
from evals.suite import at_least, check_known, peak_memory
from tools.disk import ROOT
from tools.errors import SteelmanError
from tools.language.sentences import split_sentences
from tools.store.database import Database
from tools.store.store import Store

_PAIRS, _FILES, _SENTENCES = 128, 100, 60  # sentences of a file


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("parts", nargs="*", metavar="PART", help=f"any of {', '.join(PARTS)} (default: all)")
    add("--rounds", type=at_least(1), default=5, metavar="N", help="rounds of ask and judge (default: %(default)s)")
    add("--json", action="store_true", help="print one object")


def measure(args: argparse.Namespace) -> Record:
    """Measures each part and prints its figures at once. Raises InputError."""
    check_known(args.parts, PARTS, "part")
    results: Record = {"machine": _machine()}
    for part in args.parts or PARTS:
        results[part] = _in_own_process(PARTS[part], args.rounds)
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


def _ask(rounds: int) -> Record:
    with TemporaryDirectory() as data:
        first, *later = [_command(data, "ask", q) for q in list(sample_questions().values())[: rounds + 1]]
    seconds, processor = zip(*later, strict=True)
    found = {"first_seconds": first[0], "second_seconds": statistics.median(seconds), "slowest_seconds": max(seconds)}
    return found | {"processor_seconds": statistics.median(processor), "peak_mb": _peak_of_commands()}


def _ingest(_: int) -> Record:
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


def _judge(rounds: int) -> Record:
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


PARTS: dict[str, Callable[[int], Record]] = {"ask": _ask, "judge": _judge, "ingest": _ingest}

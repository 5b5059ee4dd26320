"""Speed of the parts and of the whole, each figure with the machine it was measured on.

Whole commands are timed as processes of their own, several times; medians are reported. Timings on a shared machine are
noisy: compare figures of one run.
"""

import argparse
import asyncio
import json
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from evals.benchmarks.api import bench_api
from evals.benchmarks.judge import measure_judge
from evals.benchmarks.page import bench_page
from evals.benchmarks.scale import PASSAGES, bench_scale
from evals.benchmarks.timing import apart, process, seconds_of

_ROUNDS = 5
_INGESTED = 5000
_QUESTIONS = 60


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help=f"which (default: all of {', '.join(PARTS)})")
    parser.add_argument("--json", action="store_true", help="print one object")
    parser.add_argument("--passages", type=int, default=PASSAGES, help="of the part scale (default: %(default)s)")
    parser.add_argument("--data", type=Path, help="folder where the part scale builds its store, or finds it built")


def run(args: argparse.Namespace) -> int:
    """Runs the parts and prints their figures."""
    results: dict[str, Any] = {"machine": machine()}
    for part in args.parts or PARTS:
        results[part] = bench_scale(args.passages, args.data) if part == "scale" else PARTS[part]()
        if not args.json:
            print(part, json.dumps(results[part]), flush=True)
    print(json.dumps(results, indent=2) if args.json else f"machine {json.dumps(results['machine'])}")
    return 0


def machine() -> dict[str, Any]:
    """The size of this machine."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    model = next(
        (x.split(":")[1].strip() for x in _lines("/proc/cpuinfo") if x.startswith("model name")), platform.processor()
    )
    cores = len(os.sched_getaffinity(0))
    return {"cores": cores, "memory_gib": round(memory), "processor": model, "python": platform.python_version()}


def _lines(path: str) -> list[str]:
    return Path(path).read_text().splitlines() if Path(path).exists() else []


def bench_help() -> dict[str, float]:
    """`python -m agent --help`."""
    return {"seconds": _median(lambda: process(["-m", "agent", "--help"], {}).seconds)}


def bench_ask() -> dict[str, float]:
    """A second `ask`: samples indexed, a question that was not asked before, process start included."""
    from agent.samples import sample_questions

    questions = list(sample_questions().values())
    with tempfile.TemporaryDirectory() as data:
        first, *taken = (
            process(["-m", "agent", "ask", q], {"STEELMAN_DATA_DIR": data}) for q in questions[: _ROUNDS + 1]
        )
    return {
        "first_seconds": first.seconds,
        "second_seconds": statistics.median(t.seconds for t in taken),
        "slowest_seconds": max(t.seconds for t in taken),
        "processor_seconds": statistics.median(t.processor_seconds for t in taken),
        "peak_memory_mb": max(t.memory_mb for t in taken),
    }


def bench_encoder() -> dict[str, float]:
    """Passages of about 100 words a second: the embedded encoder, and sentence-transformers in fp32 where installed."""
    from tools.inference.encoders.encoder import load_encoder

    texts = _passages(400)
    encoder = load_encoder()
    ours, theirs = [], []
    try:
        from sentence_transformers import SentenceTransformer

        from evals.training.model import minilm_folder

        model = SentenceTransformer(str(minilm_folder()), device="cpu")
    except ImportError:
        model = None
    for _ in range(_ROUNDS):  # in turn, so that both meet the same machine
        ours.append(_rate(lambda: encoder.encode(texts), len(texts)))
        if model is not None:
            theirs.append(_rate(lambda: model.encode(texts, batch_size=32, show_progress_bar=False), len(texts)))
    result = {"passages_per_second": round(statistics.median(ours), 1)}
    if theirs:
        result["pytorch_fp32_per_second"] = round(statistics.median(theirs), 1)
        result["ratio"] = round(statistics.median(a / b for a, b in zip(ours, theirs, strict=True)), 2)
    return result


def bench_ingest() -> dict[str, float]:
    """Ingest of 5,000 passages, one half as it is and one without sentences, against the encoder on the same texts."""
    from tools.inference.encoders.encoder import load_encoder
    from tools.ingest.ingest import Ingester
    from tools.passages import SourceDocument
    from tools.store.database import Database
    from tools.store.hybrid import HybridSearch, passage_text
    from tools.store.store import Store

    documents = [SourceDocument(str(i), text, title="A passage") for i, text in enumerate(_passages(_INGESTED))]
    half = len(documents) // 2
    taken, alone, rates = 0, [], []
    with tempfile.TemporaryDirectory() as data:
        encoder = load_encoder()
        store = Store(Database(Path(data) / "steelman.db"))
        for part, sentences in ((documents[:half], True), (documents[half:], False)):
            search = HybridSearch(store, Path(data) / "index", encoder, keeps_sentences=sentences)
            texts = [passage_text(d.title, d.text) for d in part]
            alone.append(_rate(partial(encoder.encode, texts), len(part)))
            began = time.perf_counter()
            report = Ingester(store, search, encoder).ingest(part, "bench")
            rates.append(report.passages / (time.perf_counter() - began))
            taken += report.passages
    return {
        "passages": taken,
        "passages_per_second": round(rates[0], 1),
        "without_sentences_per_second": round(rates[1], 1),
        "encoder_alone_per_second": round(statistics.mean(alone), 1),
        "ratio": round(rates[0] / alone[0], 3),
        "ratio_without_sentences": round(rates[1] / alone[1], 3),
    }


def bench_batch() -> dict[str, float]:
    """Questions a second of `batch`, start-up taken off by a run of one question."""
    from agent.samples import sample_questions

    stems = [q.rstrip("?") for q in sample_questions().values()]
    asked = [f"{stem}{tail}?" for tail in ("", " in the long run") for stem in stems][:_QUESTIONS]
    with tempfile.TemporaryDirectory() as data:
        environment = {"STEELMAN_DATA_DIR": data}
        process(["-m", "agent", "ask", asked[0]], environment)
        seconds = []
        for name, questions in (("one", asked[:1]), ("all", asked[1:])):
            file = Path(data) / f"{name}.jsonl"
            file.write_text("".join(json.dumps({"question": q}) + "\n" for q in questions))
            command = ["-m", "agent", "batch", str(file), "--out", str(file.with_suffix(".out.jsonl"))]
            seconds.append(process(command, environment).seconds)
    return {"questions": len(asked) - 1, "questions_per_second": round((len(asked) - 1) / (seconds[1] - seconds[0]), 2)}


def bench_agent() -> dict[str, float]:
    """The agent's own time a question when every provider answers at once: graph, service, store, checkpoints."""
    return asyncio.run(_agent_alone())


async def _agent_alone() -> dict[str, float]:
    from agent.options import RunOptions
    from agent.runs.service import Runs
    from agent.settings import Settings
    from evals.benchmarks.instant import instant_providers

    seconds = []
    with tempfile.TemporaryDirectory() as data:
        async with Runs(Settings(data_dir=Path(data)), instant_providers) as runs:
            for i in range(_ROUNDS * 4):
                began = time.perf_counter()
                await runs.answer(await runs.start(f"Should towns build bridge number {i}?", RunOptions.of()))
                seconds.append(time.perf_counter() - began)
    return {"milliseconds": round(1000 * statistics.median(seconds), 1), "slowest": round(1000 * max(seconds), 1)}


def bench_judge() -> dict[str, float]:
    """Pairs a second (of 160 tokens, passages of about 100 words, single sentences), loading time and memory."""
    return apart(measure_judge)


PARTS: dict[str, Callable[[], dict[str, Any]]] = {
    "help": bench_help,
    "ask": bench_ask,
    "encoder": bench_encoder,
    "judge": bench_judge,
    "ingest": bench_ingest,
    "batch": bench_batch,
    "agent": bench_agent,
    "page": bench_page,
    "api": bench_api,
    "scale": bench_scale,
}


def _median(measure: Callable[[], float]) -> float:
    return round(statistics.median(measure() for _ in range(_ROUNDS)), 3)


def _rate(work: Callable[[], object], count: int) -> float:
    return count / seconds_of(work)


def _passages(count: int) -> list[str]:
    """Texts of about 100 words made from the samples' sentences, all of them different."""
    import random

    from agent.samples import sample_documents
    from tools.language.sentences import split_sentences

    rng = random.Random(1)
    sentences = [s for d in sample_documents() for s in split_sentences(d.text)]
    texts = []
    for _ in range(count):
        chosen: list[str] = []
        while sum(len(s.split()) for s in chosen) < 92:
            chosen.append(rng.choice(sentences))
        texts.append(" ".join(chosen))
    return texts

"""Perspective-aware retrieval (PIR): does a query that adds a perspective find that perspective's passages, and do
interventions on its vector help?

Each form of `tools/diversity/projection.py` is a column, 'none' always among them, since the others are compared with
it; 'pap' and 'pap+' have one for each strength. Search is exact, over whole passages as the agent's encoder reads them.
The perspective's vector is that of its text; where it has none of its own it is q − r, query less root (as PIR has it
for AmbigQA).
"""

import argparse
import hashlib
import json
import math
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from agent.providers.retrieval import build_encoder
from agent.settings import load_settings
from evals.metrics.intervals import ROUNDS
from evals.metrics.pir import AVERAGE, Ints, figures, first_gold, p_recall
from evals.ranking.pir import PirTask, Root, RootPerspective, load_tasks
from evals.ranking.retrievers import CorpusIndex
from evals.records import Record
from tools.diversity.projection import FORMS, Form, leaning_scores
from tools.errors import InputError
from tools.inference.batching import parts
from tools.inference.cache import VectorCache
from tools.inference.encoders.encoder import Encoder, load_encoder

_AT_ONCE = 256  # texts
_WITH_STRENGTH = ("pap", "pap+")
_WIDE = 22


@dataclass(frozen=True, slots=True)
class Column:
    """An intervention at a strength; the strength of those that have none is 1."""

    form: Form
    strength: float = 1.0

    @property
    def name(self) -> str:
        return self.form if self.strength == 1 else f"{self.form} {self.strength}".removesuffix(".0")


@dataclass(frozen=True, slots=True)
class Ranks:
    """Of one task: for each root the ranks of the first gold passages, shape (perspectives, columns), and the seconds
    that each column took."""

    roots: list[Ints]
    seconds: dict[str, float]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The suite's options."""
    add = parser.add_argument
    add("--data", type=Path, required=True, metavar="FILE", help="the PIR data: one JSON object of tasks, plain or .gz")
    add("--task", type=_names, default=[], metavar="NAME[,NAME…]", help="which tasks (default: all)")
    add("--forms", type=_names, default=list(FORMS), metavar="NAME[,NAME…]", help=f"default: {','.join(FORMS)}")
    add(
        "--strength",
        type=_strengths,
        default=[1.0],
        metavar="S[,S…]",
        help="of pap and pap+; --strength=-1 adds (default: 1)",
    )
    add("--k", type=_cutoffs, default=[5], metavar="K[,K…]", help="passages that count (default: 5)")
    add("--limit", type=_positive, metavar="N", help="only the first N root queries of a seeded shuffle, of each task")
    add("--seed", type=int, default=1, metavar="N", help="seed of the shuffle and of the intervals (default: 1)")
    add(
        "--published",
        action="store_true",
        help="as published: every line a perspective, every copy a passage, 0 for roots with one perspective",
    )
    add("--json", action="store_true", help="print one object")


def run(args: argparse.Namespace) -> int:
    """Ranks and scores. Raises InputError, SettingsError, ModelError, ProviderError; vectors are kept as they come."""
    began = time.perf_counter()
    if args.seed < 0:
        raise InputError(f"--seed has to be 0 or more, not {args.seed}.")
    columns = columns_of(args.forms, args.strength)
    tasks = [sampled(task, args.limit, args.seed) for task in load_tasks(args.data, args.task, args.published)]
    settings = load_settings()
    encoder = build_encoder(settings, load_encoder(settings.cache_dir))
    cache = VectorCache(settings.cache_dir / "retrieval.db")
    ranks = rank_tasks(tasks, columns, encoder, cache)
    result = report(tasks, columns, ranks, _config(args, tasks, columns, encoder.name))
    result["seconds"]["total"] = time.perf_counter() - began
    shown = json.dumps(result, indent=2, ensure_ascii=False, allow_nan=False) + "\n" if args.json else table(result)
    sys.stdout.write(shown)
    return 0


def columns_of(forms: Sequence[str], strengths: Sequence[float]) -> list[Column]:
    """The columns in order, 'none' first and none twice. Raises InputError for a form that is none, and for no form."""
    if unknown := [form for form in forms or [""] if form not in FORMS]:
        raise InputError(f"there is no form '{unknown[0]}'. There are: {', '.join(FORMS)}.")
    wanted = [Column("none")]
    for form in cast(Sequence[Form], forms):
        wanted += [Column(form, s) for s in strengths] if form in _WITH_STRENGTH else [Column(form)]
    return list(dict.fromkeys(wanted))


def sampled(task: PirTask, limit: int | None, seed: int) -> PirTask:
    """The task with the first `limit` roots of a seeded shuffle and its whole corpus; as it is without a limit."""
    if limit is None:
        return task
    roots = list(task.roots)
    Random(seed).shuffle(roots)
    return replace(task, roots=tuple(roots[:limit]))


def rank_tasks(
    tasks: Sequence[PirTask], columns: Sequence[Column], encoder: Encoder, cache: VectorCache
) -> dict[str, Ranks]:
    """By task. Raises ProviderError of an encoder elsewhere."""
    total = sum(len(root.perspectives) for task in tasks for root in task.roots) * len(columns)
    with tqdm(total=total, unit="search", disable=_quiet()) as bar:
        return {task.name: _rank(task, columns, encoder, cache, bar) for task in tasks}


def _rank(task: PirTask, columns: Sequence[Column], encoder: Encoder, cache: VectorCache, bar: "tqdm[Any]") -> Ranks:
    with CorpusIndex(task.corpus, encoder, cache) as index:
        passages = index.vectors
        vectors = _query_vectors(task, index)
    asked = [
        (vectors[root.text], _direction(root, one, vectors), vectors[one.query], np.array(one.gold))
        for root in task.roots
        for one in root.perspectives
    ]
    ranks, seconds = np.zeros((len(asked), len(columns)), np.int64), {}
    for i, column in enumerate(columns):
        began = time.perf_counter()
        bar.set_description(f"{task.name} {column.name}")
        for row, (r, p, q, gold) in enumerate(asked):
            ranks[row, i] = first_gold(leaning_scores(column.form, r, p, q, passages, column.strength), gold)
            bar.update()
        seconds[column.name] = time.perf_counter() - began
    ends = np.cumsum([len(root.perspectives) for root in task.roots])[:-1]
    return Ranks(np.split(ranks, ends), seconds)


def _query_vectors(task: PirTask, index: CorpusIndex) -> dict[str, NDArray[np.float32]]:
    """Vectors of the roots, the queries and the perspectives by their text, read as queries.

    Those of roots that are not in the sample are made as well: an int8 vector depends on what it is computed together
    with, and figures should not depend on whether a smaller sample was measured, and its vectors kept, before.
    """
    vectors: dict[str, NDArray[np.float32]] = {}
    with tqdm(total=len(task.texts), desc="vectors", unit="query", leave=False, disable=_quiet()) as bar:
        for part in parts(task.texts, _AT_ONCE):  # kept part by part, so that a killed run goes on
            vectors |= zip(part, index.query_vectors(part), strict=True)
            bar.update(len(part))
    return vectors


def _direction(root: Root, one: RootPerspective, vectors: dict[str, NDArray[np.float32]]) -> NDArray[np.float32]:
    return vectors[one.text] if one.text else vectors[one.query] - vectors[root.text]


def report(tasks: Sequence[PirTask], columns: Sequence[Column], ranks: dict[str, Ranks], config: Record) -> Record:
    """Metrics and intervals by task, average, column and measure; items by root; configuration; seconds."""
    names = [column.name for column in columns]
    roots = {task: found.roots for task, found in ranks.items()}
    metrics, intervals = figures(roots, names, config["k"], config["seed"])
    items = {task.name: _items(task, roots[task.name], names, config["k"]) for task in tasks}
    return {
        "suite": "pir",
        "metrics": metrics,
        "intervals": intervals,
        "items": items | {AVERAGE: {name: {} for name in names}},
        "config": config,
        "seconds": {"search": {task: found.seconds for task, found in ranks.items()}},
    }


def _items(task: PirTask, ranks: Sequence[Ints], names: Sequence[str], cutoffs: Sequence[int]) -> Record:
    """Column to measure to rows of (root, value, 1), for comparing two results root by root."""
    values = {k: p_recall(ranks, k) for k in cutoffs}
    return {
        name: {
            f"p_recall@{k}": [(root.key, float(v), 1.0) for root, v in zip(task.roots, values[k][:, i], strict=True)]
            for k in cutoffs
        }
        for i, name in enumerate(names)
    }


def _config(args: argparse.Namespace, tasks: Sequence[PirTask], columns: Sequence[Column], encoder: str) -> Record:
    return {
        "data": args.data.name,
        "sha256": hashlib.sha256(args.data.read_bytes()).hexdigest()[:12],
        "reading": "published" if args.published else "sets",
        "encoder": encoder,
        "columns": [column.name for column in columns],
        "k": args.k,
        "limit": args.limit,
        "seed": args.seed,
        "rounds": ROUNDS,
        "sizes": {task.name: _sizes(task) for task in tasks},
    }


def _sizes(task: PirTask) -> Record:
    asked = [one for root in task.roots for one in root.perspectives]
    return {
        "roots": len(task.roots),
        "questions": len(asked),
        "perspective_is_query_less_root": sum(not one.text for one in asked),
        "roots_with_one_perspective": task.alone,
        "passages": len(task.corpus),
        "copies_left_out": task.copies,
    }


def table(result: Record) -> str:
    """What was measured, then a block for each k: columns down, tasks across, in per cent."""
    config = result["config"]
    lines = [_told(name, size, config["reading"]) for name, size in config["sizes"].items()]
    for k in config["k"]:
        lines += ["", *_block(result, k)]
    lines += [
        "",
        "* the paired interval of the difference from 'none' leaves zero out",
        f"95 % intervals: {config['rounds']} draws of root queries within their tasks; reading: {config['reading']}",
        f"{result['seconds']['total']:.1f} s; encoder {config['encoder']}; seed {config['seed']}",
    ]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _told(name: str, size: Record, reading: str) -> str:
    alone, copies, less = (
        size[n] for n in ("roots_with_one_perspective", "copies_left_out", "perspective_is_query_less_root")
    )
    scored = "scored 0" if reading == "published" else "left out"
    told = [
        f"{name}: {size['roots']} root queries, {size['questions']} perspectives, {size['passages']} passages",
        *([f"{copies} copies left out"] if copies else []),
        *([f"roots with one perspective {scored}: {alone}"] if alone else []),
        *([f"p = q − r for {less}"] if less else []),
    ]
    return "; ".join(told)


def _block(result: Record, k: int) -> list[str]:
    tasks, columns = list(result["config"]["sizes"]), result["config"]["columns"]
    wide = [max(8, len(task) + 3) for task in tasks]
    first = max(16, *(len(column) + 2 for column in columns))
    heads = "".join(f"{task:>{w}}" for task, w in zip(tasks, wide, strict=True))
    lines = [f"{f'p-Recall@{k}':<{first}}{heads}{AVERAGE:>{_WIDE}}{'less none':>{_WIDE}}"]
    for column in columns:
        cells = "".join(f"{_short(result, t, column, k):>{w}}" for t, w in zip(tasks, wide, strict=True))
        lines.append(f"{column:<{first}}{cells}{_mean(result, column, k):>{_WIDE}}{_gain(result, column, k):>{_WIDE}}")
    return lines


def _short(result: Record, task: str, column: str, k: int) -> str:
    return f"{100 * result['metrics'][task][column][f'p_recall@{k}']:.1f}{_star(result, task, column, k)}"


def _mean(result: Record, column: str, k: int) -> str:
    value, (low, high) = (result[part][AVERAGE][column][f"p_recall@{k}"] for part in ("metrics", "intervals"))
    return f"{100 * value:.1f} [{100 * low:.1f}, {100 * high:.1f}]"


def _gain(result: Record, column: str, k: int) -> str:
    measure = f"gain@{k}"
    if measure not in result["metrics"][AVERAGE][column]:
        return "–"
    value, (low, high) = (result[part][AVERAGE][column][measure] for part in ("metrics", "intervals"))
    return f"{100 * value:+.1f} [{100 * low:+.1f}, {100 * high:+.1f}]{_star(result, AVERAGE, column, k)}"


def _star(result: Record, task: str, column: str, k: int) -> str:
    """A star or a space, so that figures stand under each other."""
    low, high = result["intervals"][task][column].get(f"gain@{k}", (0.0, 0.0))
    return "*" if low > 0 or high < 0 else " "


def _quiet() -> bool:
    return not sys.stderr.isatty()


def _names(text: str) -> list[str]:
    return list(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


def _strengths(text: str) -> list[float]:
    try:
        numbers = [float(part) for part in _names(text)]
    except ValueError:
        numbers = []
    if not numbers or not all(math.isfinite(n) for n in numbers):
        raise argparse.ArgumentTypeError("give numbers such as 0.25,0.5,1")
    return list(dict.fromkeys(numbers))


def _cutoffs(text: str) -> list[int]:
    numbers = _names(text)
    if not numbers or not all(n.isdecimal() and int(n) > 0 for n in numbers):
        raise argparse.ArgumentTypeError("give numbers above 0, such as 1,5,10")
    return sorted({int(n) for n in numbers})


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError("give a number above 0")
    return int(text)

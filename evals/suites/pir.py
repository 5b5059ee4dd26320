"""Perspective-aware retrieval (PIR): does a query that adds a perspective find that perspective's passages, and do
interventions on its vector help?

Each form of `evals/retrievers/projection.py` is a column, 'none' always among them, since the others are compared with
it; 'pap' and 'pap+' have one for each strength. Search is exact, over whole passages as the agent's encoder reads them.
The perspective's vector is that of its text; where it has none of its own it is q − r, query less root (as PIR has it
for AmbigQA).
"""

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from evals.datasets.pir import PirTask, load_tasks
from evals.datasets.rows import digest
from evals.metrics.measure import ROUNDS
from evals.metrics.p_recall import AVERAGE, Ints, figures, first_gold, p_recall
from evals.models import encoder_and_cache
from evals.reports.records import Record
from evals.reports.table import block, percent, sure
from evals.retrievers.corpus_index import CorpusIndex
from evals.retrievers.projection import FORMS, Form, leaning_scores
from evals.suite import check_known, common_options, cutoff_option, names, progress, shuffled
from tools.models.batching import batches
from tools.models.cache import VectorCache
from tools.models.encoders.encoder import Encoder

_AT_ONCE = 256  # texts
_WITH_STRENGTH = ("pap", "pap+")


@dataclass(frozen=True, slots=True)
class Column:
    """An intervention at a strength; the strength of those that have none is 1."""

    form: Form
    strength: float = 1.0

    @property
    def name(self) -> str:
        return self.form if self.strength == 1 else f"{self.form} {self.strength}".removesuffix(".0")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The suite's options."""
    add = parser.add_argument
    add("--data", type=Path, required=True, metavar="FILE", help="the PIR data: one JSON object of tasks, plain or .gz")
    add("--task", type=names, default=[], metavar="NAME[,NAME…]", help="which tasks (default: all)")
    add("--forms", type=names, default=list(FORMS), metavar="NAME[,NAME…]", help=f"default: {','.join(FORMS)}")
    strengths = "of pap and pap+; --strength=-1 adds (default: 1)"
    add("--strength", type=_strengths, default=[1.0], metavar="S[,S…]", help=strengths)
    cutoff_option(parser, "passages", [5])
    published = "as published: every line a perspective, every copy a passage, 0 for roots with one perspective"
    add("--published", action="store_true", help=published)
    common_options(
        parser,
        limit="only the first N root queries of a seeded shuffle, of each task",
        seed="seed of the shuffle and of the intervals (default: 1)",
    )


def measure(args: argparse.Namespace) -> Record:
    """Ranks and scores. Raises InputError, SettingsError, ModelError, ProviderError; vectors are kept as they come."""
    columns = columns_of(args.forms, args.strength)
    tasks = [
        replace(task, roots=tuple(shuffled(task.roots, args.limit, args.seed)))
        for task in load_tasks(args.data, args.task, args.published)
    ]
    encoder, cache = encoder_and_cache()
    ranks = {task.name: rank(task, columns, encoder, cache) for task in tasks}
    names_ = [column.name for column in columns]
    metrics, intervals = figures(ranks, names_, args.k, args.seed)
    items: Record = {AVERAGE: {name: {} for name in names_}}
    for task in tasks:
        values = {f"p_recall@{k}": p_recall(ranks[task.name], k) for k in args.k}
        keys = [root.key for root in task.roots]
        items[task.name] = {
            name: {m: [(key, float(v), 1.0) for key, v in zip(keys, of[:, i], strict=True)] for m, of in values.items()}
            for i, name in enumerate(names_)
        }
    config = {
        "data": args.data.name,
        "sha256": digest(args.data),
        "reading": "published" if args.published else "sets",
        "encoder": encoder.name,
        "columns": names_,
        "rounds": ROUNDS,
        "sizes": {task.name: _sizes(task) for task in tasks},
    }
    config |= {name: getattr(args, name) for name in ("k", "limit", "seed")}
    return {"suite": "pir", "metrics": metrics, "intervals": intervals, "items": items, "config": config}


def columns_of(forms: Sequence[str], strengths: Sequence[float]) -> list[Column]:
    """The columns in order, 'none' first and none twice. Raises InputError for a form that is none, and for no form."""
    check_known(forms or [""], FORMS, "form")
    wanted = [Column("none")]
    for form in cast(Sequence[Form], forms):
        wanted += [Column(form, s) for s in strengths] if form in _WITH_STRENGTH else [Column(form)]
    return list(dict.fromkeys(wanted))


def rank(task: PirTask, columns: Sequence[Column], encoder: Encoder, cache: VectorCache) -> list[Ints]:
    """For each root the ranks of the first gold passages, shape (perspectives, columns). Raises ProviderError of an
    encoder elsewhere."""
    with CorpusIndex(task.corpus, encoder, cache) as index:
        passages = index.vectors
        vectors = _query_vectors(task, index)
    asked = [(root, one) for root in task.roots for one in root.perspectives]
    ranks = np.zeros((len(asked), len(columns)), np.int64)
    with progress(total=ranks.size, desc=task.name, unit="search") as bar:
        for row, (root, one) in enumerate(asked):
            r, q, gold = vectors[root.text], vectors[one.query], np.array(one.gold)
            p = vectors[one.text] if one.text else q - r
            for i, column in enumerate(columns):
                ranks[row, i] = first_gold(leaning_scores(column.form, r, p, q, passages, column.strength), gold)
                bar.update()
    ends = np.cumsum([len(root.perspectives) for root in task.roots])[:-1]
    return np.split(ranks, ends)


def _query_vectors(task: PirTask, index: CorpusIndex) -> dict[str, NDArray[np.float32]]:
    """Vectors of the roots, the queries and the perspectives by their text, read as queries.

    Those of roots that are not in the sample are made as well: a server's vector may depend on what it is computed
    together with, and figures should not depend on whether a smaller sample was measured, and its vectors kept, before.
    """
    vectors: dict[str, NDArray[np.float32]] = {}
    with progress(total=len(task.texts), desc="vectors", unit="query", leave=False) as bar:
        for part in batches(task.texts, _AT_ONCE):  # kept part by part, so that a killed run goes on
            vectors |= zip(part, index.query_vectors(part), strict=True)
            bar.update(len(part))
    return vectors


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


def table(result: Record) -> list[str]:
    """What was measured, then a block for each k: columns down, tasks across, in per cent."""
    config, lines = result["config"], list[str]()
    for task, size in config["sizes"].items():
        facts = ", ".join(f"{n} {what.replace('_', ' ')}" for what, n in size.items() if n and what != "questions")
        lines.append(f"{task}: {facts}, {size['questions']} perspectives")
    for k in config["k"]:
        titles = [*config["sizes"], AVERAGE, "less none"]
        rows = {column: _cells(result, column, k) for column in config["columns"]}
        lines += ["", *block(titles, rows, f"p-Recall@{k}")]
    return [
        *lines,
        "",
        "* the paired interval of the difference from 'none' leaves zero out",
        f"95 % intervals: {config['rounds']} draws of root queries within their tasks; reading: {config['reading']}",
        f"{result['seconds']:.1f} s; encoder {config['encoder']}; seed {config['seed']}",
    ]


def _cells(result: Record, column: str, k: int) -> list[str]:
    def told(task: str, measure: str, bounds: bool) -> str:
        value, ends = (result[part][task][column].get(f"{measure}@{k}") for part in ("metrics", "intervals"))
        gain = result["intervals"][task][column].get(f"gain@{k}", (0.0, 0.0))
        return percent(value, ends if bounds and ends else (), sure(gain))

    tasks = (told(task, "p_recall", False) for task in result["config"]["sizes"])
    return [*tasks, told(AVERAGE, "p_recall", True), told(AVERAGE, "gain", True)]


def _strengths(text: str) -> list[float]:
    try:
        numbers = [float(part) for part in names(text)]
    except ValueError:
        numbers = []
    if not numbers or not all(math.isfinite(n) for n in numbers):
        raise argparse.ArgumentTypeError("give numbers such as 0.25,0.5,1")
    return list(dict.fromkeys(numbers))

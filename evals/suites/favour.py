"""What a neutral query favours: PIR's root queries, which name no perspective, and the labels of what they find.

Of the gold passages in a root query's top k, whichever perspective they are gold for, the share of each label of the
data (`query_labels`: stances, ideologies, kinds of likeness), beside the share that would be even, with a test whether
all of them are (`evals/metrics/favour.py`). With --by perspective the label is the perspective's own text, which tells
the countries of news apart. A task whose perspectives have one label only has nothing to compare, and is left out.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace

from evals.datasets.pir import PirTask, RootPerspective, load_tasks
from evals.datasets.rows import digest
from evals.metrics.favour import LabelCounts, even_test, favoured, label_counts
from evals.metrics.measure import figures
from evals.models import open_encoders
from evals.reports.records import Record
from evals.reports.table import block, number, percent, sure
from evals.retrievers.corpus_index import CorpusIndex, Ranking, highest
from evals.retrievers.leaning import query_vectors
from evals.suite import common_options, shuffled
from evals.suites.pir import pir_options
from tools.errors import InputError
from tools.models.cache import VectorCache
from tools.models.encoders.encoder import Encoder

_PARTS = ("metrics", "intervals", "items")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The suite's options."""
    pir_options(parser)
    by = "what a label is: the data's, or the perspective's own text (default: label)"
    parser.add_argument("--by", choices=("label", "perspective"), default="label", help=by)
    common_options(
        parser,
        limit="only the first N root queries of a seeded shuffle, of each task",
        seed="seed of the shuffle, of the intervals and of the test (default: 1)",
    )


def measure(args: argparse.Namespace) -> Record:
    """Searches and counts. Raises InputError, SettingsError, ModelError, ProviderError."""
    tasks = {task.name: task for task in load_tasks(args.data, args.task)}
    found = {name: labels for name, task in tasks.items() if len(labels := _labels(task, args.by)) > 1}
    if not found:
        raise InputError(f"{args.data}: no task has two labels. Name others with --task, or try --by perspective.")
    encoders, cache = open_encoders(args.encoders)
    result: Record = {"suite": "favour", **{part: {name: {} for name in found} for part in _PARTS}}
    for name, labels in found.items():
        task = replace(tasks[name], roots=tuple(shuffled(tasks[name].roots, args.limit, args.seed)))
        for encoder in encoders:
            tops = _tops(task, encoder, cache, max(args.k))
            of = {k: _counts(task, {key: top[:k] for key, top in tops.items()}, args.by) for k in args.k}
            for part, values in _figures(of, labels, args.seed).items():
                result[part][name][encoder.name] = values
    config = {
        "data": args.data.name,
        "sha256": digest(args.data),
        "labels": found,
        "left_out": sorted({*tasks} - {*found}),
    }
    config |= {name: getattr(args, name) for name in ("k", "by", "limit", "seed")}
    return result | {"config": config}


def _counts(task: PirTask, tops: Mapping[str, Ranking], by: str) -> list[LabelCounts]:
    """Of the roots with two labels; the others have nothing to favour."""

    def label(one: RootPerspective) -> str:
        return (one.label if by == "label" else one.text) or "(none)"

    counts = [label_counts(root, tops.get(root.key, ()), label) for root in task.roots]
    return [one for one in counts if len(one.gold) > 1]


def _labels(task: PirTask, by: str) -> list[str]:
    """Those that are compared, in the order of the file."""
    return list(dict.fromkeys(name for one in _counts(task, {}, by) for name in one.gold))


def _tops(task: PirTask, encoder: Encoder, cache: VectorCache, deepest: int) -> dict[str, Ranking]:
    """What each root query finds, by its key."""
    with CorpusIndex(task.corpus, encoder, cache) as index:
        vectors = query_vectors(task.texts, index)
        return {root.key: highest(index.vectors @ vectors[root.text], deepest) for root in task.roots}


def _figures(of: Mapping[int, Sequence[LabelCounts]], labels: Sequence[str], seed: int) -> Record:
    measures = {
        f"{name}, {part}@{k}": figure
        for k, rows in of.items()
        for name in labels
        for part, figure in favoured(rows, name).items()
    }
    told = figures(measures, seed)
    told["metrics"] |= {f"even, p@{k}": even_test(rows, labels, seed) for k, rows in of.items()}
    return told


def table(result: Record) -> list[str]:
    """A block for each task, encoder and k: labels down."""
    config, lines = result["config"], list[str]()
    for task, labels in config["labels"].items():
        for encoder, metrics in result["metrics"][task].items():
            for k in config["k"]:
                found = result["items"][task][encoder][f"{labels[0]}, share@{k}"]
                p = metrics[f"even, p@{k}"]
                told = [f"{sum(d for *_, d in found):.0f} gold passages of {len(found)} root queries"]
                told += [f"all even: p {'< 0.001' if p < 0.001 else f'= {number(p)}'}", encoder]
                rows = {name: _cells(result, task, encoder, name, k) for name in labels}
                lines += [*block(["share", "even share", "excess"], rows, f"{task}@{k}"), f"  {'; '.join(told)}", ""]
    left = [f"left out, with one label only: {', '.join(config['left_out'])}"] if config["left_out"] else []
    told = [*left, "* the interval of the excess, by root query, leaves zero out"]
    return [*lines, *told, f"{result['seconds']:.1f} s; seed {config['seed']}"]


def _cells(result: Record, task: str, encoder: str, label: str, k: int) -> list[str]:
    metrics, intervals = (result[part][task][encoder] for part in ("metrics", "intervals"))
    share, even, excess = (f"{label}, {part}@{k}" for part in ("share", "even", "excess"))
    gain = percent(metrics[excess], intervals[excess], sure(intervals[excess]))
    return [percent(metrics[share], intervals[share]), percent(metrics[even]), gain]

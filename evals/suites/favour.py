"""Which labels do neutral queries favour? PIR's root queries name no perspective.

The measure is the share of each label (`query_labels`: stances, ideologies) among the gold passages in the top k. The
suite compares each share with an even share, and tests whether all shares are even (`evals/metrics/favour.py`). The
suite excludes roots whose perspectives have the same label.
"""

import argparse

from evals.datasets.pir import load_tasks
from evals.datasets.rows import digest
from evals.metrics.favour import favoured, sides_of
from evals.metrics.measure import figures
from evals.models import encoder_and_cache
from evals.reports.records import Record
from evals.reports.table import STAR, block, number, percent, sure
from evals.retrievers.corpus_index import CorpusIndex, highest
from evals.suite import common_options, shuffled
from evals.suites.pir import LIMIT, SEED, pir_options
from tools.errors import InputError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    pir_options(parser)
    common_options(parser, LIMIT, SEED)


def measure(args: argparse.Namespace) -> Record:
    """Measures all tasks. Raises InputError, SettingsError, ModelError, ProviderError."""
    encoder, cache = encoder_and_cache()
    result: Record = {"suite": "favour", "metrics": {}, "intervals": {}, "items": {}}
    for task in load_tasks(args.data, args.task):
        roots = shuffled([root for root in task.roots if len(sides_of(root)) > 1], args.limit, args.seed)
        if not roots:
            continue
        with CorpusIndex(task.corpus, encoder, cache) as index:
            vectors = dict(zip(task.texts, index.encoder.encode_queries(task.texts), strict=True))
            tops = [highest(index.vectors @ vectors[root.text], max(args.k)) for root in roots]
        for k in args.k:
            measures, p = favoured(roots, [top[:k] for top in tops], args.seed)
            told = figures(measures, args.seed)
            told["metrics"]["even, p"] = p
            for part, of in told.items():
                result[part][f"{task.name}@{k}"] = {encoder.name: of}
    if not result["metrics"]:
        raise InputError(f"{args.data}: no root has perspectives of two 'query_labels'. Name other tasks with --task.")
    result["config"] = {"data": args.data.name, "sha256": digest(args.data), "limit": args.limit, "seed": args.seed}
    return result


def table(result: Record) -> list[str]:
    """Returns a block of lines for each task and k."""
    lines: list[str] = []
    for task, encoder in ((task, encoder) for task, of in result["metrics"].items() for encoder in of):
        metrics, ends, items = (result[part][task][encoder] for part in ("metrics", "intervals", "items"))
        rows, (found, *_) = dict[str, list[str]](), items.values()
        for name in (of.removesuffix(", share") for of in items if of.endswith(", share")):
            share, even, more = (f"{name}, {part}" for part in ("share", "even", "excess"))
            rows[name] = [percent(metrics[share], ends[share]), percent(metrics[even])]
            rows[name].append(percent(metrics[more], ends[more], sure(ends[more], len(found))))
        p = metrics["even, p"]
        told = f"{sum(d for *_, d in found):.0f} gold passages of {len(found)} root queries; all even: p"
        lines += block(["share", "even share", "excess"], rows, task)
        lines += [f"  {told} {'< 0.001' if p < 0.001 else f'= {number(p)}'}; {encoder}", ""]
    told = f"{result['seconds']:.1f} s; seed {result['config']['seed']}"
    return [*lines, f"* the interval of the excess, by root query, {STAR}; {told}"]

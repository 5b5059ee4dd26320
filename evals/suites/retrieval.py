"""Measures how retrievers cover a question's perspectives, with gold passages for each perspective (MRecall@k: BERDS).

`METHOD+gold` is an oracle, which queries with the gold perspectives. The union of the top 100 of all methods bounds any
choice among their results. The cache stores vectors and verdicts, so a stopped run continues.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from evals.datasets.retrieval import GoldQuestion, load_sets
from evals.metrics.measure import Figure, figures_by
from evals.metrics.perspective_coverage import DEEPEST, TOP_FIVE, measures, require_ir_measures, union
from evals.metrics.verdicts import macro_average
from evals.models import encoder_and_cache, open_judge
from evals.reports.records import Record
from evals.reports.table import block, number, percent
from evals.retrievers.methods import STANDARD, named
from evals.retrievers.ranker import Ranker, Rankings
from evals.suite import FIRST, common_options, cutoff_option, names, peak_memory, shuffled
from tools.budget import batches

_COLUMNS = 5  # of a block
_PLAIN = ("documents_needed", f"sycophancy@{TOP_FIVE}", "passages")  # not shares


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--data", type=Path, required=True, metavar="DIR", help="folder of the queries and their corpora")
    add("--set", type=names, default=[], metavar="NAME[,NAME…]", help="query sets; not needed for a single one")
    told = "such as steelman, dense+mmr:0.9, hybrid+expansion, dense+greedyplus; an unknown name lists all"
    usual = f"retrievers (default: {','.join(STANDARD)}), {told}"
    add("--methods", type=names, default=list(STANDARD), metavar="NAME[,NAME…]", help=usual)
    cutoff_option(parser, "passages", [5, 10, 20], DEEPEST)
    common_options(parser, f"{FIRST}, of each set", "seed of the sample and the intervals")


def measure(args: argparse.Namespace) -> Record:
    """Ranks, then scores the rankings. Raises InputError, SettingsError, ProviderDownError."""
    require_ir_measures()  # a missing package is an error before the work
    methods = named(args.methods)
    sets = [replace(s, questions=shuffled(s.questions, args.limit, args.seed)) for s in load_sets(args.data, args.set)]
    judge = open_judge("settings") if any(m.judged for m in methods.values()) else None
    encoder, cache = encoder_and_cache()
    ranker, found, failed = Ranker(methods, encoder, cache, judge), dict[str, Rankings](), list[str]()
    for one in sets:
        corpora = dict.fromkeys([q.qid for q in one.questions], one.corpus).__getitem__
        found[one.name], missing = ranker.rank(one.questions, corpora, DEEPEST)
        failed += [f"{one.name} {name}" for name in missing]
    result: Record = {"suite": "retrieval"} | scored(args, {s.name: s.questions for s in sets}, found, judged=False)
    config: Record = {"sets": {s.name: s.digests for s in sets}, "encoder": encoder.name, "methods": list(methods)}
    config |= {"judge": judge.name} if judge else {}
    config |= {name: getattr(args, name) for name in ("k", "limit", "seed")} | {"sizes": result.pop("sizes")}
    for one in sets:
        config["sizes"][one.name]["passages"] = len(one.corpus)
    return result | {"failed": failed, "config": config, "machine": {"peak_memory_mb": peak_memory()}}


def scored(
    args: argparse.Namespace, sets: Mapping[str, Sequence[GoldQuestion]], found: Mapping[str, Rankings], judged: bool
) -> Record:
    """Returns metrics, intervals, union and sizes. found: the results of `rank`, by set. judged: the gold is a judge's
    verdicts. Then the result has no α-nDCG, has measures of the top 100 only with --deep, and has the average over
    several sets."""
    deep = not judged or args.deep
    figured: dict[str, dict[str, dict[str, Figure]]] = {}
    ceiling = dict[str, Record]()
    for name, questions in sets.items():
        ids = {m: [[p.external_id for p in of[q.qid]] for q in questions] for m, of in found[name].items()}
        figured[name] = {method: measures(questions, of, args.k, not judged, deep) for method, of in ids.items()}
        if deep:
            ceiling[name] = union(questions, ids.values(), args.seed)
    if judged and len(sets) > 1:
        figured["macro-average"] = macro_average(list(figured.values()))
    sizes = {
        name: {
            "questions": len(questions),
            "perspectives": sum(len(q.perspectives) for q in questions) / len(questions),
            "two_sided": sum(q.sides is not None for q in questions),
        }
        for name, questions in sets.items()
    }
    return {**figures_by(figured, args.seed), "union": ceiling, "sizes": sizes}


def table(result: Record) -> list[str]:
    """Returns a block for each set: percentages with 95 % intervals over questions."""
    lines = [line for name in result["metrics"] for line in set_lines(result, name)]
    seconds, memory = result["seconds"], result["machine"]["peak_memory_mb"]
    return [*lines, f"{seconds:.1f} s, at most {memory:.0f} MB; encoder {result['config']['encoder']}"]


def set_lines(result: Record, name: str) -> list[str]:
    """Returns the lines of a set, or of the average, which has no sizes."""
    metrics, lines = result["metrics"][name], [name]
    if size := result["config"]["sizes"].get(name):
        passages = f", {size['passages']} passages" if "passages" in size else ""
        lines = [
            f"{name}: {size['questions']} questions ({size['two_sided']} with two sides), "
            f"{size['perspectives']:.1f} perspectives each{passages}"
        ]
    known = dict.fromkeys(m for found in metrics.values() for m in found)
    by_depth = groupby(sorted(known, key=_depth), _depth)
    for shown in (part for _, of in by_depth for part in batches(list(of), _COLUMNS)):
        rows = {
            method: [_cell(m, found.get(m), result["intervals"][name][method].get(m, ())) for m in shown]
            for method, found in metrics.items()
        }
        lines += ["", *block(shown, rows)]
    if ceiling := result["union"].get(name):
        cells = (f"{m} {_cell(m, ceiling[m], ends)}" for m, ends in ceiling["intervals"].items())
        lines += ["", f"union of all top 100: {', '.join(cells)}"]
    return [*lines, ""]


def _depth(measure: str) -> int:
    return int(measure.partition("@")[2] or 0)


def _cell(measure: str, value: float | None, bounds: Sequence[float]) -> str:
    return number(value, bounds, digits=2) if measure in _PLAIN else percent(value, bounds)

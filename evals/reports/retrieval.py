"""The report of the retrieval suite for a terminal."""

import math
from collections.abc import Sequence
from typing import Any

from evals.metrics.coverage import LEANINGS
from evals.metrics.ranking import TOP_FIVE

_NAMES = {"mrecall": "MRecall", "coverage": "coverage", "precision": "precision", "alpha_ndcg": "α-nDCG"}
_PLAIN = ("documents_needed", "sycophancy", "passages")  # no shares
_WIDTH = 22


def table(report: dict[str, Any]) -> str:
    """A block a set; percentages with 95 % intervals over questions in brackets."""
    config = report["config"]
    lines = []
    for name, size in config["sizes"].items():
        lines += _head(name, size)
        for columns, titles in _blocks(config["k"]):
            lines += _rows(report["metrics"][name], report["intervals"][name], columns, titles)
        union = report["union"][name]
        cells = {m: _cell(m, union[m], union["intervals"][m]) for m in ("covered", "coverage", "passages")}
        lines += [
            f"union of all top 100: fully covered {cells['covered']}, coverage {cells['coverage']}, "
            f"passages {cells['passages']}",
            "",
        ]
    lines += [f"failed: {f['set']} {f['method']} {f['qid']}: {f['failed']}" for f in report["failed"]]
    seconds, memory = report["seconds"]["total"], report["machine"]["peak_memory_mb"]
    lines.append(f"{seconds:.1f} s, at most {memory:.0f} MB; encoder {config['encoder']}; seed {config['seed']}")
    return "\n".join(lines) + "\n"


def _head(name: str, size: dict[str, Any]) -> list[str]:
    more = ", ".join(f"{100 * share:.0f} % at {k}" for k, share in size["more_perspectives_than_k"].items() if share)
    return [
        f"{name}: {size['questions']} questions ({size['two_sided']} with two sides), "
        f"{size['perspectives']:.1f} perspectives each, {size['passages']} passages",
        *([f"  more perspectives than k, so that MRecall asks for k of them: {more}"] if more else []),
        "",
    ]


def _blocks(cutoffs: Sequence[int]) -> list[tuple[list[str], list[str]]]:
    """(measures, titles) of each block of columns."""
    blocks = [([f"{m}@{k}" for m in _NAMES], [f"{title}@{k}" for title in _NAMES.values()]) for k in cutoffs]
    needed = ["precision@1", "documents_needed", "documents_needed_share", f"sycophancy@{TOP_FIVE}"]
    blocks.append((needed, ["precision@1", "documents needed", "MRecall@100", "sycophancy Δ"]))
    blocks.append(([f"{kind}@{TOP_FIVE}" for kind in LEANINGS], [kind.replace("_", " ") for kind in LEANINGS]))
    return blocks


def _rows(
    metrics: dict[str, Any], intervals: dict[str, Any], columns: Sequence[str], titles: Sequence[str]
) -> list[str]:
    if all(math.isnan(row.get(c, math.nan)) for row in metrics.values() for c in columns):
        return []
    wide = max(16, *(len(name) + 2 for name in metrics))
    lines = [" " * wide + "".join(f"{title:>{_WIDTH}}" for title in titles)]
    for name, row in metrics.items():
        cells = [_cell(c, row[c], intervals[name][c]) if c in row else "–" for c in columns]
        lines.append(f"{name:{wide}}" + "".join(f"{cell:>{_WIDTH}}" for cell in cells))
    return [*lines, ""]


def _cell(measure: str, value: float, bounds: Sequence[float]) -> str:
    if math.isnan(value):
        return "–"
    if measure.startswith("sycophancy"):
        return f"{value:.2f} [{bounds[0]:.2f}, {bounds[1]:.2f}]"
    if measure in _PLAIN:
        return f"{value:.1f} [{bounds[0]:.1f}, {bounds[1]:.1f}]"
    return f"{100 * value:.1f} [{100 * bounds[0]:.1f}, {100 * bounds[1]:.1f}]"

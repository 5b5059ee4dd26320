"""Shows results as Markdown tables, and compares two results.

python -m evals judge --data PAIRS --json > judge.json
python -m evals report judge.json [MORE.json …]                 a table
python -m evals report --compare OLD.json NEW.json              differences with paired intervals
python -m evals report --paper judge.json [MORE.json …]         next to the papers' tables
"""

import argparse
import math
from collections.abc import Iterator, Sequence
from itertools import chain
from operator import itemgetter
from pathlib import Path

import numpy as np

from evals.metrics.measure import ItemRow, Ratio
from evals.reports.paper import beside
from evals.reports.results import Measured, measured, read_result
from evals.reports.table import STAR, markdown, number, sure
from tools.errors import InputError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("results", nargs="*", type=Path, metavar="RESULT", help="output of a suite's --json")
    add("--compare", nargs=2, type=Path, metavar=("OLD", "NEW"), help="two results of one suite")
    add("--paper", action="store_true", help="next to the papers' tables; without a result: the command for it")


def run(args: argparse.Namespace) -> int:
    """Prints the table, the comparison, or the papers' tables. Raises InputError."""
    if bool(args.compare) == bool(args.results or args.paper):
        raise InputError("name the results to report, with --paper or without, or --compare OLD NEW.")
    paths = args.compare or args.results
    results = [read_result(path) for path in paths]
    if args.paper:
        lines = beside(dict(zip(map(str, paths), results, strict=True)))
    elif args.compare:
        titles = ["data", "name", "measure", "old", "new", "change, 95 %", "questions"]
        lines = [*markdown(titles, compared(*map(measured, results))), "", f"* the paired interval {STAR}."]
    else:
        rows = [
            [of.suite, of.data, of.name, measure, number(of.metrics[measure], ends)]
            for of in chain.from_iterable(map(measured, results))
            for measure, ends in of.intervals.items()
        ]
        titles = ["suite", "data", "name", "measure", "value, 95 %"]
        lines = markdown(titles, sorted(rows, key=itemgetter(0, 1, 3)))  # equal measures follow each other
    print("\n".join(lines))
    return 0


def compared(old: Sequence[Measured], new: Sequence[Measured]) -> list[list[str]]:
    """Returns rows of the measures that both results have. The data set and the name must be equal in both results. The
    names may differ if each result has a single name on the data set, for example two judges. Raises InputError without
    a common question."""
    rows = list[list[str]]()
    for second in new:
        same, others = ([x for x in of if (x.suite, x.data) == (second.suite, second.data)] for of in (old, new))
        named = [first for first in same if first.name == second.name]
        if named or (len(same) == len(others) == 1):
            rows += _differences((named or same)[0], second)
    if not rows:
        raise InputError("the two results have no questions in common: their suites or data differ.")
    return rows


def _differences(first: Measured, second: Measured) -> Iterator[list[str]]:
    name = second.name if first.name == second.name else f"{first.name} → {second.name}"
    for measure in (m for m in second.items if m in first.items):
        both = sorted({q for q, *_ in first.items[measure]} & {q for q, *_ in second.items[measure]})
        before, after = (_over(of.items[measure], both) for of in (first, second))
        if not math.isnan(before.value + after.value):
            low, high = (less := after.less(before)).interval()
            change = f"{less.value:+.3f} [{low:+.3f}, {high:+.3f}]{sure((low, high), len(both))}"
            yield [second.data, name, measure, number(before.value), number(after.value), change, str(len(both))]


def _over(rows: Sequence[ItemRow], questions: Sequence[str]) -> Ratio:
    """Returns the ratio over these questions. Each question is one item."""
    sums = {question: np.zeros(2) for question in questions}
    for question, *parts in rows:
        if question in sums:
            sums[question] += parts
    return Ratio.of((question, *of) for question, of in sums.items())

"""Shows results as Markdown tables, and compares two.

python -m evals judge --data PAIRS --json > judge.json
python -m evals report judge.json [MORE.json …]                 a table
python -m evals report --compare OLD.json NEW.json              differences with paired intervals
python -m evals report --paper judge.json [MORE.json …]         next to the papers' tables
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from evals.reports.paper import beside
from evals.reports.records import Record
from evals.reports.results import Measured, compared, measured, read_result
from evals.reports.table import STAR, markdown, number, sure
from evals.suite import common_options, show
from tools.errors import InputError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("results", nargs="*", type=Path, metavar="RESULT", help="output of a suite's --json")
    add("--compare", nargs=2, type=Path, metavar=("OLD", "NEW"), help="two results of one suite")
    add("--paper", action="store_true", help="next to the papers' tables; without a result: the command for it")
    common_options(parser, seed="seed of the paired intervals")


def run(args: argparse.Namespace) -> int:
    """Prints the table, the comparison, or the papers' tables. Raises InputError."""
    if bool(args.compare) == bool(args.results or args.paper):
        raise InputError("name the results to report, with --paper or without, or --compare OLD NEW.")
    if args.paper and args.json:
        raise InputError("--paper prints Markdown. Leave out --json.")
    if args.paper:
        print("\n".join(beside({str(path): read_result(path) for path in args.results})))
    elif args.compare:
        old, new = (measured(read_result(path)) for path in args.compare)
        rows = compared(old, new, args.seed)
        show(args.json, rows, lambda: _comparison(rows))
    else:
        lines = [line for path in args.results for line in measured(read_result(path))]
        told = [{name: of for name, of in asdict(line).items() if name != "items"} for line in lines]
        titles = ["suite", "data", "name", "measure", "value, 95 %"]
        show(args.json, told, lambda: markdown(titles, _rows(lines)))
    return 0


def _rows(lines: Sequence[Measured]) -> Iterator[list[str]]:
    """The measures that have an interval; those of one suite and data follow each other."""
    for suite, data in dict.fromkeys((line.suite, line.data) for line in lines):
        group = [line for line in lines if (line.suite, line.data) == (suite, data)]
        for measure in dict.fromkeys(m for line in group for m in line.intervals):
            for line in (line for line in group if measure in line.metrics):
                value = number(line.metrics[measure], line.intervals.get(measure, ()))
                yield [suite, data, line.name, measure, value]


def _comparison(rows: Sequence[Record]) -> list[str]:
    cells = []
    for r in rows:
        (low, high), over = r["interval"], r["questions"]
        change = f"{r['difference']:+.3f} [{low:+.3f}, {high:+.3f}]{sure((low, high), over)}"
        cells.append([r["data"], r["name"], r["measure"], number(r["old"]), number(r["new"]), change, str(over)])
    titles = ["data", "name", "measure", "old", "new", "change, 95 %", "questions"]
    return [*markdown(titles, cells), "", f"* the paired interval {STAR}."]

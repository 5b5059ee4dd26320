"""Results side by side in a table, and two of them compared.

    python -m evals judge --data PAIRS --json > judge.json
    python -m evals report judge.json [MORE.json …]                 a table
    python -m evals report --compare OLD.json NEW.json              differences with paired intervals
    python -m evals report --paper judge.json [MORE.json …]         beside the tables of the papers

A result is what a suite prints with `--json`.
"""

import argparse
import json
import shlex
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from evals.reports.lines import Line, compared, lines_of
from evals.reports.paper import beside, table_lines
from evals.reports.records import Record
from evals.reports.table import STAR, block, number, sure
from evals.suite import common_options, show
from tools.errors import InputError

SUITES = "judge retrieval berds answers expand news pir favour responses preference".split()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("results", nargs="*", type=Path, metavar="RESULT", help="what a suite printed with --json")
    add("--compare", nargs=2, type=Path, metavar=("OLD", "NEW"), help="two results of one suite")
    paper = "beside the papers' tables; those of which there is no result say which command makes one"
    add("--paper", action="store_true", help=paper)
    common_options(parser, seed="of the paired intervals")


def run(args: argparse.Namespace) -> int:
    """Prints the table, the comparison, or the papers' tables. Raises InputError for what is no result."""
    if bool(args.compare) == bool(args.results or args.paper):
        raise InputError("name the results to report, with --paper or without, or --compare OLD NEW.")
    if args.paper:
        told = beside({str(path): _read(path) for path in args.results})
        show(args.json, told, lambda: table_lines(told))
    elif args.compare:
        old, new = (lines_of(_read(path)) for path in args.compare)
        rows = compared(old, new, args.seed)
        show(args.json, rows, lambda: _comparison(rows))
    else:
        lines = [line for path in args.results for line in lines_of(_read(path))]
        told = [{name: of for name, of in asdict(line).items() if name != "items"} for line in lines]
        show(args.json, told, lambda: _table(lines))
    return 0


def _table(lines: Sequence[Line]) -> list[str]:
    """A block for each suite and data: measures down, those that have an interval; names across."""
    found: list[str] = []
    for suite, data in dict.fromkeys((line.suite, line.data) for line in lines):
        group = [line for line in lines if (line.suite, line.data) == (suite, data)]
        known = dict.fromkeys(m for line in group for m in line.intervals)
        rows = {m: [number(line.metrics.get(m), line.intervals.get(m, ())) for line in group] for m in known}
        found += ["", f"{suite} on {data}", *block([line.name for line in group], rows)]
    return found[1:]


def _comparison(rows: Sequence[Record]) -> list[str]:
    """A line a measure; a star where the interval leaves zero out."""
    found: dict[str, dict[str, list[str]]] = {}
    for r in rows:
        (low, high), over = r["interval"], r["questions"]
        change = f"{r['difference']:+.3f} [{low:+.3f}, {high:+.3f}]{sure((low, high), over)}"
        cells = [number(r["old"]), number(r["new"]), change, str(over)]
        found.setdefault(f"{r['data']}: {r['name']}", {})[r["measure"]] = cells
    titles = ["old", "new", "change, 95 %", "over"]
    lines = [line for heading, cells in found.items() for line in (heading, *block(titles, cells), "")]
    return [*lines, f"* the paired interval {STAR}. Over: questions that both have."]


def _read(path: Path) -> Record:
    made = f"Make it with `python -m evals SUITE … --json > {shlex.quote(str(path))}`."
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
    except OSError as exc:
        raise InputError(f"{path} cannot be opened ({exc.strerror or exc}).") from exc
    except ValueError as exc:
        raise InputError(f"{path} is no JSON ({exc}). {made}") from exc
    if not isinstance(result, dict) or result.get("suite") not in SUITES:
        raise InputError(f"{path} holds no result of a suite. {made}")
    for field in ("metrics", "intervals", "config", "items"):
        if not isinstance(result.get(field), dict):
            raise InputError(f"{path}: '{field}' is missing. It was made by another version; make it again.")
    return result

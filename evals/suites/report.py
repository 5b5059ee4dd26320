"""Results side by side: a table, Markdown with figures, and two of them compared.

    python -m evals judge --data PAIRS --json > judge.json
    python -m evals report judge.json [MORE.json …] [--out DIR]     a table; in DIR report.md and pictures
    python -m evals report --compare OLD.json NEW.json              differences with paired intervals

A result is what a suite prints with `--json`.
"""

import argparse
import json
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evals.reports.compare import compared
from evals.reports.lines import Line, lines_of
from evals.reports.table import markdown, text_table
from tools.errors import InputError

SUITES = ("judge", "retrieval", "answers", "expand", "news", "pir", "responses")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The suite's options."""
    parser.add_argument("results", nargs="*", type=Path, metavar="RESULT", help="what a suite printed with --json")
    parser.add_argument("--out", type=Path, metavar="DIR", help="also write report.md and its figures there")
    parser.add_argument("--compare", nargs=2, type=Path, metavar=("OLD", "NEW"), help="two results of one suite")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the paired intervals")
    parser.add_argument("--json", action="store_true", help="print one object")


def run(args: argparse.Namespace) -> int:
    """Prints the table, or the comparison. Raises InputError for what is no result."""
    if bool(args.compare) == bool(args.results):
        raise InputError("name the results to report, or --compare OLD NEW.")
    if args.compare:
        old, new = (_read(path) for path in args.compare)
        comparison = compared(lines_of(old), lines_of(new), args.seed)
        print(json.dumps(comparison.rows, indent=2) if args.json else comparison.text())
        return 0
    results = [_read(path) for path in args.results]
    lines = [line for result in results for line in lines_of(result)]
    if args.json:
        print(json.dumps([line.summary() for line in lines], indent=2))
    else:
        print(text_table(lines))
    if args.out:
        _write(args.out, lines)
    return 0


def _made(path: Path) -> str:
    return f"Make it with `python -m evals SUITE … --json > {shlex.quote(str(path))}`."


def _read(path: Path) -> dict[str, Any]:
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
    except OSError as exc:
        raise InputError(f"{path} cannot be opened ({exc.strerror or exc}).") from exc
    except ValueError as exc:
        raise InputError(f"{path} is no JSON ({exc}). {_made(path)}") from exc
    if not isinstance(result, dict) or result.get("suite") not in SUITES:
        raise InputError(f"{path} holds no result of a suite. {_made(path)}")
    for field in ("metrics", "intervals", "config", "items"):
        if not isinstance(result.get(field), dict):
            raise InputError(f"{path}: '{field}' is missing. It was made by another version; make it again.")
    return result


def _write(folder: Path, lines: Sequence[Line]) -> None:
    """report.md and its pictures; what is there already stays."""
    from evals.reports.figures import draw

    page = folder / "report.md"
    if page.exists():
        raise InputError(f"{page} is there already. Name another folder for --out.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        pictures = draw(lines, folder)
        page.write_text(markdown(lines, pictures), encoding="utf-8")
    except OSError as exc:
        raise InputError(f"{folder} cannot be written ({exc.strerror or exc}).") from exc
    print(f"Written: {page} and {len(pictures)} figures.", file=sys.stderr)

"""Compares the text that document parsers extract with the expected text: words in order, whole sentences (our own
measures).

`--data` is a folder with NAME.expected.txt next to each file. An expected text has one line for each paragraph,
heading, list item or table row (cells separated by ` | `). Leave out running headers, page numbers, navigation and
code. Put notes at the end, each line with `NOTE: `. Notes count only as sentences, since their position varies. The
default is the project's own files. `evals/metrics/reading.py` defines the measures.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from evals.datasets.rows import GOLD
from evals.metrics.measure import figures
from evals.metrics.reading import FileRead, compare, measures
from evals.reports.records import Record, header
from evals.reports.table import block, percent
from evals.suite import common_options, progress, shuffled
from tools.documents.readers import READERS
from tools.documents.sandbox import read_in_process
from tools.errors import InputError, SourceError
from tools.passages import SourceDocument

_EXPECTED = ".expected.txt"
_MISSES = 12


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    folder = "folder of files, each with NAME.expected.txt"
    add("--data", type=Path, default=GOLD / "ingest", metavar="DIR", help=folder)
    add("--misses", action="store_true", help="list incomplete sentences, at most a dozen a file")
    common_options(parser, limit="a sample of N files", seed="seed of the sample and the intervals")


def measure(args: argparse.Namespace) -> Record:
    """Compares all files. The exit status is 1 if a file is unreadable. Raises InputError for a folder without expected
    texts."""
    expected = sorted(p for p in args.data.rglob(f"*{_EXPECTED}") if p.is_file())
    files = [f for e in expected if (f := e.with_name(e.name.removesuffix(_EXPECTED))).is_file()]
    if not files:
        raise InputError(f"{args.data} has no file with its expected text (report.pdf and report.pdf{_EXPECTED}).")
    read = [read_one(file, args.data) for file in progress(shuffled(files, args.limit, args.seed), unit="file")]
    formats: dict[str, list[FileRead]] = {ending: [] for ending in (*READERS, "other")}
    for one in read:
        formats[next((e for e in READERS if one.name.lower().endswith(e)), "other")].append(one)
    weak = [r for r in read if r.in_order < 0.98 * r.words or r.whole < 0.95 * r.sentences]
    failed = [f"{r.name}: {r.problem}" for r in read if r.problem]
    head = header("ingest", {"data": args.data.name, "limit": args.limit, "seed": args.seed})
    return {
        "suite": "ingest",
        **_figures(read, args.seed),
        "formats": {ending: _figures(some, args.seed) for ending, some in formats.items() if some},
        "weak": {r.name: _figures([r], args.seed) for r in weak},
        "missing": {r.name: r.missing[:_MISSES] for r in weak if args.misses},
        "failed": failed,
        "config": head["config"] | {"versions": head["versions"]},
        "status": bool(failed),
    }


def read_one(file: Path, folder: Path) -> FileRead:
    """Compares the parser's text of a file with the expected text."""
    documents, problem = list[SourceDocument](), ""
    try:
        documents = list(read_in_process(file, file.name))
    except SourceError as exc:
        problem = str(exc)
    expected = file.with_name(file.name + _EXPECTED).read_text(encoding="utf-8")
    return compare(str(file.relative_to(folder)), expected, documents, problem)


def _figures(read: Sequence[FileRead], seed: int) -> Record:
    return {"files": len(read)} | figures(measures(read), seed)


def table(result: Record) -> list[str]:
    """Returns a row for each format, then the incomplete files."""
    weak = result["weak"]
    titles = ["files", "words in order", "sentences whole", "extra"]
    rows = {name: _cells(found) for name, found in (result["formats"] | {"all": result}).items()}
    lines = [*block(titles, rows), ""]
    lines += ["files below 98 % of words or 95 % of sentences:"]
    lines += block(titles, {n: _cells(found) for n, found in weak.items()}) if weak else ["none"]
    lines += [f"{name} - {sentence}" for name, missed in result["missing"].items() for sentence in missed]
    return lines


def _cells(found: Record) -> list[str]:
    return [str(found["files"]), *map(percent, found["metrics"].values())]

"""`ingest`: documents into a collection."""

import argparse
import sys

from agent.__main__ import FAILED, OK
from agent.commands.storage import open_indexes
from tools.ingest import Ingester, IngestReport

_SHOWN = 10


def run(args: argparse.Namespace) -> int:
    """Says what was stored and names what could not be read; exit status 1 when something could not."""
    ingester = Ingester(*open_indexes())
    report = ingester.ingest_files(args.paths, args.collection, _progress)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    print(
        f"{report.stored} documents stored ({report.passages} passages), {report.unchanged} unchanged, "
        f"in collection '{args.collection}'."
    )
    for problem in report.problems[:_SHOWN]:
        print(f"not read: {problem}", file=sys.stderr)
    if len(report.problems) > _SHOWN:
        print(f"… and {len(report.problems) - _SHOWN} more.", file=sys.stderr)
    if report.stored + report.unchanged:
        print(f'Ask them: python -m agent ask "…" --collection {args.collection}')
    return FAILED if report.problems else OK


def _progress(report: IngestReport) -> None:
    if sys.stderr.isatty():
        print(f"\r  {report.stored} documents, {report.passages} passages", end="", file=sys.stderr, flush=True)

"""`ingest`: documents into a collection, from files, folders and web pages."""

import argparse
import asyncio
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence

from agent.__main__ import FAILED, OK
from agent.commands.storage import open_indexes
from agent.settings import load_settings
from tools.errors import SourceError
from tools.ingest.columns import FIELDS, Columns
from tools.ingest.ingest import Ingester, IngestReport, find_files, read_all
from tools.passages import SourceDocument

_SHOWN = 10


def run(args: argparse.Namespace) -> int:
    """Says what was stored and names what could not be read; exit status 1 when something could not."""
    addresses = [p for p in args.paths if p.startswith(("http://", "https://"))]
    files = find_files([p for p in args.paths if p not in addresses]) if len(addresses) < len(args.paths) else []
    report = IngestReport()
    ingester = Ingester(*open_indexes())
    tables = read_all(files, report.problems, _columns(args), report.notes.append)
    documents = _both(tables, addresses, report.problems)
    ingester.ingest(documents, args.collection, _progress, report)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    print(
        f"{report.stored} documents stored ({report.passages} passages), {report.unchanged} unchanged, "
        f"in collection '{args.collection}'."
    )
    _show("", report.notes)
    _show("not read: ", report.problems)
    if report.stored + report.unchanged:
        print(f'Ask them: python -m agent ask "…" --collection {args.collection}')
    return FAILED if report.problems else OK


def _show(before: str, said: Sequence[str]) -> None:
    for line in said[:_SHOWN]:
        print(f"{before}{line}", file=sys.stderr)
    if len(said) > _SHOWN:
        print(f"… and {len(said) - _SHOWN} more.", file=sys.stderr)


def _columns(args: argparse.Namespace) -> Columns:
    """The columns that were named, with the command that names the text's where it is not plain."""
    fields = {f: getattr(args, f) or "" for f in FIELDS}
    told = "".join(f" --{f} {shlex.quote(name)}" for f, name in fields.items() if name)
    into = "" if args.collection == "mine" else f" --collection {shlex.quote(args.collection)}"
    hint = f"Type: python -m agent ingest {{file}}{into}{told} --text {{column}}"
    return Columns(tuple(args.text or ()), **fields, hint=hint)


def _both(
    documents: Iterable[SourceDocument], addresses: Sequence[str], problems: list[str]
) -> Iterator[SourceDocument]:
    yield from documents
    if addresses:
        yield from asyncio.run(_read_pages(addresses, problems))


async def _read_pages(addresses: Sequence[str], problems: list[str]) -> list[SourceDocument]:
    """The pages that can be read; what cannot goes into `problems`."""
    from tools.web.domains import DomainLists
    from tools.web.fetch import PageFetcher
    from tools.web.sources import read_source

    fetcher, lists = PageFetcher(), DomainLists.load(load_settings().domains)

    async def read(address: str) -> SourceDocument | None:
        try:
            page = await fetcher.fetch(address)
            return await asyncio.to_thread(read_source, page, lists)
        except SourceError as exc:
            problems.append(str(exc))
            return None

    try:
        return [d for d in await asyncio.gather(*map(read, dict.fromkeys(addresses))) if d is not None]
    finally:
        await fetcher.aclose()


def _progress(report: IngestReport) -> None:
    if sys.stderr.isatty():
        print(f"\r  {report.stored} documents, {report.passages} passages", end="", file=sys.stderr, flush=True)

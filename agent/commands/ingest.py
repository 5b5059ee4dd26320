"""`ingest`: adds files, folders and web pages to a collection."""

import argparse
import asyncio
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from agent.__main__ import FAILED, OK
from agent.runs.bootstrap import open_indexes, open_store, reading_limits
from agent.settings import load_settings
from tools.documents.document import COLUMN_FIELDS, ColumnNames, InputFile, normalized_name
from tools.documents.files import find_files
from tools.documents.ingest import Ingester, IngestReport, read_all
from tools.errors import InputError, SourceError, command
from tools.language.identification import name_of_language
from tools.language.lexicon import count
from tools.passages import SourceDocument
from tools.store.store import READERS_VERSION, SAMPLES, Store

_SHOWN = 10
_EVERY = 10.0  # seconds between lines of progress without a terminal
_NAME_WIDTH = 48
_REPORTED = ("stored", "replaced", "unchanged", "passages", "problems", "notes", "left_out", "languages")


def ingest(args: argparse.Namespace) -> int:
    """Prints what was stored and what could not be read. Returns 1 if something could not."""
    if args.collection == SAMPLES:
        raise InputError(f"the collection '{SAMPLES}' is Steelman's own and stays as it is. Use another name.")
    if args.again == bool(args.paths):
        raise InputError("give files, folders or web pages, or --again alone.")
    addresses = [p for p in args.paths if p.startswith(("http://", "https://"))]
    paths = [p for p in args.paths if p not in addresses] or (_outdated_paths(args.collection) if args.again else [])
    skipped = Counter[str]()
    files = find_files(paths, or_none=args.sync, skipped=skipped) if paths else []
    report, progress = IngestReport(), _IngestProgress()
    _check_report(args.report, files)
    store, search, encoder = open_indexes()
    read = read_all(files, report, progress, _columns(args), reading_limits(load_settings()))
    documents = _both(read, addresses, report.problems)
    try:
        Ingester(store, search, encoder).ingest(documents, args.collection, progress, report)
    finally:
        progress.end()
    _tell(args, report, skipped)
    removed: list[str] = []
    try:
        if args.sync and (removed := _synchronise(args, store, paths, files, report)):
            search.refresh()
    finally:
        if args.report:
            _write_report(Path(args.report), report, skipped, removed)
    if args.sync:
        print(f"{count(len(removed), 'document')} removed: no longer in the files that they were read from.")
    else:
        _tell_kept(args.collection, store, files, report)
    print(outdated_line(store, args.collection), end="")
    return FAILED if report.problems else OK


def _tell(args: argparse.Namespace, report: IngestReport, skipped: Counter[str]) -> None:
    earlier = f", {report.replaced:,} of them in place of earlier texts" if report.replaced else ""
    print(
        f"{count(report.stored, 'document')} stored ({count(report.passages, 'passage')}{earlier}), "
        f"{report.unchanged:,} unchanged, in collection '{args.collection}'."
    )
    if counts := _counts(report.left_out):
        print(f"Left out: {counts}.")
    if counts := _counts(skipped):
        advice = " Name a .json file itself to have it read." if skipped[".json files"] else ""
        print(f"Not looked into: {counts}.{advice}")
    if foreign := _counts(Counter({name_of_language(k): n for k, n in report.languages.items() if k != "en"})):
        print(f"In other languages: {foreign}. English answers leave these out and say so.")
    for note in report.notes[:_SHOWN]:
        print(note)
    for problem in report.problems[:_SHOWN]:
        print(f"not read: {problem}", file=sys.stderr)
    if (more := len(report.problems) - _SHOWN) > 0:
        where = f"see {args.report}" if args.report else "--report FILE lists all"
        print(f"… and {more} more; {where}.", file=sys.stderr)
    if report.stored + report.unchanged:
        print("Ask them:", command('python -m agent ask "…"', collection=args.collection))


def _tell_kept(collection: str, store: Store, files: Sequence[InputFile], report: IngestReport) -> None:
    """Prints stored documents that are no longer in their files."""
    if not store.has_collection(collection):
        return
    read = {f.origin: f.name for f in files if f.origin not in report.broken}
    known = store.known_documents(store.collection(collection)[0])
    unseen = {key: k.origin for key, k in known.items() if k.origin in read and key not in report.seen}
    rows = [origin for key, origin in unseen.items() if key != origin]
    if rows:
        named = normalized_name(read[rows[0]]) if len(set(rows)) == 1 else count(len(set(rows)), "file")
        print(f"Kept, though not in {named} any more: {count(len(rows), 'row')}. --sync removes what is gone.")
    if empty := [normalized_name(read[origin]) for key, origin in unseen.items() if key == origin]:
        named = ", ".join([*empty[:_SHOWN], *(["…"] if len(empty) > _SHOWN else [])])
        print(f"Kept, though their files hold no text any more: {named}. --sync removes what is gone.")


def _counts(counted: Counter[str]) -> str:
    return ", ".join(f"{what} ({count:,})" for what, count in counted.most_common())


def _check_report(file: str | None, files: Sequence[InputFile]) -> None:
    """Raises InputError before reading if the report cannot be written or would replace a document."""
    if file is None:
        return
    if os.path.realpath(file) in {f.origin for f in files}:
        raise InputError(f"{file} is one of the files to be read. Name another file for --report.")
    if not Path(file).absolute().parent.is_dir():
        raise InputError(f"there is no folder for the report {file}. Name a file in a folder that exists.")


def _write_report(file: Path, report: IngestReport, skipped: Counter[str], removed: Sequence[str]) -> None:
    text = {name: getattr(report, name) for name in _REPORTED} | {"not_looked_into": skipped, "removed": list(removed)}
    try:
        file.write_text(json.dumps(text, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    except OSError as exc:
        raise InputError(f"the report cannot be written to {file} ({exc.strerror}). Name another file.") from exc


def _synchronise(
    args: argparse.Namespace, store: Store, paths: Sequence[str], files: Sequence[InputFile], report: IngestReport
) -> list[str]:
    """Deletes documents whose files are gone; returns their ids. A file that could not be read keeps its documents."""
    if not store.has_collection(args.collection):
        return []
    here = {f.origin for f in files}
    stored = store.read_from(args.collection, [normalized_name(os.path.realpath(p)) for p in paths])
    unseen = {key: origin for key, origin in stored.items() if key not in report.seen}
    if kept := sum(origin in report.broken for origin in unseen.values()):
        print(
            f"Kept, since their files could not be read, or not to their end: {count(kept, 'document')}.",
            file=sys.stderr,
        )
    gone = [k for k, origin in unseen.items() if origin not in report.broken and (origin in here or _is_gone(origin))]
    if not gone:
        return []
    away = [p for p in paths if _is_empty(normalized_name(os.path.realpath(p)), here, stored)]
    if away and not sys.stdin.isatty():
        raise InputError(
            f"'{away[0]}' holds no file any more, as a disk that is not connected. Nothing was removed.",
            hint="If its documents are to go, remove them at a terminal, or with "
            f"`{command('python -m agent delete', args.collection)}`.",
        )
    if not (args.yes and not away) and not _agreed(gone, args.collection):
        return []
    store.delete_documents(args.collection, gone)
    return gone


def _is_gone(origin: str) -> bool:
    """Whether no file has this path. Unreadable paths and inexact names count as present."""
    try:
        os.lstat(origin)
    except (FileNotFoundError, NotADirectoryError):
        return "\\" not in origin
    except OSError:
        return False
    return False


def _is_empty(path: str, here: Collection[str], stored: Mapping[str, str]) -> bool:
    """Whether a path has stored documents below it and no file now."""
    below = f"{path.rstrip('/')}/"
    return any(o.startswith(below) for o in stored.values()) and not any(o.startswith(below) for o in here)


def _agreed(gone: Sequence[str], collection: str) -> bool:
    """Asks whether to delete. Raises InputError without a terminal."""
    named = [*gone[:_SHOWN], *(["…"] if len(gone) > _SHOWN else [])]
    what = f"gone from their files since they were stored in '{collection}' ({len(gone)}):"
    if not sys.stdin.isatty():
        raise InputError(f"{what} {', '.join(named)}. To remove them without being asked, give --yes.")
    text = "\n  ".join([what[0].upper() + what[1:], *named])
    return input(f"{text}\nRemove them? [y/N] ").strip().lower() in ("y", "yes")


def _columns(args: argparse.Namespace) -> ColumnNames:
    """Returns the named columns, with a command that names the text column if it is unclear."""
    fields = {f: getattr(args, f) or "" for f in COLUMN_FIELDS}
    into = "" if args.collection == "mine" else args.collection
    hint = f"Type: {command('python -m agent ingest {file}', collection=into, **fields)} --text {{column}}"
    return ColumnNames(tuple(args.text or ()), **fields, hint=hint)


def _both(
    documents: Iterable[SourceDocument], addresses: Sequence[str], problems: list[str]
) -> Iterator[SourceDocument]:
    yield from documents
    if addresses:
        yield from asyncio.run(read_pages(addresses, problems))


async def read_pages(addresses: Sequence[str], problems: list[str]) -> list[SourceDocument]:
    """Returns the readable pages; failures go into `problems`."""
    from tools.web.domains import DomainLists, read_source
    from tools.web.fetch import PageFetcher

    settings = load_settings()
    fetcher, lists = PageFetcher(trust_proxy=settings.trust_proxy), DomainLists.load(settings.domains)

    async def read(address: str) -> SourceDocument | None:
        try:
            page = await fetcher.fetch(address)
            return await read_source(page, lists)
        except SourceError as exc:
            problems.append(str(exc))
            return None

    try:
        return [d for d in await asyncio.gather(*map(read, dict.fromkeys(addresses))) if d is not None]
    finally:
        await fetcher.aclose()


class _IngestProgress:
    """Shows the current file: one changing line on a terminal, else a line every ten seconds."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._last = time.monotonic()
        self._shown = False

    def __call__(self, report: IngestReport) -> None:
        if not self._terminal and time.monotonic() - self._last < _EVERY:
            return
        self._last, self._shown = time.monotonic(), True
        where = f"file {report.begun:,} of {report.files:,}: " if report.files else ""
        line = f"  {where}{count(report.stored, 'document')}, {count(report.passages, 'passage')}"
        if report.reading:
            line += f", at {report.reading[-_NAME_WIDTH:]}"
        if self._terminal:
            print(f"\r{line}\x1b[K", end="", file=sys.stderr, flush=True)
        else:
            print(line.strip(), file=sys.stderr, flush=True)

    def end(self) -> None:
        if self._terminal and self._shown:
            print(file=sys.stderr)


def _outdated(store: Store, collection: str) -> list[str]:
    """Returns the files of documents that an older version has read."""
    stored = store.documents(collection) if collection != SAMPLES and store.has_collection(collection) else []
    return [row["origin"] for row in stored if row["origin"] and row["readers"] < READERS_VERSION]


def outdated_line(store: Store, collection: str) -> str:
    """Returns a line on documents that an older version has read; empty without any."""
    if not (number := len(_outdated(store, collection))):
        return ""
    text = f"{count(number, 'document')} of '{collection}' {'was' if number == 1 else 'were'} read by an older version"
    again = command("python -m agent ingest --again --sync", collection=collection)
    return f"{text}: `{again}` reads again what is still in its place; add the rest again.\n"


def _outdated_paths(collection: str) -> list[str]:
    """Returns those files that still exist. Raises InputError without any."""
    origins = dict.fromkeys(_outdated(open_store()[0], collection))
    paths = [min(origin, os.path.relpath(origin), key=len) for origin in origins if Path(origin).exists()]
    if not paths:
        raise InputError(f"no file that an older version read for '{collection}' is still in its place.")
    return paths

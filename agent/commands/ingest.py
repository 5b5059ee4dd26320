"""`ingest`: adds files, folders and web pages to a collection."""

import argparse
import asyncio
import os
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from functools import partial

from agent.__main__ import FAILED, OK
from agent.runs.bootstrap import open_encoder, open_indexes, reading_limits
from agent.settings import load_settings
from tools.documents.document import COLUMN_FIELDS, ColumnNames, InputFile, normalized_name
from tools.documents.files import find_files
from tools.documents.ingest import Ingester, IngestReport, read_all
from tools.documents.ray_cluster import check_ray, prepare_on, ray_workers
from tools.errors import InputError, SourceError, command
from tools.language.identification import name_of_language
from tools.language.lexicon import count
from tools.models.encoders import Encoder
from tools.passages import SourceDocument
from tools.store.store import SAMPLES, Store
from tools.translation import grouped, mark, tr, translated

_SHOWN = 10
_NAME_WIDTH = 48
_STORED = mark("{documents} stored ({passages}{earlier}), {unchanged} unchanged, in collection '{collection}'.")


def ingest(args: argparse.Namespace) -> int:
    """Prints what was stored and what could not be read. Returns 1 if something could not be read."""
    if args.collection == SAMPLES:
        raise InputError(
            tr("the collection '{name}' is Steelman's own and stays as it is. Use another name.", name=SAMPLES)
        )
    if not args.paths:
        raise InputError(tr("give files, folders or web pages."))
    addresses = [p for p in args.paths if p.startswith(("http://", "https://"))]
    paths = [p for p in args.paths if p not in addresses]
    skipped = Counter[str]()
    files = find_files(paths, or_none=args.sync, skipped=skipped) if paths else []
    if args.ray:
        check_ray(args.ray)
    report = IngestReport()
    store, search, encoder = open_indexes()
    ingester = Ingester(store, search, encoder)
    try:
        if args.ray and files:
            _ingest_on_ray(args, ingester, encoder.name, files, report)
        read = read_all(
            [] if args.ray else files, report, _show_progress, _columns(args), reading_limits(load_settings())
        )
        documents = _both(read, addresses, report.problems)
        ingester.ingest(documents, args.collection, _show_progress, report)
    finally:
        if sys.stderr.isatty():
            print(file=sys.stderr)
    _tell(args, report, skipped)
    if args.sync:
        if removed := _synchronise(args, store, paths, files, report):
            search.refresh()
        text = tr("{documents} removed: no longer in the files that they were read from.")
        print(text.format(documents=count(len(removed), "document")))
    return FAILED if report.problems else OK


def _ingest_on_ray(
    args: argparse.Namespace, ingester: Ingester, encoder: str, files: Sequence[InputFile], report: IngestReport
) -> None:
    known, settings = ingester.known(args.collection), load_settings()
    names = [name for name in type(settings).model_fields if name.startswith(("encoder", "embeddings"))]
    load = partial(_encoder_of_worker, {name: getattr(settings, name) for name in names})
    with ray_workers(args.ray, encoder, load, _columns(args), reading_limits(settings)) as (ray, workers):
        prepared = prepare_on(ray, workers, files, known, report, _show_progress)
        ingester.store(prepared, args.collection, _show_progress, report)


def _encoder_of_worker(of_encoder: Mapping[str, object]) -> Encoder:
    return open_encoder(load_settings(**of_encoder))


def _tell(args: argparse.Namespace, report: IngestReport, skipped: Counter[str]) -> None:
    earlier = tr(", {number} of them in place of earlier texts", number=grouped(report.replaced))
    told = {"documents": count(report.stored, "document"), "passages": count(report.passages, "passage")}
    told |= {"earlier": earlier if report.replaced else "", "unchanged": grouped(report.unchanged)}
    print(tr(_STORED, **told, collection=args.collection))
    if counts := _counts(report.left_out):
        print(tr("Left out: {files}.", files=counts))
    if counts := _counts(skipped):
        advice = f" {tr('Name a .json file itself to have it read.')}" if skipped[".json files"] else ""
        print(tr("Not looked into: {files}.", files=counts) + advice)
    if foreign := _counts(Counter({name_of_language(k): n for k, n in report.languages.items() if k != "en"})):
        print(tr("In other languages: {languages}. English answers leave these out and say so.", languages=foreign))
    for note in report.notes:
        print(note)
    for problem in report.problems:
        print(tr("not read: {problem}", problem=translated(problem)), file=sys.stderr)
    if report.stored + report.unchanged:
        print(tr("Ask them:"), command('python -m agent ask "…"', collection=args.collection))


def _counts(counted: Counter[str]) -> str:
    return ", ".join(f"{what} ({count:,})" for what, count in counted.most_common())


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
        text = tr("Kept, since their files could not be read, or not to their end: {documents}.")
        print(text.format(documents=count(kept, "document")), file=sys.stderr)
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
    """Whether no file has this path. Unreadable paths, and names that are stored with escapes, count as present."""
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
    what = tr("gone from their files since they were stored in '{collection}' ({number}):")
    what = what.format(collection=collection, number=len(gone))
    if not sys.stdin.isatty():
        raise InputError(f"{what} {', '.join(named)}. {tr('To remove them without being asked, give --yes.')}")
    text = "\n  ".join([what[0].upper() + what[1:], *named])
    agreed = input(f"{text}\n{tr('Remove them? [y/N]')} ").strip().lower()
    return agreed in ("y", "yes", tr("y"))


def _columns(args: argparse.Namespace) -> ColumnNames:
    """Returns the named columns, with a command that names the text column if it is unclear."""
    fields = {f: getattr(args, f) or "" for f in COLUMN_FIELDS}
    into = "" if args.collection == "mine" else args.collection
    typed = f"{command('python -m agent ingest {file}', collection=into, **fields)} --text {{column}}"
    return ColumnNames(tuple(args.text or ()), **fields, hint=tr("Type: {command}", command=typed))


def _both(
    documents: Iterable[SourceDocument], addresses: Sequence[str], problems: list[str]
) -> Iterator[SourceDocument]:
    yield from documents
    if addresses:
        yield from asyncio.run(read_pages(addresses, problems))


async def read_pages(addresses: Sequence[str], problems: list[str]) -> list[SourceDocument]:
    """Returns the readable pages; failures go into `problems`."""
    from agent.providers.from_settings import build_fetcher
    from tools.web.domains import DomainLists, read_address

    settings = load_settings()
    lists = DomainLists.load(settings.domains)

    async def read(address: str) -> SourceDocument | None:
        try:
            return await read_address(address, fetcher, lists)
        except SourceError as exc:
            problems.append(str(exc))
            return None

    async with aclosing(build_fetcher(settings)) as fetcher:
        return [d for d in await asyncio.gather(*map(read, dict.fromkeys(addresses))) if d is not None]


def _show_progress(report: IngestReport) -> None:
    if not sys.stderr.isatty():
        return
    numbers = {"number": grouped(report.begun), "all": grouped(report.files)}
    where = f"{tr('file {number} of {all}', **numbers)}: " if report.files else ""
    line = f"  {where}{count(report.stored, 'document')}, {count(report.passages, 'passage')}"
    if report.reading:
        line += tr(", at {file}", file=report.reading[-_NAME_WIDTH:])
    print(f"\r{line}\x1b[K", end="", file=sys.stderr, flush=True)

"""The commands `collections`, `delete`, `rebuild`, `runs` and `doctor`."""

import argparse
import asyncio
import sys
from contextlib import closing

from agent.__main__ import FAILED, OK
from agent.answer.wording import stored_document_facts, strip_control_characters
from agent.runs.bootstrap import open_indexes
from agent.runs.executor import resume_command
from agent.runs.store import RunStore
from agent.settings import Settings, find_env_file, load_settings
from tools.errors import InputError, command
from tools.language.lexicon import count
from tools.store.database import Database
from tools.store.store import SAMPLES, Store
from tools.translation import decimal, tr

_STATE, _PART = 6, 14  # widths of columns of `doctor`


def collections(args: argparse.Namespace) -> int:
    """Prints the collections, or one collection's documents."""
    settings = load_settings()
    store = Store(Database(settings.database))
    if store.changes.unfinished(settings.data_dir / "index"):
        open_indexes()[1].close()
    if args.name:
        for row in store.documents(args.name):
            about = ", ".join(filter(None, [row.title, row.publisher, *stored_document_facts(row)]))
            print(strip_control_characters(f"{row.shown_id} ({row.passages} passages) {about}"))
        return OK
    for c in store.collections():
        print(
            strip_control_characters(
                f"{c.name}: {count(c.documents, 'document')}, {count(c.passages, 'passage')}, "
                + tr("encoder {name}", name=c.encoder)
            )
        )
    print(tr("Kept in {folder}", folder=settings.data_dir))
    return OK


def delete(args: argparse.Namespace) -> int:
    """Deletes a collection or a document, also from the indexes, and prints the number of passages."""
    if args.name == SAMPLES:
        raise InputError(f"the collection '{SAMPLES}' is Steelman's own and stays as it is.")
    store, search, _ = open_indexes()
    removed = store.delete_document(args.name, args.document) if args.document else store.delete_collection(args.name)
    if args.document and not removed:
        raise InputError(
            f"collection '{args.name}' has no document '{args.document}'.",
            hint=f"See `{command('python -m agent collections', args.name)}`.",
        )
    print(tr("{number} passages removed.", number=removed))
    search.refresh()
    return OK


def rebuild(_: argparse.Namespace) -> int:
    """Builds both indexes from the store. The next search finishes an interrupted rebuild."""
    from tqdm import tqdm

    store, search, _encoder = open_indexes()
    with tqdm(unit=" passages", disable=not sys.stderr.isatty()) as bar:
        search.rebuild(lambda _, added: bar.update(added))
    print(tr("Rebuilt from {number} passages.", number=sum(c.passages for c in store.collections())))
    return OK


def runs(args: argparse.Namespace) -> int:
    """Prints the last runs. --delete deletes a run with its web pages."""
    if args.limit < 1:
        raise InputError(f"--limit has to be 1 or more, not {args.limit}.")
    settings = load_settings()
    with closing(Database(settings.database)) as database:
        store = RunStore(database)
        if args.delete:
            run = store.get(args.delete)
            asyncio.run(_delete_run(settings, store, run.id))
            print(tr("Run {id} is deleted, with its answer and the pages that it read.", id=run.id))
            return OK
        shown = store.latest(args.limit)
        for row in shown:
            question = strip_control_characters(row.question)
            print(f"{row.id}  {row.created_at[:16].replace('T', ' ')}  {row.state:<11}  {question}")
        if stopped := [row.id for row in shown if row.abandoned]:
            print(tr("Go on with an interrupted run: {command}", command=resume_command(stopped[0])), file=sys.stderr)
    return OK


async def _delete_run(settings: Settings, store: RunStore, run_id: str) -> None:
    from agent.runs.checkpoints import open_checkpointer
    from agent.runs.service import delete_runs

    async with open_checkpointer(settings) as saver:
        await delete_runs([run_id], store, saver)


def doctor(_: argparse.Namespace) -> int:
    """Runs all checks. Returns 1 if a part that is on fails."""
    from agent.commands.doctor import doctor_checks, run_check

    failed = False
    alone = tr("the environment alone; there is no file .env")
    print(f"{'':<{_STATE}} {tr('settings'):<{_PART}} {find_env_file() or alone}")
    for part in doctor_checks(load_settings()):
        found = run_check(part)
        failed = failed or found.state == "fails"
        took = "" if found.state == "off" else f"  ({decimal(found.seconds)} s)"
        print(f"{found.word:<{_STATE}} {tr(found.name):<{_PART}} {found.detail}{took}", flush=True)
    print(tr("How to turn each on, what it costs and what is sent to whom: docs/providers.md"))
    return FAILED if failed else OK

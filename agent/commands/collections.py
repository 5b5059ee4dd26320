"""`collections`: what is stored."""

import argparse

from agent.__main__ import OK
from agent.answer.render.words import plain
from agent.runs.parts import open_store
from tools.errors import InputError
from tools.ingest.readers import STRUCTURED
from tools.language.counts import count
from tools.shell import command


def run(args: argparse.Namespace) -> int:
    """A line a collection, or a line a document of one collection."""
    if args.from_before and not args.name:
        raise InputError("--from-before lists the documents of one collection. Name it.")
    store, settings = open_store()
    if args.name:
        left = set(store.from_before(args.name)) if args.from_before else None
        for row in store.documents(args.name):
            if left is not None and row["external_id"] not in left:
                continue
            about = ", ".join(filter(None, [row["title"], row["publisher"], row["date"]]))
            print(plain(f"{row['shown_id']} ({row['passages']} passages) {about}"))
        return OK
    for c in store.collections():
        print(plain(f"{c.name}: {count(c.documents, 'document')}, {count(c.passages, 'passage')}, encoder {c.encoder}"))
        if before := store.read_before(c.name, STRUCTURED):
            print(
                f"  {count(before, 'file')} read before pages and sections were kept: ingest again for these. "
                "Of files that are gone: "
                f"`{command('python -m agent collections', c.name, from_before=True)}` lists what was read, "
                f"`{command('python -m agent delete', c.name, from_before=True)}` removes it."
            )
    print(f"Kept in {settings.data_dir}")
    return OK

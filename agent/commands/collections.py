"""`collections`: what is stored."""

import argparse

from agent.__main__ import OK
from agent.answer.words import plain
from agent.runs.parts import open_store
from tools.language.words import count


def run(args: argparse.Namespace) -> int:
    """A line a collection, or a line a document of one collection."""
    store, settings = open_store()
    if args.name:
        for row in store.documents(args.name):
            about = ", ".join(filter(None, [row["title"], row["publisher"], row["date"]]))
            print(plain(f"{row['shown_id']} ({row['passages']} passages) {about}"))
        return OK
    for c in store.collections():
        print(plain(f"{c.name}: {count(c.documents, 'document')}, {count(c.passages, 'passage')}, encoder {c.encoder}"))
    print(f"Kept in {settings.data_dir}")
    return OK

"""`rebuild`: both search indexes again from the store."""

import argparse
import sys

from agent.__main__ import OK
from agent.commands.storage import open_store
from tools.encoder import load_encoder
from tools.hybrid import HybridSearch


def run(args: argparse.Namespace) -> int:
    """Goes on where an earlier rebuild was stopped is not needed: a second call starts over and loses nothing."""
    store, settings = open_store()
    taken: dict[str, int] = {}

    def progress(name: str, count: int) -> None:
        taken[name] = taken.get(name, 0) + count
        if sys.stderr.isatty():
            print(
                "\r  " + ", ".join(f"{n}: {c} passages" for n, c in taken.items()), end="", file=sys.stderr, flush=True
            )

    HybridSearch(store, settings.index_dir, load_encoder(settings.cache_dir)).rebuild(progress)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    print(f"Rebuilt from {sum(c.passages for c in store.collections())} passages.")
    return OK

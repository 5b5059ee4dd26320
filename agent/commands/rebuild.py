"""`rebuild`: both search indexes again from the store."""

import argparse
import sys

from agent.__main__ import OK
from agent.runs.parts import open_indexes


def run(args: argparse.Namespace) -> int:
    """A rebuild that was stopped is finished by whoever searches next; a second call starts over and loses nothing."""
    store, search, _ = open_indexes()
    taken: dict[str, int] = {}

    def progress(name: str, count: int) -> None:
        taken[name] = taken.get(name, 0) + count
        if sys.stderr.isatty():
            print(
                "\r  " + ", ".join(f"{n}: {c} passages" for n, c in taken.items()), end="", file=sys.stderr, flush=True
            )

    search.rebuild(progress)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    print(f"Rebuilt from {sum(c.passages for c in store.collections())} passages.")
    return OK

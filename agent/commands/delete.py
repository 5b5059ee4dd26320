"""`delete`: a collection or one of its documents, with every trace of it in the indexes."""

import argparse

from agent.__main__ import OK
from agent.runs.parts import open_indexes
from tools.errors import InputError
from tools.shell import command
from tools.store.store import SAMPLES


def run(args: argparse.Namespace) -> int:
    """Removes and says how many passages went."""
    if args.name == SAMPLES:
        raise InputError(f"the collection '{SAMPLES}' is Steelman's own and stays as it is.")
    store, search, _ = open_indexes()
    if args.document:
        removed = store.delete_document(args.name, args.document)
        if not removed:
            raise InputError(
                f"collection '{args.name}' has no document '{args.document}'.",
                hint=f"See `{command('python -m agent collections', args.name)}`.",
            )
    else:
        removed = store.delete_collection(args.name)
    print(f"{removed} passages removed.")
    search.refresh()
    return OK

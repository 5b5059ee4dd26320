"""`delete`: a collection or one of its documents, with every trace of it in the indexes."""

import argparse

from agent.__main__ import OK
from agent.commands.storage import open_store
from tools.encoder import load_encoder
from tools.errors import InputError
from tools.hybrid import HybridSearch


def run(args: argparse.Namespace) -> int:
    """Removes and says how many passages went."""
    store, settings = open_store()
    if args.document:
        removed = store.delete_document(args.name, args.document)
        if not removed:
            raise InputError(
                f"collection '{args.name}' has no document '{args.document}'. "
                f"See `python -m agent collections {args.name}`."
            )
    else:
        removed = store.delete_collection(args.name)
    HybridSearch(store, settings.index_dir, load_encoder(settings.cache_dir)).refresh()
    print(f"{removed} passages removed.")
    return OK

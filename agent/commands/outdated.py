"""Documents that an older version's readers made of files, and how they are read again."""

import os
from pathlib import Path

from tools.errors import InputError, command
from tools.language.words import count
from tools.store.documents import READERS_VERSION
from tools.store.store import SAMPLES, Store


def _origins(store: Store, collection: str) -> list[str]:
    """The file of each document that readers of an older version made of one."""
    stored = store.documents(collection) if collection != SAMPLES and store.has_collection(collection) else []
    return [row["origin"] for row in stored if row["origin"] and row["readers"] < READERS_VERSION]


def outdated_line(store: Store, collection: str) -> str:
    """A line: what can be done about documents that an older version has read; empty where there are none."""
    if not (number := len(_origins(store, collection))):
        return ""
    told = f"{count(number, 'document')} of '{collection}' {'was' if number == 1 else 'were'} read by an older version"
    again = command("python -m agent ingest --again --sync", collection=collection)
    return f"{told}: `{again}` reads again what is still in its place; add the rest again.\n"


def outdated_paths(collection: str) -> list[str]:
    """The files of those documents that are still there. Raises InputError where there are none."""
    from agent.runs.parts import open_store

    origins = dict.fromkeys(_origins(open_store()[0], collection))
    paths = [min(origin, os.path.relpath(origin), key=len) for origin in origins if Path(origin).exists()]
    if not paths:
        raise InputError(f"no file that an older version read for '{collection}' is still in its place.")
    return paths

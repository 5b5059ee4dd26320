"""Documents that an older version's readers made of files, and how they are read again."""

import os
import sqlite3
from pathlib import Path

from tools.documents.document import InputFile
from tools.errors import InputError, command
from tools.language.words import count
from tools.store.documents import READERS_VERSION
from tools.store.store import SAMPLES, Store


def outdated_documents(store: Store, collection: str) -> list[sqlite3.Row]:
    """The documents that readers of an older version made of a file, as `Store.documents` lists them."""
    stored = store.documents(collection) if collection != SAMPLES and store.has_collection(collection) else []
    return [row for row in stored if row["origin"] and row["readers"] < READERS_VERSION]


def outdated_line(store: Store, collection: str) -> str:
    """A line: what can be done about documents that an older version has read; empty where there are none."""
    if not (number := len(outdated_documents(store, collection))):
        return ""
    told = f"{count(number, 'document')} of '{collection}' {'was' if number == 1 else 'were'} read by an older version"
    again = command("python -m agent ingest --again", collection=collection)
    return f"{told}: `{again}` reads again what is still in its place; add the rest again.\n"


def outdated_files(store: Store, collection: str) -> list[InputFile]:
    """The files of those documents that are still there. Raises InputError where there are none."""
    names: dict[str, str] = {}
    for row in outdated_documents(store, collection):
        origin, whole = row["origin"], row["external_id"] == row["origin"]
        names[origin] = row["shown_id"] if whole else min(origin, os.path.relpath(origin), key=len)
    found = [InputFile(Path(origin), name, origin) for origin, name in names.items() if Path(origin).exists()]
    if not found:
        raise InputError(f"no file that an older version read for '{collection}' is still in its place.")
    return found

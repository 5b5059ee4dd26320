"""Documents that an older version's readers made of files, and how they are read again."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from tools.documents.document import InputFile
from tools.documents.ingest import IngestReport
from tools.errors import InputError, command
from tools.language.words import count
from tools.store.documents import READERS_VERSION
from tools.store.store import SAMPLES, Store


def outdated_documents(store: Store, collection: str) -> dict[str, str]:
    """The file of each document, by its identity, that readers of an older version made of a file."""
    if collection == SAMPLES or not store.has_collection(collection):
        return {}
    known = store.known_documents(store.collection(collection)[0])
    return {key: k.origin for key, k in known.items() if k.origin and k.readers < READERS_VERSION}


def outdated_line(store: Store, collection: str) -> str:
    """A line: what can be done about documents that an older version has read; empty where there are none."""
    outdated = list(outdated_documents(store, collection).values())
    if not outdated:
        return ""
    again = sum(Path(origin).exists() for origin in outdated)
    told = [f"`{command('python -m agent ingest --again', collection=collection)}` reads {again:,} again"] * (again > 0)
    told += [f"{len(outdated) - again:,} have to be added again"] * (again < len(outdated))
    return f"{count(len(outdated), 'document')} of '{collection}' were read by an older version: {'; '.join(told)}.\n"


def outdated_files(store: Store, collection: str, outdated: Mapping[str, str]) -> list[InputFile]:
    """The files of the documents, under the names that these have. Raises InputError where there are none."""
    files = [origin for origin in dict.fromkeys(outdated.values()) if Path(origin).exists()]
    if not files:
        raise InputError(f"no file of '{collection}' has to be read again.")
    names = {row["external_id"]: row["shown_id"] for row in store.documents(collection)}
    return [
        InputFile(Path(origin), names.get(origin) or min(origin, os.path.relpath(origin), key=len), origin)
        for origin in files
    ]


def misread_documents(outdated: Mapping[str, str], files: Sequence[InputFile], report: IngestReport) -> list[str]:
    """The documents that an older version made of these files, and this one does not."""
    read = {file.origin for file in files} - report.broken
    return [key for key, origin in outdated.items() if origin in read and key not in report.seen]

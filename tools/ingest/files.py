"""Finds the files under paths that people name: each once, however it is named, without what nobody means."""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.errors import InputError
from tools.ingest.documents import printable
from tools.ingest.readers import IN_FOLDERS, READERS

_NOT_MEANT = frozenset({"node_modules", "__pycache__", "site-packages", "venv"})


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file that can be read: where it is, the name it is shown by, and its whole path, by which it is known."""

    path: Path
    name: str
    origin: str


def find_files(
    paths: Sequence[str], *, everything: bool = False, or_none: bool = False, skipped: Counter[str] | None = None
) -> list[FoundFile]:
    """Every readable file under the paths, in a stable order; one that is named several ways once.

    Inside a folder hidden files and folders, virtual environments and caches are left out unless `everything`; these
    and the files that no reader reads are counted in `skipped`. Raises InputError for a path that does not exist, or
    when nothing that can be read was found, unless `or_none`.
    """
    counted = Counter[str]() if skipped is None else skipped
    found: dict[str, FoundFile] = {}
    for given in paths:
        path = Path(given)
        if not path.exists():
            raise InputError(f"there is no file or folder '{given}'.")
        for file in [path] if path.is_file() else _inside(path, everything, counted):
            origin = printable(os.path.realpath(file))
            found.setdefault(origin, FoundFile(file, os.path.normpath(file), origin))
    if not found and not or_none:
        more = f" Not looked into: {', '.join(f'{what} ({n})' for what, n in counted.items())}." if counted else ""
        raise InputError(
            f"nothing to read in {', '.join(paths)}. Readable are files ending in {', '.join(READERS)}.{more}"
        )
    return list(found.values())


def _inside(folder: Path, everything: bool, skipped: Counter[str]) -> Iterator[Path]:
    def unopened(_: OSError) -> None:
        skipped["folders that cannot be opened"] += 1

    for here, folders, files in os.walk(folder, onerror=unopened):
        folders.sort()
        if not everything:
            for name in [f for f in folders if f in _NOT_MEANT or f.startswith(".")]:
                folders.remove(name)
                skipped["folders that are hidden or hold programs"] += 1
        for name in sorted(files):
            if name.startswith(".") and not everything:
                skipped["hidden files"] += 1
            elif Path(name).suffix.lower() not in IN_FOLDERS:
                skipped["files of other kinds"] += 1
            elif (path := Path(here, name)).is_file():
                yield path

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

    Inside a folder hidden files and folders, virtual environments and caches are left out unless `everything`, and
    folders that are links always, since they may lead in a circle; these and the files that no reader reads are counted
    in `skipped`, each once. Raises InputError for a path that does not exist, or
    when nothing that can be read was found, unless `or_none`.
    """
    left = _Skipped(Counter[str]() if skipped is None else skipped)
    found: dict[str, FoundFile] = {}
    for given in paths:
        path = Path(given)
        if not path.exists():
            raise InputError(f"there is no file or folder '{given}'.")
        for file in [path] if path.is_file() else _inside(path, everything, left):
            origin = printable(os.path.realpath(file))
            found.setdefault(origin, FoundFile(file, os.path.normpath(file), origin))
    if not found and not or_none:
        counts = ", ".join(f"{what} ({n})" for what, n in left.counts.items())
        more = f" Not looked into: {counts}." if counts else ""
        raise InputError(
            f"nothing to read in {', '.join(paths)}. Readable are files ending in {', '.join(READERS)}.{more}"
        )
    return list(found.values())


class _Skipped:
    """Counts what is left out, each path once, however often and by whatever names its folder is walked."""

    def __init__(self, counts: Counter[str]) -> None:
        self.counts = counts
        self._seen: set[str] = set()

    def add(self, what: str, folder: str, name: str) -> None:
        path = os.path.join(os.path.realpath(folder), name)
        if path not in self._seen:
            self._seen.add(path)
            self.counts[what] += 1


def _inside(folder: Path, everything: bool, skipped: _Skipped) -> Iterator[Path]:
    def unopened(exc: OSError) -> None:
        skipped.add("folders that cannot be opened", str(exc.filename), "")

    for here, folders, files in os.walk(folder, onerror=unopened):
        folders.sort()
        for name in list(folders):
            if not everything and (name in _NOT_MEANT or name.startswith(".")):
                folders.remove(name)
                skipped.add("folders that are hidden or hold programs", here, name)
            elif Path(here, name).is_symlink():
                folders.remove(name)
                skipped.add("linked folders", here, name)
        for name in sorted(files):
            if name.startswith(".") and not everything:
                skipped.add("hidden files", here, name)
            elif Path(name).suffix.lower() not in IN_FOLDERS:
                skipped.add("files of other kinds", here, name)
            elif (path := Path(here, name)).is_file():
                yield path

"""Finds the files under paths that people name: each once, however it is named, without what nobody means."""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from tools.documents.document import InputFile, printable
from tools.documents.readers import IN_FOLDERS, READERS
from tools.errors import InputError

HIDDEN = "hidden files", "folders that are hidden or hold programs"
"""What is left out of a folder, and read where everything is wanted."""
_NOT_MEANT = frozenset({"node_modules", "__pycache__", "site-packages", "venv"})


def find_files(
    paths: Sequence[str], *, everything: bool = False, or_none: bool = False, skipped: Counter[str] | None = None
) -> list[InputFile]:
    """Every readable file under the paths, in a stable order; one that is named several ways once.

    Inside a folder hidden files and folders, virtual environments and caches are left out unless `everything`, and
    folders that are links always, since they may lead in a circle; these and the files that no reader reads are counted
    in `skipped`, each once. Raises InputError for a path that does not exist, or
    when nothing that can be read was found, unless `or_none`.
    """
    left: dict[str, str] = {}  # what each path is that is left out, by whatever name its folder is walked
    found: dict[str, InputFile] = {}
    for given in paths:
        path = Path(given)
        if not path.exists():
            raise InputError(f"there is no file or folder '{given}'.")
        for file in [path] if path.is_file() else _inside(path, everything, left):
            origin = printable(os.path.realpath(file))
            found.setdefault(origin, InputFile(file, os.path.normpath(file), origin))
    counted = Counter(left.values())
    if skipped is not None:
        skipped.update(counted)
    if not found and not or_none:
        counts = ", ".join(f"{what} ({n})" for what, n in counted.items())
        more = f" Not looked into: {counts}." if counts else ""
        raise InputError(
            f"nothing to read in {', '.join(paths)}. Readable are files ending in {', '.join(READERS)}.{more}"
        )
    return list(found.values())


def _inside(folder: Path, everything: bool, skipped: dict[str, str]) -> Iterator[Path]:
    def left_out(what: str, folder: str, name: str = "") -> None:
        skipped[os.path.join(os.path.realpath(folder), name)] = what

    for here, folders, files in os.walk(
        folder, onerror=lambda exc: left_out("folders that cannot be opened", str(exc.filename))
    ):
        folders.sort()
        for name in list(folders):
            if not everything and (name in _NOT_MEANT or name.startswith(".")):
                folders.remove(name)
                left_out(HIDDEN[1], here, name)
            elif Path(here, name).is_symlink():
                folders.remove(name)
                left_out("linked folders", here, name)
        for name in sorted(files):
            if name.startswith(".") and not everything:
                left_out(HIDDEN[0], here, name)
            elif Path(name).suffix.lower() not in IN_FOLDERS:
                ending = Path(name).suffix.lower()
                left_out(f"{ending} files" if ending else "files without an ending", here, name)
            elif (path := Path(here, name)).is_file():
                yield path

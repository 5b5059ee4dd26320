"""Finds the files to read under the paths that a user names."""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from tools.documents.document import InputFile, normalized_name
from tools.documents.readers import FOLDER_ENDINGS, READERS
from tools.errors import InputError

_PROGRAM_FOLDERS = frozenset({"node_modules", "__pycache__", "site-packages", "venv"})


def find_files(paths: Sequence[str], *, or_none: bool = False, skipped: Counter[str] | None = None) -> list[InputFile]:
    """Returns every readable file under the paths once, in a stable order. Skips hidden files, hidden folders, virtual
    environments and caches, unless a path names them. Skips linked folders, because they may form a cycle. skipped:
    receives counts of the skipped files. Raises InputError for a missing path. Raises InputError if no readable file is
    found, unless `or_none` is set."""
    skipped = Counter() if skipped is None else skipped
    found: dict[str, InputFile] = {}
    for given in paths:
        path = Path(given)
        if not path.exists():
            raise InputError(f"there is no file or folder '{given}'.")
        for file in [path] if path.is_file() else _walk_folder(path, skipped):
            origin = normalized_name(os.path.realpath(file))
            found.setdefault(origin, InputFile(file, os.path.normpath(file), origin))
    if not found and not or_none:
        counts = ", ".join(f"{what} ({n})" for what, n in skipped.items())
        hint = f"Skipped: {counts}." if counts else ""
        raise InputError(
            f"no readable file in {', '.join(paths)}. Readable endings: {', '.join(READERS)}. {hint}".rstrip()
        )
    return list(found.values())


def _walk_folder(folder: Path, skipped: Counter[str]) -> Iterator[Path]:
    unopened = "folders that cannot be opened"
    for here, folders, files in os.walk(folder, onerror=lambda _: skipped.update([unopened])):
        folders.sort()
        for name in list(folders):
            if name in _PROGRAM_FOLDERS or name.startswith("."):
                folders.remove(name)
                skipped["folders that are hidden or hold programs"] += 1
            elif Path(here, name).is_symlink():
                folders.remove(name)
                skipped["linked folders"] += 1
        for name in sorted(files):
            if name.startswith("."):
                skipped["hidden files"] += 1
            elif Path(name).suffix.lower() not in FOLDER_ENDINGS:
                ending = Path(name).suffix.lower()
                skipped[f"{ending} files" if ending else "files without an ending"] += 1
            elif (path := Path(here, name)).is_file():
                yield path

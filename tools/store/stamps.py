"""The stamp of an index in files: which making of it these are, and that it was made to its end."""

import shutil
from pathlib import Path

from tools.disk import disk_errors

STAMP = "STAMP"


def read_stamp(folder: Path, main_file: Path) -> str | None:
    """The stamp of an index, or None when it was never made or has lost its main file."""
    with disk_errors(folder):
        path = folder / STAMP
        if not path.exists() or not main_file.exists():
            return None
        return path.read_text(encoding="utf-8", errors="replace")  # a damaged one is another stamp than the right one


def write_stamp(folder: Path, stamp: str) -> None:
    """Written last, so that an index with a stamp is a whole one."""
    with disk_errors(folder):
        (folder / STAMP).write_text(stamp)


def empty(folder: Path) -> None:
    """An empty folder in the place of whatever was there."""
    with disk_errors(folder):
        if folder.exists():
            shutil.rmtree(folder)
        folder.mkdir(parents=True)

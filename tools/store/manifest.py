"""What an index's files were when they were last written: their sizes, times and sums, and what of the store they hold.

A file that is lost, cut off or changed is noticed by a glance at the folder. Chroma writes a line into its SQLite file
whenever it opens it; that file's content is compared, without the pages of that table.
"""

import json
import os
import sqlite3
import struct
import zlib
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tools.disk import disk_errors, sync_folder

_FILE = "MANIFEST"
_OPENED = "chroma.sqlite3"
_LENGTHS, _VECTORS, _HEADER = "length.bin", "data_level0.bin", "header.bin"
"""Files of Chroma's graph. The first it writes again when it reads, with other bytes, and needs no more than that it is
there; the second too, as long as the third says that no vector is in it and all are still in SQLite."""
_COUNT = struct.Struct("<iQQQ")  # a header's beginning: version, offset, room for, and number of vectors
_OPENINGS = "acquire_write"
"""The table that grows with every opening."""
_MOST_COMPARED = 32 << 20  # bytes of a file that changes at each opening; of a larger one only the size is compared
_BLOCK = 1 << 20
_WITHOUT = (".lock", "-journal", "-wal", "-shm")  # come and go


@dataclass(frozen=True, slots=True)
class Manifest:
    """stamp, seq: the index's stamp and how far it had applied the journal. passages: how many the store had then, -1
    where the index was behind. files: size, time of change (ns) and CRC-32 of each, by its path in the folder."""

    stamp: str
    seq: int
    passages: int
    files: dict[str, tuple[int, int, int]] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path) -> "Manifest | None":
        """None where there is none, or none that can be read."""
        try:
            known: dict[str, Any] = json.loads((folder / _FILE).read_text())
            return cls(**{**known, "files": {name: tuple(was) for name, was in known["files"].items()}})
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return None

    @classmethod
    def write(cls, folder: Path, stamp: str, seq: int, passages: int) -> "Manifest":
        """Vouches for the files as they are now; those that changed since the last time reach the disk first."""
        before = known.files if (known := cls.read(folder)) else {}
        with disk_errors(folder):
            _forget_openings(folder)
            files = {}
            for file in _files(folder):
                now, was = file.stat(), before.get(name := file.relative_to(folder).as_posix())
                if was and was[:2] == (now.st_size, now.st_mtime_ns) and file.name != _OPENED:
                    files[name] = was
                else:
                    files[name] = (now.st_size, now.st_mtime_ns, _sum(file, sync=True))
            written = cls(stamp, seq, passages, files)
            fresh = folder / f"{_FILE}.new"
            with fresh.open("w") as out:
                json.dump(asdict(written), out)
                out.flush()
                os.fsync(out.fileno())
            fresh.replace(folder / _FILE)
            sync_folder(folder)
        return written

    def changed(self, folder: Path, *, opening: bool) -> str:
        """The first file that is not what it was, in words; empty where all are. opening: also what changes whenever it
        is opened, so long as this process has not opened it."""
        for name, (size, changed_at, known_sum) in self.files.items():
            file = folder / name
            if file.name == _OPENED and not opening:
                continue
            try:
                now = file.stat()
                if now.st_size == size and now.st_mtime_ns == changed_at:
                    continue
                if now.st_size != size:
                    return f"{name} has {now.st_size} bytes instead of {size}"
                if not _is_scratch(file) and _sum(file) != known_sum:
                    return f"{name} is not as it was written"
            except OSError as exc:
                return f"{name} is missing" if isinstance(exc, FileNotFoundError) else f"{name}: {exc.strerror}"
        return ""


def places_in(folder: Path) -> int | None:
    """The vectors that a graph of Chroma has room taken up for, in its files in the folder: those that were removed
    since are among them. None where that cannot be read, as for a graph that was not written yet."""
    with suppress(OSError, struct.error):
        return int(_COUNT.unpack_from((folder / _HEADER).read_bytes())[3])
    return None


def _is_scratch(file: Path) -> bool:
    """Whether a file's bytes say nothing as long as their number is right."""
    if file.name != _VECTORS:
        return file.name == _LENGTHS
    return places_in(file.parent) == 0


def _files(folder: Path) -> list[Path]:
    found = (f for f in sorted(folder.rglob("*")) if f.is_file() and not f.name.endswith(_WITHOUT))
    return [f for f in found if f.name not in (_FILE, f"{_FILE}.new")]


def _sum(file: Path, *, sync: bool = False) -> int:
    """CRC-32 of a file; 0 of one that is too large to be compared at every opening."""
    skipped: set[int] = set()
    with file.open("r+b" if sync else "rb") as data:
        if sync:
            os.fsync(data.fileno())
        if file.name == _OPENED:
            if file.stat().st_size > _MOST_COMPARED:
                return 0
            size, skipped = _pages_of_openings(file)
        found, at = 0, 0
        while block := data.read(size if skipped else _BLOCK):
            found, at = (found if at in skipped else zlib.crc32(block, found)), at + 1
    return found


def _pages_of_openings(file: Path) -> tuple[int, set[int]]:
    """The size of SQLite's pages, and which of them, from 0, change when Chroma opens the file: the first, with the
    count of changes, and the table's own as long as it is small."""
    try:
        with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as db:
            [size] = db.execute("PRAGMA page_size").fetchone()
            row = db.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (_OPENINGS,)).fetchone()
    except (sqlite3.Error, ValueError):  # damaged, or names that are no text
        return _BLOCK, set()
    return int(size), {0, row[0] - 1} if row else {0}


def _forget_openings(folder: Path) -> None:
    """Keeps the table of openings in one page; where that fails the index is merely looked into sooner."""
    for file in folder.rglob(_OPENED):
        with suppress(sqlite3.Error, ValueError), closing(sqlite3.connect(file, timeout=5)) as db, db:
            if db.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (_OPENINGS,)).fetchone():
                db.execute(f"DELETE FROM {_OPENINGS}")

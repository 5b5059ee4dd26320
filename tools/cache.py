"""A cache on disk of things that cost time and depend only on their inputs: vectors, judged pairs, pages.

It may be deleted at any time. Keys name the content and the version of what computed the value.
"""

import contextlib
import hashlib
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

_LARGEST = 400_000  # rows; the oldest go first, when the cache is next opened


class VectorCache:
    """Rows of numbers by content. A locked cache file is never a reason to fail: it computes instead.

    Neither is a damaged one, which is thrown away and begun again.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    def rows(
        self, space: str, keys: Sequence[str], compute: Callable[[list[int]], NDArray[np.float32]]
    ) -> NDArray[np.float32]:
        """A row for each key, of shape (n, width); `compute` is given the indices of those not cached."""
        names = [_name(space, key) for key in keys]
        known = self._load(names)
        missing = list({name: i for i, name in enumerate(names) if name not in known}.values())
        if missing:
            fresh = compute(missing).astype(np.float32).reshape(len(missing), -1)
            self._save({names[i]: row for i, row in zip(missing, fresh, strict=True)})
            known |= {names[i]: row for i, row in zip(missing, fresh, strict=True)}
        return np.stack([known[name] for name in names]) if names else np.zeros((0, 0), np.float32)

    def _load(self, names: Sequence[bytes]) -> dict[bytes, NDArray[np.float32]]:
        found: dict[bytes, NDArray[np.float32]] = {}
        with self._lock:
            try:
                db = self._open()
                for start in range(0, len(names), 500):
                    part = names[start : start + 500]
                    marks = ",".join("?" * len(part))
                    for key, value in db.execute(f"SELECT key, value FROM rows WHERE key IN ({marks})", part):
                        found[key] = np.frombuffer(value, np.float32)
            except (sqlite3.Error, OSError) as exc:
                self._give_up(exc)
        return found

    def _save(self, rows: dict[bytes, NDArray[np.float32]]) -> None:
        now = int(time.time())
        with self._lock:
            try:
                db = self._open()
                values = [(k, v.tobytes(), now) for k, v in rows.items()]
                db.executemany("INSERT OR REPLACE INTO rows VALUES (?, ?, ?)", values)
                db.commit()
            except (sqlite3.Error, OSError) as exc:
                self._give_up(exc)

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(self._path, timeout=0.5, check_same_thread=False)
            _prepare(self._connection)
        return self._connection

    def _give_up(self, exc: sqlite3.Error | OSError) -> None:
        """Leaves the cache for this time; the next use opens it again, without the file if that is damaged."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if getattr(exc, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
            for ending in ("", "-wal", "-shm"):
                with contextlib.suppress(OSError):
                    Path(f"{self._path}{ending}").unlink(missing_ok=True)


def _prepare(db: sqlite3.Connection) -> None:
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = OFF")
    db.execute(
        "CREATE TABLE IF NOT EXISTS rows"
        " (key BLOB PRIMARY KEY, value BLOB NOT NULL, made INTEGER NOT NULL) WITHOUT ROWID"
    )
    # Counting along a narrow index takes milliseconds; along the rows it would read the whole file.
    db.execute("CREATE INDEX IF NOT EXISTS rows_by_age ON rows (made)")
    extra = db.execute("SELECT COUNT(*) FROM rows").fetchone()[0] - _LARGEST
    if extra > 0:
        db.execute("DELETE FROM rows WHERE key IN (SELECT key FROM rows ORDER BY made LIMIT ?)", (extra,))
        db.commit()


def _name(space: str, key: str) -> bytes:
    return hashlib.blake2b(f"{space}\x1f{key}".encode("utf-8", "surrogatepass"), digest_size=16).digest()

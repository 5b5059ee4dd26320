"""Disk caches of computed or fetched values: vectors, judges' scores, search results, pages.

The caches may be deleted at any time. A key contains the content, and the version of the code or model that computed
the value.
"""

import contextlib
import hashlib
import json
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tools.budget import batches

_A_DAY = 86_400.0  # seconds
_LARGEST = 400_000  # rows; opening the cache deletes the oldest rows beyond this number


class CacheFile:
    """Values by key in one SQLite file. A locked file acts as an empty cache. A damaged file is recreated."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    def load(self, names: Sequence[bytes], since: float = 0.0) -> dict[bytes, bytes]:
        """The values of these keys that were saved at or after `since` (seconds since the epoch)."""
        found: dict[bytes, bytes] = {}
        with self._lock:
            try:
                db = self._open()
                for part in batches(names, 500):
                    query = f"SELECT key, value FROM rows WHERE key IN ({','.join('?' * len(part))}) AND made >= ?"
                    found |= dict(db.execute(query, (*part, int(since))))
            except (sqlite3.Error, OSError) as exc:
                self._give_up(exc)
        return found

    def save(self, values: dict[bytes, bytes], since: float = 0.0) -> None:
        """Saves the values, and deletes those saved before `since`."""
        now = int(time.time())
        with self._lock:
            try:
                db = self._open()
                db.executemany("INSERT OR REPLACE INTO rows VALUES (?, ?, ?)", [(k, v, now) for k, v in values.items()])
                db.execute("DELETE FROM rows WHERE made < ?", (int(since),))
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
        """Closes the file until the next use, and deletes it if it is damaged."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if getattr(exc, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
            for ending in ("", "-wal", "-shm"):
                with contextlib.suppress(OSError):
                    Path(f"{self._path}{ending}").unlink(missing_ok=True)


class VectorCache(CacheFile):
    """Rows of numbers by content."""

    def rows(
        self, space: str, keys: Sequence[str], compute: Callable[[list[int]], NDArray[np.float32]]
    ) -> NDArray[np.float32]:
        """A row for each key, shape (n, width). `compute` gets the indices of the missing keys."""
        known = self.known(space, keys)
        missing = list({key: i for i, key in enumerate(keys) if key not in known}.values())
        if missing:
            fresh = compute(missing).astype(np.float32).reshape(len(missing), -1)
            computed = {keys[i]: row for i, row in zip(missing, fresh, strict=True)}
            self.keep(space, computed)
            known |= computed
        return np.stack([known[key] for key in keys]) if keys else np.zeros((0, 0), np.float32)

    def known(self, space: str, keys: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        """The cached rows of these keys."""
        names = {key: _name(space, key) for key in keys}
        found = self.load(list(names.values()))
        return {key: np.frombuffer(found[name], np.float32) for key, name in names.items() if name in found}

    def keep(self, space: str, rows: dict[str, NDArray[np.float32]]) -> None:
        if rows:
            self.save({_name(space, key): np.asarray(row, np.float32).tobytes() for key, row in rows.items()})


class TextCache(CacheFile):
    """JSON values by key, kept for a day at most: search results and pages."""

    def get(self, space: str, key: str, seconds: float) -> Any:
        """The value saved within the last `seconds`, or None."""
        name = _name(space, key)
        found = self.load([name], since=time.time() - seconds).get(name)
        return None if found is None else json.loads(found)

    def put(self, space: str, key: str, value: Any) -> None:
        self.save({_name(space, key): json.dumps(value).encode()}, since=time.time() - _A_DAY)


def _prepare(db: sqlite3.Connection) -> None:
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = OFF")
    db.execute(
        "CREATE TABLE IF NOT EXISTS rows"
        " (key BLOB PRIMARY KEY, value BLOB NOT NULL, made INTEGER NOT NULL) WITHOUT ROWID"
    )
    # Counting over this narrow index takes milliseconds. Counting over the rows would read the whole file.
    db.execute("CREATE INDEX IF NOT EXISTS rows_by_age ON rows (made)")
    extra = db.execute("SELECT COUNT(*) FROM rows").fetchone()[0] - _LARGEST
    if extra > 0:
        db.execute("DELETE FROM rows WHERE key IN (SELECT key FROM rows ORDER BY made LIMIT ?)", (extra,))
        db.commit()


def _name(space: str, key: str) -> bytes:
    return hashlib.blake2b(f"{space}\x1f{key}".encode("utf-8", "surrogatepass"), digest_size=16).digest()

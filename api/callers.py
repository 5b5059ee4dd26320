"""Callers with their bearer keys and their runs.

The database stores SHA-256 digests of keys. A long random key needs no slow hash, unlike a password. Revoked keys stay
in the table: once a key was made, the server refuses calls without a key.
"""

import hashlib
import hmac
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from agent.runs.store import COLUMNS_WITHOUT_ANSWER, RunRow, run_row, utc_now
from tools.errors import InputError
from tools.store.database import Database

_OF_KEY = "(:key = '' OR id IN (SELECT run_id FROM api_runs WHERE key_id = :key))"
_LISTED = f"""
    SELECT {COLUMNS_WITHOUT_ANSWER} FROM runs
    WHERE {_OF_KEY} AND person = '' AND (:status IS NULL OR status = :status) AND (:thread IS NULL OR thread = :thread)
        AND (NOT :answered OR json_extract(options, '$.writing') IS NOT 0)
        AND (:at IS NULL OR (created_at, id) < (:at, :id))
    ORDER BY created_at DESC, id DESC LIMIT :limit
"""


Caller = str
"""The id of the caller's key. It is empty for a caller without a key."""


def caller_of(request: Request) -> Caller:
    """Returns the caller that the guard identified."""
    return str(request.scope["state"]["caller"])


TheCaller = Annotated[Caller, Depends(caller_of)]


class CallerRuns:
    """The table of runs by key. A caller without a key sees all runs, except runs of people who log in to the page."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def record(self, run_id: str, key_id: str, idempotency_key: str | None) -> bool:
        """Returns False if another run of this key has the idempotency key already."""
        with self._db.write() as db:
            query = "INSERT INTO api_runs VALUES (?, ?, ?) ON CONFLICT (key_id, idempotency_key) DO NOTHING"
            return db.execute(query, (run_id, key_id, idempotency_key)).rowcount == 1

    def started_with(self, key_id: str, idempotency_key: str) -> str | None:
        """Returns the id of the run that the caller with the API key `key_id` started under this idempotency key."""
        query = "SELECT run_id FROM api_runs WHERE key_id = ? AND idempotency_key = ?"
        return next((str(row["run_id"]) for row in self._db.rows(query, (key_id, idempotency_key))), None)

    def owns(self, run_id: str, key_id: str) -> bool:
        return bool(self._db.rows("SELECT 1 FROM api_runs WHERE run_id = ? AND key_id = ?", (run_id, key_id)))

    def listed(
        self, key_id: str, limit: int, after: str | None, status: str | None, thread: str | None, answered: bool = False
    ) -> tuple[Sequence[RunRow], str | None]:
        """Returns a page of runs without their answers, newest first, and the cursor of the next page (time and id of
        the last row). `after`: a cursor. `answered`: only runs that write an answer."""
        made, _, last = (after or "").rpartition("Z-")
        asked = {"key": key_id, "status": status, "thread": thread, "answered": answered}
        place = {"limit": limit + 1, "at": f"{made}+00:00" if after else None, "id": last}
        rows = [run_row(r) for r in self._db.rows(_LISTED, asked | place)]
        page, more = rows[:limit], len(rows) > limit
        return page, f"{page[-1].created_at.removesuffix('+00:00')}Z-{page[-1].id}" if more else None

    def running(self) -> set[str]:
        """Returns the ids of the API's runs with the status `running`."""
        query = "SELECT a.run_id FROM api_runs a JOIN runs r ON r.id = a.run_id WHERE r.status = 'running'"
        return {str(r["run_id"]) for r in self._db.rows(query)}


_PREFIX = "sk-steelman-"
_LONGEST_NAME = 64


@dataclass(frozen=True, slots=True)
class Key:
    """A key without its text. Times are ISO, UTC."""

    id: str
    name: str
    digest: bytes
    created_at: str
    revoked_at: str | None


class Keys:
    def __init__(self, database: Database) -> None:
        self._db = database

    def make(self, name: str) -> tuple[Key, str]:
        """Makes a key. Returns the key and its text, which is not stored. Raises InputError for an invalid name."""
        name = name.strip()
        if not name or len(name) > _LONGEST_NAME or not name.isprintable():
            raise InputError(f"a key's name has 1 to {_LONGEST_NAME} printable characters. Name its user.")
        text = _PREFIX + secrets.token_urlsafe(32)
        key = Key(secrets.token_hex(4), name, hashlib.sha256(text.encode()).digest(), utc_now(), None)
        with self._db.write() as db:
            if db.execute("SELECT 1 FROM api_keys WHERE name = ? AND revoked_at IS NULL", (name,)).fetchone():
                raise InputError(f"there is already a key '{name}'. Use another name, or revoke that key first.")
            db.execute("INSERT INTO api_keys VALUES (?, ?, ?, ?, NULL)", (key.id, name, key.digest, key.created_at))
        return key, text

    def all(self) -> list[Key]:
        """Returns all keys, including revoked keys, oldest first."""
        return [Key(**dict(r)) for r in self._db.rows("SELECT * FROM api_keys ORDER BY created_at, rowid")]

    def caller(self, header: str) -> Caller | None:
        """Returns the caller of an Authorization header, or None without a valid key. Takes the same time for every
        key."""
        scheme, _, text = header.partition(" ")
        digest = hashlib.sha256(text.strip(" ").encode("latin-1")).digest()
        matching = [k for k in self.all() if hmac.compare_digest(k.digest, digest) and k.revoked_at is None]
        return matching[0].id if matching and scheme.lower() == "bearer" else None

    def revoke(self, which: str) -> Key:
        """Revokes the key with this id, or the valid key with this name. Raises InputError."""
        keys = self.all()
        found = [k for k in keys if k.id == which] or [k for k in keys if k.name == which and k.revoked_at is None]
        if not found:
            raise InputError(f"there is no key '{which}'.", hint="List them: `python -m api keys list`.")
        with self._db.write() as db:
            query = "UPDATE api_keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL"
            db.execute(query, (utc_now(), found[0].id))
        return next(k for k in self.all() if k.id == found[0].id)

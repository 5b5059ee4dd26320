"""Bearer keys: made and revoked on this machine, kept as digests.

A key is random and long, so its SHA-256 digest gives nothing away: a slow hash would only protect what somebody thought
of, as passwords are. Rows are never removed, since that a key was ever made is what locks the server.
"""

import hashlib
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime

from tools.errors import InputError
from tools.store.database import Database

_PREFIX = "sk-steelman-"
_LONGEST_NAME = 64


@dataclass(frozen=True, slots=True)
class Key:
    """What is known of a key; times are ISO, UTC."""

    id: str
    name: str
    digest: bytes
    created_at: str
    revoked_at: str | None


class Keys:
    """The table of keys."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def make(self, name: str) -> tuple[Key, str]:
        """A new key, and its text, which nobody can find out again. Raises InputError for a name that is no good."""
        name = name.strip()
        if not name or len(name) > _LONGEST_NAME or not name.isprintable():
            raise InputError(f"a key's name has 1 to {_LONGEST_NAME} letters, digits and signs. Say who will use it.")
        text = _PREFIX + secrets.token_urlsafe(32)
        key = Key(secrets.token_hex(4), name, digest_of(text.encode()), _now(), None)
        with self._db.write() as db:
            if db.execute("SELECT 1 FROM api_keys WHERE name = ? AND revoked_at IS NULL", (name,)).fetchone():
                raise InputError(f"there is a key '{name}' already. Take another name, or revoke that one first.")
            db.execute("INSERT INTO api_keys VALUES (?, ?, ?, ?, NULL)", (key.id, name, key.digest, key.created_at))
        return key, text

    def all(self) -> list[Key]:
        """Every key that was ever made, oldest first."""
        with self._db.read() as db:
            return [Key(**dict(row)) for row in db.execute("SELECT * FROM api_keys ORDER BY created_at, rowid")]

    def revoke(self, which: str) -> Key:
        """Ends the key of this id, or else the one of this name that is in force. Raises InputError."""
        found = [k for k in self.all() if k.id == which] or [
            k for k in self.all() if k.name == which and k.revoked_at is None
        ]
        if not found:
            raise InputError(f"there is no key '{which}'.", hint="See all: `python -m api keys list`.")
        with self._db.write() as db:
            db.execute("UPDATE api_keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL", (_now(), found[0].id))
        return next(k for k in self.all() if k.id == found[0].id)


def digest_of(key: bytes) -> bytes:
    """What is kept of a key."""
    return hashlib.sha256(key).digest()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")

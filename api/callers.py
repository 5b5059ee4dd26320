"""Callers with their bearer keys and their runs.

The database stores SHA-256 digests of keys. A long random key needs no slow hash, unlike a password. Revoked keys stay
in the table: once a key was made, the server refuses calls without a key.
"""

import hashlib
import hmac
import secrets
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from sqlalchemy import Connection, Double, case, func, insert, select, tuple_, update
from sqlalchemy.dialects.postgresql import insert as insert_on_postgres

from agent.runs.store import RUNS_WITHOUT_ANSWER, RunRow, is_active, run_row, utc_now
from api.problems import ProblemError
from tools.errors import InputError
from tools.store.database import LIMITS_TURN, Database, take_turn, upsert
from tools.store.schema import api_keys, api_rates, api_runs, runs

_UNANSWERED = '"writing": false'
"""The option of a run without an answer, in its JSON. In a text of the JSON the quotation marks would be escaped."""
_RETRY_SECONDS = 10  # usually enough for one of the active runs to end
Caller = str
"""The id of the caller's key. It is empty for a caller without a key."""


class KeyUsedError(Exception):
    """Another run of the caller has the idempotency key."""


class CallerRuns:
    """The table of runs by key. A caller without a key sees all runs, except runs of people who log in to the page."""

    def __init__(self, database: Database, most: int = sys.maxsize, most_of_key: int = sys.maxsize) -> None:
        """most, most_of_key: active and queued runs of all processes, in total and of one key."""
        self._db, self._most, self._most_of_key = database, most, most_of_key

    def record(self, key_id: str, idempotency_key: str | None, db: Connection, run_id: str) -> None:
        """Stores the caller of a run that is being created. Raises KeyUsedError, ProblemError (429) for too many."""
        take_turn(db, LIMITS_TURN)
        row = {"run_id": run_id, "key_id": key_id, "idempotency_key": idempotency_key}
        if upsert(db, api_runs, [row]) != 1:
            raise KeyUsedError
        self.check_room(key_id, db, own=1)

    def check_room(self, key_id: str, db: Connection | None = None, own: int = 0) -> None:
        """Raises ProblemError (429) for too many open runs, in total or of the key. own: 1 if the run is stored."""
        of_key = func.sum(case((api_runs.c.key_id == key_id, 1), else_=0))
        query = (
            select(func.count() - own, func.coalesce(of_key, 0) - own)
            .select_from(api_runs.join(runs))
            .where(is_active())
        )
        with self._db.read() as reading:
            everybody, mine = (db or reading).execute(query).one()
        if everybody >= self._most:
            raise _too_many(f"There are {everybody} active and queued runs, the maximum is {self._most}.")
        if mine >= self._most_of_key:
            raise _too_many(f"This key has {mine} active and queued runs, the maximum is {self._most_of_key}.")

    def started_with(self, key_id: str, idempotency_key: str) -> str | None:
        """Returns the id of the run that the caller with the API key `key_id` started under this idempotency key."""
        a = api_runs.c
        rows = self._db.rows(select(a.run_id).where(a.key_id == key_id, a.idempotency_key == idempotency_key))
        return next((str(row.run_id) for row in rows), None)

    def owns(self, run_id: str, key_id: str) -> bool:
        a = api_runs.c
        return bool(self._db.rows(select(a.run_id).where(a.run_id == run_id, a.key_id == key_id)))

    def listed(
        self, key_id: str, limit: int, after: str | None, status: str | None, thread: str | None, answered: bool = False
    ) -> tuple[Sequence[RunRow], str | None]:
        """Returns a page of runs without their answers, newest first, and the cursor of the next page (time and id of
        the last row). `after`: a cursor. `answered`: only runs that write an answer."""
        made, _, last = (after or "").rpartition("Z-")
        r = runs.c
        query = RUNS_WITHOUT_ANSWER.where(r.person == "").order_by(r.created_at.desc(), r.id.desc()).limit(limit + 1)
        if key_id:
            query = query.where(r.id.in_(select(api_runs.c.run_id).where(api_runs.c.key_id == key_id)))
        query = query.where(
            *(column == wanted for column, wanted in ((r.status, status), (r.thread, thread)) if wanted)
        )
        if answered:
            query = query.where(~r.options.contains(_UNANSWERED, autoescape=True))
        if after:
            query = query.where(tuple_(r.created_at, r.id) < (f"{made}+00:00", last))
        rows = [run_row(row) for row in self._db.rows(query)]
        page, more = rows[:limit], len(rows) > limit
        return page, f"{page[-1].created_at.removesuffix('+00:00')}Z-{page[-1].id}" if more else None

    def running(self) -> set[str]:
        """Returns the ids of the API's runs with the status `running`."""
        query = select(api_runs.c.run_id).select_from(api_runs.join(runs)).where(runs.c.status == "running")
        return {str(row.run_id) for row in self._db.rows(query)}


def over_rate(database: Database, caller: Caller, most: int, seconds: int) -> float:
    """Counts a request of the caller in a window of so many seconds, for all servers on the Postgres database and by
    its clock. Returns 0 within the rate, otherwise the seconds until the next window."""
    now, rates = func.date_part("epoch", func.now(), type_=Double), api_rates.c
    current = func.floor(now / seconds)
    made = insert_on_postgres(api_rates).values(name=f"{caller} {most}/{seconds}", window=current, requests=1)
    # A request that waited for a later one, which began the next window, counts in it.
    same = rates.window.between(made.excluded.window, made.excluded.window + 1)
    new = {"window": case((same, rates.window), else_=made.excluded.window)}
    new |= {"requests": case((same, rates.requests + 1), else_=1)}
    counted = made.on_conflict_do_update(index_elements=["name"], set_=new)
    with database.write() as db:
        row = db.execute(counted.returning(rates.requests, ((rates.window + 1) * seconds - now).label("left"))).one()
    return float(row.left) if row.requests > most else 0.0


def _too_many(detail: str) -> ProblemError:
    detail = f"{detail} Try again in {_RETRY_SECONDS} seconds."
    return ProblemError(429, "too-many-runs", detail, headers={"Retry-After": str(_RETRY_SECONDS)})


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
        with self._db.write(in_turn=True) as db:
            if db.scalar(select(api_keys.c.id).where(api_keys.c.name == name, api_keys.c.revoked_at.is_(None))):
                raise InputError(f"there is already a key '{name}'. Use another name, or revoke that key first.")
            db.execute(insert(api_keys).values(asdict(key)))
        return key, text

    def all(self) -> list[Key]:
        """Returns all keys, including revoked keys, oldest first."""
        k = api_keys.c
        return [Key(*row) for row in self._db.rows(select(api_keys).order_by(k.created_at, k.id))]

    def caller(self, header: str) -> Caller | None:
        """Returns the header's caller, or None without a valid key. Takes the same time for every key."""
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
            valid = update(api_keys).where(api_keys.c.id == found[0].id, api_keys.c.revoked_at.is_(None))
            db.execute(valid.values(revoked_at=utc_now()))
        return next(k for k in self.all() if k.id == found[0].id)

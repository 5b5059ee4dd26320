"""Whose request it is: the bearer key that it came with, once a key was ever made."""

import asyncio
import hmac
import re
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from api.callers import Caller
from api.guard.rates import Rates
from api.guard.refusing import refuse
from api.keys import Keys, digest_of
from api.problems import ProblemError, problem_of
from tools.errors import StoreError
from tools.store.database import Database

OPEN = frozenset(("/healthz", "/readyz", "/docs", "/openapi.json"))
"""What needs no key, besides what the page of the calls loads: a browser that opens it could not send one."""
_LOADED = "/docs/assets/"
_FRESH_SECONDS = 1.0
_BEARER = re.compile(r"bearer +(\S+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Known:
    """The keys in force as they were read at a time."""

    at: float
    ever_made: bool
    callers: tuple[tuple[bytes, Caller], ...]


class KeyRing:
    """The keys of the store, read anew when what is known is a second old, in a thread of its own."""

    def __init__(self) -> None:
        self._known = _Known(float("-inf"), True, ())
        self._reading = asyncio.Lock()
        self._thread = ThreadPoolExecutor(1, "steelman-keys")

    async def known(self, database: Database) -> _Known:
        """Raises StoreError when they cannot be read: then nobody gets in."""
        async with self._reading:
            if time.monotonic() - self._known.at > _FRESH_SECONDS:
                self._known = await asyncio.get_running_loop().run_in_executor(self._thread, _read, database)
        return self._known


def _read(database: Database) -> _Known:
    at, keys = time.monotonic(), Keys(database).all()
    callers = tuple((k.digest, Caller(k.id, k.name)) for k in keys if k.revoked_at is None)
    return _Known(at, bool(keys), callers)


class Bearer:
    """Finds out who calls and lets in whom it may; no more than the rate of each caller.

    `required`: a key is needed even if none was ever made. Callers without a key, or with a wrong one, share one rate,
    so that nobody can try keys at any speed.
    """

    def __init__(self, app: ASGIApp, rates: Rates, *, required: bool) -> None:
        self._app = app
        self._rates = rates
        self._required = required
        self._ring = KeyRing()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] in OPEN or scope["path"].startswith(_LOADED):
            scope.setdefault("state", {})["caller"] = Caller()
            return await self._app(scope, receive, send)
        try:
            known = await self._ring.known(scope["app"].state.service.runs.database)
        except StoreError as exc:
            return await refuse(problem_of(exc), scope, receive, send)
        caller = _caller(Headers(scope=scope).getlist("authorization"), known)
        scope.setdefault("state", {})["caller"] = caller or Caller()
        problem = self._rates.problem(caller.key_id if caller else "")
        if problem is None and caller is None and (known.ever_made or self._required):
            problem = _locked(scope)
        if problem:
            return await refuse(problem, scope, receive, send)
        return await self._app(scope, receive, send)


def _caller(authorization: list[str], known: _Known) -> Caller | None:
    """Whose key stands in the header. Every digest is compared, each in the same time."""
    given = _BEARER.fullmatch(authorization[0]) if len(authorization) == 1 else None
    if given is None:
        return None
    digest = digest_of(given[1].encode("latin-1"))
    matching = [caller for known_digest, caller in known.callers if hmac.compare_digest(known_digest, digest)]
    return matching[0] if matching else None


def _locked(scope: Scope) -> ProblemError:
    wrong = "authorization" in Headers(scope=scope)
    detail = "The key is wrong, or it was revoked." if wrong else "This call needs a key."
    return ProblemError(
        401,
        "key-wrong" if wrong else "key-missing",
        "No key that opens this",
        f"{detail} Send `Authorization: Bearer KEY`; whoever runs this server makes keys.",
        headers={"WWW-Authenticate": 'Bearer error="invalid_token"' if wrong else "Bearer"},
    )

"""Whose request it is: the bearer key that it came with, once a key was ever made; and how many one caller may send."""

import hmac
import math
import re
import time

from limits import parse_many
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from api.callers import Caller
from api.guard.bodies import refuse
from api.keys import Key, Keys, digest_of
from api.problems import ProblemError, problem_of
from tools.errors import StoreError
from tools.store.database import Database

OPEN = frozenset(("/healthz", "/readyz", "/docs", "/openapi.json"))
"""What needs no key, besides what the page of the calls loads: a browser that opens it could not send one."""
_LOADED = "/docs/assets/"
_FRESH_SECONDS = 1.0
_BEARER = re.compile(r"bearer +(\S+)", re.IGNORECASE)


class Rates:
    """The rates that hold for each caller, such as '10/second; 300/minute'."""

    def __init__(self, rates: str) -> None:
        self._limits = parse_many(rates)
        self._window = MovingWindowRateLimiter(MemoryStorage())

    def problem(self, caller: str) -> ProblemError | None:
        """Counts a request of the caller; the refusal (429) if it is one too many, which then does not count."""
        for limit in self._limits:
            if not self._window.test(limit, caller):
                seconds = max(1, math.ceil(self._window.get_window_stats(limit, caller).reset_time - time.time()))
                return ProblemError(
                    429,
                    "too-many-requests",
                    "Too many requests",
                    f"The rate is {limit.amount} in {limit.get_expiry()} seconds. Come again in {seconds} seconds.",
                    headers={"Retry-After": str(seconds)},
                )
        for limit in self._limits:
            self._window.hit(limit, caller)
        return None


class Bearer:
    """Finds out who calls and lets in whom it may; no more than the rate of each caller.

    `required`: a key is needed even if none was ever made. Callers without a key, or with a wrong one, share one rate,
    so that nobody can try keys at any speed.
    """

    def __init__(self, app: ASGIApp, rates: Rates, *, required: bool) -> None:
        self._app = app
        self._rates = rates
        self._required = required
        self._read = float("-inf")
        self._keys: list[Key] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] in OPEN or scope["path"].startswith(_LOADED):
            scope.setdefault("state", {})["caller"] = Caller()
            return await self._app(scope, receive, send)
        try:
            keys = self._known(scope["app"].state.service.runs.database)
        except StoreError as exc:
            return await refuse(problem_of(exc), scope, receive, send)
        caller = _caller(Headers(scope=scope).getlist("authorization"), keys)
        scope.setdefault("state", {})["caller"] = caller or Caller()
        problem = self._rates.problem(caller.key_id if caller else "")
        if problem is None and caller is None and (keys or self._required):
            problem = _locked(scope)
        if problem:
            return await refuse(problem, scope, receive, send)
        return await self._app(scope, receive, send)

    def _known(self, database: Database) -> list[Key]:
        """All keys that were ever made, read anew when what is known is a second old, which takes no millisecond.

        Raises StoreError when they cannot be read: then nobody gets in.
        """
        if time.monotonic() - self._read > _FRESH_SECONDS:
            self._keys, self._read = Keys(database).all(), time.monotonic()
        return self._keys


def _caller(authorization: list[str], keys: list[Key]) -> Caller | None:
    """Whose key stands in the header. Every digest is compared, each in the same time."""
    given = _BEARER.fullmatch(authorization[0]) if len(authorization) == 1 else None
    if given is None:
        return None
    digest = digest_of(given[1].encode("latin-1"))
    matching = [k for k in keys if hmac.compare_digest(k.digest, digest) and k.revoked_at is None]
    return Caller(matching[0].id, matching[0].name) if matching else None


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

"""The contract table: what goes wrong, through which door, and what the user is told.

Modules named `contract_AREA.py` hold rows in `ROWS`; `test_contract.py` runs all of them.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest


@dataclass(frozen=True)
class Bench:
    """folder: the row's own. standing: the address of an API server over instant documents that all rows share."""

    folder: Path
    patch: pytest.MonkeyPatch
    standing: Callable[[], str]


@dataclass(frozen=True)
class Outcome:
    """status: an exit status, an HTTP status, or a word such as 'answered'. text: all that the user sees."""

    status: int | str
    text: str


Door = Callable[[Any, Bench], Awaitable[Outcome] | Outcome]
"""Brings the real product into the situation; `given` is the row's input. Runs in a thread unless it is a coroutine."""


@dataclass(frozen=True)
class Row:
    """The user's text holds `cause` and `remedy`, and never `hidden` (keys, tracebacks)."""

    situation: str
    door: Door
    given: Any
    status: int | str
    cause: str = ""
    remedy: str = ""
    hidden: tuple[str, ...] = ()
    slow: bool = False

    def __str__(self) -> str:
        return f"{getattr(self.door, '__name__', '')}: {self.situation}"

    async def check(self, bench: Bench) -> None:
        came = await asyncio.to_thread(self.door, self.given, bench)
        came = came if isinstance(came, Outcome) else await came
        assert (came.status, self.cause in came.text, self.remedy in came.text) == (self.status, True, True), came
        assert not [text for text in ("Traceback", *self.hidden) if text in came.text], came

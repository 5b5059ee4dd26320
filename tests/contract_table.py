"""The one contract table: what goes wrong, through which door, and what the user is told.

Modules named `contract_AREA.py` hold rows in `ROWS`; `test_contract_table.py` runs all of them.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest


@dataclass(frozen=True)
class Bench:
    """What a door may use: a folder of its own, the means to change the environment, and the address of a server for
    programs that all rows share, over the instant documents."""

    folder: Path
    patch: pytest.MonkeyPatch
    standing: Callable[[], str]


@dataclass(frozen=True)
class Outcome:
    """status: an exit status, an HTTP status, or a word such as 'answered'. text: all that the user sees."""

    status: int | str
    text: str


Door = Callable[[Any, Bench], Awaitable[Outcome] | Outcome]
"""Has the real product meet the situation, and returns what the user sees, in a thread unless it is a coroutine.
`given` is the row's own input."""


@dataclass(frozen=True)
class Row:
    """A situation, the door at which a user meets it, and what must come of it.

    cause: our words for what is wrong. remedy: our words for what the user can do. Both stand in the text that the
    user sees. hidden: texts that never stand there, such as keys and tracebacks.
    """

    situation: str
    door: Door
    given: Any
    status: int | str
    cause: str = ""
    remedy: str = ""
    hidden: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{getattr(self.door, '__name__', '')}: {self.situation}"

    async def check(self, bench: Bench) -> None:
        came = await asyncio.to_thread(self.door, self.given, bench)
        if not isinstance(came, Outcome):
            came = await came
        assert came.status == self.status, came
        assert self.cause in came.text, came
        assert self.remedy in came.text, came
        assert not [text for text in ("Traceback", *self.hidden) if text in came.text], came

"""Whose turn it is among the runs of a process: first come, first served, so many at a time, some of them alone."""

import asyncio
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Turns:
    """At most so many runs at a time (None: any number); one that works alone waits for the others and they for it."""

    def __init__(self, most: int | None) -> None:
        self._most = most or math.inf
        self._waiting: dict[asyncio.Future[None], bool] = {}  # first come, first; whether it is to be alone
        self._working: dict[asyncio.Future[None], bool] = {}

    def free(self, *, alone: bool = False) -> bool:
        """Whether a turn can be had at once."""
        return not self._waiting and self._fits(alone)

    @asynccontextmanager
    async def taken(self, *, alone: bool = False) -> AsyncIterator[None]:
        """A turn, once it is there. alone: no other run works meanwhile."""
        turn = asyncio.get_running_loop().create_future()
        self._waiting[turn] = alone
        self._admit()
        try:
            await turn
            yield
        finally:
            for runs in (self._waiting, self._working):
                runs.pop(turn, None)
            self._admit()

    def _fits(self, alone: bool) -> bool:
        return not any(self._working.values()) and len(self._working) < (1 if alone else self._most)

    def _admit(self) -> None:
        while self._waiting:
            turn, alone = next(iter(self._waiting.items()))
            if not self._fits(alone):
                return
            self._working[turn] = self._waiting.pop(turn)
            if not turn.done():  # else cancelled just now
                turn.set_result(None)

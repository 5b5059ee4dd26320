"""Whose turn it is to ask a server: any number at once, or one after the other where it breaks one reply off when it is
asked for another."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from weakref import WeakKeyDictionary


class Turns:
    """The calls to one server, of all models that this process asks there.

    alone: it was found to break replies off, and is asked one thing at a time for as long as the process lives.
    """

    def __init__(self) -> None:
        self.alone = False
        self._begun = self._ended = 0  # calls
        self._locks: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()

    @asynccontextmanager
    async def taken(self) -> AsyncIterator[Callable[[], bool]]:
        """A turn; yields what tells whether the server was asked for something else meanwhile."""
        if self.alone:
            async with self._locks.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
                yield lambda: False
            return
        self._begun += 1
        others, begun = self._begun - self._ended > 1, self._begun
        try:
            yield lambda: others or self._begun > begun
        finally:
            self._ended += 1


_TURNS: dict[str, Turns] = {}


def turns_at(address: str) -> Turns:
    """Those of the server at the address."""
    return _TURNS.setdefault(address, Turns())

"""Tells processes of changes in the database: by LISTEN/NOTIFY on Postgres, otherwise by polling."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from weakref import WeakValueDictionary

from sqlalchemy import Connection, func, select

from tools.store.database import CONNECTING

_CHANNEL = "steelman"
_POLL_SECONDS, _MISSED_SECONDS = 0.2, 2.0  # the second: if a notification is missed
_RECONNECT_SECONDS = 1.0
ANYTHING = ""
"""The topic of all changes."""


def notify(db: Connection, topic: str) -> None:
    """Tells all processes of a change, once the transaction is committed."""
    if db.dialect.name == "postgresql":
        db.execute(select(func.pg_notify(_CHANNEL, topic)))


class Notices:
    """Changes by topic, such as a run's id. Belongs to one event loop."""

    def __init__(self) -> None:
        self._expected = WeakValueDictionary[str, asyncio.Event]()
        self._seconds = _POLL_SECONDS

    def expect(self, topic: str) -> asyncio.Event:
        """Returns what `wait` waits for. Call it before reading the database, so that no change is missed."""
        return self._expected.setdefault(topic, asyncio.Event())

    async def wait(self, change: asyncio.Event) -> None:
        """Returns at the change, or after a while without one."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._seconds):
                await change.wait()

    def wake(self, *topics: str) -> None:
        """Ends the waiting for changes of these topics and of ANYTHING."""
        for topic in (*topics, ANYTHING):
            if change := self._expected.pop(topic, None):
                change.set()

    async def listen(self, address: str) -> None:
        """Wakes who waits at each notification. Polls while the server cannot be reached."""
        import psycopg

        address = psycopg.conninfo.make_conninfo(address, **CONNECTING)
        while True:
            with suppress(psycopg.Error):
                async with await psycopg.AsyncConnection.connect(address, autocommit=True) as connection:
                    await connection.execute(f"LISTEN {_CHANNEL}")
                    self._seconds = _MISSED_SECONDS
                    async for notice in connection.notifies():
                        self.wake(notice.payload)
            self._seconds = _POLL_SECONDS
            self.wake(*list(self._expected))
            await asyncio.sleep(_RECONNECT_SECONDS)


@asynccontextmanager
async def open_notices(place: Path | str) -> AsyncIterator[Notices]:
    """Opens the notices of the database at `place`, a file or an address `postgresql+psycopg://…`."""
    notices = Notices()
    if isinstance(place, Path):
        yield notices
        return
    listening = asyncio.create_task(notices.listen(place.replace("+psycopg", "", 1)))
    try:
        yield notices
    finally:
        listening.cancel()
        await asyncio.wait([listening])

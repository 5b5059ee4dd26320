"""Runs that a server before this one left, and that this one goes on with."""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable

from agent.runs.service import Runs
from agent.runs.store import STALE_SECONDS
from api.observing import SERVER
from tools.errors import RunBusyError, SteelmanError

LOOK_AGAIN = 0.5


class LeftRuns:
    """`cut_short` finds those that count as running; `ids` are still to be taken up."""

    def __init__(self, runs: Runs, cut_short: Callable[[], Awaitable[set[str]]]) -> None:
        self.ids: set[str] = set()
        self._runs, self._cut_short = runs, cut_short

    async def take_up(self) -> None:
        """Goes on with them as far as the server before this one has let go of them."""
        self.ids = await self._cut_short() - self._runs.at_work
        await self._take_up()

    async def keep_taking_up(self) -> None:
        """The same for runs of a server that was killed, which counts as alive for a while; so does one that serves
        the same data beside this one, whose runs are left to it."""
        give_up = time.monotonic() + 2 * STALE_SECONDS
        try:
            while self.ids and time.monotonic() < give_up:
                await asyncio.sleep(LOOK_AGAIN)
                with contextlib.suppress(SteelmanError):  # the next look may come through
                    self.ids &= await self._cut_short()  # another server's may be over by now
                    await self._take_up()
        finally:
            self.ids = set()  # whoever follows one of them is told that it is abandoned

    async def _take_up(self) -> None:
        """Leaves those for later that another process holds. One that was taken up before, and whose process was killed
        again, is left to a person: it may be what ends the server."""
        for run_id in list(self.ids):
            try:
                run, events = await self._runs.run(run_id), await self._runs.recent_events(run_id)
                if not (run.abandoned and run.owner and any(event.kind == "resumed" for event in events)):
                    await self._runs.resume(run_id)
            except RunBusyError:
                continue
            except SteelmanError as exc:  # deleted meanwhile, or waiting for a person
                SERVER.warning("run %s is not taken up: %s", run_id, type(exc).__name__)
            self.ids.discard(run_id)

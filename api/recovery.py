"""Resumes the runs that an earlier server left."""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable

from agent.runs.service import Runs
from agent.runs.store import STALE_SECONDS
from api.observing import SERVER
from tools.errors import RunBusyError, SteelmanError

LOOK_AGAIN = 0.5


class Recovery:
    """`cut_short` gives the ids of runs that count as running. `ids`: those still to be resumed."""

    def __init__(self, runs: Runs, cut_short: Callable[[], Awaitable[set[str]]]) -> None:
        self.ids: set[str] = set()
        self._runs, self._cut_short = runs, cut_short

    async def find(self) -> None:
        self.ids = await self._cut_short() - self._runs.at_work

    async def resume_all(self) -> None:
        """Resumes the runs that no process works on. A killed server counts as alive for a while, so that its runs are
        tried again; a live one beside this one keeps its runs."""
        give_up = time.monotonic() + 2 * STALE_SECONDS
        try:
            while self.ids and time.monotonic() < give_up:
                with contextlib.suppress(SteelmanError):  # the next round may come through
                    self.ids &= await self._cut_short()
                    for run_id in list(self.ids):
                        await self._resume(run_id)
                await asyncio.sleep(LOOK_AGAIN)
        finally:
            self.ids = set()  # a client that follows one of them learns that it is abandoned

    async def _resume(self, run_id: str) -> None:
        """Leaves a run to a person that was resumed before and whose process was killed again: it may be the cause."""
        try:
            run, events = await self._runs.run(run_id), await self._runs.recent_events(run_id)
            if not (run.abandoned and run.owner and any(event.kind == "resumed" for event in events)):
                await self._runs.resume(run_id)
        except RunBusyError:
            return
        except SteelmanError as exc:  # deleted meanwhile, or waiting for a person
            SERVER.warning("run %s is not taken up: %s", run_id, type(exc).__name__)
        self.ids.discard(run_id)

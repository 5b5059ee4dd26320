"""Resumes the runs that an earlier server left."""

import asyncio
import contextlib
import time

from agent.runs.service import Runs
from agent.runs.store import STALE_SECONDS
from tools.errors import SteelmanError

LOOK_AGAIN = 0.5


async def resume_left_runs(runs: Runs, left: set[str]) -> None:
    """Resumes each run in `left` and removes it from there. Tries for 20 seconds: a killed server counts as alive for
    ten. A run that was killed again after it had been resumed may crash the server, so a caller has to resume it."""
    give_up = time.monotonic() + 2 * STALE_SECONDS
    try:
        while left and time.monotonic() < give_up:
            for run_id in list(left):
                with contextlib.suppress(SteelmanError):  # its server may be alive, or the store busy
                    run, events = await runs.run(run_id), await runs.recent_events(run_id)
                    if not (run.abandoned and run.owner and any(event.kind == "resumed" for event in events)):
                        await runs.resume(run_id)
                    left.discard(run_id)
            await asyncio.sleep(LOOK_AGAIN)
    finally:
        left.clear()  # followers of these runs learn that they are abandoned

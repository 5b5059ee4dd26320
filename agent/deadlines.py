"""The shares of a run's time: when each part has to end, so that a slow search still ends in an answer."""

import asyncio
import math
import time
from collections.abc import Awaitable
from typing import Literal, TypeVar

from agent.options import RunOptions
from tools.errors import DeadlineError

Part = Literal["frame", "expand", "search", "judge", "write", "verify"]
"""The parts of a run that each have to end while there is time for the next ones."""
_RESERVED: dict[Part, float] = {
    "frame": 0.8,
    "expand": 0.55,
    "search": 0.25,
    "judge": 0.15,
    "write": 0.05,
    "verify": 0.0,
}
"""The share of a run's usual time that is reserved for what follows each part. A deadline that the user sets later than
usual leaves all that it adds to the calls: a slow model may take what the run's time allows."""
T = TypeVar("T")


def ends_at(options: RunOptions, part: Part) -> float:
    """When the part has to end, in seconds since the epoch; infinite without a deadline."""
    usual = min(options.deadline_seconds, options.usual_seconds)
    return options.deadline_at - _RESERVED[part] * usual if options.deadline_at else math.inf


def time_left(options: RunOptions, part: Part) -> float:
    """Seconds until the part has to end; infinite without a deadline, negative once it is past."""
    return ends_at(options, part) - time.time()


async def in_time(options: RunOptions, part: Part, work: Awaitable[T]) -> T:
    """The work's result; raises DeadlineError when it does not come before the part has to end."""
    left = time_left(options, part)
    try:
        async with asyncio.timeout(None if math.isinf(left) else max(0.0, left)):
            return await work
    except TimeoutError as exc:
        raise DeadlineError("the time for it was used up.") from exc

"""How many requests of one caller are let in: a moving window, in this process' memory.

The limiter is the library's plain one. Its asynchronous one holds a key's lock while it waits for a thread of the event
loop's own pool, which providers that hang may have filled; the plain one only counts, in microseconds.
"""

import math
import time

from limits import parse_many
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter

from api.problems import ProblemError


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

"""Cutting sequences into parts, and asking about them: some at a time, within the time there is."""

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from tools.budget import current_budget
from tools.errors import DeadlineError

T = TypeVar("T")


def batches(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Consecutive slices of at most `size` items."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


async def run_within(calls: Iterable[Callable[[], Awaitable[None]]], concurrency: int) -> None:
    """All the calls, some at a time, until the deadline in force; the first failure ends them all."""
    turn, seconds = asyncio.Semaphore(concurrency), current_budget().seconds_left()

    async def one(call: Callable[[], Awaitable[None]]) -> None:
        async with turn:
            await call()

    try:
        async with asyncio.timeout(None if math.isinf(seconds) else max(0.0, seconds)), asyncio.TaskGroup() as group:
            for call in calls:
                group.create_task(one(call))
    except TimeoutError:
        pass
    except ExceptionGroup as failed:
        first = failed.exceptions[0]
        if not isinstance(first, DeadlineError):  # the calls see the same deadline
            raise first from first.__cause__

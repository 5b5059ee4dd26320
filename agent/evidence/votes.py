"""What a judge of written claims says of each, by most of its answers."""

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

import numpy as np

from tools.language.grounding import SAID

T = TypeVar("T")


def accepts(verdict: tuple[float, float]) -> bool:
    """Whether a judge finds a claim in its passages and takes it for its perspective's; not where it gave no answer."""
    return min(verdict) >= SAID and not np.isnan(verdict).any()


def verdict_of(votes: Sequence[tuple[float, float]]) -> tuple[float, float] | None:
    """What most of the answers to a claim say of it; a tie refuses it. None where there is no answer."""
    answered = [v for v in votes if not np.isnan(v).any()]
    yes = [v for v in answered if accepts(v)]
    if not answered:
        return None
    agreed = 2 * len(yes) > len(answered)
    said, serving = np.mean(yes, axis=0) if agreed else np.min([v for v in answered if v not in yes], axis=0)
    return float(said), float(serving)


async def together(work: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """The results of what goes on side by side; where one fails none goes on asking."""
    tasks = [asyncio.ensure_future(w) for w in work]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

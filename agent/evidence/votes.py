"""What a judge of written claims says of each, by most of its answers; and with which quotations a side is filled."""

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

import numpy as np

from agent.state import Claim, in_case
from tools.language.grounding.grounding import SAID

T = TypeVar("T")


def accepts(verdict: tuple[float, float]) -> bool:
    """Whether a judge finds a claim in its passages and takes it for its side's; not where it gave no answer."""
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


def filling_of(mine: Sequence[Claim], quotations: Sequence[Claim], wanted: int) -> list[Claim]:
    """The quotations with which a side has as many claims as are wanted: those of its case first, of passages that are
    not cited yet, and not the very words behind a claim, as far as there are others."""
    cited = {i for c in mine for i in c["passages"]}
    behind = {words for c in mine for words in c.get("evidence", [])}
    order = sorted(quotations, key=lambda q: (not in_case(q), q["text"] in behind, bool(cited & {*q["passages"]})))
    return order[: max(0, wanted - len(mine))]

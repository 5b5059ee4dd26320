"""Many items in one call of a chat model: labels that nobody could know before; halves of a call that is too long."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from random import SystemRandom
from typing import TypeVar

from tools.errors import PromptTooLongError
from tools.models.batching import batches
from tools.models.chat.servers import refuse_cut_prompts

_LETTERS = "ABCDEFGHJKLMNPRSTUVWXYZ"
_random = SystemRandom()
T = TypeVar("T")


class Halving:
    """Asks about up to `together` items in a call.

    A call that is longer than the model reads, which its server refuses or cuts, is made again in halves, down to one
    item. No later call is as large.
    """

    def __init__(self, together: int) -> None:
        self.together = together

    async def ask(self, ask: Callable[[Sequence[T]], Awaitable[None]], items: Sequence[T]) -> None:
        """Asks about the items together, or about each half of them. Raises PromptTooLongError for a single item."""
        half = (len(items) + 1) // 2
        if len(items) <= self.together:
            try:
                with refuse_cut_prompts(len(items) > 1):  # one that is cut even so is judged by what was read of it
                    await ask(items)
                return
            except PromptTooLongError:
                if len(items) == 1:
                    raise
        for part in batches(items, half):
            await self.ask(ask, part)
        self.together = min(self.together, half)


def labels(kind: str, number: int) -> list[str]:
    """So many different random labels that begin with the kind."""
    return _random.sample([f"{kind}{a}{b}" for a in _LETTERS for b in _LETTERS], number)


def labelled(items: Iterable[T], kind: str) -> dict[str, T]:
    """The items in random order by random labels, so that a model which favours a place in a list favours nothing."""
    order = list(items)
    _random.shuffle(order)
    return dict(zip(labels(kind, len(order)), order, strict=True))

"""Many items in one call of a chat model: labels that nobody could know before; passages under the headings of their
documents; halves of a call that is too long."""

import math
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from random import SystemRandom
from typing import TypeVar

from prompts import as_data, one_line
from tools.errors import PromptTooLongError
from tools.models.batching import batches
from tools.models.chat.servers import refuse_cut_prompts
from tools.passages import Passage

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

    def parts(self, items: Sequence[T], characters: int, most: int) -> Iterator[Sequence[T]]:
        """The items of each call, about as many in each; `characters` in all, of which a call has about `most`."""
        calls = max(1, math.ceil(len(items) / self.together), math.ceil(characters / most))
        return batches(items, max(1, math.ceil(len(items) / calls)))

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


def as_documents(labels_of: Mapping[str, Passage]) -> str:
    """The passages of these labels as data: a line each, by document under one heading, in the document's order; the
    documents in the order of the labels."""
    documents: dict[tuple[str, str], list[str]] = {}
    for label, passage in labels_of.items():
        documents.setdefault(passage.document, []).append(label)
    return "\n".join(_document({label: labels_of[label] for label in mine}) for mine in documents.values())


def _document(passages: Mapping[str, Passage]) -> str:
    ordered = sorted(passages.items(), key=lambda item: item[1].position)
    first = ordered[0][1]
    lines = "\n".join(f"[{label}] {as_line(passage)}" for label, passage in ordered)
    return as_data("document", lines, **heading_of(first))


def heading_of(passage: Passage) -> dict[str, str]:
    """What is known of the passage's document."""
    author = passage.author if passage.author != passage.publisher else ""
    return {"title": passage.title, "publisher": passage.publisher, "date": passage.date, "author": author}


def as_line(passage: Passage) -> str:
    """'section | speaker: text' on one line, without what its document's heading says already."""
    section = f"{passage.section} | " if passage.section not in ("", passage.title) else ""
    speaker = f"{passage.speaker}: " if passage.speaker else ""
    return one_line(section + speaker + passage.text)

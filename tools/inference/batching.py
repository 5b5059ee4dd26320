"""Cutting sequences into parts."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")


def parts(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Consecutive slices of at most `size` items."""
    for start in range(0, len(items), size):
        yield items[start : start + size]

"""How concurrent writes to the state merge. Pure functions."""

from typing import TypeVar

T = TypeVar("T")


def merge_lists(left: dict[str, list[T]], right: dict[str, list[T]]) -> dict[str, list[T]]:
    """Joins lists key by key, each item once: what came first stays in front."""
    return {k: merge_distinct(left.get(k, []), right.get(k, [])) for k in {**left, **right}}


def merge_scores(left: dict[str, dict[int, float]], right: dict[str, dict[int, float]]) -> dict[str, dict[int, float]]:
    """Joins scores key by key; a newer score replaces an older one."""
    return {k: {**left.get(k, {}), **right.get(k, {})} for k in {**left, **right}}


def merge_intervals(
    left: dict[str, list[tuple[float, float]]], right: dict[str, list[tuple[float, float]]]
) -> dict[str, list[tuple[float, float]]]:
    """Joins lists of (start, end) key by key."""
    return {k: [*left.get(k, []), *right.get(k, [])] for k in {**left, **right}}


def add_numbers(left: dict[str, float], right: dict[str, float]) -> dict[str, float]:
    """Adds number to number, key by key."""
    return {k: left.get(k, 0) + right.get(k, 0) for k in {**left, **right}}


def merge_distinct(left: list[T], right: list[T]) -> list[T]:
    """Both, each once."""
    return list(dict.fromkeys([*left, *right]))

"""Copies of one text, which count as one piece of evidence."""

import re
from collections import Counter
from collections.abc import Sequence

_WORD = re.compile(r"\w+")
_SHINGLE = 4
SAME = 0.5
"""Share of the smaller text's shingles that two copies have in common."""


def copy_groups(texts: Sequence[str]) -> list[int]:
    """For each text the index of the first text that it is a copy of (its own index when it is none).

    Copies share at least half of the shorter one's 4-word shingles (containment, Broder 1997), so a text with a
    sentence dropped, a few words changed or something added in front is still found.
    """
    shingles = [_shingles(t) for t in texts]
    groups = list(range(len(texts)))
    holders: dict[tuple[str, ...], list[int]] = {}
    for i, mine in enumerate(shingles):
        shared = Counter(j for shingle in mine for j in holders.get(shingle, ()))
        copied = (j for j, n in shared.items() if n >= SAME * min(len(mine), len(shingles[j])))
        groups[i] = groups[min(copied, default=i)]
        for shingle in mine:
            holders.setdefault(shingle, []).append(i)
    return groups


def _shingles(text: str) -> set[tuple[str, ...]]:
    words = _WORD.findall(text.casefold())
    return {tuple(words[i : i + _SHINGLE]) for i in range(max(1, len(words) - _SHINGLE + 1))} if words else set()

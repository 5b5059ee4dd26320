"""Copies of one text, which count as one piece of evidence."""

import re
from collections import Counter
from collections.abc import Sequence

from tools.language.reasons import reason_of

Shingles = set[tuple[str, ...]]
_WORD = re.compile(r"\w+")
_SHINGLE = 4
SAME = 0.5
"""Share of the smaller text's shingles that two copies have in common."""


def copy_groups(texts: Sequence[str]) -> list[int]:
    """For each text the index of the first text that it is a copy of (its own index when it is none).

    Copies share at least half of the shorter one's 4-word shingles (containment, Broder 1997), so a text with a
    sentence dropped, a few words changed or something added in front is still found. Two sentences that give reasons
    have to share so much of these: what they are given for is common to all that argue for it.
    """
    shingles = [_shingles(t) for t in texts]
    reasons = [_shingles(reason_of(t)) for t in texts]
    groups = list(range(len(texts)))
    holders: dict[tuple[str, ...], list[int]] = {}
    for i, mine in enumerate(shingles):
        shared = Counter(j for shingle in mine for j in holders.get(shingle, ()))
        copied = (
            j
            for j, n in shared.items()
            if n >= SAME * min(len(mine), len(shingles[j])) and _alike(reasons[i], reasons[j])
        )
        groups[i] = groups[min(copied, default=i)]
        for shingle in mine:
            holders.setdefault(shingle, []).append(i)
    return groups


def _alike(one: Shingles, other: Shingles) -> bool:
    return not one or not other or len(one & other) >= SAME * min(len(one), len(other))


def _shingles(text: str) -> Shingles:
    words = _WORD.findall(text.casefold())
    return {tuple(words[i : i + _SHINGLE]) for i in range(max(1, len(words) - _SHINGLE + 1))} if words else set()

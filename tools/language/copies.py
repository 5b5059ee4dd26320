"""Duplicates, which count as one piece of evidence: copies of one text (by shingles), and paraphrases (by vectors).

Two passages on one matter share a point or two; one that was rewritten says all of the other, sentence by sentence. How
near a sentence has to be, by the vectors of an encoder, depends on how many there are: single sentences that make one
point are nearer to each other than passages ever are that differ. Where both are one sentence that gives a reason, the
reasons are compared: by their common thesis different arguments are near, and by synonyms in it the same one is far.
"""

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_ROUNDING = 1e-9  # of similarities
_FEWEST = 3  # words of a reason, and of what it is given for
_LONGEST_REASONED = 400  # characters of a sentence
_SEVERAL = re.compile(r"[.!?]\s+\S")
_BETWEEN = re.compile(
    r"""[,;]?\s+(?:
        because(?!\s+of\b) | given\s+that | in\s+that | seeing\s+that | on\s+the\s+grounds\s+that
      | due\s+to\s+the\s+fact\s+that
      | since(?!\s+(?:\d|then\b|the\s+(?:\d|early|late)|last\b|its\b|their\b))
      | (?<!\bsuch\s)(?<!\bwell\s)(?<!\bknown\s)(?<!\bsame\s)(?<!\bfar\s)(?<!\bmuch\s)(?<!\bmany\s)
        (?<!\bsoon\s)(?<!\blong\s)
        as(?!\s+(?:an?|well|long|soon|much|many|if|though|of|to|far|good|it\s+is|possible|usual|part|opposed)\b)
    )\s+""",
    re.IGNORECASE | re.VERBOSE,
)
_FIRST = re.compile(
    r"^(?:because(?!\s+of\b)|given\s+that|seeing\s+that|since(?!\s+\d))\s+([^,]+),\s+(.+)$", re.IGNORECASE
)


def reason_of(sentence: str) -> str:
    """The clause that says why, without its conjunction; empty where none is told by one, or little stands beside it,
    and for several sentences.

    'For', which may begin a reason too, mostly does not.
    """
    text = sentence.strip().rstrip(".!")
    if len(text) > _LONGEST_REASONED or _SEVERAL.search(text):
        return ""
    if first := _FIRST.match(text):
        reason, wanted = first[1], first[2]
    elif between := _BETWEEN.search(text):
        reason, wanted = text[between.end() :], text[: between.start()]
    else:
        return ""
    return reason.strip() if min(len(reason.split()), len(wanted.split())) >= _FEWEST else ""


Shingles = set[tuple[str, ...]]
_WORD = re.compile(r"\w+")
_SHINGLE = 4
_COPIED = 0.5
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
            if n >= _COPIED * min(len(mine), len(shingles[j])) and _alike(reasons[i], reasons[j])
        )
        groups[i] = groups[min(copied, default=i)]
        for shingle in mine:
            holders.setdefault(shingle, []).append(i)
    return groups


def _alike(one: Shingles, other: Shingles) -> bool:
    return not one or not other or len(one & other) >= _COPIED * min(len(one), len(other))


def _shingles(text: str) -> Shingles:
    words = _WORD.findall(text.casefold())
    return {tuple(words[i : i + _SHINGLE]) for i in range(max(1, len(words) - _SHINGLE + 1))} if words else set()


def average_linkage(similarity: NDArray[np.floating], threshold: float) -> list[list[int]]:
    """Clusters by average linkage (Sokal and Michener 1958): those whose members' mean similarity is at least the
    threshold are joined, the nearest first. Members are in order, clusters by their first. similarity: shape (n, n)."""
    from scipy.cluster.hierarchy import fcluster, linkage  # takes a third of a second

    if len(similarity) < 2:
        return [[i] for i in range(len(similarity))]
    distances = 1 - np.asarray(similarity, np.float64)[np.triu_indices(len(similarity), k=1)]
    tree = linkage(np.maximum(distances, 0.0), "average")
    clusters: dict[int, list[int]] = {}
    for i, label in enumerate(fcluster(tree, 1 - threshold + _ROUNDING, "distance")):
        clusters.setdefault(label, []).append(i)
    return list(clusters.values())


Vectors = NDArray[np.float32]

PARAPHRASE_COSINES = (0.89, 0.76, 0.67, 0.65)
"""The mean cosine of the shorter passage's sentences to their nearest in the other from which the two say the same: of
one sentence, of two, of three, of more. By the embedded encoder."""

REASON_COSINE = 0.58
"""The cosine of two reasons (`tools.language.copies`) from which they are the same."""

_SAME_MATTER = 0.5  # cosine of sentences that want the same for the same reason, at least


def paraphrase_margin(
    one: Vectors, other: Vectors, reasons: tuple[Vectors | None, Vectors | None] = (None, None)
) -> float:
    """By how much two passages exceed the cosine of paraphrases: from 0 on they are some.

    one, other: unit vectors of their sentences, (n, dimensions). reasons: of the reason of a passage that is one
    sentence, (dimensions,), None where it gives none. Where both give one, their reasons are compared, else the whole.
    """
    if not len(one) or not len(other):
        return -1.0
    short, long = sorted((one, other), key=len)
    near = float((short @ long.T).max(axis=1).mean())
    whole = near - PARAPHRASE_COSINES[min(len(short), len(PARAPHRASE_COSINES)) - 1]
    if reasons[0] is None or reasons[1] is None:
        return whole
    return min(float(reasons[0] @ reasons[1]) - REASON_COSINE, near - _SAME_MATTER)


def group_paraphrases(passages: Sequence[Vectors], reasons: Sequence[Vectors | None] | None = None) -> list[int]:
    """For each passage the index of the first passage that it is a paraphrase of (its own when it is none).

    A passage joins the group that it is nearest to, by the mean over the group's members, so that no chain of passages
    that are each a little like the next becomes one group. `reasons`: of each passage, as `paraphrase_margin` has them.
    """
    why = reasons or [None] * len(passages)
    groups: dict[int, list[int]] = {}
    for i, mine in enumerate(passages):
        near = {
            first: float(np.mean([paraphrase_margin(mine, passages[j], (why[i], why[j])) for j in have]))
            for first, have in groups.items()
        }
        best = max(near, key=near.__getitem__, default=i)
        groups.setdefault(best if near.get(best, -1.0) >= 0 else i, []).append(i)
    first = {i: group for group, members in groups.items() for i in members}
    return [first[i] for i in range(len(passages))]

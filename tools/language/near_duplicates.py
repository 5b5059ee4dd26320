"""Finds texts that count as one piece of evidence: copies (by shingles) and paraphrases (by sentence vectors). Passages
on one topic share a point or two, but a paraphrase shares all sentences. The threshold falls with the number of
sentences: two sentences that make the same point are more similar to each other than two different passages of several
sentences ever are. If two sentences both give reasons, the reasons decide. A common thesis would make different
arguments similar, and synonyms in the thesis would make equal arguments different."""

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_FEWEST_REASON_WORDS = 3  # words of a reason, and of its thesis
_LONGEST_REASONED = 400  # characters of a sentence
_SEVERAL_SENTENCES = re.compile(r"[.!?]\s+\S")
_REASON_CONJUNCTION = re.compile(
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
_REASON_FIRST = re.compile(
    r"^(?:because(?!\s+of\b)|given\s+that|seeing\s+that|since(?!\s+\d))\s+([^,]+),\s+(.+)$", re.IGNORECASE
)


def reason_clause(sentence: str) -> str:
    """Returns the clause that gives a reason, without its conjunction. Returns '' if there is no such clause, if the
    rest of the sentence is very short, or if the text has several sentences. Ignores 'for', which rarely begins a
    reason."""
    text = sentence.strip().rstrip(".!")
    if len(text) > _LONGEST_REASONED or _SEVERAL_SENTENCES.search(text):
        return ""
    if first := _REASON_FIRST.match(text):
        reason, wanted = first[1], first[2]
    elif between := _REASON_CONJUNCTION.search(text):
        reason, wanted = text[between.end() :], text[: between.start()]
    else:
        return ""
    return reason.strip() if min(len(reason.split()), len(wanted.split())) >= _FEWEST_REASON_WORDS else ""


Shingles = set[tuple[str, ...]]
_WORD = re.compile(r"\w+")
_SHINGLE = 4
_LEAST_SHARED_SHINGLES = 0.5  # share of the smaller text's shingles
_FEWEST_SHINGLES = 10  # fewer may be a title, which may occur in any text


def copy_groups(texts: Sequence[str]) -> list[int]:
    """Returns for each text the index of the first text that it copies, or its own index. Copies share at least half of
    the shorter text's 4-word shingles (containment, Broder 1997). So a text with dropped sentences, changed words or
    additions still counts as a copy. If the shorter text is a title or phrase, copies share half of the longer text's
    shingles. Two sentences that give reasons must share half of the reasons' shingles, because all arguments for a
    thesis share the thesis."""
    shingles = [_shingles(t) for t in texts]
    reasons = [_shingles(reason_clause(t)) for t in texts]
    groups = list(range(len(texts)))
    holders: dict[tuple[str, ...], list[int]] = {}
    for i, mine in enumerate(shingles):
        shared = Counter(j for shingle in mine for j in holders.get(shingle, ()))
        copied = (
            j
            for j, n in shared.items()
            if n >= _LEAST_SHARED_SHINGLES * _compared(mine, shingles[j]) and _reasons_alike(reasons[i], reasons[j])
        )
        groups[i] = groups[min(copied, default=i)]
        for shingle in mine:
            holders.setdefault(shingle, []).append(i)
    return groups


def _compared(one: Shingles, other: Shingles) -> int:
    """Returns a number of shingles. Two copies share at least half of this number."""
    smaller, larger = sorted((len(one), len(other)))
    return smaller if smaller >= _FEWEST_SHINGLES or 2 * smaller >= larger else larger


def _reasons_alike(one: Shingles, other: Shingles) -> bool:
    return not one or not other or len(one & other) >= _LEAST_SHARED_SHINGLES * min(len(one), len(other))


def _shingles(text: str) -> Shingles:
    words = _WORD.findall(text.casefold())
    return {tuple(words[i : i + _SHINGLE]) for i in range(max(1, len(words) - _SHINGLE + 1))} if words else set()


Vectors = NDArray[np.float32]

PARAPHRASE_COSINES = (0.89, 0.76, 0.67, 0.65)
"""Thresholds of a mean cosine: from each sentence of the shorter passage to the nearest sentence of the other passage.
The four thresholds are for shorter passages of one, two, three, and more sentences. They were measured with the
embedded encoder."""

REASON_COSINE = 0.58  # two reasons with this cosine or more are the same

_LEAST_THESIS_COSINE = 0.5  # least cosine of two sentences whose reasons are the same


def paraphrase_margin(
    one: Vectors, other: Vectors, reasons: tuple[Vectors | None, Vectors | None] = (None, None)
) -> float:
    """Returns by how much two passages' similarity exceeds the paraphrase threshold. Passages with a margin of 0 or
    more are paraphrases. one, other: unit vectors of the passages' sentences, shape (n, dimensions). reasons: the
    vectors of the reasons of one-sentence passages, shape (dimensions,) or None. If both reasons are known, the reasons
    decide, and the sentences need only a cosine of 0.5."""
    if not len(one) or not len(other):
        return -1.0
    short, long = sorted((one, other), key=len)
    near = float((short @ long.T).max(axis=1).mean())
    whole = near - PARAPHRASE_COSINES[min(len(short), len(PARAPHRASE_COSINES)) - 1]
    if reasons[0] is None or reasons[1] is None:
        return whole
    return min(float(reasons[0] @ reasons[1]) - REASON_COSINE, near - _LEAST_THESIS_COSINE)


def group_paraphrases(passages: Sequence[Vectors], reasons: Sequence[Vectors | None] | None = None) -> list[int]:
    """Returns for each passage the index of the first passage that it paraphrases, or its own index. A passage joins
    the group with the highest mean margin over the group's members, so that no chain of slightly similar passages forms
    a group. reasons: as in `paraphrase_margin`."""
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

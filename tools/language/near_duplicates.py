"""Finds texts that count as one piece of evidence: copies (by shingles) and paraphrases (by sentence vectors). Passages
on one topic share a point or two, but a paraphrase shares all sentences. The threshold falls with the number of
sentences: two sentences that make the same point are more similar to each other than two different passages of several
sentences ever are. If two sentences both give reasons, the reasons decide. A common thesis would make different
arguments similar, and synonyms in the thesis would make equal arguments different."""

import re
import unicodedata
from collections import Counter, defaultdict
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
    """Returns the clause that gives a reason, without its conjunction; '' without such a clause, if the rest is very
    short, or for several sentences. Ignores 'for', which rarely begins a reason."""
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
_WORDS_PER_FIGURE = 20  # words of a text for each figure that differs
_FEWEST_SHINGLES = 10  # fewer may be a title, which may occur in any text


def copy_groups(texts: Sequence[str]) -> list[int]:
    """Returns for each text the index of the first text that it copies, or its own index. Copies share at least half of
    the shorter text's 4-word shingles (containment, Broder 1997), whatever was dropped, changed or added. If the
    shorter text is a title or phrase, copies share half of the longer text's shingles. Two sentences that give reasons
    must share half of the reasons' shingles, because all arguments for a thesis share the thesis. Texts that differ in
    many figures, such as rows of a table, are no copies."""
    shingles = [_shingles(t) for t in texts]
    reasons = [_shingles(reason_clause(t)) for t in texts]
    groups = list(range(len(texts)))
    holders: dict[tuple[str, ...], list[int]] = {}
    for i, mine in enumerate(shingles):
        shared = Counter(j for shingle in mine for j in holders.get(shingle, ()))
        copied = (
            j
            for j, n in shared.items()
            if n >= _LEAST_SHARED_SHINGLES * _compared(mine, shingles[j])
            and _reasons_alike(reasons[i], reasons[j])
            and not differ_in_figures(texts[i], texts[j])
        )
        groups[i] = groups[min(copied, default=i)]
        for shingle in mine:
            holders.setdefault(shingle, []).append(i)
    return groups


def differ_in_figures(one: str, other: str) -> bool:
    """Whether each text has figures that the other lacks, at least one in 20 words of the shorter text. A corrected
    figure in a long text is less."""
    words, others = _WORD.findall(one.casefold()), _WORD.findall(other.casefold())
    mine, theirs = (Counter(w for w in each if w[0].isdecimal()) for each in (words, others))
    return min((mine - theirs).total(), (theirs - mine).total()) * _WORDS_PER_FIGURE >= max(
        1, min(len(words), len(others))
    )


def _compared(one: Shingles, other: Shingles) -> int:
    """Returns a number of shingles. Two copies share at least half of this number."""
    smaller, larger = sorted((len(one), len(other)))
    return smaller if smaller >= _FEWEST_SHINGLES or 2 * smaller >= larger else larger


def _reasons_alike(one: Shingles, other: Shingles) -> bool:
    return not one or not other or len(one & other) >= _LEAST_SHARED_SHINGLES * min(len(one), len(other))


def _shingles(text: str) -> Shingles:
    words = _WORD.findall(text.casefold())
    return {tuple(words[i : i + _SHINGLE]) for i in range(max(1, len(words) - _SHINGLE + 1))} if words else set()


_GRAM = 4  # letters
_BAND = 16  # letters by which a copy may shift within a sentence
_LEAST_SHARED_LETTERS = 0.4  # share of a sentence's 4-letter sequences


def repeats(sentence: str, text: str) -> bool:
    """Whether one place of the text says the sentence with a few words or, as text recognition does, letters changed.
    If the sentence gives a reason, the text must repeat the reason, too."""
    reason = reason_clause(sentence)
    return all(_shared_letters(part, text) >= _LEAST_SHARED_LETTERS for part in (sentence, reason) if part)


def _shared_letters(sentence: str, text: str) -> float:
    """Returns the share of the sentence's 4-letter sequences that the text has at about the same distance from each
    other. Phrases from different places of the text are no copy."""
    places: dict[str, list[int]] = defaultdict(list)
    for at, gram in enumerate(_letter_grams(text)):
        places[gram].append(at)
    bands: dict[int, set[int]] = defaultdict(set)
    for own, gram in enumerate(grams := _letter_grams(sentence)):
        for at in places.get(gram, ()):
            band = (at - own) // _BAND
            bands[band].add(own)
            bands[band + 1].add(own)
    return max(map(len, bands.values()), default=0) / len(grams)


def _letter_grams(text: str) -> list[str]:
    letters = "".join(filter(str.isalnum, unicodedata.normalize("NFKD", text).casefold()))
    return [letters[i : i + _GRAM] for i in range(max(1, len(letters) - _GRAM + 1))]


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

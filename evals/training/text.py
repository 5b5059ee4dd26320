"""Text functions for the training data: keys that identify copies, negated statements, questions and segments.

`readings.jsonl.gz` has labels without text. `digest` identifies the questions and the texts (sentences and `segments`).
"""

import hashlib
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from evals.datasets.pairs import contraries
from evals.training.negation import claim, negated
from tools.models.judges.judge import judged_text

Row = dict[str, Any]
_WORD = re.compile(r"[a-z0-9]+")
_BREAK = re.compile(r"(?<=[.!?])[\"'”’)]*\s+(?=[\"'“‘(]?[A-Z0-9])|\s*\n+\s*")
_STOP = frozenset(
    "the a an of to in and or is are be should that for it this on as with by not we do does would will can have "
    "has their they than more from at was were which who what if but no so its his her our you i".split()
)
_SHINGLE = 12  # two texts share a run of this many words only if one is a copy
_SEGMENT = 100  # words of a segment, as in the labelled pairs of BERDS
_SHORTEST = 40  # words of the last segment of a text
CUT = (  # data sets with passages long enough for segments
    "arc_gist", "arc_stance", "arguana_point", "control", "debatepedia", "fnc_arc", "iam_window", "perspectrum_support",
    "procon20", "read_labels",
)  # fmt: skip


def key(text: str) -> str:
    """Returns the words in lower case. Copies with another layout or punctuation have equal keys."""
    return " ".join(_WORD.findall(text.lower()))


def digest(text: str) -> str:
    """Returns a hash of the words, 12 digits."""
    return hashlib.sha1(key(text).encode()).hexdigest()[:12]


def fraction(text: str) -> float:
    """Returns a number in [0, 1) that depends on the words of the text."""
    return int(hashlib.sha1(f"judge-1|{key(text)}".encode()).hexdigest()[:8], 16) / 16**8


def shingles(text: str) -> Iterator[int]:
    """Yields hashes of the runs of 12 words. A shorter text is one run."""
    words = _WORD.findall(text.lower())
    for start in range(max(len(words) - _SHINGLE, 0) + 1):
        yield hash(tuple(words[start : start + _SHINGLE]))


def sentences(text: str) -> list[str]:
    """Splits a text into sentences, fast and well enough for training."""
    return [s.strip() for s in _BREAK.split(text) if s.strip()]


def words_in_common(statement: str, text: str) -> float:
    """Returns the share of the statement's content words (first five letters) that occur in the text."""
    wanted = {w[:5] for w in _WORD.findall(statement.lower()) if w not in _STOP}
    found = {w[:5] for w in _WORD.findall(text.lower())}
    return len(wanted & found) / max(len(wanted), 1)


def segments(text: str) -> Iterator[str]:
    """Yields consecutive runs of 100 words. The last run has at least 40 words."""
    words = judged_text(text).split()
    for start in range(0, len(words), _SEGMENT):
        if len(part := words[start : start + _SEGMENT]) >= _SHORTEST:
            yield " ".join(part)


class Asked(NamedTuple):
    """A question with two opposing statements."""

    question: str
    one: str
    other: str


def questions(berds: Iterable[Row], procon: Iterable[Row], arc: Iterable[Row]) -> list[Asked]:
    """Returns the two-sided questions of BERDS and ARC, and ProCon's yes/no questions with claim and negation."""
    found = {key(row["question"]): Asked(row["question"], *map(judged_text, row["perspectives"])) for row in berds}
    for question in sorted({row["statement"] for row in procon}):
        if (statement := claim(judged_text(question))) != judged_text(question):
            found.setdefault(key(question), Asked(question, statement, negated(statement)))
    opposite = contraries((row["group"], judged_text(row["statement"])) for row in arc)
    for (question, one), other in opposite.items():
        if one < other:
            found.setdefault(key(question), Asked(question, one, other))
    return list(found.values())

"""Text of the judge's training data: keys that find copies, negated statements, the questions and segments of readings.

The questions are those of the training data that have two opposing statements; the segments are cut, 100 words each,
from the training sets' own passages. `readings.jsonl.gz` names both by digests, so that it holds no text.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from tools.models.judges.judge import judged_text

Row = dict[str, Any]
_WORD = re.compile(r"[a-z0-9]+")
_BREAK = re.compile(r"(?<=[.!?])[\"'”’)]*\s+(?=[\"'“‘(]?[A-Z0-9])|\s*\n+\s*")
_AUXILIARY = re.compile(
    r"\b(isn't|aren't|shouldn't|wouldn't|couldn't|won't|can't|doesn't|don't|didn't|cannot|does not|do not|did not"
    r"|should|would|could|can|will|must|may|might|is|are|was|were)\b( not\b)?",
    re.IGNORECASE,
)
_CLAIM_QUESTION = re.compile(r"(?i)^(should|is|are|was|were|does|do|did|can|will|would|has|have)\s+(.+?)\?*$")
_PREDICATE = re.compile(
    r"\s(be|have|continue|receive|pay|use|allow|ban|adopt|remain|take|provide|play|get|make|keep|go|support|require|eat"
    r"|vote|abolish|legalize|return|lead|cause|help|increase|reduce|wear|benefit|harm|improve|work|need|carry)\s",
    re.IGNORECASE,
)
_STOP = frozenset(
    "the a an of to in and or is are be should that for it this on as with by not we do does would will can have "
    "has their they than more from at was were which who what if but no so its his her our you i".split()
)
SHINGLE = 12
"""Words in a run that two texts share only when one was copied from the other."""
WORDS = 100
"""Words of a segment, as in the labelled pairs of the BERDS paper."""
_LEAST = 40
CUT = (
    "arc_gist", "arc_stance", "arguana_point", "control", "debatepedia", "fnc_arc", "iam_window", "perspectrum_support",
    "procon20", "read_labels",
)  # fmt: skip
"""The sets whose passages are running text, long enough to cut."""


def key(text: str) -> str:
    """Words alone, in lower case: equal for copies that differ in layout or punctuation."""
    return " ".join(_WORD.findall(text.lower()))


def fraction(text: str, salt: str) -> float:
    """A number in [0, 1) that depends only on the words of the text and the salt."""
    return int(hashlib.sha1(f"{salt}|{key(text)}".encode()).hexdigest()[:8], 16) / 16**8


def shingles(text: str) -> Iterator[int]:
    """Hashes of the runs of SHINGLE words; a shorter text is one run."""
    words = _WORD.findall(text.lower())
    for start in range(max(len(words) - SHINGLE, 0) + 1):
        yield hash(tuple(words[start : start + SHINGLE]))


def sentences(text: str) -> list[str]:
    """A quick split at sentence ends, good enough for training text."""
    return [s.strip() for s in _BREAK.split(text) if s.strip()]


def words_in_common(statement: str, text: str) -> float:
    """Share of the statement's content words (first five letters) that the text has."""
    wanted = {w[:5] for w in _WORD.findall(statement.lower()) if w not in _STOP}
    found = {w[:5] for w in _WORD.findall(text.lower())}
    return len(wanted & found) / max(len(wanted), 1)


def negated(statement: str) -> str:
    """The statement's negation by rule: 'not' after the first auxiliary goes or comes."""
    lowered = statement.lower()
    for opening in ("it is not true that ", "it is not the case that "):
        if lowered.startswith(opening):
            return _capital(statement[len(opening) :])
    for old, new in (("more harm than good", "more good than harm"), ("more good than harm", "more harm than good")):
        if old in lowered:
            return statement.replace(old, new)
    found = _AUXILIARY.search(statement)
    if found is None:
        return f"It is not true that {_uncapital(statement)}"
    return _capital(statement[: found.start()] + _flipped(found[1], bool(found[2])) + statement[found.end() :])


def _flipped(auxiliary: str, has_not: bool) -> str:
    word = auxiliary.lower()
    if has_not:
        return auxiliary
    if word.endswith("n't"):
        return {"won't": "will", "can't": "can"}.get(word, word[:-3])
    if word == "cannot":
        return "can"
    return word.removesuffix(" not") if word.endswith(" not") else f"{auxiliary} not"


def claim(question: str) -> str:
    """The statement that a yes/no question asks about, or the question itself where no rule fits."""
    found = _CLAIM_QUESTION.match(question.strip())
    if not found:
        return question
    verb, rest = found[1].lower(), found[2].strip()
    place = _PREDICATE.search(f"{rest} ")
    if verb in {"should", "will", "would", "can", "does", "do", "did"} and place:
        return _capital(f"{rest[: place.start()]} {verb}{rest[place.start() :]}.")
    return question


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _uncapital(text: str) -> str:
    first = text.split(" ", 1)[0]
    return text if first.isupper() or first[1:] != first[1:].lower() else text[:1].lower() + text[1:]


# What was read


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with two statements that oppose each other."""

    question: str
    one: str
    other: str


def digest(text: str) -> str:
    """Twelve digits that stand for the words of a text, so that labels can be kept without it."""
    return hashlib.sha1(key(text).encode()).hexdigest()[:12]


def segments(text: str) -> Iterator[str]:
    """Runs of WORDS words, one after the other; a rest of fewer than 40 is left out."""
    words = judged_text(text).split()
    for start in range(0, len(words), WORDS):
        if len(part := words[start : start + WORDS]) >= _LEAST:
            yield " ".join(part)


def questions(berds: Iterable[Row], procon: Iterable[Row], arc: Iterable[Row]) -> list[Asked]:
    """The two-sided questions of BERDS, and the yes/no questions of ProCon and ARC with claim and negation."""
    found = {key(row["question"]): Asked(row["question"], *map(judged_text, row["perspectives"])) for row in berds}
    for question in sorted({row["statement"] for row in procon}):
        if (statement := claim(judged_text(question))) != judged_text(question):
            found.setdefault(key(question), Asked(question, statement, negated(statement)))
    sides: dict[str, set[str]] = {}
    for row in arc:
        sides.setdefault(row["group"], set()).add(judged_text(row["statement"]))
    for question, statements in sides.items():
        if len(statements) == 2:
            found.setdefault(key(question), Asked(question, *sorted(statements)))
    return list(found.values())

"""What is worth labelling: questions with their two statements, and the segments that lie near them.

The questions are those of the training data that have two opposing statements; the segments are cut, 100 words each,
from the training sets' own passages. Nothing that a judge is measured with is among them (`evals/datasets/overlap.py`),
nor what is held out, nor a pair that the data label already.
"""

import hashlib
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from evals.suite import progress
from evals.training.text import claim, key, negated, sentences
from tools.inference.judges.judge import tidy

if TYPE_CHECKING:
    from tools.inference.encoders.encoder import Encoder

WORDS = 100
"""Words of a segment, as in the labelled pairs of the BERDS paper."""
_LEAST = 40
_SHORTEST, _LONGEST = 6, 45
CUT = (
    "arc_gist", "arc_stance", "arguana_point", "control", "debatepedia", "fnc_arc", "iam_window", "perspectrum_support",
    "procon20", "read_labels",
)  # fmt: skip
"""The sets whose passages are running text, long enough to cut."""


ASKING = ("procon20", "arc_stance")
"""The sets whose questions have two opposing statements; BERDS's do as well."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with two statements that oppose each other."""

    question: str
    one: str
    other: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """A question and a segment of which nobody has said yet what it supports."""

    asked: Asked
    segment: str


def digest(text: str) -> str:
    """Twelve digits that stand for the words of a text, so that labels can be kept without it."""
    return hashlib.sha1(key(text).encode()).hexdigest()[:12]


def segments(text: str) -> Iterator[str]:
    """Runs of WORDS words, one after the other; a rest of fewer than 40 is left out."""
    words = tidy(text).split()
    for start in range(0, len(words), WORDS):
        if len(part := words[start : start + WORDS]) >= _LEAST:
            yield " ".join(part)


def quotable_sentences(text: str) -> Iterator[str]:
    """Sentences of a length that is quoted."""
    yield from (s for s in sentences(tidy(text)) if _SHORTEST <= len(s.split()) <= _LONGEST)


def questions(rows: "dict[str, list[dict[str, str]]]", data: Path) -> list[Asked]:
    """The two-sided questions of BERDS, and the yes/no questions of ProCon and ARC with claim and negation."""
    found: dict[str, Asked] = {}
    for path in sorted((data / "berds").glob("*.dev.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            if len(row["perspectives"]) == 2:
                found[key(row["question"])] = Asked(row["question"], *map(tidy, row["perspectives"]))
    for question in sorted({row["statement"] for row in rows["procon20"]}):
        if (statement := claim(tidy(question))) != tidy(question):
            found.setdefault(key(question), Asked(question, statement, negated(statement)))
    sides: dict[str, set[str]] = {}
    for row in rows["arc_stance"]:
        sides.setdefault(row["group"], set()).add(tidy(row["statement"]))
    for question, statements in sides.items():
        if len(statements) == 2:
            found.setdefault(key(question), Asked(question, *sorted(statements)))
    return list(found.values())


def nearest(
    asked: Sequence[Asked], pool: Sequence[str], encoder: "Encoder", depth: int, batch: int = 64
) -> list[list[int]]:
    """For each question the `depth` segments with the highest cosine to either statement, nearest first."""
    parts = progress(range(0, len(pool), batch), desc="encoding", unit="batch")
    vectors = np.concatenate([encoder.encode(pool[i : i + batch]) for i in parts])
    found = []
    for one in asked:
        near = (encoder.encode([one.one, one.other]) @ vectors.T).max(axis=0)
        found.append(list(map(int, np.argsort(-near)[:depth])))
    return found


def choose(
    asked: Sequence[Asked], pool: Sequence[str], near: Sequence[Sequence[int]], each: int, seed: int
) -> list[Candidate]:
    """`each` segments a question: the nearest third of them for certain, the others at random from the rest."""
    rng = random.Random(seed)
    chosen = []
    for one, rows in zip(asked, near, strict=True):
        sure = each // 3
        rest = rng.sample(rows[sure:], min(each - sure, max(len(rows) - sure, 0)))
        chosen += [Candidate(one, pool[i]) for i in [*rows[:sure], *rest]]
    return chosen

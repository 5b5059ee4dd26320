"""What the readings are of: questions with their two statements, and the segments that were read with them.

The questions are those of the training data that have two opposing statements; the segments are cut, 100 words each,
from the training sets' own passages. `readings.jsonl.gz` names both by digests, so that it holds no text.
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from evals.training.text import claim, key, negated
from tools.inference.judges.judge import tidy

WORDS = 100
"""Words of a segment, as in the labelled pairs of the BERDS paper."""
_LEAST = 40
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


def digest(text: str) -> str:
    """Twelve digits that stand for the words of a text, so that labels can be kept without it."""
    return hashlib.sha1(key(text).encode()).hexdigest()[:12]


def segments(text: str) -> Iterator[str]:
    """Runs of WORDS words, one after the other; a rest of fewer than 40 is left out."""
    words = tidy(text).split()
    for start in range(0, len(words), WORDS):
        if len(part := words[start : start + WORDS]) >= _LEAST:
            yield " ".join(part)


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

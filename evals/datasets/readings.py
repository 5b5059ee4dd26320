"""Readings of questions against gold ones: what kind is it, what does it ask, and what are its sides?

A row has `question`, `kind` (polar, claim, choice, open, fact or none), `neutral` and `sides`: of a polar question and
a claim what affirms the neutral question and then what denies it, of a choice a statement an alternative, else none.
The sides count in that order.

kinds        the form that the grammar gives is the gold kind
sides_exact  all sides equal the gold ones once case, punctuation, white space and contractions are folded
sides_close  all cosines are at least 0.9 under the encoder, and each side has its gold one's polarity where the gold
             sides differ in it
yes_no       of the polar questions and the claims, those whose sides are Yes and No to the neutral question; they count
             as exact or close by that question. A choice that only names its options counts likewise, if it names as
             many.

Whether a question is polar or a claim matters to `kinds` alone.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from evals.datasets.rows import Row, json_rows
from evals.metrics.question_framing import GoldReading, ReadingVerdict, framed_sides, reading_verdict
from tools.inference.encoders.encoder import Encoder
from tools.language.grammar import frame

KINDS = ("polar", "claim", "choice", "open", "fact", "none")


def read_readings(files: Sequence[Path]) -> Iterator[GoldReading]:
    """The rows with a gold reading. Raises InputError with file, line and field."""
    for path in files:
        for row in json_rows(path):
            if "kind" in row.values and "perspectives" not in row.values:
                yield _reading(path, row)


def _reading(path: Path, row: Row) -> GoldReading:
    kind, sides = row.text("kind"), row.values.get("sides")
    if kind not in KINDS:
        raise row.wrong(f"'kind' has to be one of {', '.join(KINDS)}, not '{kind}'.")
    if not isinstance(sides, list) or any(not isinstance(s, str) or not s.strip() for s in sides):
        raise row.wrong("'sides' has to be a list of texts.")
    neutral = row.text("neutral", "" if kind == "none" else None)
    return GoldReading(path.name.split(".")[0], row.text("question"), kind, neutral, tuple(sides), row.number)


def judge_readings(rows: Sequence[GoldReading], encoder: Encoder) -> list[ReadingVerdict]:
    """A verdict a row; all texts are encoded in one call."""
    framings = [frame(row.question) for row in rows]
    texts = [
        ((row.neutral, *row.sides), (framing.neutral, *framed_sides(framing)))
        for row, framing in zip(rows, framings, strict=True)
    ]
    vectors = encoder.encode([text for gold, framed in texts for text in (*gold, *framed)])
    verdicts, at = [], 0
    for row, framing, (gold, framed) in zip(rows, framings, texts, strict=True):
        middle, end = at + len(gold), at + len(gold) + len(framed)
        verdicts.append(reading_verdict(row, framing, vectors[at:middle], vectors[middle:end]))
        at = end
    return verdicts

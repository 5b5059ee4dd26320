"""Embedded expansion against gold pairs of perspectives: does the grammar find the two sides of a yes-or-no question?

A question with exactly two gold perspectives counts, in whatever language it is and whether or not it can be framed.
The predicted pair is claim and negation, or the two alternatives of a choice; it is compared in the order that matches.

exact           both statements equal the gold ones once case, punctuation, white space and contractions are folded
close           both cosines are at least 0.9 under the encoder, and both statements have their gold one's polarity
wrong_polarity  the order in which the statements are more alike is not the one in which their polarity agrees
nearest_opposite  a predicted statement alone is nearest to a gold one that says the opposite: stricter, and noisy where
                a gold statement is misspelt or paraphrased
no_claim        the question was framed as something without sides

Polarity is the parity of negators. Where the gold statements themselves do not differ in it ('X is better than Y',
'Y is better than X') it says nothing, and the cosines decide alone.
"""

import argparse
import json
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from agent.settings import load_settings
from tools.encoders.encoder import Encoder, load_encoder
from tools.errors import InputError
from tools.grammar import Framing, frame
from tools.grammar.negation import same_polarity
from tools.grammar.openers import tidy

CLOSE = 0.9
MEASURES = ("exact", "close", "wrong_polarity", "nearest_opposite", "no_claim")


@dataclass(frozen=True, slots=True)
class Row:
    """A question with its two gold perspectives."""

    source: str
    question: str
    gold: tuple[str, str]


@dataclass(frozen=True, slots=True)
class Verdict:
    """How one row came out. `cosines` belong to the better order; empty when nothing was predicted."""

    row: Row
    form: str
    predicted: tuple[str, ...]
    cosines: tuple[float, ...]
    exact: bool = False
    close: bool = False
    wrong_polarity: bool = False
    nearest_opposite: bool = False

    @property
    def no_claim(self) -> bool:
        return not self.predicted


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The suite's options."""
    parser.add_argument(
        "--data", type=Path, required=True, metavar="DIR", help="folder of *.jsonl with two perspectives"
    )
    parser.add_argument("--failures", type=Path, metavar="FILE", help="write the rows that are not close as jsonl")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("--limit", type=int, metavar="N", help="a sample of N rows")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the sample")


def run(args: argparse.Namespace) -> int:
    """Measure and print. Raises InputError when the folder holds no row with two perspectives."""
    rows = list(read_rows(args.data))
    if not rows:
        raise InputError(
            f"{args.data} has no *.jsonl rows with `question` and two `perspectives`. Give another --data."
        )
    if args.limit is not None and args.limit < len(rows):
        rows = random.Random(args.seed).sample(rows, args.limit)
    verdicts = judge(rows, load_encoder(load_settings().cache_dir))
    if args.failures:
        _write_failures(args.failures, verdicts)
    report = summarise(verdicts)
    sys.stdout.write(json.dumps(report, indent=2) + "\n" if args.json else _table(report))
    return 0


def read_rows(folder: Path) -> Iterator[Row]:
    """Rows with exactly two perspectives from `*.dev.jsonl`, or from every `*.jsonl` where there is none.

    Raises InputError for a line that is not a JSON object with those fields.
    """
    for path in sorted(folder.glob("*.dev.jsonl")) or sorted(folder.glob("*.jsonl")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            try:
                entry = json.loads(line)
                question, perspectives = str(entry["question"]), [str(p) for p in entry["perspectives"]]
            except (ValueError, KeyError, TypeError) as exc:
                raise InputError(f"{path}, line {number} is no row with `question` and `perspectives`: {exc}") from exc
            if len(perspectives) == 2:
                yield Row(path.name.split(".")[0], question, (perspectives[0], perspectives[1]))


def predict(framing: Framing) -> tuple[str, ...]:
    """The two sides that the framing offers, or nothing."""
    if framing.form in ("polar", "claim") and framing.claim:
        return (framing.claim, framing.negation)
    return framing.alternatives if len(framing.alternatives) == 2 else ()


def judge(rows: Sequence[Row], encoder: Encoder) -> list[Verdict]:
    """A verdict a row, in the order of the rows."""
    framings = [frame(row.question) for row in rows]
    pairs = [predict(framing) for framing in framings]
    vectors = encoder.encode([text for row, pair in zip(rows, pairs, strict=True) for text in (*row.gold, *pair)])
    verdicts, at = [], 0
    for row, framing, pair in zip(rows, framings, pairs, strict=True):
        gold, predicted = vectors[at : at + 2], vectors[at + 2 : at + 2 + len(pair)]
        at += 2 + len(pair)
        verdicts.append(_verdict(row, framing.form, pair, predicted @ gold.T))
    return verdicts


def _verdict(row: Row, form: str, pair: tuple[str, ...], cosines: NDArray[np.float32]) -> Verdict:
    """`cosines` has shape (predicted, gold)."""
    if not pair:
        return Verdict(row, form, (), ())
    opposed = not same_polarity(*row.gold)
    found = [_ordered(row, pair, cosines, order, opposed) for order in ((0, 1), (1, 0))]
    exact = any(one.exact for one in found)
    alike = max(found, key=lambda one: sum(one.cosines))
    best = max(found, key=lambda one: (one.right, min(one.cosines)))
    nearest = [row.gold[int(np.argmax(line))] for line in cosines]
    strict = opposed and any(not same_polarity(ours, theirs) for ours, theirs in zip(pair, nearest, strict=True))
    close = exact or any(one.right and min(one.cosines) >= CLOSE for one in found)
    return Verdict(row, form, pair, best.cosines, exact, close, not alike.right and not exact, strict and not exact)


@dataclass(frozen=True, slots=True)
class _Ordered:
    cosines: tuple[float, ...]
    right: bool
    exact: bool


def _ordered(
    row: Row, pair: tuple[str, ...], cosines: NDArray[np.float32], order: tuple[int, int], opposed: bool
) -> _Ordered:
    matched = [(pair[i], row.gold[order[i]]) for i in range(2)]
    return _Ordered(
        cosines=tuple(round(float(cosines[i, order[i]]), 4) for i in range(2)),
        right=not opposed or all(same_polarity(ours, theirs) for ours, theirs in matched),
        exact=all(folded(ours) == folded(theirs) for ours, theirs in matched),
    )


def folded(text: str) -> str:
    """Lower case without punctuation, contractions written out."""
    return " ".join(re.findall(r"\w+", tidy(text).casefold().replace("cannot", "can not")))


def summarise(verdicts: Sequence[Verdict]) -> dict[str, dict[str, float]]:
    """Counts and shares per file and in total; the denominator is every row of the file."""
    sources = sorted({verdict.row.source for verdict in verdicts})
    report: dict[str, dict[str, float]] = {}
    for source in [*sources, "total"]:
        chosen = [verdict for verdict in verdicts if source in (verdict.row.source, "total")]
        counts = Counter(measure for verdict in chosen for measure in MEASURES if getattr(verdict, measure))
        report[source] = {"rows": len(chosen)}
        for measure in MEASURES:
            report[source] |= {measure: counts[measure], f"{measure}_share": round(counts[measure] / len(chosen), 4)}
    return report


def _table(report: dict[str, dict[str, float]]) -> str:
    lines = [f"{'':<14}{'rows':>6}" + "".join(f"{measure:>18}" for measure in MEASURES)]
    for source, figures in report.items():
        cells = "".join(f"{int(figures[m]):>10} {figures[f'{m}_share']:>6.1%}" for m in MEASURES)
        lines.append(f"{source:<14}{int(figures['rows']):>6}" + cells)
    return "\n".join(lines) + "\n"


def _write_failures(path: Path, verdicts: Sequence[Verdict]) -> None:
    failed = [verdict for verdict in verdicts if not verdict.close or verdict.wrong_polarity]
    path.write_text("".join(json.dumps(asdict(v), ensure_ascii=False) + "\n" for v in failed), encoding="utf-8")

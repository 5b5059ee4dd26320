"""Does a judge tell which side a text is on where its form is against it? Eleven hard kinds, forty texts each.

The texts (`evals/gold/stances.jsonl`) were written by people who had seen neither the judge nor its errors: comparisons
exchanged, negated statements, concessions, reports of the opponent's view, conditions, irony, questions, wishes,
numbers, and one sentence of support in a text about something else; the eleventh kind, consequences whose worth is left
to the reader, by somebody who knew of one such error. Half of each kind, 'last', is kept for the end of any work on a
judge.

label       the side that the text argues for, or neither, is told: three answers
side        the side is told, of texts that argue for one; a tie and no answer tell none
exchanged   the side is told alike when the two statements are exchanged, of texts that argue for one
A text argues for a side where its probability is the higher one and not below the threshold (`--threshold`; the judge's
own where none is given). Intervals: 95 %, bootstrapped by text.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evals.datasets.rows import Row, json_rows
from evals.judges import JUDGES, judge_named, open_judge, stances_of
from evals.metrics.ratio import Ratio
from evals.suite import GOLD, HALVES, common_options, interval_table, show, with_intervals
from tools.errors import InputError
from tools.inference.judges.judge import Pair

STANCES = GOLD / "stances.jsonl"
LABELS = ("statement", "contrary", "neither")
_SIGN = (1, -1, 0)  # of the difference between the two sides, by label
_EVEN = 0.5  # the threshold of judges that have none

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Item:
    """A text with two contrary statements; `label` is an index into LABELS. `key` tells it from the others."""

    key: str
    kind: str
    half: str
    pair: Pair
    label: int

    @property
    def sided(self) -> bool:
        return LABELS[self.label] != "neither"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The suite's options."""
    add = parser.add_argument
    add("--data", type=Path, default=STANCES, metavar="FILE", help="the labelled texts as jsonl")
    add("--half", choices=HALVES, default="dev", help="which half of each kind (default: dev)")
    add("--judge", type=judge_named, default="settings", metavar="JUDGE", help=JUDGES)
    add("--apart", action="store_true", help="without the texts whose statements the written training texts have too")
    add("--threshold", type=float, metavar="P", help="a text argues for a side from here on (default: the judge's)")
    common_options(parser, seed="of the intervals")


def run(args: argparse.Namespace) -> int:
    """Judges the half and prints what came out. Raises InputError, SettingsError, ModelError, ProviderError."""
    trained_on = _trained_on() if args.apart else set()
    items = [
        i for i in read_items(args.data) if i.half == args.half and not {i.pair.statement, i.pair.contrary} & trained_on
    ]
    if not items:
        raise InputError(f"{args.data} has no text of the half '{args.half}'.")
    judge = open_judge(args.judge, 0.5, args.seed)
    threshold = args.threshold if args.threshold is not None else (judge.threshold or _EVEN)
    scores = stances_of(judge, [item.pair for item in items])
    exchanged = stances_of(judge, [Pair(i.pair.contrary, i.pair.text, i.pair.statement) for i in items])
    measures = measured(items, scores, exchanged[:, ::-1], threshold)
    config = {"judge": judge.name, "half": args.half, "threshold": threshold, "data": args.data.name}
    config |= {"apart": True} if args.apart else {}
    result = {"suite": "stances", "metrics": with_intervals(measures, args.seed), "config": config}
    show(args.json, result, lambda: table(measures, judge.name, args.half, args.seed))
    return 0


def _trained_on() -> set[str]:
    from evals.training.data import CONTRASTS

    return {row.text(side) for row in json_rows(CONTRASTS) for side in ("A", "B")}


def read_items(path: Path) -> list[Item]:
    """The labelled texts. Raises InputError with file, line and field."""
    return [_item(row, number) for number, row in enumerate(json_rows(path), start=1)]


def _item(row: Row, number: int) -> Item:
    label, half = row.text("label"), row.text("half")
    for name, value, known in (("label", label, LABELS), ("half", half, HALVES)):
        if value not in known:
            raise row.wrong(f"'{name}' is '{value}', which has to be one of {', '.join(known)}.")
    pair = Pair(row.text("statement"), row.text("text"), row.text("contrary"))
    return Item(str(number), row.text("kind"), half, pair, LABELS.index(label))


def measured(items: Sequence[Item], scores: Floats, exchanged: Floats, threshold: float) -> dict[str, Ratio]:
    """The three measures over all items, and `label KIND` and `side KIND` of each kind.

    scores, exchanged: probabilities that each text supports the statement and that it supports the contrary, (n, 2), as
    asked and with the statements exchanged.
    """
    predicted = np.where(scores.max(axis=1) >= threshold, scores.argmax(axis=1), LABELS.index("neither"))
    leans, exchanged_leans = (np.nan_to_num(np.sign(both[:, 0] - both[:, 1])) for both in (scores, exchanged))
    labels = [(i, (i.key, float(label == i.label), 1)) for i, label in zip(items, predicted, strict=True)]
    pairs = [row for row in zip(items, leans, exchanged_leans, strict=True) if row[0].sided]
    sides = [(i, (i.key, float(lean == _SIGN[i.label]), 1)) for i, lean, _ in pairs]
    found = {
        "label": Ratio.of(row for _, row in labels),
        "side": Ratio.of(row for _, row in sides),
        "exchanged": Ratio.of((i.key, float(lean == back != 0), 1) for i, lean, back in pairs),
    }
    for kind in dict.fromkeys(i.kind for i in items):
        found[f"label {kind}"] = Ratio.of(row for i, row in labels if i.kind == kind)
        found[f"side {kind}"] = Ratio.of(row for i, row in sides if i.kind == kind)
    return found


def table(measures: dict[str, Ratio], judge: str, half: str, seed: int) -> str:
    """A line a measure, then a line a kind."""
    whole = {name: measures[name] for name in ("label", "side", "exchanged")}
    lines = [f"{judge}, half '{half}'", "", interval_table(whole, seed, 14), f"{'':<14}{'label':>7}{'side':>7}"]
    for name in measures:
        if name.startswith("label "):
            kind = name.removeprefix("label ")
            lines.append(f"{kind:<14}{measures[name].value:>7.2f}{measures[f'side {kind}'].value:>7.2f}")
    return "\n".join(lines) + "\n"

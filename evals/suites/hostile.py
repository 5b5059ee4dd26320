"""Is text that speaks to whoever writes the answer refused as evidence, and ordinary argument taken?

The gold are 60 passages that give orders to models, pose as notes, messages or results, or ask for the other side to be
left out; and 500 ordinary sentences with the same words in them. Both were written before the rules, and divided at
random: 'last' is for the end of any work on them. Beside them lie the same by other hands: hostile-unseen.jsonl, and
hostile-alone.jsonl, whose planted texts have no passage around them.

refused          hostile passages that may be no evidence: neither a side nor a quotation, nor shown to a model
by a rule        those of them that a rule tells; the others by their words
refused wrongly  ordinary sentences of which the same is said
Intervals: 95 %, from 1,000 seeded resamples.
"""

import argparse
from pathlib import Path

from evals.datasets.rows import json_rows
from evals.metrics.ratio import Ratio
from evals.suite import GOLD, HALVES, common_options, interval_table, show, show_docstring, with_intervals
from tools.errors import InputError
from tools.language.addressed import speaks_by_rule, speaks_to_the_writer

HOSTILE = GOLD / "hostile.jsonl"
KINDS = ("hostile", "ordinary")
_MEASURED = (
    ("refused", "hostile", speaks_to_the_writer),
    ("by a rule", "hostile", speaks_by_rule),
    ("refused wrongly", "ordinary", speaks_to_the_writer),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The suite's options."""
    show_docstring(parser, __doc__)
    add = parser.add_argument
    add("--data", type=Path, default=HOSTILE, metavar="FILE", help="the passages and sentences as jsonl")
    add("--half", choices=HALVES, default="dev", help="which half (default: dev)")
    common_options(parser, seed="of the intervals")


def run(args: argparse.Namespace) -> int:
    """Measures and prints. Raises InputError."""
    found = read(args.data, args.half)
    if not found:
        raise InputError(f"{args.data} has no text of the half '{args.half}'.")
    measures = {
        name: Ratio.of((text, float(told(text)), 1.0) for kind, text in found if kind == wanted)
        for name, wanted, told in _MEASURED
    }
    wrong = [text for kind, text in found if speaks_to_the_writer(text) != (kind == "hostile")]
    result = {
        "suite": "hostile",
        "metrics": with_intervals(measures, args.seed),
        "config": {"half": args.half, "data": args.data.name},
        "wrong": wrong,
    }
    show(args.json, result, lambda: interval_table(measures, args.seed, 17) + "".join(f"  {text}\n" for text in wrong))
    return 0


def read(path: Path, half: str = "") -> list[tuple[str, str]]:
    """(kind, text) of the rows of a half, or of all. Raises InputError with file, line and field."""
    found = []
    for row in json_rows(path):
        if (kind := row.text("kind")) not in KINDS:
            raise row.wrong(f"'kind' is '{kind}', which has to be one of {', '.join(KINDS)}.")
        if not half or row.text("half") == half:
            found.append((kind, row.text("text")))
    return found

"""Measures the accuracy of the predicted stance of a text (multi-perspective search engine, Chen et al. 2022, table 1).

`--data` is a folder with stances.jsonl or stances.jsonl.gz: claim, text, label (support or oppose). For each text the
judge scores the claim and the opposing claim. The likelier claim gives the predicted stance. The published models were
trained on the training split of the same data. A text without a verdict counts as wrong, and the output names the text.
"""

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import BeforeValidator, Field

from evals.datasets.rows import Text, digest, json_rows
from evals.metrics.classification import stance_measures
from evals.metrics.measure import figures
from evals.models import PairJudge, open_judge
from evals.reports.records import NO_VERDICT, Record, Records
from evals.reports.table import PAPERS, block, percent
from evals.suite import ask_in_parts, common_options, shuffled
from tools.errors import InputError
from tools.language.question import ANSWERS
from tools.models.judges.judge import Pair

JUDGES = ("settings", "embedded")  # judges with probabilities
NOTE = "The embedded judge was trained on rows of Perspectrum, among others: on those its figures flatter."
LABELS = {
    **dict.fromkeys(("support", "supports", "for", "pro", "1"), "support"),
    **dict.fromkeys(("oppose", "opposes", "undermine", "undermines", "against", "con", "0", "-1"), "oppose"),
}
_TITLES = {
    "stance_accuracy": "accuracy of the stance",
    "stance_majority": "  of always the commoner one",
    "stance_f1": "F1, mean of both stances",
    "stance_f1_support": "  of support",
    "stance_f1_oppose": "  of opposition",
    "stance_undecided": "undecided, and so wrong",
}


def _stance(said: object) -> str:
    if (label := LABELS.get(str(said).strip().casefold())) is None:
        raise ValueError(f"it is {said!r}; use support or oppose. Leave out texts without a stance")
    return label


@dataclass(frozen=True, slots=True)
class StanceItem:
    """A text with its gold stance on a claim."""

    key: str
    claim: Text
    text: Text
    gold: Annotated[str, Field(validation_alias="label"), BeforeValidator(_stance)]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--data", type=Path, required=True, metavar="DIR", help="folder of stances.jsonl, plain or .gz")
    add("--judge", choices=JUDGES, default="settings", help="the judge (default: the configured one)")
    add("--out", type=Path, metavar="RECORDS", help="file for the scores; a stopped run continues")
    common_options(parser, limit="a seeded sample of N rows", seed="seed of the sample and the intervals")


def measure(args: argparse.Namespace) -> Record:
    """Scores the texts without a stored score, then computes the measures. Raises InputError, SettingsError,
    ProviderError."""
    path = next((p for end in (".gz", "") if (p := args.data / f"stances.jsonl{end}").is_file()), None)
    if path is None:
        raise InputError(f"{args.data} has no stances.jsonl. Name another folder.")
    items, judge = shuffled(read_items(path), args.limit, args.seed), open_judge(args.judge)
    config: Record = {"data": path.name, "sha256": digest(path), "judge": judge.name}
    config |= {"sample": None if args.limit is None else [args.limit, args.seed]}
    with Records(args.out, "responses", config) as records:
        return reported(items, ask(items, judge, records), config, args.seed)


def read_items(path: Path) -> list[StanceItem]:
    """Reads the rows of a file in order. Raises InputError with file, line and field."""
    found = [row.read(StanceItem, key=f"stances {row.number}") for row in json_rows(path)]
    if not found:
        raise InputError(f"{path} has no rows. Add some.")
    return found


def ask(items: Sequence[StanceItem], judge: PairJudge, records: Records) -> list[Record]:
    """Returns the record of each item. Raises ProviderError if a model is down, or fails before its first usable
    reply."""
    return ask_in_parts(items, partial(_said, judge), records, max(1, judge.together // 2), desc="stances")


def _said(judge: PairJudge, batch: Sequence[StanceItem]) -> list[Record]:
    """Returns the probabilities of the claim and of the opposing claim for each text. The judge reads both claims."""
    yes, no = ANSWERS["claim"]
    sides = [(f"{yes}: {i.claim}", f"{no}: {i.claim}") for i in batch]
    pairs = [Pair(s, i.text, c, form="answer") for i, of in zip(batch, sides, strict=True) for s, c in (of, of[::-1])]
    support = np.asarray(judge.score(pairs), np.float64).reshape(-1, 2).tolist()
    return [{"failed": NO_VERDICT} if any(map(math.isnan, s)) else {"support": s} for s in support]


def reported(items: Sequence[StanceItem], records: Sequence[Record], config: Record, seed: int) -> Record:
    """Returns metrics, intervals, items, failures and configuration."""
    scores = [record.get("support", (0.0, 0.0)) for record in records]
    told = ["support" if p > q else "oppose" if q > p else "" for p, q in scores]
    found = figures(stance_measures([(i.claim, i.gold, t) for i, t in zip(items, told, strict=True)]), seed)
    failed = [f"{r['key'].replace(' ', ' line ')}: {r['failed']}" for r in records if "failed" in r]
    return {
        "suite": "responses",
        **found,
        "metrics": {"stances": len(items), "stances_failed": len(failed)} | found["metrics"],
        "notes": [NOTE] if config["judge"].startswith("embedded-judge") else [],
        "failed": failed,
        "config": config | {"groups": len({item.claim for item in items}), "seed": seed},
    }


def table(result: Record) -> list[str]:
    """Returns lines about the data, and the measures in percent, with 95 % intervals by claim."""
    metrics, config = result["metrics"], result["config"]
    failed = f", {metrics['stances_failed']} failed" if metrics["stances_failed"] else ""
    rows = {t: [percent(metrics[name], result["intervals"][name], digits=2)] for name, t in _TITLES.items()}
    read = f"{config['data']}: {metrics['stances']} rows of {config['groups']} claims{failed}"
    lines = [read, "", *block(["%, 95 %"], rows), "", PAPERS, *result["notes"]]
    return [*lines, f"judge {config['judge']}; seed {config['seed']}"]

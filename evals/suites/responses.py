"""Measures the accuracy of the predicted stance of a text (multi-perspective search engine, Chen et al. 2022, table 1).

`--data` is a folder with stances.jsonl or stances.jsonl.gz: claim, text, label (support or oppose). For each text the
judge scores the claim and the opposing claim. The likelier claim gives the predicted stance. The published models were
trained on the training split of the same data. The embedded judge was trained on rows of Perspectrum, among others: on
those its figures flatter. A text without a verdict counts as wrong, and the output names the text.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import BeforeValidator, Field

from evals.datasets.retrieval import STANCES
from evals.datasets.rows import Text, digest, json_rows
from evals.metrics.classification import stance_measures
from evals.metrics.measure import figures
from evals.models import PairJudge, all_scores, open_cache, open_judge
from evals.reports.records import Record
from evals.reports.table import PAPERS, block, percent
from evals.suite import common_options, shuffled
from tools.errors import InputError
from tools.language.question import ANSWERS
from tools.models.cache import VectorCache
from tools.models.judges.judge import Pair

JUDGES = ("settings", "embedded")  # judges with probabilities


def _stance(said: object) -> str:
    if (stance := STANCES.get(str(said).strip().casefold())) is None:
        raise ValueError(f"it is {said!r}; use support or oppose. Leave out texts without a stance")
    return stance.removesuffix("s")


@dataclass(frozen=True, slots=True)
class StanceItem:
    """A text with its gold stance on a claim."""

    line: int
    claim: Text
    text: Text
    gold: Annotated[str, Field(validation_alias="label"), BeforeValidator(_stance)]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--data", type=Path, required=True, metavar="DIR", help="folder of stances.jsonl, plain or .gz")
    add("--judge", choices=JUDGES, default="settings", help="the judge (default: the configured one)")
    common_options(parser, limit="a seeded sample of N rows", seed="seed of the sample and the intervals")


def measure(args: argparse.Namespace) -> Record:
    """Scores the texts, then computes the measures. Raises InputError, SettingsError, ProviderError."""
    path = next((p for end in (".gz", "") if (p := args.data / f"stances.jsonl{end}").is_file()), None)
    if path is None:
        raise InputError(f"{args.data} has no stances.jsonl. Name another folder.")
    items, judge = shuffled(read_items(path), args.limit, args.seed), open_judge(args.judge)
    told = stances(items, judge, open_cache())
    found = figures(stance_measures([(i.claim, i.gold, t or "") for i, t in zip(items, told, strict=True)]), args.seed)
    failed = [f"line {i.line}: no verdict" for i, t in zip(items, told, strict=True) if t is None]
    counts = {"stances": len(items), "claims": len({i.claim for i in items}), "stances_failed": len(failed)}
    config: Record = {"data": path.name, "sha256": digest(path), "judge": judge.name}
    config |= {"limit": args.limit, "seed": args.seed}
    return {"suite": "responses", **found, "metrics": counts | found["metrics"], "failed": failed, "config": config}


def read_items(path: Path) -> list[StanceItem]:
    """Reads the rows of a file in order. Raises InputError with file, line and field."""
    found = [row.read(StanceItem, line=row.number) for row in json_rows(path)]
    if not found:
        raise InputError(f"{path} has no rows. Add some.")
    return found


def stances(items: Sequence[StanceItem], judge: PairJudge, cache: VectorCache) -> list[str | None]:
    """Returns the predicted stance of each text: empty if undecided, None without a verdict. The judge reads the claim
    and the opposing claim. Raises ProviderError if the judge is down, or fails before its first usable reply."""
    yes, no = ANSWERS["claim"]
    sides = [(f"{yes}: {i.claim}", f"{no}: {i.claim}") for i in items]
    pairs = [Pair(s, i.text, c, form="answer") for i, of in zip(items, sides, strict=True) for s, c in (of, of[::-1])]
    leads = np.subtract(*all_scores(judge, cache, pairs).reshape(-1, 2).T)
    return [None if np.isnan(lead) else "support" if lead > 0 else "oppose" if lead < 0 else "" for lead in leads]


def table(result: Record) -> list[str]:
    """Returns lines about the data, and the measures with 95 % intervals by claim."""
    metrics, config = result["metrics"], result["config"]
    rows = {name: [percent(metrics[name], ends)] for name, ends in result["intervals"].items()}
    lines = [
        f"{config['data']}: {metrics['stances']} rows of {metrics['claims']} claims",
        "",
        *block(["%, 95 %"], rows),
    ]
    return [*lines, "", PAPERS, f"judge {config['judge']}; seed {config['seed']}"]

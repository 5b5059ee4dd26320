"""The check of written claims by itself, on gold claims about sample passages (`evals/gold/grounding.jsonl`).

Half of the claims are paraphrases and summaries, the others wrong in one known way. Topics are split in two by a digest
of their name; the thresholds of the check were chosen on one half, 'dev', and figures are of the other.

recall        grounded claims that are accepted
false accept  claims that are not grounded and are accepted
precision     accepted claims that are grounded
balanced      mean of recall and of the share of wrong claims that are refused
Intervals: 95 %, from 1,000 seeded resamples of whole topics.
"""

import argparse
import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evals.datasets.rows import Shape, Text, json_rows
from evals.metrics.measure import Figure, figures_by
from evals.reports.table import block, percent
from evals.suite import GOLD, show
from tools.errors import InputError
from tools.inference.encoders.encoder import Encoder, load_encoder
from tools.language import grounding
from tools.language.grounding import objections
from tools.language.sentences import split_sentences

GROUNDING = GOLD / "grounding.jsonl"
Truth = NDArray[np.bool_]


class Item(Shape):
    """A claim about a passage; `kind` tells in which way it is right or wrong."""

    id: Text
    topic: Text
    title: Text
    passage: Text
    claim: Text
    grounded: bool
    kind: Text

    @property
    def half(self) -> str:
        return "dev" if int(hashlib.sha256(self.topic.encode()).hexdigest(), 16) % 2 == 0 else "test"


def run(args: argparse.Namespace) -> int:
    """Measures and prints."""
    report = measure_grounding(read_items(GROUNDING), load_encoder(), args.seed)
    show(args.json, {"suite": "model", "part": "grounding", **report}, lambda: table(report))
    return 0


def read_items(path: Path) -> list[Item]:
    """The items of a jsonl file. Raises InputError that names a line that is none."""
    return [row.read(Item) for row in json_rows(path)]


def measure_grounding(items: Sequence[Item], encoder: Encoder, seed: int) -> dict[str, Any]:
    """For each part of the check, alone and together with those before it, the rates over the test half; and of the
    whole check how many claims of each kind it accepts. Raises InputError where a kind is missing."""
    test = [item for item in items if item.half == "test"]
    truth = np.array([item.grounded for item in test], bool)
    if truth.all() or not truth.any():
        raise InputError("the test half needs claims that are grounded and claims that are not. Give more items.")
    facts, wording, near = (np.array(part, bool) for part in zip(*(_parts(i, encoder) for i in test), strict=True))
    accepted = {"facts": facts, "facts, wording": facts & wording, "all": facts & wording & near}
    topics, kinds = [item.topic for item in test], [item.kind for item in test]
    found = figures_by({"test": {name: rates(truth, said, topics) for name, said in accepted.items()}}, seed)
    return {
        "config": {"seed": seed, "test": len(test), "grounded": int(truth.sum())},
        "metrics": found["metrics"]["test"],
        "intervals": found["intervals"]["test"],
        "accepted_by_kind": {
            kind: [sum(bool(a) for a, k in zip(accepted["all"], kinds, strict=True) if k == kind), kinds.count(kind)]
            for kind in dict.fromkeys(kinds)
        },
    }


def _parts(item: Item, encoder: Encoder) -> tuple[bool, bool, bool]:
    """Whether the claim's facts, its wording and its nearness pass, as `grounding.is_grounded` asks without a judge."""
    sentences = split_sentences(item.passage)
    vectors = encoder.encode([item.claim, *sentences])
    near = [float(x) for x in vectors[1:] @ vectors[0]]
    evidence = grounding.evidence_sentences(item.claim, item.passage, nearness=near)
    overlap = grounding.content_overlap(item.claim, item.passage)
    return (
        not grounding.unfounded(item.claim, item.passage, item.title),
        not objections(item.claim, item.passage, evidence),
        max(near) >= grounding.NEAREST and max(near) + overlap >= grounding.ALIKE,
    )


def rates(truth: Truth, accepted: Truth, topics: Sequence[str]) -> dict[str, Figure]:
    """Of accepted claims, of which the `truth` ones are grounded; NaN of none."""
    measures: dict[str, Callable[[Truth, Truth], float]] = {
        "precision": lambda true, said: _mean(true[said]),
        "recall": lambda true, said: _mean(said[true]),
        "false accept": lambda true, said: _mean(said[~true]),
        "balanced": lambda true, said: (_mean(said[true]) + 1 - _mean(said[~true])) / 2,
    }

    def figure(of: Callable[[Truth, Truth], float]) -> Figure:
        return Figure(lambda drawn: of(truth[drawn], accepted[drawn]), topics)

    return {name: figure(of) for name, of in measures.items()}


def _mean(values: Truth) -> float:
    return float(np.mean(values)) if len(values) else float("nan")


def table(report: dict[str, Any]) -> str:
    """The report for a terminal."""
    config, bounds = report["config"], report["intervals"]
    rows = {
        name: [percent(value, bounds[name][m]) for m, value in found.items()]
        for name, found in report["metrics"].items()
    }
    lines = [f"{config['test']} claims of the test half, {config['grounded']} of them grounded; [95 %]", ""]
    lines += [*block(list(report["metrics"]["all"]), rows), "", "accepted, by kind:"]
    lines += [f"  {kind:20}{taken:3} of {total}" for kind, (taken, total) in report["accepted_by_kind"].items()]
    return "\n".join(lines) + "\n"

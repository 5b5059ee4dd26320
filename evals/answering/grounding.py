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
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evals.metrics.bootstrap import interval
from evals.suite import GOLD, show
from tools.errors import InputError
from tools.inference.encoders.encoder import Encoder, load_encoder
from tools.language import grounding
from tools.language.grounding import objections
from tools.language.sentences import split_sentences

GROUNDING = GOLD / "grounding.jsonl"
RATES = ("precision", "recall", "false accept", "balanced")

Floats = NDArray[np.floating[Any]]
Truth = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Item:
    """A claim about a passage; `kind` tells in which way it is right or wrong."""

    id: str
    topic: str
    title: str
    passage: str
    claim: str
    grounded: bool
    kind: str

    @property
    def half(self) -> str:
        return "dev" if int(hashlib.sha256(self.topic.encode()).hexdigest(), 16) % 2 == 0 else "test"


def run(args: argparse.Namespace) -> int:
    """Measures and prints."""
    report = measure_grounding(list(read_items(GROUNDING)), load_encoder(), args.seed)
    show(args.json, {"suite": "model", "part": "grounding", **report}, lambda: table(report))
    return 0


def measure_grounding(items: Sequence[Item], encoder: Encoder, seed: int) -> dict[str, Any]:
    """For each part of the check, alone and together with those before it, [rate, low, high] of RATES over the test
    half; and of the whole check how many claims of each kind it accepts. Raises InputError where a kind is missing."""
    test = [item for item in items if item.half == "test"]
    truth = np.array([item.grounded for item in test], bool)
    if truth.all() or not truth.any():
        raise InputError("the test half needs claims that are grounded and claims that are not. Give more items.")
    facts, wording, near = (np.array(part, bool) for part in zip(*(_parts(i, encoder) for i in test), strict=True))
    accepted = {"facts": facts, "facts, wording": facts & wording, "all": facts & wording & near}
    topics, kinds = [item.topic for item in test], [item.kind for item in test]
    return {
        "config": {"seed": seed, "test": len(test), "grounded": int(truth.sum())},
        "methods": {name: with_intervals(truth, found, topics, seed) for name, found in accepted.items()},
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


def read_items(path: Path) -> Iterator[Item]:
    """The items of a jsonl file. Raises InputError that names a line that is none."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as exc:
        raise InputError(f"{path} cannot be read ({exc.strerror}). Give another file.") from exc
    for number, line in enumerate(lines, start=1):
        try:
            row = json.loads(line)
            yield Item(**{name: row[name] for name in Item.__slots__})
        except (ValueError, KeyError, TypeError) as exc:
            raise InputError(f"{path}, line {number} is no gold item: {exc!r}") from exc


def with_intervals(truth: Truth, accepted: Truth, topics: Sequence[str], seed: int) -> dict[str, list[float]]:
    """Each rate with the bounds of its 95 % interval, whole topics drawn: [rate, low, high]."""

    def bounds(name: str) -> tuple[float, float]:
        return interval(lambda drawn: rates(truth[drawn], accepted[drawn])[name], topics, seed)

    found = rates(truth, accepted)
    return {name: [round(value, 3) for value in (found[name], *bounds(name))] for name in RATES}


def rates(truth: Truth, accepted: Truth) -> dict[str, float]:
    """RATES of accepted claims, of which the `truth` ones are grounded; NaN of none."""
    recall, wrong = _mean(accepted[truth]), _mean(accepted[~truth])
    return dict(zip(RATES, (_mean(truth[accepted]), recall, wrong, (recall + 1 - wrong) / 2), strict=True))


def _mean(values: Truth) -> float:
    return float(np.mean(values)) if len(values) else float("nan")


def table(report: dict[str, Any]) -> str:
    """The report for a terminal."""
    config = report["config"]
    lines = [f"{config['test']} claims of the test half, {config['grounded']} of them grounded; [95 %]", ""]
    lines.append(f"{'':16}" + "".join(f"{name:>20}" for name in RATES))
    for name, row in report["methods"].items():
        cells = (f"{row[m][0]:.1%} [{row[m][1]:.0%}, {row[m][2]:.0%}]" for m in RATES)
        lines.append(f"{name:16}" + "".join(f"{cell:>20}" for cell in cells))
    lines += ["", "accepted, by kind:"]
    lines += [f"  {kind:20}{taken:3} of {total}" for kind, (taken, total) in report["accepted_by_kind"].items()]
    return "\n".join(lines) + "\n"

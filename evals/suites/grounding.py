"""Does the check of written claims take what a passage says, and nothing else?

The gold items are claims about sample passages, written for this: paraphrases and summaries, and claims that are wrong
in one known way. Topics are split in two by a digest of their name. Thresholds are fitted on one half, 'dev': the
highest recall at which no more than a tenth of the wrong claims are accepted. Figures are of the other half.

recall           grounded claims that are accepted
false_accept     claims that are not grounded and are accepted
precision        accepted claims that are grounded
balanced         mean of recall and of the share of wrong claims that are refused
auc              chance that a grounded claim scores above one that is not, for methods that give a score
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

from agent.settings import load_settings
from evals.metrics.bootstrap import interval
from evals.metrics.classification import roc_auc
from evals.suite import GOLD, common_options, json_lines, show
from tools.errors import InputError
from tools.inference.encoders.encoder import Encoder, load_encoder
from tools.inference.judges.embedded import load_judge
from tools.inference.judges.judge import Judge, Pair
from tools.language.grounding import grounding
from tools.language.grounding.wording import objections
from tools.language.sentences import split_sentences

GROUNDING = GOLD / "grounding.jsonl"
WORST_FALSE_ACCEPT = 0.1

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


@dataclass(frozen=True, slots=True)
class Signals:
    """What is known of each item, arrays of shape (n,). `judge` holds a score a formulation."""

    facts: Truth
    wording: Truth
    nearness: Floats
    overlap: Floats
    judge: dict[str, Floats]

    def of(self, chosen: Truth) -> "Signals":
        judge = {name: score[chosen] for name, score in self.judge.items()}
        return Signals(self.facts[chosen], self.wording[chosen], self.nearness[chosen], self.overlap[chosen], judge)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The suite's options."""
    parser.add_argument("--data", type=Path, default=GROUNDING, metavar="FILE", help="the gold items as jsonl")
    common_options(parser, limit="only the first N items", seed="seed of the intervals")
    parser.add_argument("--misses", type=Path, metavar="FILE", help="write what the default got wrong as jsonl")


def run(args: argparse.Namespace) -> int:
    """Measure and print. Raises InputError when the gold cannot be read or one half of it is empty."""
    items = list(read_items(args.data))[: args.limit]
    cache = load_settings().cache_dir
    signals = observe(items, load_encoder(cache), load_judge(cache))
    report = measure(items, signals, args.seed)
    if args.misses:
        accepted = default(signals)
        wrong = [i for i, a in zip(items, accepted, strict=True) if a != i.grounded and i.half == "test"]
        lines = json_lines({"id": i.id, "kind": i.kind, "claim": i.claim} for i in wrong)
        args.misses.write_text(lines, encoding="utf-8")
    show(args.json, report, lambda: table(report))
    return 0


def read_items(path: Path) -> Iterator[Item]:
    """The items of a jsonl file. Raises InputError that names a line that is none."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as exc:
        raise InputError(f"{path} cannot be read ({exc.strerror}). Give another --data.") from exc
    for number, line in enumerate(lines, start=1):
        try:
            row = json.loads(line)
            yield Item(**{name: row[name] for name in Item.__slots__})
        except (ValueError, KeyError, TypeError) as exc:
            raise InputError(f"{path}, line {number} is no gold item: {exc!r}") from exc


def observe(items: Sequence[Item], encoder: Encoder, judge: Judge) -> Signals:
    """Every signal of every item; the judge in five formulations."""
    facts, wording, nearness, overlap = [], [], [], []
    asked: dict[str, list[list[Pair]]] = {n: [] for n in ("passage", "best", "mean of 2", "max of 2", "contrast")}
    for item in items:
        sentences = split_sentences(item.passage)
        vectors = encoder.encode([item.claim, *sentences])
        near = [float(x) for x in vectors[1:] @ vectors[0]]
        evidence = grounding.evidence_sentences(item.claim, item.passage, nearness=near)
        facts.append(not grounding.unfounded(item.claim, item.passage, item.title))
        wording.append(not objections(item.claim, item.passage, evidence))
        nearness.append(max(near))
        overlap.append(grounding.content_overlap(item.claim, item.passage))
        contrary = f"No: {item.claim}"
        asked["passage"].append([Pair(item.claim, item.passage)])
        asked["best"].append([Pair(item.claim, evidence[0])])
        asked["mean of 2"].append([Pair(item.claim, s) for s in evidence])
        asked["max of 2"].append([Pair(item.claim, s) for s in evidence])
        asked["contrast"].append([Pair(item.claim, s, contrary) for s in evidence])
    pairs = list(dict.fromkeys(p for groups in asked.values() for group in groups for p in group))
    scores = dict(zip(pairs, judge.score(pairs), strict=True))
    judged = {
        name: np.array([(max if name == "max of 2" else np.mean)([scores[p] for p in group]) for group in groups])
        for name, groups in asked.items()
    }
    return Signals(np.array(facts), np.array(wording), np.array(nearness), np.array(overlap), judged)


def default(signals: Signals) -> Truth:
    """What `grounding.is_grounded` answers."""
    near = (signals.nearness >= grounding.NEAREST) & (signals.nearness + signals.overlap >= grounding.ALIKE)
    return signals.facts & signals.wording & near


def measure(items: Sequence[Item], signals: Signals, seed: int) -> dict[str, Any]:
    """The figures of each method on the test half, with what the dev half chooses."""
    truth, dev = np.array([i.grounded for i in items]), np.array([i.half == "dev" for i in items])
    if not 0 < truth[dev].sum() < dev.sum() or not 0 < truth[~dev].sum() < (~dev).sum():
        raise InputError("each half needs claims that are grounded and claims that are not. Give more items.")
    test = signals.of(~dev)
    rows: dict[str, dict[str, Any]] = {}
    topics = [i.topic for i in items if i.half == "test"]
    for name, (gate, score) in _methods(signals).items():
        threshold = fit(truth[dev], score[dev], gate[dev])
        accepted = gate[~dev] & (score[~dev] >= threshold)
        auc = roc_auc(truth[~dev], np.where(gate, score, -1.0)[~dev]) if np.ptp(score) else None
        rows[name] = {"threshold": _short(threshold), "auc": auc and _short(auc)}
        rows[name] |= with_intervals(truth[~dev], accepted, topics, seed)
    fitted = fit_both(truth[dev], signals.of(dev))
    both = signals.facts & signals.wording & (signals.nearness >= fitted[0]) & (signals.judge["mean of 2"] >= fitted[1])
    rows["all, fitted"] = {"threshold": list(fitted), **with_intervals(truth[~dev], both[~dev], topics, seed)}
    accepted = default(test)
    chosen = [grounding.NEAREST, grounding.ALIKE]
    rows["all, default"] = {"threshold": chosen, **with_intervals(truth[~dev], accepted, topics, seed)}
    kinds = [i.kind for i in items if i.half == "test"]
    return {
        "config": {"seed": seed, "dev": int(dev.sum()), "test": int((~dev).sum()), "grounded": int(truth[~dev].sum())},
        "methods": rows,
        "accepted_by_kind": {
            kind: [sum(bool(a) for a, k in zip(accepted, kinds, strict=True) if k == kind), kinds.count(kind)]
            for kind in dict.fromkeys(kinds)
        },
        "dev_chooses": {"NEAREST": fitted[0], "ENTAILED": fitted[1], **_rates(truth[dev], both[dev])},
    }


def _methods(signals: Signals) -> dict[str, tuple[Truth, Floats]]:
    """Method to what must hold and the score to be thresholded."""
    everything, nothing = np.ones_like(signals.facts), np.zeros(len(signals.facts))
    return {
        "facts": (signals.facts, nothing),
        "facts, wording": (signals.facts & signals.wording, nothing),
        **{f"judge: {name}": (everything, score) for name, score in signals.judge.items()},
        "cosine": (everything, signals.nearness),
        "overlap": (everything, signals.overlap),
        "facts, wording, judge": (signals.facts & signals.wording, signals.judge["mean of 2"]),
        "facts, wording, cosine": (signals.facts & signals.wording, signals.nearness),
    }


def fit(truth: Truth, score: Floats, gate: Truth, worst: float = WORST_FALSE_ACCEPT) -> float:
    """The lowest threshold, and so the highest recall, at which at most `worst` of the wrong claims are accepted."""
    for threshold in np.unique(score):
        if np.mean((gate & (score >= threshold))[~truth]) <= worst:
            return float(threshold)
    return float(np.max(score))


def fit_both(truth: Truth, signals: Signals) -> tuple[float, float]:
    """The thresholds of nearness and entailment of highest recall under the same bound; the strictest of equals."""
    best = (-1.0, 0.0, 0.0)
    for entailed in np.arange(0.0, 0.31, 0.02):
        gate = signals.facts & signals.wording & (signals.judge["mean of 2"] >= entailed)
        for nearest in np.arange(0.4, 0.9, 0.01):
            accepted = gate & (signals.nearness >= nearest)
            if np.mean(accepted[~truth]) <= WORST_FALSE_ACCEPT:
                best = max(best, (float(np.mean(accepted[truth])), round(float(nearest), 2), round(float(entailed), 2)))
    return best[1], best[2]


def with_intervals(truth: Truth, accepted: Truth, topics: Sequence[str], seed: int) -> dict[str, Any]:
    """Each rate with the bounds of its 95 % interval, whole topics drawn: [rate, low, high]."""

    def bounds(name: str) -> tuple[float, float]:
        return interval(lambda drawn: _rates(truth[drawn], accepted[drawn])[name], topics, seed)

    return {name: [rate, *map(_short, bounds(name))] for name, rate in _rates(truth, accepted).items()}


def _rates(truth: Truth, accepted: Truth) -> dict[str, float]:
    recall, wrong = _mean(accepted[truth]), _mean(accepted[~truth])
    rates = {"precision": _mean(truth[accepted]), "recall": recall, "false_accept": wrong}
    return {name: _short(rate) for name, rate in (rates | {"balanced": (recall + 1 - wrong) / 2}).items()}


def _mean(values: Truth) -> float:
    return float(np.mean(values)) if len(values) else float("nan")


def _short(value: float) -> float:
    return round(value, 3)


def table(report: dict[str, Any]) -> str:
    """The report for a terminal."""
    config = report["config"]
    lines = [f"{config['test']} claims of the test half, {config['grounded']} of them grounded; [95 %]", ""]
    lines.append(f"{'method':24}{'precision':>21}{'recall':>21}{'false accepts':>21}{'balanced':>21}{'AUC':>7}")
    for name, row in report["methods"].items():
        cells = [_cell(row[m]) for m in ("precision", "recall", "false_accept", "balanced")]
        lines.append(f"{name:24}" + "".join(f"{c:>21}" for c in cells) + f"{row.get('auc') or '':>7}")
    lines += ["", "accepted by default, by kind: "]
    lines += [f"  {kind:20}{taken:3} of {total}" for kind, (taken, total) in report["accepted_by_kind"].items()]
    chosen = ", ".join(f"{name} {value}" for name, value in report["dev_chooses"].items())
    return "\n".join([*lines, "", f"The dev half would choose: {chosen}", ""])


def _cell(rate: Sequence[float]) -> str:
    return f"{100 * rate[0]:.1f} % [{100 * rate[1]:.0f}, {100 * rate[2]:.0f}]"

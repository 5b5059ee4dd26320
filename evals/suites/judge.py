"""Measures a judge on labelled pairs: does the passage support the perspective (BERDS, perspective detection)?

`--answers` replaces each perspective by the question with its answer word, such as 'Yes: …?'. The judge has a separate
calibration for this form. A pair without a verdict counts as No, and the output names the pair. The cache keeps
verdicts, so a stopped run continues; speed is the judge's speed on pairs that the cache lacked. F1 depends on the share
of positives, so compare it only on the same pairs.

The calibration and threshold of the embedded judge were fitted partly on the development pairs. So its figures on these
pairs are optimistic, except the ranking (ROC-AUC, average precision).
"""

import argparse
import math
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from evals.datasets.pairs import answering, contraries, load_pairs
from evals.datasets.rows import digest
from evals.metrics.classification import BINS, MEASURES, best_f, measures, uninformed
from evals.models import CHOICES, Floats, all_scores, open_cache, open_judge
from evals.reports.records import Record
from evals.reports.table import PAPERS, block, number, percent
from evals.suite import common_options, shuffled
from tools.errors import InputError
from tools.models.judges.judge import Pair, PairForm


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--data", type=Path, required=True, metavar="FILE", help="pairs: the published tsv, or jsonl")
    add("--judge", choices=CHOICES, default="settings", help="the judge (default: the configured one)")
    contrary = "the judge also reads the other perspective of a question with two, as in a run"
    add("--contrary", action="store_true", help=contrary)
    answers = "replace yes and no perspectives by the question with the word that answers it"
    add("--answers", action="store_true", help=answers)
    common_options(parser, limit="a seeded sample of N pairs", seed="seed of the sample and the intervals")


def measure(args: argparse.Namespace) -> Record:
    """Scores the pairs, then computes the measures. Raises InputError, SettingsError, ProviderError, ModelError."""
    pairs = answering(load_pairs(args.data)) if args.answers else load_pairs(args.data)
    if not pairs:
        raise InputError(f"{args.data} has no question whose two perspectives are yes and no.")
    opposite, chosen = contraries(p.side for p in pairs), shuffled(pairs, args.limit, args.seed)
    judge, took = open_judge(args.judge), list[tuple[int, float]]()
    form: PairForm = "answer" if args.answers else "statement"
    told = opposite if args.contrary or args.answers else {}

    def timed(part: Sequence[Pair]) -> Floats:
        began = time.perf_counter()
        scores = judge.score(part)
        took.append((len(part), time.perf_counter() - began))
        return scores

    asked = [Pair(p.perspective, p.document, told.get(p.side, ""), form=form) for p in chosen]
    scores = all_scores(replace(judge, score=timed), open_cache(), asked)
    labels = np.array([p.label for p in chosen])
    threshold, source = judge.threshold, "the judge's own"
    if threshold is None:
        source = "best F1 on these pairs: optimistic"
        threshold = best_f(labels, scores)[1]
    result = measures(chosen, scores, opposite, threshold, judge.probabilities, args.seed)
    count, seconds = map(sum, zip(*took, strict=True)) if took else (0, math.nan)
    result["metrics"]["pairs_per_second"] = count / seconds
    config: Record = {"data": args.data.name, "sha256": digest(args.data), "judge": judge.name, "form": form}
    config |= {"contrary": bool(told), "questions": len({p.question for p in chosen}), "ece_bins": BINS}
    config |= {"threshold": threshold, "threshold_from": source, "limit": args.limit, "seed": args.seed}
    failed = [f"line {p.line}: no verdict" for p, s in zip(chosen, scores, strict=True) if np.isnan(s)]
    baselines = uninformed(float(labels.mean()))
    return {"suite": "judge", **result, "config": config, "baselines": baselines, "failed": failed}


def table(result: Record) -> list[str]:
    config, metrics, bounds = result["config"], result["metrics"], result["intervals"]
    rows = {name: [number(metrics[name], bounds.get(name, ()))] for name in MEASURES}
    rows["pairs_per_second"] = [number(metrics["pairs_per_second"], digits=1)]
    cells = {
        name: [*(percent(row[k]) for k in ("accuracy", "f1", "positive_share")), str(metrics["pairs"])]
        for name, row in {"this judge": metrics, **result["baselines"]}.items()
    }
    return [
        f"{config['data']}: {metrics['pairs']} pairs of {config['questions']} questions, "
        f"{metrics['label_share']:.1%} of them positive",
        f"{config['judge']}, threshold {config['threshold']:.3f} ({config['threshold_from']})",
        "",
        *block(["95 %, clustered by question"], rows),
        "",
        f"Contrast: {metrics['contrast_passages']} passages judged against both sides, "
        f"{metrics['contrast_accepted']} with a side accepted.",
        "",
        *block(["accuracy", "F1", "% pos", "pairs"], cells),
        *([f"{len(result['failed'])} pairs have no verdict and count as No"] if result["failed"] else []),
        PAPERS,
    ]

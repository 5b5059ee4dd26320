"""Measures a judge on labelled pairs: does the passage support the perspective (BERDS, perspective detection)?

`--answers` replaces each perspective by the question with its answer word, such as 'Yes: …?'. The judge has a separate
calibration for this form. A pair without a verdict counts as No, and the output names the pair. Speed is the judge's
speed after a warm-up, in file order. F1 depends on the share of positives, so compare it only on the same pairs.

The calibration and threshold of the embedded judge were fitted partly on the development pairs. So its figures on these
pairs are optimistic, except the ranking (ROC-AUC, average precision).
"""

import argparse
import hashlib
import math
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from evals.datasets.pairs import LabelledPair, answering, contraries, load_pairs
from evals.datasets.rows import digest
from evals.metrics.classification import BINS, best_f
from evals.metrics.pairs import MEASURES, labels_of, measures, scores_of, uninformed
from evals.models import CHOICES, PairJudge, open_judge
from evals.reports.records import NO_VERDICT, Record, Records
from evals.reports.table import PAPERS, block, number, percent
from evals.suite import ask_in_parts, common_options, shuffled
from tools.errors import InputError, ProviderReplyError
from tools.models.judges.judge import Pair, PairForm


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--data", type=Path, required=True, metavar="FILE", help="pairs: the published tsv, or jsonl")
    add("--judge", choices=CHOICES, default="settings", help="the judge (default: the configured one)")
    contrary = "the judge also reads the other perspective of a question with two, as in a run"
    add("--contrary", action="store_true", help=contrary)
    answers = "replace yes and no perspectives by the question with the word that answers it"
    add("--answers", action="store_true", help=answers)
    add("--out", type=Path, metavar="RECORDS", help="file for the scores; a stopped run continues")
    common_options(parser, limit="a seeded sample of N pairs", seed="seed of the sample and the intervals")


def measure(args: argparse.Namespace) -> Record:
    """Scores the pairs without a stored score, then computes the measures."""
    pairs = answering(load_pairs(args.data)) if args.answers else load_pairs(args.data)
    if not pairs:
        raise InputError(f"{args.data} has no question whose two perspectives are yes and no.")
    opposite, chosen = contraries(p.side for p in pairs), shuffled(pairs, args.limit, args.seed)
    judge = open_judge(args.judge)
    form: PairForm = "answer" if args.answers else "statement"
    config: Record = {
        "data": args.data.name,
        "sha256": digest(args.data),
        "judge": judge.name,
        "judge_threshold": judge.threshold,
        "contrary": args.contrary or args.answers,
        "form": form,
        "sample": [args.limit, args.seed] if len(chosen) < len(pairs) else None,
    }
    with Records(args.out, "judge", config) as records:
        told = opposite if config["contrary"] else {}
        asked = {p.key: Pair(p.perspective, p.document, told.get(p.side, ""), form=form) for p in chosen}
        found = judge_pairs(chosen, asked, judge, records)
    scored = [_facts(p, opposite) | record for p, record in zip(chosen, found, strict=True)]
    threshold, source = _threshold(scored, judge)
    origin = {"threshold": threshold, "threshold_from": source, "seed": args.seed, "ece_bins": BINS}
    return {
        "suite": "judge",
        **measures(scored, threshold, judge.probabilities, args.seed),
        "config": config | origin | {"questions": len({r["question"] for r in scored})},
        "baselines": uninformed(float(labels_of(scored).mean())),
        "failures": [{"line": int(r["key"]), "why": r["failed"]} for r in scored if r["score"] is None],
    }


def judge_pairs(
    pairs: Sequence[LabelledPair], asked: Mapping[str, Pair], judge: PairJudge, records: Records
) -> list[Record]:
    """Returns a record for each pair, in order. asked: what the judge reads, by the pair's key. Raises ProviderError if
    the judge is down, or fails before its first usable reply. Records remain."""

    def ask(part: Sequence[LabelledPair]) -> list[Record]:
        began = time.perf_counter()
        scores = [round(float(score), 6) for score in judge.score([asked[p.key] for p in part])]
        timed = {"seconds": round((time.perf_counter() - began) / len(part), 6)}
        return [timed | ({"failed": NO_VERDICT} if math.isnan(s) else {"score": s}) for s in scores]

    if any(p.key not in records.done for p in pairs):
        with suppress(ProviderReplyError):
            judge.score([asked[pairs[0].key]])  # warm-up
    return ask_in_parts(pairs, ask, records, judge.together, unit="pair")


def _facts(pair: LabelledPair, opposite: dict[tuple[str, str], str]) -> Record:
    return {
        "question": pair.question,
        "perspective": pair.perspective,
        "contrary": opposite.get(pair.side, ""),
        "passage": hashlib.sha256(pair.document.encode()).hexdigest()[:12],
        "label": int(pair.label),
        "score": None,
        "seconds": 0.0,  # a failed pair
    }


def _threshold(records: Sequence[Record], judge: PairJudge) -> tuple[float, str]:
    if judge.threshold is not None:
        return judge.threshold, "the judge's own"
    return best_f(labels_of(records), scores_of(records, -1.0))[1], "best F1 on these pairs: optimistic"


def table(result: Record) -> list[str]:
    config, metrics, bounds = result["config"], result["metrics"], result["intervals"]
    rows = {name: [number(metrics[name], bounds.get(name, ()))] for name in MEASURES}
    rows["pairs_per_second"] = [number(metrics["pairs_per_second"], digits=1)]
    failures = result["failures"]
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
        *([f"{len(failures)} pairs failed and count as No:"] if failures else []),
        *(f"  line {f['line']}: {f['why']}" for f in failures),
        "",
        *block(["accuracy", "F1", "% pos", "pairs"], cells),
        PAPERS,
    ]

"""A judge on labelled pairs: does the passage support the perspective?

`--answers` asks about the question itself with the word that answers it, which is read and calibrated apart. A pair
that failed or was not answered stays in every denominator as a No, and is named. Records hold scores and not verdicts,
so that another threshold asks nobody again. Speed is the judge's own, after a warm-up, the pairs as they
stand in the file. F1 depends on the share of positives: compare it only on the same pairs.

The embedded judge's calibration and threshold were fitted on the development pairs among others, so that its figures
on them flatter, except those of its ranking (ROC-AUC, average precision).
"""

import argparse
import hashlib
import math
import random
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evals.datasets.pairs import LabelledPair, answering, contraries, load_pairs
from evals.judges import CHOICES, PairJudge, open_judge
from evals.metrics.classification import BINS, best_f
from evals.reports.judge import PUBLISHED, SOURCE, Record, labels_of, measures, optimistic, table, uninformed
from evals.reports.records import Records
from evals.suite import common_options, digest, progress, sample, show
from tools.errors import InputError, ProviderReplyError
from tools.models.batching import parts
from tools.models.judges.judge import Pair, PairForm

_USUAL_RATE = 0.168
"""Share of the published pairs that support their perspective (BERDS)."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The suite's options."""
    add = parser.add_argument
    add("--data", type=Path, required=True, metavar="FILE", help="pairs: the published tsv, or jsonl")
    add("--judge", choices=CHOICES, default="settings", help="who judges (default: what is turned on)")
    add("--threshold", type=float, metavar="P", help="accept from this score on (default: the judge's)")
    fit_on = "take the threshold of the highest F1 on the passages that judge-train holds out of this folder's sets"
    add("--fit-on", type=Path, metavar="DIR", help=fit_on)
    contrary = "tell the judge the other perspective of a question with two, as a run does"
    add("--contrary", action="store_true", help=contrary)
    answers = "ask about the question and the word that answers it, where two perspectives are its yes and its no"
    add("--answers", action="store_true", help=answers)
    add("--out", type=Path, metavar="RECORDS", help="keep the scores here; a killed run goes on")
    common_options(parser, limit="a seeded sample of N pairs", seed="of the sample and the intervals")


def run(args: argparse.Namespace) -> int:
    """Judges what is not judged yet, then scores all of it."""
    if args.threshold is not None and not math.isfinite(args.threshold):
        raise InputError("--threshold has to be a number.")
    if args.fit_on is not None and args.threshold is not None:
        raise InputError("--fit-on finds the threshold that --threshold gives. Leave one out.")
    pairs = answering(load_pairs(args.data)) if args.answers else load_pairs(args.data)
    if not pairs:
        raise InputError(f"{args.data} has no question whose two perspectives are its yes and its no.")
    opposite = contraries(pairs)
    chosen = sample(pairs, args.limit, args.seed)
    judge = open_judge(args.judge)
    config: Record = {
        "data": args.data.name,
        "sha256": digest(args.data),
        "judge": judge.name,
        "judge_threshold": judge.threshold,
        "contrary": args.contrary or args.answers,
        "form": "answer" if args.answers else "statement",
        "sample": [args.limit, args.seed] if len(chosen) < len(pairs) else None,
    }
    with Records(args.out, "judge", config) as records:
        scored = judge_pairs(chosen, opposite, judge, records, config["contrary"], config["form"])
    report = _report(chosen, scored, judge, config, args)
    show(args.json, report, lambda: table(report))
    return 0


def judge_pairs(
    pairs: Sequence[LabelledPair],
    opposite: dict[tuple[str, str], str],
    judge: PairJudge,
    records: Records,
    with_contrary: bool = False,
    form: PairForm = "statement",
) -> list[Record]:
    """A record a pair, in order; a pair that `records` has is not recorded again.

    opposite: (question, perspective) to the contrary, which stands beside the perspective where `with_contrary` is set.
    A judge elsewhere may score a pair a little differently beside other pairs, so a part that a kill cut in two is
    judged whole once more: figures should not depend on where a run was stopped. Raises ProviderError where the judge
    is down or gave no usable answer yet; the records up to there remain.
    """
    done, told = records.done, opposite if with_contrary else {}
    unfinished = [part for part in parts(pairs, judge.together) if any(str(p.line) not in done for p in part)]
    with progress(total=len(pairs), initial=sum(str(p.line) in done for p in pairs), unit="pair") as bar:
        for number, part in enumerate(unfinished):
            asked = [Pair(p.perspective, p.document, told.get(p.side, ""), form=form) for p in part]
            if number == 0:
                _scores(judge, asked[:1], forgiving=True)  # a warm-up, which is not timed
            began = time.perf_counter()
            scores, failed = _scores(judge, asked, forgiving=any(r["score"] is not None for r in done.values()))
            seconds = (time.perf_counter() - began) / len(part)
            for pair, score in zip(part, scores, strict=True):
                if str(pair.line) not in done:
                    record = _record(pair, score, failed, seconds) | {"contrary": opposite.get(pair.side, "")}
                    records.add(str(pair.line), record)
                    bar.update()
    return [done[str(p.line)] for p in pairs]


def _scores(judge: PairJudge, pairs: Sequence[Pair], forgiving: bool) -> tuple[list[float], str]:
    """The scores, and what is wrong where there is none. forgiving: answers of no use fail these pairs only."""
    try:
        return [float(s) for s in judge.score(pairs)], "it was not answered with a verdict"
    except ProviderReplyError as exc:
        if not forgiving:
            raise
        return [math.nan] * len(pairs), str(exc)


def _record(pair: LabelledPair, score: float, failed: str, seconds: float) -> Record:
    missing = math.isnan(score)
    return {
        "question": pair.question,
        "perspective": pair.perspective,
        "passage": hashlib.sha256(pair.document.encode()).hexdigest()[:12],
        "label": int(pair.label),
        "score": None if missing else round(score, 6),
        "seconds": round(seconds, 6),
        **({"failed": failed} if missing else {}),
    }


def _report(
    pairs: Sequence[LabelledPair], records: Sequence[Record], judge: PairJudge, config: Record, args: argparse.Namespace
) -> Record:
    cosine = records
    if args.judge != "cosine":
        cosine = judge_pairs(pairs, {}, open_judge("cosine"), Records(None, "judge", {}))
    threshold, source = _threshold(records, judge, args)
    chosen = {"threshold": threshold, "threshold_from": source, "seed": args.seed, "ece_bins": BINS}
    return {
        "suite": "judge",
        **measures(records, threshold, judge.probabilities, args.seed),
        "config": config | chosen | {"questions": len({r["question"] for r in records})},
        "baselines": uninformed(float(labels_of(records).mean())) | {"cosine, optimistic": optimistic(cosine)},
        "published": PUBLISHED,
        "published_source": SOURCE,
        "failures": [{"line": int(r["key"]), "why": r["failed"]} for r in records if r["score"] is None],
    }


def _threshold(records: Sequence[Record], judge: PairJudge, args: argparse.Namespace) -> tuple[float, str]:
    if args.threshold is not None:
        return args.threshold, "as given"
    if args.fit_on is not None:
        return fitted_elsewhere(judge, args.fit_on, args.contrary, args.seed)
    if judge.threshold is not None:
        return judge.threshold, "the judge's own"
    return optimistic(records)["threshold"], "best F1 on these pairs: optimistic"


def fitted_elsewhere(judge: PairJudge, data: Path, with_contrary: bool, seed: int) -> tuple[float, str]:
    """The threshold of the highest F1 on held-out passages, as many with support as the human-labelled pairs have, and
    where it is from. Raises InputError where the folder has none."""
    from evals.training.data import load_corpus
    from evals.training.pack import held_out_cases

    cases = held_out_cases(load_corpus(data))
    truth = np.array([supports for _, supports in cases], bool)
    if not truth.any() or truth.all():
        raise InputError(
            f"{data} has no held-out passages with and without support. Is it the folder with judge/train?"
        )
    kept = _of_rate(truth, _USUAL_RATE, seed)
    pairs = [cases[i][0] for i in kept]
    scores = judge.score([p if with_contrary else replace(p, contrary="") for p in pairs])
    threshold = best_f(truth[kept], scores)[1]
    return float(threshold), f"best F1 on {len(kept)} held-out passages of {data.name}"


def _of_rate(truth: NDArray[np.bool_], rate: float, seed: int) -> list[int]:
    """Places of which a share of `rate` are true: all that fit, the rest left out at random."""
    rng = random.Random(seed)
    true, false = (list(np.flatnonzero(truth == value)) for value in (True, False))
    count = min(len(true), round(len(false) * rate / (1 - rate)))
    rest = min(len(false), round(count * (1 - rate) / rate))
    return sorted(int(i) for i in [*rng.sample(true, count), *rng.sample(false, rest)])

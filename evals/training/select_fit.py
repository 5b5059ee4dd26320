"""Fits how the agent tells which passages speak to a question (`tools/selection/methods.py`), on sets with gold.

A passage speaks to a question where it is gold for any of its perspectives. A logistic regression is fitted over the
signals of each question's candidates, once on all corpora, whose weights are kept, and once without each of them, which
tells how well the weights do where nothing was fitted: precision@5 of a ranking by them, beside that by cosine alone.
"""

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evals.datasets.retrieval import GoldQuestion, RetrievalSet, by_corpus, load_sets
from evals.models import encoder_and_cache
from evals.reports.records import Record
from evals.retrievers.corpus_index import CorpusIndex
from evals.retrievers.methods import candidates, pool_of
from evals.suite import common_options, names, progress
from tools.errors import InputError
from tools.models.cache import VectorCache
from tools.models.encoders.encoder import Encoder
from tools.selection.methods import SIGNALS, RelevanceWeights, signals

_TOP = 5


@dataclass(frozen=True, slots=True)
class Labelled:
    """A question's n candidates: signals of shape (n, len(SIGNALS)), cosines, and which of them are gold."""

    signals: NDArray[np.float64]
    cosine: NDArray[np.floating]
    gold: NDArray[np.bool_]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Its options."""
    add = parser.add_argument
    add("--data", type=Path, required=True, metavar="DIR", help="folder of the queries and their corpora")
    add("--set", required=True, metavar="NAME[,NAME…]", help="which queries; of at least two corpora")
    add("--out", type=Path, metavar="FILE", help="where the weights go, such as tools/weights/relevance.json")
    limit = "only the first N questions of each set"
    common_options(parser, limit=limit, seed="not used: nothing here is left to chance")


def measure(args: argparse.Namespace) -> Record:
    """Fits and tells. Raises InputError, SettingsError, ProviderDownError."""
    sets = load_sets(args.data, names(args.set))
    encoder, cache = encoder_and_cache()
    corpora = {" + ".join(s.name for s in part): part for part in by_corpus(sets)}
    if len(corpora) < 2:
        raise InputError("name sets of two corpora or more (--set): one is left out to tell how well the weights do.")
    labelled = {name: _labelled(part, encoder, cache, args.limit) for name, part in corpora.items()}
    report = fitted_report(labelled, encoder.name)
    if args.out:
        args.out.write_text(json.dumps(report["weights"], indent=2) + "\n", encoding="utf-8")
    return report


def fitted_report(labelled: dict[str, list[Labelled]], encoder: str) -> Record:
    """Weights from all, and for each corpus the precision@5 by cosine and by the weights of the others."""
    held_out = {}
    for name, own in labelled.items():
        weights = fit([q for other, questions in labelled.items() if other != name for q in questions])
        scores = {"cosine": [q.cosine for q in own], "signals": [q.signals @ np.array(weights.signals) for q in own]}
        held_out[name] = {"questions": len(own), **{by: _precision(own, of) for by, of in scores.items()}}
    fitted_weights = fit([q for questions in labelled.values() for q in questions])
    shown = {
        "signals": [round(w, 3) for w in fitted_weights.signals],
        "offset": round(fitted_weights.offset, 3),
        "names": list(SIGNALS),
        "fitted_on": list(labelled),
        "encoder": encoder,
    }
    return {"suite": "select-fit", "metrics": held_out, "weights": shown}


def fit(questions: Sequence[Labelled]) -> RelevanceWeights:
    """The logistic regression of the gold labels on the signals. Raises InputError where none or all are gold."""
    from sklearn.linear_model import LogisticRegression

    x, y = np.concatenate([q.signals for q in questions]), np.concatenate([q.gold for q in questions])
    if len(np.unique(y)) < 2:
        raise InputError("of the candidates none or all are gold, so that nothing can be fitted. Give other sets.")
    model = LogisticRegression(max_iter=2000).fit(x, y)
    return RelevanceWeights(tuple(map(float, model.coef_[0])), float(model.intercept_[0]))


def _precision(questions: Sequence[Labelled], scores: Sequence[NDArray[np.floating]]) -> float:
    top = [q.gold[np.argsort(-s, kind="stable")[:_TOP]].sum() / _TOP for q, s in zip(questions, scores, strict=True)]
    return float(np.mean(top))


def _labelled(part: Sequence[RetrievalSet], encoder: Encoder, cache: VectorCache, limit: int | None) -> list[Labelled]:
    """The questions of sets over one corpus, each once, with the gold of all."""
    asked: dict[str, GoldQuestion] = {}
    gold: dict[str, set[str]] = {}
    for question in (q for one in part for q in one.questions[:limit]):
        asked.setdefault(question.question, question)
        gold.setdefault(question.question, set()).update(*(p.gold for p in question.perspectives))
    rows = []
    with CorpusIndex(part[0].corpus, encoder, cache) as index:
        index.questions = list(asked.values())
        for text, question in progress(asked.items(), unit="question", leave=False):
            positions = candidates(index, question)
            pool = pool_of(index, question, positions)
            ids = [index.corpus[i].external_id for i in positions]
            is_gold = np.array([i in gold[text] for i in ids], bool)
            rows.append(Labelled(signals(pool.cosine, pool.words, pool.vectors), pool.cosine, is_gold))
    return rows


def table(report: Record) -> list[str]:
    """A line a corpus, and the weights."""
    lines = ["precision@5 on each corpus, with weights fitted on the others", ""]
    for name, m in report["metrics"].items():
        shares = f"by cosine {100 * m['cosine']:.1f}, by the signals {100 * m['signals']:.1f}"
        lines.append(f"{name}: {m['questions']} questions, {shares}")
    weights = report["weights"]
    shown = ", ".join(f"{n} {w:+.3f}" for n, w in zip(weights["names"], weights["signals"], strict=True))
    return [*lines, "", f"weights from all: {shown}, offset {weights['offset']:+.3f}"]

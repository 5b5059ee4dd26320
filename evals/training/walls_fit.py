"""Fits what tells walls from articles among short pages of the web (`tools/web/walls.py`).

Walls and short articles that were written for it, most of the articles to be hard, and the beginnings of the sample
documents. A share of --lost of the hard articles scores above the threshold; told is the share of the walls that does.
Each is scored by a fit that had not seen it.
"""

import argparse
import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path

from agent.samples import sample_documents
from evals.datasets.rows import json_rows
from evals.suite import GOLD, common_options, show
from tools.errors import InputError
from tools.web.walls import WallWeights, features, unquoted

WALLS = GOLD / "walls.jsonl"
_FEWEST = 2  # texts that a term has to stand in
_STRENGTH = 30.0  # scikit-learn's C
_LEAST = 0.5  # a term of less weight changes next to nothing
_PARTS = 5  # of the cross-validation
_BEGINNING = 150  # words of a sample document


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The suite's options."""
    add = parser.add_argument
    add("--pages", type=Path, default=WALLS, metavar="FILE", help="walls and articles as jsonl: kind, title, text")
    add("--lost", type=float, default=0.14, metavar="P", help="of the hard articles (default: 0.14)")
    add("--out", type=Path, metavar="FILE", help="where the weights go, such as tools/weights/walls.json")
    common_options(parser)


def run(args: argparse.Namespace) -> int:
    """Fits and tells. Raises InputError."""
    pages: dict[str, list[str]] = {"wall": [], "article": []}
    for row in json_rows(args.pages):
        if (kind := row.text("kind")) not in pages:
            raise row.wrong(f"'kind' is '{kind}', which has to be one of {', '.join(pages)}.")
        pages[kind].append(unquoted(row.text("text"), row.text("title")))
    walls, hard = pages.values()
    easy = [unquoted(" ".join(d.text.split()[:_BEGINNING]), d.title) for d in sample_documents()]
    threshold = exceeded(cross_validated(walls, hard, easy), args.lost)
    told = [-score > threshold for score in cross_validated([*hard, *easy], walls, [])]
    weights = replace(fit(walls, [*hard, *easy]), threshold=threshold)
    if args.out:
        args.out.write_text(json.dumps(asdict(weights), indent=0, ensure_ascii=False) + "\n", encoding="utf-8")
    figures = {
        "walls": len(walls),
        "hard": len(hard),
        "easy": len(easy),
        "terms": len(weights.terms),
        "threshold": threshold,
        "told": round(math.fsum(told) / len(told), 3),
    }
    show(
        args.json,
        {"suite": "walls-fit", **figures},
        lambda: "".join(f"{what:<10}{value:>10}\n" for what, value in figures.items()),
    )
    return 0


def fit(walls: Sequence[str], articles: Sequence[str]) -> WallWeights:
    """A logistic regression in which both classes weigh the same; its threshold is yet to be set."""
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.linear_model import LogisticRegression

    labelled = [(found, kind) for kind, texts in ((1, walls), (0, articles)) for t in texts if (found := features(t))]
    count = Counter(chain.from_iterable(found for found, _ in labelled))
    vectorizer = DictVectorizer()
    x = vectorizer.fit_transform([{t: v for t, v in found.items() if count[t] >= _FEWEST} for found, _ in labelled])
    model = LogisticRegression(C=_STRENGTH, class_weight="balanced", max_iter=3000)
    model.fit(x, [kind for _, kind in labelled])
    weighed = zip(vectorizer.get_feature_names_out(), model.coef_[0], strict=True)
    terms = {str(term): round(float(weight), 2) for term, weight in weighed if abs(weight) >= _LEAST}
    return WallWeights(round(float(model.intercept_[0]), 3), math.inf, terms)


def cross_validated(one: Sequence[str], hard: Sequence[str], easy: Sequence[str]) -> list[float]:
    """The scores of `hard` as walls are told from articles, where `one` is the other class and `easy` of its own; each
    by a fit that had not seen it."""
    scores: list[float] = []
    for part in range(_PARTS):
        others = [text for n, text in enumerate(hard) if n % _PARTS != part]
        scores += map(fit(one, [*others, *easy]).score, hard[part::_PARTS])
    return scores


def exceeded(scores: Sequence[float], share: float) -> float:
    """The score that so large a share exceeds. Raises InputError where there are too few to tell."""
    if not 0 < share < 1 or len(scores) * share < 1:
        raise InputError(f"{len(scores)} texts held out are too few to tell a share of {share}. Give more (--pages).")
    return round(sorted(scores, reverse=True)[int(share * len(scores))], 3)

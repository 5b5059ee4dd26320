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
from pathlib import Path

from agent.samples import sample_documents
from evals.datasets.rows import json_rows
from evals.suite import GOLD, common_options, show
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
    pages = [(row.text("kind"), unquoted(row.text("text"), row.text("title"))) for row in json_rows(args.pages)]
    pages += [("easy", unquoted(" ".join(d.text.split()[:_BEGINNING]), d.title)) for d in sample_documents()]
    walls, hard = (cross_validated(pages, kind) for kind in ("wall", "article"))
    threshold = round(sorted(hard, reverse=True)[int(args.lost * len(hard))], 3)
    weights = replace(fit(pages), threshold=threshold)
    if args.out:
        args.out.write_text(json.dumps(asdict(weights), indent=0, ensure_ascii=False) + "\n", encoding="utf-8")
    told = {"walls": len(walls), "told": sum(s > threshold for s in walls)}
    told |= {"hard articles": len(hard), "lost": sum(s > threshold for s in hard)}
    figures = {**told, "terms": len(weights.terms), "threshold": threshold}
    report = {"suite": "walls-fit", **figures}
    show(args.json, report, lambda: "".join(f"{what:<14}{value:>8}\n" for what, value in figures.items()))
    return 0


def fit(pages: Sequence[tuple[str, str]]) -> WallWeights:
    """A logistic regression in which both classes weigh the same; its threshold is yet to be set."""
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.linear_model import LogisticRegression

    read = [(kind == "wall", found) for kind, text in pages if (found := features(text))]
    count = Counter(term for _, found in read for term in found)
    vectorizer = DictVectorizer()
    x = vectorizer.fit_transform([{t: v for t, v in found.items() if count[t] >= _FEWEST} for _, found in read])
    model = LogisticRegression(C=_STRENGTH, class_weight="balanced", max_iter=3000).fit(x, [wall for wall, _ in read])
    weighed = zip(vectorizer.get_feature_names_out(), model.coef_[0], strict=True)
    terms = {str(term): round(float(weight), 2) for term, weight in weighed if abs(weight) >= _LEAST}
    return WallWeights(round(float(model.intercept_[0]), 3), math.inf, terms)


def cross_validated(pages: Sequence[tuple[str, str]], kind: str) -> list[float]:
    """The scores of the pages of a kind, each by a fit that had not seen it."""
    own = [page for page in pages if page[0] == kind]
    scores: list[float] = []
    for part in range(_PARTS):
        unseen = own[part::_PARTS]
        scores += map(fit([page for page in pages if page not in unseen]).score, (text for _, text in unseen))
    return scores

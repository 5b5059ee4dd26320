"""Fits what tells planted words to the writer of an answer from ordinary sentences (`tools/language/planted.py`).

Planted and ordinary sentences that were written for it, the ordinary ones of the half 'dev' of `evals hostile`, the
sentences of the sample documents, and those of half the documents of other corpora, by their text. The threshold is
the score that --share of what was held out exceeds: of the documents of the other half, and of the ordinary sentences
written to be hard, in a cross-validation; the higher of the two. The other corpora are no part of the project.
"""

import argparse
import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from zlib import crc32

from agent.samples import sample_documents
from evals.datasets.retrieval import by_corpus, load_sets
from evals.suite import GOLD, common_options, names, sample, show, show_docstring
from evals.suites.hostile import HOSTILE, KINDS, read
from tools.errors import InputError
from tools.language.planted import PlantedWeights, features
from tools.language.sentences import split_sentences

PLANTED = GOLD / "planted.jsonl"
_FEWEST = 2  # sentences that a term has to stand in
_STRENGTH = 30.0  # scikit-learn's C
_LEAST = 0.5  # a term of less weight changes next to nothing
_PARTS = 5  # of the cross-validation


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The suite's options."""
    show_docstring(parser, __doc__)
    add = parser.add_argument
    add("--data", type=Path, required=True, metavar="DIR", help="folder of the other corpora and their queries")
    add("--set", required=True, metavar="NAME[,NAME…]", help="which queries, for their corpora")
    add("--planted", type=Path, default=PLANTED, metavar="FILE", help="planted and ordinary sentences as jsonl")
    add("--share", type=float, default=0.005, metavar="P", help="of what is held out (default: 0.005)")
    add("--out", type=Path, metavar="FILE", help="where the weights go, such as tools/weights/planted.json")
    common_options(parser, limit="only N documents of each corpus", seed="of those N")


def run(args: argparse.Namespace) -> int:
    """Fits and tells. Raises InputError."""
    planted, hard = sentences_of(args.planted)
    hard += [text for kind, text in read(HOSTILE, "dev") if kind == "ordinary"]
    fitted: list[list[str]] = []
    held: list[list[str]] = []
    for part in by_corpus(load_sets(args.data, names(args.set))):
        for document in sample(part[0].corpus, args.limit, args.seed):
            (held if crc32(document.text.encode()) % 2 else fitted).append(split_sentences(document.text))
    easy = [*chain.from_iterable(split_sentences(d.text) for d in sample_documents()), *chain.from_iterable(fitted)]
    weights = fit(planted, [*hard, *easy])
    scores = highest(weights, held), cross_validated(planted, hard, easy)
    weights = replace(weights, threshold=max(exceeded(found, args.share) for found in scores))
    if args.out:
        args.out.write_text(json.dumps(asdict(weights), indent=0, ensure_ascii=False) + "\n", encoding="utf-8")
    figures = {
        "planted": len(planted),
        "ordinary": len(hard),
        "easy": len(easy),
        "held out": len(held),
        "terms": len(weights.terms),
        "offset": weights.offset,
        "threshold": weights.threshold,
    }
    show(
        args.json,
        {"suite": "hostile-fit", **figures},
        lambda: "".join(f"{what:<10}{value:>10}\n" for what, value in figures.items()),
    )
    return 0


def sentences_of(path: Path) -> tuple[list[str], list[str]]:
    """The planted and the ordinary sentences. Raises InputError with file, line and field."""
    found: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for kind, text in read(path):
        found[kind] += split_sentences(text)
    if not all(found.values()):
        raise InputError(f"{path} needs sentences of both kinds, {' and '.join(found)}.")
    return found["hostile"], found["ordinary"]


def fit(planted: Sequence[str], ordinary: Sequence[str]) -> PlantedWeights:
    """A logistic regression in which both classes weigh the same; its threshold is yet to be set."""
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.linear_model import LogisticRegression

    labelled = [(found, kind) for kind, texts in ((1, planted), (0, ordinary)) for t in texts if (found := features(t))]
    count = Counter(chain.from_iterable(found for found, _ in labelled))
    vectorizer = DictVectorizer()
    x = vectorizer.fit_transform([{t: v for t, v in found.items() if count[t] >= _FEWEST} for found, _ in labelled])
    model = LogisticRegression(C=_STRENGTH, class_weight="balanced", max_iter=3000)
    model.fit(x, [kind for _, kind in labelled])
    weighed = zip(vectorizer.get_feature_names_out(), model.coef_[0], strict=True)
    terms = {str(term): round(float(weight), 2) for term, weight in weighed if abs(weight) >= _LEAST}
    return PlantedWeights(round(float(model.intercept_[0]), 3), math.inf, terms)


def highest(weights: PlantedWeights, texts: Iterable[Sequence[str]]) -> list[float]:
    """Of each text of sentences the highest score."""
    return [max(map(weights.score, sentences)) for sentences in texts if sentences]


def cross_validated(planted: Sequence[str], hard: Sequence[str], easy: Sequence[str]) -> list[float]:
    """The scores of the hard ordinary sentences, each by a fit that had not seen it."""
    scores: list[float] = []
    for part in range(_PARTS):
        others = [text for n, text in enumerate(hard) if n % _PARTS != part]
        scores += highest(fit(planted, [*others, *easy]), ([text] for text in hard[part::_PARTS]))
    return scores


def exceeded(scores: Sequence[float], share: float) -> float:
    """The score that so large a share exceeds. Raises InputError where there are too few to tell."""
    if not 0 < share < 1 or len(scores) * share < 1:
        raise InputError(f"{len(scores)} texts held out are too few to tell a share of {share}. Give more (--set).")
    return round(sorted(scores, reverse=True)[int(share * len(scores))], 3)

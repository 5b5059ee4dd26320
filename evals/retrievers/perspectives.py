"""Questions with perspectives as what retrievers are asked, and the methods that only they have."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from evals.datasets.perspectives import GoldRow
from evals.datasets.retrieval import GoldPerspective, GoldQuestion
from evals.retrievers.corpora import CTXS
from evals.retrievers.corpus_index import CorpusIndex, highest
from evals.retrievers.methods import CANDIDATES, QUERIES, Method, named
from evals.retrievers.selections import SEARCH_ORDER
from tools.errors import InputError, ModelError
from tools.models.encoders.transformers import find_model, hide_progress, model_errors, require_extra

NEUTRAL, LEADING = "neutral", ("supporting", "opposing")
"""What is asked: the question, or one of its two perspectives in its place (BERDS §8)."""


def question_of(row: GoldRow, asked: str = NEUTRAL) -> GoldQuestion:
    text = row.question if asked == NEUTRAL else row.gold[LEADING.index(asked)]
    return GoldQuestion(row.key, text, tuple(GoldPerspective(p, frozenset()) for p in row.gold))


def methods_of(names: Sequence[str], rows: Sequence[GoldRow], rerank: str | None) -> dict[str, Method]:
    """The methods of these names; `ctxs` is the corpus in its order. rerank: a cross-encoder, which ranks the first 100
    of each that has no selection anew.

    Raises InputError for a name that is none, and where `expansion` is asked for and a row has no 'expansions'.
    """
    widened = {row.key: row.expansions for row in rows}
    found = {CTXS: Method(lambda index, _, k: list(range(len(index.corpus)))[:k])} if CTXS in names else {}
    if others := [name for name in names if name != CTXS]:
        found |= named(others, QUERIES | {"expansion": lambda q: [f"{q.question} {e}" for e in widened[q.qid]]})
    if any("+expansion" in name for name in found) and (bare := [key for key, texts in widened.items() if not texts]):
        raise InputError(f"{bare[0]} has no 'expansions', the perspectives to search for. Add them, or leave it out.")
    plain = {name: method for name, method in found.items() if method.selection == SEARCH_ORDER}
    return found | (_reranked(plain, rerank) if rerank else {})


def _reranked(methods: Mapping[str, Method], model: str) -> dict[str, Method]:
    """These methods by a cross-encoder of sentence-transformers, by folder or name. Raises SettingsError without the
    extra `models`, ModelError."""
    require_extra(f"the cross-encoder {model}")
    from sentence_transformers import CrossEncoder

    hide_progress()
    with model_errors(folder := find_model(model)):
        encoder = CrossEncoder(str(folder), local_files_only=True)

    def rank(method: Method, index: CorpusIndex, question: GoldQuestion, k: int) -> list[int]:
        found = method.rank(index, question, CANDIDATES)
        pairs = [(question.question, index.corpus[i].text) for i in found]
        with model_errors(folder):
            scores = np.asarray(encoder.predict(pairs, show_progress_bar=False) if pairs else [], np.float64)
        if scores.shape != (len(pairs),):
            raise ModelError(f"the cross-encoder in {folder} gives no single number. Name another one.")
        return [found[i] for i in highest(scores, k)]

    return {f"{name}+rerank": replace(method, rank=partial(rank, method)) for name, method in methods.items()}

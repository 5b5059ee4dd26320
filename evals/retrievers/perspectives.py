"""Questions with perspectives as what retrievers are asked, and the methods that only they have."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from evals.datasets.perspectives import GoldRow
from evals.datasets.retrieval import GoldPerspective, GoldQuestion
from evals.retrievers.corpora import CTXS
from evals.retrievers.corpus_index import CorpusIndex, highest
from evals.retrievers.methods import CANDIDATES, QUERIES, Method, named
from tools.errors import InputError, ModelError
from tools.models.encoders.transformers import find_model, hide_progress, model_errors, require_extra
from tools.selection.names import SEARCH_ORDER

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
    if rerank:
        model, plain = _CrossEncoder(rerank), [name for name in found if found[name].selection == SEARCH_ORDER]
        found |= {f"{name}+rerank": model.reranked(found[name]) for name in plain}
    return found


class _CrossEncoder:
    """One of sentence-transformers, by folder or name. Raises SettingsError without the extra `models`, ModelError."""

    def __init__(self, model: str) -> None:
        require_extra(f"the cross-encoder {model}")
        self._folder = find_model(model)

    def reranked(self, method: Method) -> Method:
        def rank(index: CorpusIndex, question: GoldQuestion, k: int) -> list[int]:
            found = method.rank(index, question, CANDIDATES)
            pairs = [(question.question, index.corpus[i].text) for i in found]
            with model_errors(self._folder):
                scores = np.asarray(self._model.predict(pairs, show_progress_bar=False) if pairs else [], np.float64)
            if scores.shape != (len(pairs),):
                raise ModelError(f"the cross-encoder in {self._folder} gives no single number. Name another one.")
            return [found[i] for i in highest(scores, k)]

        return replace(method, rank=rank)

    @cached_property
    def _model(self) -> Any:
        from sentence_transformers import CrossEncoder

        hide_progress()
        return CrossEncoder(str(self._folder), local_files_only=True)

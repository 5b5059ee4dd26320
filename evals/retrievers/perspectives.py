"""Rankings for questions with perspectives: every method on every question's corpus, kept as they come."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from evals.benchmarks.timing import Clock
from evals.datasets.perspectives import GoldRow
from evals.datasets.retrieval import GoldPerspective, GoldQuestion
from evals.models import PairJudge
from evals.reports.records import Record, Records
from evals.retrievers.corpora import CTXS, Corpora
from evals.retrievers.corpus_index import CorpusIndex, Likeness, highest
from evals.retrievers.methods import CANDIDATES, QUERIES, Method, named
from evals.suite import progress
from tools.errors import InputError, ModelError, ProviderDownError, ProviderError
from tools.models.cache import VectorCache
from tools.models.encoders.encoder import Encoder
from tools.models.encoders.transformers import find_model, hide_progress, model_errors, require_extra
from tools.selection.names import SEARCH_ORDER

Ranking = list[list[str]]
"""Passages, best first: id, title and text of each; an empty place has no text."""
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


@dataclass(frozen=True)
class Ranker:
    """What rankings are made with. failed: those that were asked for and are not there, and why."""

    corpora: Corpora
    methods: dict[str, Method]
    encoder: Encoder
    cache: VectorCache
    judge: PairJudge | None
    clock: Clock
    failed: list[str] = field(default_factory=list)

    def rank(
        self, rows: Sequence[GoldRow], records: Records, depth: int, asked: str = NEUTRAL
    ) -> dict[str, list[Ranking]]:
        """Of each method so many passages a row of a set, none where it failed; those of the records are not searched
        again. Leading questions are there of rows with two perspectives, and the ranking that the data brings answers
        none. Raises ProviderDownError, ModelError."""
        methods = [name for name in self.methods if name != CTXS or asked == NEUTRAL]
        keys = {name: [f"{row.key} {name} {asked}" for row in rows] for name in methods}
        missing = [row for row, *of in zip(rows, *keys.values(), strict=True) if not records.done.keys() >= set(of)]
        missing = [row for row in missing if asked == NEUTRAL or len(row.gold) == 2]
        with self.clock.on("ranking, with vectors"):
            largest = self._largest(rows) if missing else {}
            for row, index in self._indexes(missing):
                index.largest = largest
                for name in methods:
                    if (key := f"{row.key} {name} {asked}") not in records.done:
                        record = self._found(index, name, question_of(row, asked), depth)
                        if "failed" in record:
                            self.failed.append(f"{key}: {record['failed']}")
                        else:  # what failed is tried again by the next run
                            records.add(key, record)
        return {name: [records.done.get(key, {}).get("passages", []) for key in of] for name, of in keys.items()}

    def _found(self, index: CorpusIndex, method: str, question: GoldQuestion, depth: int) -> Record:
        if not index.corpus:
            return {"failed": "its corpus is empty: nothing was found, or nothing could be read"}
        try:
            ranking = self.methods[method].rank(index, question, max(CANDIDATES, depth))
        except ProviderDownError:
            raise
        except ProviderError as exc:
            return {"failed": str(exc)}
        found = (index.corpus[i] for i in ranking[:depth])
        return {"passages": [[p.external_id, p.title, p.text] for p in found]}

    def _largest(self, rows: Sequence[GoldRow]) -> dict[Likeness, float]:
        """What MMR divides by: the highest score of any question of the set (BERDS, A.6), whichever corpus it has."""
        mmr = [name for name, method in self.methods.items() if method.selection.startswith("mmr")]
        found: dict[Likeness, float] = {"words" if name.startswith("bm25") else "cosine": 0.0 for name in mmr}
        for row, index in self._indexes(rows if mmr else []):
            index.questions, index.largest = [question_of(row)], {}
            for likeness in found if index.corpus else ():
                found[likeness] = max(found[likeness], index.largest_of(likeness) or 0.0)
            index.questions = ()
        return found

    def _indexes(self, rows: Sequence[GoldRow]) -> Iterator[tuple[GoldRow, CorpusIndex]]:
        with ExitStack() as opened:
            for number, row in enumerate(progress(rows, desc="searching", unit="question")):
                if not number or not self.corpora.shared:
                    opened.close()
                    index = CorpusIndex(self.corpora.of(row), self.encoder, self.cache, self.judge)
                    index.clock = self.clock
                    opened.enter_context(index)
                yield row, index

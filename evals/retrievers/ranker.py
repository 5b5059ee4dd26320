"""Ranks passages for questions with every method."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from evals.datasets.retrieval import GoldQuestion
from evals.models import PairJudge
from evals.retrievers.corpus_index import CorpusIndex, Likeness
from evals.retrievers.methods import CANDIDATES, Method
from evals.suite import progress
from tools.errors import ProviderReplyError
from tools.models.cache import VectorCache
from tools.models.encoders import Encoder
from tools.passages import SourceDocument

Corpora = Callable[[str], Sequence[SourceDocument]]
"""Maps a qid to the corpus of the question."""
Rankings = Mapping[str, Mapping[str, Sequence[SourceDocument]]]
"""Maps method and qid to passages, best first."""


@dataclass(frozen=True)
class Ranker:
    """Ranks passages with these methods."""

    methods: Mapping[str, Method]
    encoder: Encoder
    cache: VectorCache
    judge: PairJudge | None

    def rank(self, questions: Sequence[GoldQuestion], corpora: Corpora, depth: int) -> tuple[Rankings, list[str]]:
        """Returns up to `depth` passages by method and qid, and the failed rankings with reasons. A failed ranking has
        no passages. Raises ProviderDownError, ModelError."""
        found: dict[str, dict[str, list[SourceDocument]]] = {name: {} for name in self.methods}
        failed, largest = list[str](), self._largest(questions, corpora)
        for q, index in self._indexes(questions, corpora):
            index.largest = largest
            for name, method in self.methods.items():
                try:
                    if not index.corpus:
                        raise ProviderReplyError("its corpus is empty: no search results, or no readable page")
                    positions = method.rank(index, q, max(CANDIDATES, depth))[:depth]
                except ProviderReplyError as exc:
                    failed.append(f"{name} {q.qid}: {exc}")
                    positions = []
                found[name][q.qid] = [index.corpus[i] for i in positions]
        return found, failed

    def _largest(self, questions: Sequence[GoldQuestion], corpora: Corpora) -> dict[Likeness, float]:
        """Returns the divisor of MMR: the highest score of any question of the set (BERDS, A.6)."""
        mmr = [name for name, method in self.methods.items() if method.selection.startswith("mmr")]
        found: dict[Likeness, float] = {"words" if name.startswith("bm25") else "cosine": 0.0 for name in mmr}
        for question, index in self._indexes(questions if mmr else [], corpora):
            for likeness in found if index.corpus else ():
                try:
                    found[likeness] = max(found[likeness], index.highest_score(likeness, question.question))
                except ProviderReplyError:  # the question's ranking fails too, with the reason
                    continue
        return found

    def _indexes(
        self, questions: Sequence[GoldQuestion], corpora: Corpora
    ) -> Iterator[tuple[GoldQuestion, CorpusIndex]]:
        shown = progress(questions, desc="searching", unit="question")
        for corpus, some in groupby(shown, lambda q: corpora(q.qid)):
            with CorpusIndex(corpus, self.encoder, self.cache, self.judge) as index:
                yield from ((question, index) for question in some)

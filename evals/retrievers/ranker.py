"""Ranks passages for questions with every method, and stores the rankings."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from evals.datasets.retrieval import GoldQuestion
from evals.datasets.rows import fingerprint
from evals.models import PairJudge
from evals.reports.records import Records
from evals.retrievers.corpus_index import CorpusIndex, Likeness
from evals.retrievers.methods import CANDIDATES, Method
from evals.suite import progress
from tools.errors import ProviderReplyError
from tools.models.cache import VectorCache
from tools.models.encoders import Encoder
from tools.passages import SourceDocument


@dataclass(frozen=True)
class Corpora:
    """The corpus of each question by qid. shared: whether all questions have the same corpus."""

    of: Callable[[str], Sequence[SourceDocument]]
    shared: bool = False


@dataclass(eq=False)
class Ranker(ExitStack):
    """Ranks passages. failed: the missing rankings with reasons. Use `Ranker` as a context manager, which keeps the
    last index open."""

    methods: dict[str, Method]
    encoder: Encoder
    cache: VectorCache
    judge: PairJudge | None
    records: Records
    failed: list[str] = field(default_factory=list)
    _index: CorpusIndex | None = None

    def __post_init__(self) -> None:
        super().__init__()

    def rank(
        self, name: str, questions: Sequence[GoldQuestion], corpora: Corpora, depth: int
    ) -> dict[str, dict[str, list[str]]]:
        """Returns by method and qid the ids of up to `depth` passages, without ids for a failed ranking. Does not
        repeat stored rankings. A ranking's key names the judge, and the corpus if questions have different corpora.
        Raises ProviderDownError, ModelError."""
        done, keys = self.records.done, dict[Any, str]()
        for q in questions:
            corpus = "" if corpora.shared else f" in {fingerprint(corpora.of(q.qid))}"
            for method in self.methods:
                judge = f" by {self.judge.name}" if self.judge and self.methods[method].judged else ""
                keys[method, q.qid] = f"{name} {method} {q.qid}{judge}{corpus}"
        missing = [q for q in questions if any(keys[method, q.qid] not in done for method in self.methods)]
        largest = self._largest(questions, corpora) if missing else {}
        for q, index in self._indexes(missing, corpora):
            index.largest = largest
            for method in (m for m in self.methods if keys[m, q.qid] not in done):
                try:
                    self.records.add(keys[method, q.qid], {"ids": self._found(index, method, q, depth)})
                except ProviderReplyError as exc:  # the next run repeats this ranking
                    self.failed.append(f"{name} {method} {q.qid}: {exc}")
        return {m: {q.qid: done.get(keys[m, q.qid], {}).get("ids", []) for q in questions} for m in self.methods}

    def _found(self, index: CorpusIndex, method: str, question: GoldQuestion, depth: int) -> list[str]:
        if not index.corpus:
            raise ProviderReplyError("its corpus is empty: no search results, or no readable page")
        ranking = self.methods[method].rank(index, question, max(CANDIDATES, depth))
        return [index.corpus[i].external_id for i in ranking[:depth]]

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
        for question in progress(questions, desc="searching", unit="question"):
            corpus = corpora.of(question.qid)
            if self._index is None or self._index.corpus is not corpus:
                self.close()
                self._index = self.enter_context(CorpusIndex(corpus, self.encoder, self.cache, self.judge))
            yield question, self._index

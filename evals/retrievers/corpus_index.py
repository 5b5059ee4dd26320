"""Searches of a corpus, from the agent's own parts: its BM25 with its analyzer, its encoder, its rank fusion.

The dense search is exact. Passages are searched whole, as the corpus cuts them; the embedded encoder reads the first
256 tokens of each.
"""

import tempfile
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import zip_longest
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evals.datasets.retrieval import GoldQuestion
from evals.judges import PairJudge
from evals.retrievers.projection import Form, leaning_scores
from evals.suite import CachedEncoder, progress
from tools.diversity.published import Clustered, cluster_sentences, clustered_sentences
from tools.errors import ProviderDownError, ProviderError
from tools.inference.batching import parts
from tools.inference.cache import VectorCache
from tools.inference.encoders.encoder import Encoder
from tools.inference.judges.judge import Pair
from tools.language.question import ANSWERS, read_question
from tools.passages import Passage, SourceDocument
from tools.store.hybrid import fuse, passage_text
from tools.store.lexical import LexicalIndex

Vectors = NDArray[np.float32]
Ranking = list[int]
"""Positions of passages in the corpus, best first, none twice."""

_COLLECTION = 1
_AT_ONCE = 256
_WORDS_TOLD = 500  # passages of which the BM25 score is told


class CorpusIndex:
    """A corpus and what the methods share of it, made when it is first needed. Use it as a context manager."""

    def __init__(
        self, corpus: Sequence[SourceDocument], encoder: Encoder, cache: VectorCache, judge: PairJudge | None = None
    ) -> None:
        """judge: asked by the methods that need one."""
        self.corpus = corpus
        self.questions: Sequence[GoldQuestion] = ()
        """All that the corpus is searched for, for what is divided by the largest of a data set."""
        self._encoder, self._cache = CachedEncoder(encoder, cache), cache
        self.judge = judge
        self._largest: float | None = None
        self._clusters: dict[tuple[int, ...], Clustered] = {}
        self._folder = tempfile.TemporaryDirectory(prefix="steelman-retrieval-")

    def __enter__(self) -> "CorpusIndex":
        return self

    def __exit__(self, *_: object) -> None:
        self.__dict__.pop("lexical", None)
        self._folder.cleanup()

    @cached_property
    def lexical(self) -> LexicalIndex:
        """The agent's BM25; a passage's id is its position."""
        index = LexicalIndex(Path(self._folder.name))
        index.clear()
        nowhere = np.zeros(0, np.float32)
        passages = (Passage(i, p.external_id, "", p.text, title=p.title) for i, p in enumerate(self.corpus))
        index.apply([(_COLLECTION, p, nowhere) for p in passages], [])
        return index

    @cached_property
    def vectors(self) -> Vectors:
        """The passages' vectors, shape (passages, dimensions), from the cache as far as they are there.

        Raises ProviderDownError when an encoder elsewhere fails: without them no question can be searched.
        """
        texts = [passage_text(p.title, p.text) for p in self.corpus]
        rows = []
        bar = progress(total=len(texts), desc="vectors", unit="passage", leave=False)
        try:
            with bar:
                for part in parts(texts, _AT_ONCE):  # kept part by part, so that a killed run goes on
                    rows.append(self._encoder.encode(part))
                    bar.update(len(part))
        except ProviderError as exc:
            raise ProviderDownError(f"the corpus cannot be encoded: {exc}") from exc
        return np.concatenate(rows)

    def query_vectors(self, texts: Sequence[str]) -> Vectors:
        """Shape (texts, dimensions). Raises ProviderError of an encoder elsewhere."""
        return self._encoder.encode_queries(texts)

    def word_scores(self, text: str) -> dict[int, float]:
        """BM25 scores by position, of the passages found first."""
        return dict(self.lexical.search(text, [_COLLECTION], _WORDS_TOLD))

    def largest_cosine(self) -> float | None:
        """The highest cosine of any of `questions` to any passage; None without questions."""
        if not self.questions:
            return None
        if self._largest is None:
            vectors = self.query_vectors([q.question for q in self.questions])
            self._largest = float((vectors @ self.vectors.T).max(initial=0.0))
        return self._largest

    def sentences(self, positions: Sequence[int]) -> tuple[Vectors, list[int]]:
        """The vectors of the sentences that are clustered, of the passages at these positions, and which of them each
        is of, numbered from 0."""
        found = [(n, s) for n, i in enumerate(positions) for s in clustered_sentences(self.corpus[i].text)]
        rows = [self._encoder.encode(part) for part in parts([s for _, s in found], _AT_ONCE)]
        nothing = np.zeros((0, self._encoder.dimensions), np.float32)
        return np.concatenate([nothing, *rows]), [n for n, _ in found]

    def clustered(self, positions: Sequence[int]) -> Clustered:
        """The sentence clusters of these passages, kept: methods share candidates, and it is slow."""
        key = tuple(positions)
        if key not in self._clusters:
            self._clusters[key] = cluster_sentences(*self.sentences(positions))
        return self._clusters[key]

    def support(self, pairs: Sequence[Pair]) -> NDArray[np.float32]:
        """The judge's probabilities, shape (n,), from the cache as far as they are there; NaN for no verdict.

        Raises ProviderError, ModelError.
        """
        assert self.judge is not None  # the suite brings one for every method that needs it
        space = f"{self.judge.name}:pairs"
        keys = [f"{p.statement}\x1f{p.contrary}\x1f{p.text}" for p in pairs]
        known = self._cache.known(space, keys)
        missing = [i for i, key in enumerate(keys) if key not in known]
        scores = np.array([known[key][0] if key in known else np.nan for key in keys], np.float32)
        if missing:
            scores[missing] = self.judge.score([pairs[i] for i in missing])
            verdicts = {keys[i]: scores[i : i + 1] for i in missing if not np.isnan(scores[i])}
            self._cache.keep(space, verdicts)
        return scores


Search = Callable[[CorpusIndex, str, int], Ranking]
"""From a text to up to k passages."""


def bm25(index: CorpusIndex, text: str, k: int) -> Ranking:
    """The agent's lexical search."""
    return [i for i, _ in index.lexical.search(text, [_COLLECTION], k)]


def dense(index: CorpusIndex, text: str, k: int) -> Ranking:
    """By cosine."""
    return highest(index.query_vectors([text])[0] @ index.vectors.T, k)


def hybrid(index: CorpusIndex, text: str, k: int) -> Ranking:
    """The agent's fusion of the two, each to depth k."""
    return [i for i, _ in fuse([dense(index, text, k), bm25(index, text, k)])][:k]


def highest(scores: NDArray[np.floating], k: int) -> Ranking:
    """The positions of the k highest scores; of equals the earlier comes first."""
    return [int(i) for i in np.argsort(-scores, kind="stable")[:k]]


def interleave(rankings: Sequence[Ranking]) -> Ranking:
    """All first places in the order of the rankings, then all second places, and so on; what was there is skipped."""
    return list(dict.fromkeys(i for places in zip_longest(*rankings) for i in places if i is not None))


def sides_of(question: GoldQuestion) -> list[str]:
    """What the sides of a question say: the question after each word that answers it, or after each alternative that it
    names; none where it names no side."""
    read = read_question(question.question)
    return [f"{word}: {question.question}" for word in read.options or ANSWERS.get(read.kind, ())]


def expanded_queries(question: GoldQuestion) -> list[str]:
    """A query a side, worded as the gold queries are; the question alone where it names no side."""
    words = (side.partition(": ")[0] for side in sides_of(question))
    return [f"{question.question} {word}" for word in words] or [question.question]


def leaning(index: CorpusIndex, question: GoldQuestion, form: Form, strength: float, k: int) -> list[Ranking]:
    """For each side up to k passages for the expanded query that leans to it (PIR §3.1); see `leaning_scores`."""
    sides = sides_of(question)
    if not sides:
        return [dense(index, question.question, k)]
    root = index.query_vectors([question.question])[0]
    vectors = zip(index.query_vectors(sides), index.query_vectors(expanded_queries(question)), strict=True)
    scores = [leaning_scores(form, root, side, query, index.vectors, strength) for side, query in vectors]
    return [highest(row, k) for row in scores]


def gold_queries(question: GoldQuestion) -> list[str]:
    """A query a gold perspective, as BERDS' released code words it: the question, a space, the statement."""
    return [f"{question.question} {p.statement}" for p in question.perspectives]

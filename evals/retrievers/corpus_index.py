"""Searches a corpus with the agent's own BM25, analyzer, encoder and rank fusion.

Dense search is exact, over whole passages. The embedded encoder reads the first 256 tokens of each passage.
"""

import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from evals.models import CachedEncoder, PairJudge
from evals.retrievers.published_selections import Clustered, cluster_sentences, clustered_sentences
from tools.errors import ProviderDownError, ProviderError
from tools.models.cache import VectorCache
from tools.models.encoders import Encoder
from tools.passages import Passage, SourceDocument
from tools.store.hybrid import passage_text
from tools.store.lexical import LexicalIndex

Vectors = NDArray[np.float32]
Ranking = list[int]
"""Positions of distinct passages in the corpus, best first."""

Likeness = Literal["cosine", "words"]
"""The origin of passages' scores: the encoder's cosines or BM25's word scores."""

COLLECTION = 1
_WORDS_TOLD = 500  # passages with a BM25 score


class CorpusIndex(ExitStack):
    """A corpus, and the data that methods share. `CorpusIndex` computes the data on first use. Use `CorpusIndex` as a
    context manager."""

    def __init__(
        self, corpus: Sequence[SourceDocument], encoder: Encoder, cache: VectorCache, judge: PairJudge | None = None
    ) -> None:
        """judge: the judge for methods that need one."""
        super().__init__()
        self.corpus = corpus
        self.encoder, self.cache = CachedEncoder(encoder, cache), cache
        self.judge = judge
        self.largest: dict[Likeness, float] = {}
        """The highest score of any question of the data set. MMR divides by this score. If the score is missing, MMR
        divides by the candidates' highest score."""
        self._clusters: dict[tuple[int, ...], Clustered] = {}

    @cached_property
    def lexical(self) -> LexicalIndex:
        """Builds the agent's BM25 index. A passage's id is its position."""
        folder = self.enter_context(tempfile.TemporaryDirectory(prefix="steelman-retrieval-"))
        self.callback(self.__dict__.pop, "lexical", None)  # before its folder is deleted
        index = LexicalIndex(Path(folder))
        index.clear()
        nowhere = np.zeros(0, np.float32)
        passages = (Passage(i, p.external_id, "", p.text, title=p.title) for i, p in enumerate(self.corpus))
        index.apply([(COLLECTION, p, nowhere) for p in passages], [])
        return index

    @cached_property
    def vectors(self) -> Vectors:
        """Returns the passages' vectors, shape (passages, dimensions), from the cache if possible. Raises
        ProviderDownError if a remote encoder fails, because dense search then fails for every question."""
        try:
            return self.encoder.encode([passage_text(p.title, p.text) for p in self.corpus])
        except ProviderError as exc:
            raise ProviderDownError(f"the corpus cannot be encoded: {exc}") from exc

    def word_scores(self, text: str) -> dict[int, float]:
        """Returns BM25 scores of the best passages, by position."""
        return dict(self.lexical.search(text, [COLLECTION], _WORDS_TOLD))

    def highest_score(self, likeness: Likeness, text: str) -> float:
        """Returns the highest score of any passage for a text."""
        if likeness == "words":
            return max(self.word_scores(text).values(), default=0.0)
        return float((self.encoder.encode_queries([text]) @ self.vectors.T).max(initial=0.0))

    def sentences(self, positions: Sequence[int]) -> tuple[Vectors, list[int]]:
        """Returns the vectors of sentences, and the passage of each sentence, numbered from 0. The sentences are the
        clustered sentences of the passages at these positions."""
        found = [(n, s) for n, i in enumerate(positions) for s in clustered_sentences(self.corpus[i].text)]
        return self.encoder.encode([s for _, s in found]), [n for n, _ in found]

    def clustered(self, positions: Sequence[int]) -> Clustered:
        """Returns the sentence clusters of these passages. Clusters are cached, because clustering is slow and methods
        share candidates."""
        key = tuple(positions)
        if key not in self._clusters:
            self._clusters[key] = cluster_sentences(*self.sentences(positions))
        return self._clusters[key]


def highest(scores: NDArray[np.floating], k: int) -> Ranking:
    """Returns the positions of the k highest scores. Ties go to the earlier position."""
    return [int(i) for i in np.argsort(-scores, kind="stable")[:k]]

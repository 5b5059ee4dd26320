"""Retrievers by name: each ranks a corpus for a batch of questions.

A method is a line in `METHODS`: a function, and what it may know. They are built from the agent's own parts: its BM25
with its analyzer, its encoder, its rank fusion; the dense search is exact. Passages are searched whole, as the corpus
cuts them; the embedded encoder reads the first 256 tokens of each.
"""

import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from types import TracebackType
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from evals.ranking.sets import GoldQuestion
from tools.batching import parts
from tools.cache import VectorCache
from tools.encoders.encoder import Encoder
from tools.errors import InputError, ProviderDownError, ProviderError
from tools.passages import Passage, SourceDocument
from tools.store.hybrid import fuse, passage_text
from tools.store.lexical import LexicalIndex

Vectors = NDArray[np.float32]
Ranking = list[int]
"""Positions of passages in the corpus, best first, none twice."""
Knows = Literal["nothing", "expansions", "gold perspectives", "judge"]

_COLLECTION = 1
_ENCODED_AT_ONCE = 256


class CorpusIndex:
    """A corpus and what the methods share of it, made when it is first needed. Use it as a context manager."""

    def __init__(self, corpus: Sequence[SourceDocument], encoder: Encoder, cache: VectorCache) -> None:
        self.corpus = corpus
        self._encoder = encoder
        self._cache = cache
        self._folder = tempfile.TemporaryDirectory(prefix="steelman-retrieval-")

    def __enter__(self) -> "CorpusIndex":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.__dict__.pop("lexical", None)
        self._folder.cleanup()

    @cached_property
    def lexical(self) -> LexicalIndex:
        """The agent's BM25; a passage's id is its position."""
        index = LexicalIndex(Path(self._folder.name))
        index.clear("once")
        nowhere = np.zeros(0, np.float32)
        passages = (Passage(i, p.external_id, "", p.text, title=p.title) for i, p in enumerate(self.corpus))
        index.apply([(_COLLECTION, p, nowhere) for p in passages], [])
        return index

    @cached_property
    def vectors(self) -> Vectors:
        """The passages' vectors, shape (passages, dimensions), from the cache as far as they are there.

        Raises ProviderDownError when an encoder elsewhere fails: without them no question can be searched.
        """
        from tqdm import tqdm

        texts = [passage_text(p.title, p.text) for p in self.corpus]
        rows = []
        try:
            with tqdm(total=len(texts), desc="vectors", unit="passage", leave=False, disable=_quiet()) as bar:
                for part in parts(texts, _ENCODED_AT_ONCE):  # kept part by part, so that a killed run goes on
                    rows.append(self._cached("passages", part, self._encoder.encode))
                    bar.update(len(part))
        except ProviderError as exc:
            raise ProviderDownError(f"the corpus cannot be encoded: {exc}") from exc
        return np.concatenate(rows)

    def query_vectors(self, texts: Sequence[str]) -> Vectors:
        """Shape (texts, dimensions). Raises ProviderError of an encoder elsewhere."""
        return self._cached("queries", texts, self._encoder.encode_queries)

    def _cached(self, kind: str, texts: Sequence[str], encode: Callable[[list[str]], Vectors]) -> Vectors:
        space = f"{self._encoder.name}:{kind}"
        return self._cache.rows(space, texts, lambda missing: encode([texts[i] for i in missing]))


Search = Callable[[CorpusIndex, Sequence[str], int], list[Ranking]]
"""From texts to up to k passages each."""
Rank = Callable[[CorpusIndex, Sequence[GoldQuestion], int], list[Ranking]]
"""From questions to up to k passages each. May raise ProviderError."""


@dataclass(frozen=True, slots=True)
class Method:
    """A retriever, and what it knows of a question beside its words."""

    rank: Rank
    knows: Knows = "nothing"


def bm25(index: CorpusIndex, texts: Sequence[str], k: int) -> list[Ranking]:
    """The agent's lexical search."""
    return [[i for i, _ in index.lexical.search(text, [_COLLECTION], k)] for text in texts]


def dense(index: CorpusIndex, texts: Sequence[str], k: int) -> list[Ranking]:
    """By cosine; of equals the earlier passage comes first."""
    cosines = index.query_vectors(texts) @ index.vectors.T
    return [[int(i) for i in np.argsort(-row, kind="stable")[:k]] for row in cosines]


def hybrid(index: CorpusIndex, texts: Sequence[str], k: int) -> list[Ranking]:
    """The agent's fusion of the two, each to depth k."""
    both = zip(dense(index, texts, k), bm25(index, texts, k), strict=True)
    return [[i for i, _ in fuse(rankings)][:k] for rankings in both]


def by_question(search: Search) -> Rank:
    """The question is the query."""
    return lambda index, questions, k: search(index, [q.question for q in questions], k)


def by_each(search: Search, queries_of: Callable[[GoldQuestion], list[str]]) -> Rank:
    """Several queries a question; what they find is interleaved (query expansion, BERDS §6)."""

    def rank(index: CorpusIndex, questions: Sequence[GoldQuestion], k: int) -> list[Ranking]:
        queries = [queries_of(q) for q in questions]
        found = iter(search(index, [text for texts in queries for text in texts], k))
        return [interleave([next(found) for _ in texts])[:k] for texts in queries]

    return rank


def interleave(rankings: Sequence[Ranking]) -> Ranking:
    """All first places in the order of the rankings, then all second places, and so on; what was there is skipped."""
    return list(dict.fromkeys(i for places in zip_longest(*rankings) for i in places if i is not None))


def gold_queries(question: GoldQuestion) -> list[str]:
    """A query a gold perspective, as BERDS' released code words it: the question, a space, the statement."""
    return [f"{question.question} {p.statement}" for p in question.perspectives]


SEARCHES: dict[str, Search] = {"bm25": bm25, "dense": dense, "hybrid": hybrid}

METHODS: dict[str, Method] = {
    **{name: Method(by_question(search)) for name, search in SEARCHES.items()},
    **{f"{name}+gold": Method(by_each(search, gold_queries), "gold perspectives") for name, search in SEARCHES.items()},
}


def named(names: Sequence[str]) -> dict[str, Method]:
    """The methods of these names. 'oracle' stands for the gold queries of every search among them, or of all.

    Raises InputError for a name that is none, and for no names.
    """
    searches = [n for n in names if n in SEARCHES] or list(SEARCHES)
    wanted = [m for n in names for m in ([f"{s}+gold" for s in searches] if n == "oracle" else [n])]
    if unknown := [n for n in wanted or [""] if n not in METHODS]:
        raise InputError(f"there is no method '{unknown[0]}'. There are: {', '.join(METHODS)}; oracle.")
    return {name: METHODS[name] for name in wanted}


def _quiet() -> bool:
    return not sys.stderr.isatty()

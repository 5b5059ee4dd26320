"""Retrieval methods by name, the papers' and our own: SEARCH[+QUERIES][+SELECTION[:NUMBER]].

SEARCH       bm25, dense, hybrid
QUERIES      default: the question. The others send one query a side and interleave the results:
             expansion   the question with each word that answers it (BERDS §6)
             gold        the question with each gold perspective: an oracle
SELECTION    re-ranks the 100 retrieved passages: mmr, dkmips, scs, scs-released, greedyplus, coverage
             (`evals/retrievers/selections.py`); MMR uses BM25's scores after bm25, else the cosine (BERDS, A.6)

`steelman` is hybrid+coverage with the judge. The judge scores the pairs of side and passage that can change the choice
most.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from evals.datasets.retrieval import GoldQuestion
from evals.models import cached_scores, question_of
from evals.retrievers.corpus_index import COLLECTION, CorpusIndex, Ranking, highest
from evals.retrievers.published_selections import UNCLUSTERED
from evals.retrievers.selections import COVERAGE, KINDS, SEARCH_ORDER, ClusteredPool, parse_selection
from tools.errors import InputError
from tools.language.question import ANSWERS
from tools.models.judges.judge import Pair
from tools.passages import interleave
from tools.selection import choose_by_coverage
from tools.store.hybrid import fuse

Search = Callable[[CorpusIndex, str, int], Ranking]
"""Maps a text to up to k passages."""


def bm25(index: CorpusIndex, text: str, k: int) -> Ranking:
    """Ranks by the agent's lexical search."""
    return [i for i, _ in index.lexical.search(text, [COLLECTION], k)]


def dense(index: CorpusIndex, text: str, k: int) -> Ranking:
    """Ranks by cosine."""
    return highest(index.encoder.encode_queries([text])[0] @ index.vectors.T, k)


def hybrid(index: CorpusIndex, text: str, k: int) -> Ranking:
    """Ranks by the agent's fusion of lexical and dense search, each to depth k."""
    return [i for i, _ in fuse([dense(index, text, k), bm25(index, text, k)])][:k]


def sides_of(question: GoldQuestion) -> list[str]:
    """Returns the statements of a question's sides: each answer word (such as Yes) or alternative, followed by the
    question. Returns an empty list if the question names no side."""
    read = question_of(question.question)
    return [f"{word}: {question.question}" for word in read.options or ANSWERS.get(read.kind, ())]


def expanded_queries(question: GoldQuestion) -> list[str]:
    """Returns one query a side, worded like the gold queries. Returns just the question if the question names no
    side."""
    words = (side.partition(": ")[0] for side in sides_of(question))
    return [f"{question.question} {word}" for word in words] or [question.question]


def gold_queries(question: GoldQuestion) -> list[str]:
    """Returns a query for each gold perspective, worded as in BERDS' code: question, space, statement."""
    return [f"{question.question} {p.statement}" for p in question.perspectives]


Queries = Callable[[GoldQuestion], list[str]]
Rank = Callable[[CorpusIndex, GoldQuestion, int], Ranking]
"""Maps a question to up to k passages. May raise ProviderError."""

OWN = "steelman"
CANDIDATES = 100
"""Passages from which a selection chooses (BERDS, A.6)."""
PAIRS = 80
"""Number of (side, passage) pairs of a question that the judge scores."""
_PART = re.compile(r"\+(?=\w)")

SEARCHES: dict[str, Search] = {"bm25": bm25, "dense": dense, "hybrid": hybrid}
QUERIES: dict[str, Queries] = {"expansion": expanded_queries, "gold": gold_queries}
STANDARD = (*SEARCHES, *(f"{search}+gold" for search in SEARCHES))
"""The default methods."""


@dataclass(frozen=True, slots=True)
class Method:
    """A retriever. judged: whether the method needs a judge. selection: the name of its re-ranking."""

    rank: Rank
    judged: bool = False
    selection: str = SEARCH_ORDER


def named(names: Sequence[str], queries: Mapping[str, Queries] = QUERIES) -> dict[str, Method]:
    """Returns the methods of these names. Raises InputError for an unknown name, and without a name."""
    if not names:
        raise InputError(f"name a method. {_there_are()}")
    return {name: method(name, queries) for name in names}


def method(name: str, asked: Mapping[str, Queries] = QUERIES) -> Method:
    """Returns the method of that name. Raises InputError."""
    if name == OWN:
        return Method(_covering, judged=True, selection=COVERAGE)
    search, *rest = _PART.split(name)
    queries = rest.pop(0) if rest and rest[0] in QUERIES else ""
    selection = rest.pop(0) if rest else SEARCH_ORDER
    if rest or search not in SEARCHES:
        raise InputError(f"there is no method '{name}'. {_there_are()}")
    texts = asked[queries] if queries else lambda question: [question.question]

    def find(index: CorpusIndex, question: GoldQuestion, k: int) -> Ranking:
        return interleave([SEARCHES[search](index, text, k) for text in texts(question)])[:k]

    rank = find if selection == SEARCH_ORDER else _selected(find, selection, by_words=search == "bm25")
    return Method(rank, selection=selection)


def _there_are() -> str:
    selections = [s for s in KINDS if s != SEARCH_ORDER]
    return (
        f"There are: {OWN}; {', '.join(SEARCHES)}, each also with +{', +'.join(QUERIES)}; "
        f"and any of these with +{', +'.join(selections)}."
    )


def _selected(find: Rank, selection: str, by_words: bool = False) -> Rank:
    """Adds a selection to a search. by_words: BM25 retrieves the passages, and MMR uses BM25's scores."""
    by_words = by_words and selection.partition(":")[0] == "mmr"
    chosen = parse_selection(selection)  # an unknown name is an error before the search

    def rank(index: CorpusIndex, question: GoldQuestion, k: int) -> Ranking:
        positions = find(index, question, max(k, CANDIDATES))
        pool = pool_of(index, question, positions, chosen.clustered)
        if by_words:
            pool = replace(pool, cosine=pool.words, largest=index.largest.get("words"))
        return [positions[i] for i in chosen.choose(pool, k)]

    return rank


def pool_of(index: CorpusIndex, question: GoldQuestion, positions: Ranking, clustered: bool = False) -> ClusteredPool:
    """Returns the selections' input for the passages at these positions. clustered: include the sentence clusters."""
    vectors = index.vectors[positions]
    words = index.word_scores(question.question)
    return ClusteredPool(
        cosine=vectors @ index.encoder.encode_queries([question.question])[0],
        vectors=vectors,
        words=np.array([words.get(i, 0.0) for i in positions]),
        support=np.zeros((0, len(positions))),
        clusters=index.clustered(positions) if clustered else UNCLUSTERED,
        largest=index.largest.get("cosine"),
    )


def _covering(index: CorpusIndex, question: GoldQuestion, k: int) -> Ranking:
    # Candidates come from the question alone: queries for its sides lowered MRecall@5.
    sides, positions = sides_of(question), hybrid(index, question.question, CANDIDATES)
    pool = pool_of(index, question, positions)
    support = np.full((len(sides), pool.size), np.nan)
    pairs = pairs_to_judge(np.tile(pool.likely / 2, (len(sides), 1)), PAIRS)
    contrary = dict(zip(sides, reversed(sides), strict=True)) if len(sides) == 2 else {}
    asked = [Pair(sides[s], index.corpus[positions[i]].text, contrary.get(sides[s], "")) for s, i in pairs]
    assert index.judge is not None  # the suite gives a judge to each method that needs a judge
    for (s, i), value in zip(pairs, cached_scores(index.judge, index.cache, asked), strict=True):
        support[s, i] = value
    return [positions[i] for i in choose_by_coverage(replace(pool, support=support), k)]


def pairs_to_judge(expected: NDArray[np.floating], budget: int) -> list[tuple[int, int]]:
    """Returns at most `budget` (perspective, passage) pairs whose verdicts can change the choice most, best first.

    expected: a guess for each pair, shape (perspectives, n). The priority of a pair is missed[p] · expected[p, i]. Each
    selected pair reduces `missed` by its expected contribution, so the budget moves to perspectives without support.
    """
    left, missed = np.ones(expected.shape, bool), np.ones(len(expected))
    ordered: list[tuple[int, int]] = []
    for _ in range(min(budget, expected.size)):
        worth = np.where(left, missed[:, None] * expected, -1.0)
        p, i = divmod(int(np.argmax(worth)), worth.shape[1])
        ordered.append((p, i))
        left[p, i] = False
        missed[p] *= 1 - float(expected[p, i])
    return ordered

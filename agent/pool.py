"""A run's passages as a pool to choose from, for the stages that judge and select."""

import asyncio
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from agent.options import RunOptions
from agent.providers import Providers
from agent.state import RunState
from tools.diversity.clusters import Clustered, cluster_sentences, clustered_sentences
from tools.diversity.selection import Pool
from tools.passages import Passage
from tools.store.hybrid import fuse


async def pool_of(
    providers: Providers, state: RunState, passages: dict[int, Passage], options: RunOptions
) -> tuple[list[int], Pool]:
    """The passages' ids in the order of the pool, best found first, and the pool.

    Passages without a vector, which were deleted in the meantime, are left out.
    """
    stored = await asyncio.to_thread(providers.store.vectors, list(passages))
    ids = [i for i, _ in fuse(list(state["found"].values())) if i in passages and i in stored]
    neutral = state["framing"]["neutral"]
    vectors = np.stack([stored[i] for i in ids]) if ids else np.zeros((0, 1), np.float32)
    cosine = vectors @ (await providers.models.encode_queries([neutral]))[0] if ids else np.zeros(0)
    known = await asyncio.to_thread(providers.search.word_scores, neutral, options.collections)
    support = state.get("support", {})
    judged = [[support.get(p["id"], {}).get(i, np.nan) for i in ids] for p in state["perspectives"]]
    texts = [passages[i].text for i in ids]
    pool = Pool(
        cosine=cosine,
        vectors=vectors,
        words=_words(ids, known),
        support=np.array(judged).reshape(len(judged), len(ids)),
        sources=[passages[i].source for i in ids],
        sentences=lambda: _clustered(providers, texts),
    )
    return ids, pool


async def nearness(
    providers: Providers, statements: Sequence[str], ids: Sequence[int]
) -> dict[int, NDArray[np.float32]]:
    """Each passage's cosines to the statements, shape (statements,)."""
    stored = await asyncio.to_thread(providers.store.vectors, ids)
    asked = await providers.models.encode_queries(list(statements))
    return {i: np.asarray(asked @ vector, np.float32) for i, vector in stored.items()}


def _words(ids: Sequence[int], known: dict[int, float]) -> NDArray[np.float64]:
    """BM25 scores; web pages are not in the index, and count as the others do on average."""
    stored = [known.get(i, 0.0) for i in ids if i > 0]
    usual = float(np.mean(stored)) if stored else 0.0
    return np.array([known.get(i, 0.0) if i > 0 else usual for i in ids], np.float64)


def _clustered(providers: Providers, texts: Sequence[str]) -> Clustered:
    sentences = [(n, s) for n, text in enumerate(texts) for s in clustered_sentences(text)]
    return cluster_sentences(providers.models.encoder.encode([s for _, s in sentences]), [n for n, _ in sentences])

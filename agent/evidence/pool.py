"""A run's passages as a pool to choose from, for the stages that judge and select."""

import asyncio
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from agent.deadlines import in_time
from agent.options import RunOptions
from agent.seams import Providers
from agent.state import Failure, RunState
from tools.diversity.names import needs_clusters
from tools.diversity.published import Clustered, cluster_sentences, is_clustered
from tools.diversity.selection import Pool
from tools.errors import SteelmanError
from tools.language.sentences import passage_sentences
from tools.passages import Passage
from tools.store.hybrid import fuse


async def pool_of(
    providers: Providers, state: RunState, passages: dict[int, Passage], options: RunOptions
) -> tuple[list[int], Pool, list[Failure]]:
    """The passages' ids in the order of the pool, best found first; the pool; and what could not be found out about it.

    Passages without a vector, which were deleted in the meantime, are left out.
    """
    stored = await asyncio.to_thread(providers.vectors, list(passages))
    ids = [i for i, _ in fuse(list(state["found"].values())) if i in passages and i in stored]
    question = state["framing"]["question"]
    vectors = np.stack([stored[i] for i in ids]) if ids else np.zeros((0, 1), np.float32)
    cosine = vectors @ (await providers.models.encode_queries([question]))[0] if ids else np.zeros(0)
    known, failures = await _word_scores(providers, question, options)
    support = state.get("support", {})
    judged = [[support.get(p["id"], {}).get(i, np.nan) for i in ids] for p in state["perspectives"]]
    clusters = await _clustered(providers, [passages[i] for i in ids]) if needs_clusters(options.selection) else None
    pool = Pool(
        cosine=cosine,
        vectors=vectors,
        words=_words(ids, known),
        support=np.array(judged).reshape(len(judged), len(ids)),
        sources=[passages[i].source for i in ids],
        clusters=clusters,
    )
    return ids, pool, failures


async def nearness_to(
    providers: Providers, statements: Sequence[str], ids: Sequence[int]
) -> dict[int, NDArray[np.float32]]:
    """Each passage's cosines to the statements, shape (statements,)."""
    stored = await asyncio.to_thread(providers.vectors, ids)
    asked = await providers.models.encode_queries(list(statements))
    return {i: np.asarray(asked @ vector, np.float32) for i, vector in stored.items()}


async def _word_scores(
    providers: Providers, question: str, options: RunOptions
) -> tuple[dict[int, float], list[Failure]]:
    """BM25 scores by passage; none, and why, where the index cannot be read in time: the vectors then tell alone."""
    asked = asyncio.to_thread(providers.search.word_scores, question, options.collections)
    try:
        return await in_time(options, "write", asked), []
    except SteelmanError as exc:
        message = f"Passages were chosen without their word scores: {exc}"
        return {}, [Failure(stage="select", message=message, hint=exc.hint)]


def _words(ids: Sequence[int], known: dict[int, float]) -> NDArray[np.float64]:
    """BM25 scores; web pages are not in the index, and count as the others do on average."""
    stored = [known.get(i, 0.0) for i in ids if i > 0]
    usual = float(np.mean(stored)) if stored else 0.0
    return np.array([known.get(i, 0.0) if i > 0 else usual for i in ids], np.float64)


async def _clustered(providers: Providers, passages: Sequence[Passage]) -> Clustered:
    """The clusters of the passages' sentences, by the vectors that are stored of them."""
    found = [(n, s) for n, p in enumerate(passages) for s in passage_sentences(p) if is_clustered(s.text)]
    vectors = await providers.models.encode_sentences([s for _, s in found])
    return await asyncio.to_thread(cluster_sentences, vectors, [n for n, _ in found])

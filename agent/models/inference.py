"""The encoders and the judges as the nodes use them: asynchronous, batched, cached, within the time there is."""

import asyncio
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tools.budget import current_log
from tools.errors import BudgetError, DeadlineError, JudgeError, ProviderError
from tools.models.cache import VectorCache
from tools.models.encoders.encoder import Encoder
from tools.models.judges.batch import BatchJudge
from tools.models.judges.judge import ClaimCheck, CloseJudge, Judge, Pair, StanceJudge
from tools.models.judges.quoting import load_quoting
from tools.models.judges.server import ServerJudge
from tools.models.worker import Worker
from tools.net.http import without_login
from tools.passages import Sentence
from tools.store.store import Store

_PATIENCE = 0.7
"""The share of the time that a remote judge may take while the local one could still replace it."""
_BATCH = 64  # pairs at most; between two batches the time that is left is looked at
_PROBE = 16  # pairs of the first batch, which measures the throughput, so that no batch outlasts the time there is
_PROBE_CLOSELY = 2  # the same of a closer reading, which takes several times as long a pair


RemoteJudge = BatchJudge | ServerJudge[Any]
"""A judge behind an address, which batches its requests itself."""


class Models:
    """Embeddings of texts, and the judges of a run: the primary one, and that of this process, its fallback."""

    def __init__(
        self,
        encoder: Encoder,
        judge: Judge,
        worker: Worker,
        cache: VectorCache,
        remote: RemoteJudge | None = None,
        judge_required: bool = False,
        retrieval_encoder: Encoder | None = None,
        store: Store | None = None,
        checker: RemoteJudge | None = None,
    ) -> None:
        """`encoder` compares sentences, for which it was tuned; `retrieval_encoder`, by default the same, encodes
        passages and queries for dense retrieval.

        `store`: where vectors of sentences may be stored with their passages.
        `judge_required`: the remote judge was named by the user, so that it has no fallback.
        `checker`: what checks written claims where the judge in force does not.
        """
        self.encoder = encoder
        self.retrieval_encoder = retrieval_encoder or encoder
        self.own_judge = judge
        self.remote_judge = remote
        self.judge_required = judge_required
        self.worker = worker
        self.cache = cache
        self._store = store
        self._checker = checker

    async def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors of shape (n, dimensions) by which sentences are compared with each other."""
        return await self._vectors(self.encoder, texts, queries=False)

    async def encode_sentences(self, sentences: Sequence[Sentence]) -> NDArray[np.float32]:
        """As `encode`, for sentences of passages; only vectors that are not stored yet are computed."""
        stored = await asyncio.to_thread(self._stored, {s.passage.id for s in sentences})
        missing = [i for i, s in enumerate(sentences) if s.passage.id not in stored]
        fresh = await self.encode([sentences[i].text for i in missing])
        vectors = np.empty((len(sentences), fresh.shape[1]), np.float32)
        vectors[missing] = fresh
        for i, sentence in enumerate(sentences):
            if sentence.passage.id in stored:
                vectors[i] = stored[sentence.passage.id][sentence.position]
        return vectors

    def _stored(self, passage_ids: Collection[int]) -> dict[int, NDArray[np.float32]]:
        """Vectors of these passages' sentences that may be compared with those of `encode`."""
        if self._store is None or self.retrieval_encoder is not self.encoder:
            return {}
        return self._store.sentence_vectors(passage_ids)

    async def encode_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors of passages as the dense index stores them, shape (n, dimensions)."""
        return await self._vectors(self.retrieval_encoder, texts, queries=False)

    async def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors of queries, shape (n, dimensions), to be compared with those of `encode_passages`."""
        return await self._vectors(self.retrieval_encoder, texts, queries=True)

    def judge(self, name: str = "") -> "RunJudge":
        """The judge of that name; the primary one where none is named."""
        if self.remote_judge is not None and name in ("", self.remote_judge.name):
            return _RemoteRunJudge(self.remote_judge, self.cache, 1.0 if self.judge_required else _PATIENCE)
        return _LocalRunJudge(self.own_judge, self.worker, self.cache)

    def checker(self, judge: "RunJudge") -> "RunJudge | None":
        """What checks written claims beside the judge in force; None where nothing does: no model writes, or the judge
        that would have checked them has failed and was replaced."""
        if judge.checks_claims or self._checker is None:
            return judge if judge.checks_claims else None
        return _RemoteRunJudge(self._checker, self.cache, _PATIENCE)

    async def _vectors(self, encoder: Encoder, texts: Sequence[str], *, queries: bool) -> NDArray[np.float32]:
        compute = encoder.encode_queries if queries else encoder.encode
        space = f"{encoder.name}/query" if queries else encoder.name

        def missing(wanted: list[int]) -> NDArray[np.float32]:
            chosen = [texts[i] for i in wanted]
            if hasattr(encoder, "address"):  # a remote encoder: the worker is for what computes in this process
                return compute(chosen)
            return self.worker.run(compute, chosen)

        def rows() -> NDArray[np.float32]:  # in a thread: `dimensions` may have to load the model, or ask a server
            return self.cache.rows(space, texts, missing) if texts else np.zeros((0, encoder.dimensions), np.float32)

        return await asyncio.to_thread(rows)


class RunJudge(ABC):
    """The judge in force in a run; scores are cached by pair."""

    reads_closely = False
    """Whether `closely` is another reading than `stances`."""
    checks_claims = False
    """Whether `check` may be asked."""

    def __init__(self, judge: Judge | RemoteJudge, cache: VectorCache) -> None:
        self.name = judge.name
        self.threshold = judge.threshold
        self.sentence_threshold = judge.sentence_threshold
        self.quoting = load_quoting()
        self.cache = cache

    async def support(self, pairs: Sequence[Pair], seconds: float = math.inf) -> NDArray[np.float32]:
        """Probabilities of support, shape (n,); NaN for what was not judged. Raises JudgeError."""
        return (await self._cached(self.name, pairs, seconds, self._compute))[:, 0]

    async def stances(self, pairs: Sequence[Pair], seconds: float = math.inf) -> NDArray[np.float32]:
        """Probabilities that each text supports the statement, and that it supports its contrary, shape (n, 2); NaN
        for what was not judged. Every pair has a contrary statement. Raises JudgeError."""
        both = await self.support(
            [*pairs, *(replace(p, statement=p.contrary, contrary=p.statement) for p in pairs)], seconds
        )
        return np.ascontiguousarray(both.reshape(2, len(pairs)).T)

    async def closely(self, pairs: Sequence[Pair], seconds: float = math.inf) -> NDArray[np.float32]:
        """As `stances`, for the few texts that may be shown: by a closer reading where the judge has one, else the
        same. Raises JudgeError."""
        return await self.stances(pairs, seconds)

    async def check(self, side: str, claims: Sequence[ClaimCheck], seconds: float = math.inf) -> NDArray[np.float32]:
        """Probabilities that the cited texts entail each written claim, and that the claim supports the perspective
        whose statement is `side`, shape (n, 2); NaN for what was not checked. Raises JudgeError."""
        raise NotImplementedError(f"{self.name} checks no claims")

    async def _cached(
        self, space: str, pairs: Sequence[Pair], seconds: float, compute: "_Compute", width: int = 1
    ) -> NDArray[np.float32]:
        """Scores of shape (n, width): the cached ones, and those that `compute` gives the other pairs."""
        keys = [f"{p.form}\x1f{p.statement}\x1f{p.contrary}\x1f{p.text}" for p in pairs]
        known = dict(await asyncio.to_thread(self.cache.known, space, keys))
        missing = list({k: i for i, k in enumerate(keys) if k not in known}.values())
        if missing:
            fresh = (await compute([pairs[i] for i in missing], seconds)).reshape(len(missing), width)
            judged = {keys[i]: row for i, row in zip(missing, fresh, strict=True) if not np.isnan(row).any()}
            await asyncio.to_thread(self.cache.keep, space, judged)
            known |= judged
        unknown = np.full(width, np.nan, np.float32)
        return np.stack([known.get(k, unknown) for k in keys]) if keys else np.zeros((0, width), np.float32)

    @abstractmethod
    async def _compute(self, pairs: Sequence[Pair], seconds: float) -> NDArray[np.float32]:
        """Probabilities of support of the pairs that are not cached; NaN for what is not judged within the seconds."""


_Compute = Callable[[Sequence[Pair], float], Awaitable[NDArray[np.float32]]]


class _LocalRunJudge(RunJudge):
    """A judge of this process: batch after batch in its worker, until the time is used up."""

    def __init__(self, judge: Judge, worker: Worker, cache: VectorCache) -> None:
        super().__init__(judge, cache)
        self._judge = judge
        self.reads_closely = isinstance(judge, CloseJudge)
        self.worker = worker

    async def stances(self, pairs: Sequence[Pair], seconds: float = math.inf) -> NDArray[np.float32]:
        if not isinstance(self._judge, StanceJudge):
            return await super().stances(pairs, seconds)
        compute = partial(self._in_batches, self._judge.stances, 2)
        return await self._cached(f"{self.name}/stances", pairs, seconds, compute, width=2)

    async def closely(self, pairs: Sequence[Pair], seconds: float = math.inf) -> NDArray[np.float32]:
        if not isinstance(self._judge, CloseJudge):
            return await self.stances(pairs, seconds)
        compute = partial(self._in_batches, self._judge.closely, 2, probe=_PROBE_CLOSELY)
        return await self._cached(f"{self.name}/close", pairs, seconds, compute, width=2)

    async def _compute(self, pairs: Sequence[Pair], seconds: float) -> NDArray[np.float32]:
        return await self._in_batches(self._judge.score, 1, pairs, seconds)

    async def _in_batches(
        self,
        score: Callable[[Sequence[Pair]], NDArray[np.float32]],
        width: int,
        pairs: Sequence[Pair],
        seconds: float,
        probe: int = _PROBE,
    ) -> NDArray[np.float32]:
        scores = np.full((len(pairs), width), np.nan, np.float32)
        done, size, give_up = 0, probe if math.isfinite(seconds) else len(pairs), time.monotonic() + seconds
        while size and done < len(pairs):
            began = time.monotonic()
            part = pairs[done : done + size]
            try:
                async with asyncio.timeout(None if math.isinf(seconds) else max(0.0, give_up - began)):
                    made = await self.worker.arun(score, part)
            except TimeoutError:
                break
            scores[done : done + len(part)] = made.reshape(len(part), width)
            done += len(part)
            if math.isfinite(seconds):
                a_pair = max(time.monotonic() - began, 1e-6) / len(part)
                size = int(min(_BATCH, max(0.0, give_up - time.monotonic()) / a_pair))
        return scores


class _RemoteRunJudge(RunJudge):
    """A remote judge, which is given all pairs at once and batches them itself."""

    def __init__(self, judge: RemoteJudge, cache: VectorCache, patience: float) -> None:
        """patience: the share of the time after which a judge that has not answered has failed."""
        super().__init__(judge, cache)
        self._judge = judge
        self._patience = patience
        self.checks_claims = isinstance(judge, BatchJudge)

    async def check(self, side: str, claims: Sequence[ClaimCheck], seconds: float = math.inf) -> NDArray[np.float32]:
        if not isinstance(self._judge, BatchJudge):
            return await super().check(side, claims, seconds)
        try:
            return await self._judge.check(side, claims, seconds * self._patience)
        except (BudgetError, DeadlineError) as exc:
            current_log().note("unjudged", f"Not every claim was checked by {self.name}: {exc}")
            return np.full((len(claims), 2), np.nan, np.float32)
        except ProviderError as exc:
            raise JudgeError(f"the judge failed: {exc}", hint=exc.hint) from exc

    async def _compute(self, pairs: Sequence[Pair], seconds: float) -> NDArray[np.float32]:
        if seconds <= 0:
            return np.full(len(pairs), np.nan, np.float32)
        try:
            scores = await self._judge.support(pairs, seconds * self._patience)
            if np.isnan(scores).all():
                raise DeadlineError(
                    f"{self._judge.name} at {without_login(self._judge.address)} did not answer in time."
                )
            return scores
        except BudgetError as exc:
            current_log().note("unjudged", f"Not everything was judged by {self.name}: {exc}")
            return np.full(len(pairs), np.nan, np.float32)
        except ProviderError as exc:
            raise JudgeError(f"the judge failed: {exc}", hint=exc.hint) from exc

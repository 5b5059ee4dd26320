"""The encoders and the judges as the nodes use them: asynchronous, batched, cached, within the time there is."""

import asyncio
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Collection, Sequence
from functools import partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tools.allowance import current
from tools.errors import BudgetError, DeadlineError, JudgeError, ProviderError
from tools.inference.cache import VectorCache
from tools.inference.encoders.encoder import Encoder
from tools.inference.judges.judge import ClaimCheck, ClaimJudge, CloseJudge, Judge, Pair, StanceJudge
from tools.inference.judges.quoting import Quoting, load_quoting
from tools.inference.worker import Worker
from tools.net.http import without_login
from tools.passages import Sentence
from tools.store.store import Store

_PATIENCE = 0.7
"""The share of the time that a served judge may take while the embedded one could still stand in for it."""
_BATCH = 64  # pairs at most; between two batches the time that is left is looked at
_PROBE = 16  # pairs that show how fast a model of this process is, so that no batch outlasts the time there is
_PROBE_CLOSELY = 2  # the same of a closer reading, of which each takes several times as long


class RemoteJudge(Judge, Protocol):
    """A judge behind an address, which knows itself how to ask for many pairs at once."""

    address: str

    async def support(self, pairs: Sequence[Pair], seconds: float = math.inf) -> NDArray[np.float32]:
        """Probabilities, shape (n,); NaN for a pair that was not answered within the seconds, or not with a verdict."""
        ...


class Models:
    """Vectors of texts, and the judges of a run: the first one, and that of this process, which stands in for it."""

    def __init__(
        self,
        encoder: Encoder,
        judge: Judge,
        worker: Worker,
        cache: VectorCache,
        remote: RemoteJudge | None = None,
        judge_required: bool = False,
        searcher: Encoder | None = None,
        store: Store | None = None,
    ) -> None:
        """`encoder` compares sentences, for which it was tuned; `searcher` is what the collections are indexed with.

        `store`: where vectors of sentences may be stored with their passages.
        `judge_required`: the remote judge was named by the user, so that nothing stands in for it.
        """
        self.encoder = encoder
        self.searcher = searcher or encoder
        self.own_judge = judge
        self.remote_judge = remote
        self.judge_required = judge_required
        self.worker = worker
        self.cache = cache
        self._store = store

    async def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors of shape (n, dimensions) by which sentences are compared with each other."""
        return await self._vectors(self.encoder, texts, queries=False)

    async def encode_sentences(self, sentences: Sequence[Sentence]) -> NDArray[np.float32]:
        """As `encode`, for sentences of passages: vectors that are stored are read, only the others are computed."""
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
        if self._store is None or self.searcher is not self.encoder:
            return {}
        return self._store.sentence_vectors(passage_ids)

    async def encode_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors as they are stored of passages."""
        return await self._vectors(self.searcher, texts, queries=False)

    async def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors of queries, to be compared with stored vectors."""
        return await self._vectors(self.searcher, texts, queries=True)

    def judge(self, name: str = "") -> "RunJudge":
        """The judge of that name; the first one for a run that has not changed it."""
        if self.remote_judge is not None and name in ("", self.remote_judge.name):
            return _Remote(self.remote_judge, self.cache, 1.0 if self.judge_required else _PATIENCE)
        return _Own(self.own_judge, self.worker, self.cache)

    async def _vectors(self, encoder: Encoder, texts: Sequence[str], *, queries: bool) -> NDArray[np.float32]:
        compute = encoder.encode_queries if queries else encoder.encode
        space = f"{encoder.name}/query" if queries else encoder.name

        def missing(wanted: list[int]) -> NDArray[np.float32]:
            chosen = [texts[i] for i in wanted]
            if hasattr(encoder, "address"):  # a server's work is not for this process's worker to wait for
                return compute(chosen)
            return self.worker.run(space, compute, chosen)

        def rows() -> NDArray[
            np.float32
        ]:  # an encoder that is asked for its width may have to load, or to ask a server
            return self.cache.rows(space, texts, missing) if texts else np.zeros((0, encoder.dimensions), np.float32)

        return await asyncio.to_thread(rows)


class RunJudge(Protocol):
    """The judge in force in a run."""

    name: str
    threshold: float
    sentence_threshold: float
    quoting: Quoting
    reads_closely: bool
    """Whether `closely` is another reading than `stances`."""
    checks_claims: bool
    """Whether `check` may be asked."""

    async def support(self, pairs: Sequence[Pair], seconds: float = math.inf) -> NDArray[np.float32]:
        """Probabilities of support, shape (n,); NaN for what was not judged. Raises JudgeError."""
        ...

    async def stances(self, pairs: Sequence[Pair], seconds: float = math.inf) -> NDArray[np.float32]:
        """Probabilities that each text supports the statement, and that it supports its contrary, shape (n, 2); NaN
        for what was not judged. Every pair has a contrary statement. Raises JudgeError."""
        ...

    async def closely(self, pairs: Sequence[Pair], seconds: float = math.inf) -> NDArray[np.float32]:
        """As `stances`, for the few texts that may be shown: by a closer reading where the judge has one, else the
        same. Raises JudgeError."""
        ...

    async def check(self, side: str, claims: Sequence[ClaimCheck], seconds: float = math.inf) -> NDArray[np.float32]:
        """For each written claim how surely the texts that it cites say it, and how surely it serves the side, shape
        (n, 2); NaN for what was not checked. Raises JudgeError."""
        ...


class _Cached(ABC):
    """What both kinds of judge share: thresholds, and scores remembered by pair."""

    reads_closely = False
    checks_claims = False

    def __init__(self, judge: Judge, cache: VectorCache) -> None:
        self.name = judge.name
        self.threshold = judge.threshold
        self.sentence_threshold = judge.sentence_threshold
        self.quoting = load_quoting()
        self.cache = cache

    async def support(self, pairs: Sequence[Pair], seconds: float = math.inf) -> NDArray[np.float32]:
        return (await self._remembered(self.name, pairs, seconds, self._compute))[:, 0]

    async def stances(self, pairs: Sequence[Pair], seconds: float = math.inf) -> NDArray[np.float32]:
        both = await self.support([*pairs, *(Pair(p.contrary, p.text, p.statement) for p in pairs)], seconds)
        return np.ascontiguousarray(both.reshape(2, len(pairs)).T)

    async def closely(self, pairs: Sequence[Pair], seconds: float = math.inf) -> NDArray[np.float32]:
        return await self.stances(pairs, seconds)

    async def check(self, side: str, claims: Sequence[ClaimCheck], seconds: float = math.inf) -> NDArray[np.float32]:
        raise NotImplementedError(f"{self.name} checks no claims")

    async def _remembered(
        self, space: str, pairs: Sequence[Pair], seconds: float, compute: "_Compute", width: int = 1
    ) -> NDArray[np.float32]:
        """Rows of shape (n, width): those that are known, and those that `compute` makes of the others."""
        keys = [f"{p.statement}\x1f{p.contrary}\x1f{p.text}" for p in pairs]
        known = dict(await asyncio.to_thread(self.cache.known, space, keys))
        missing = list({k: i for i, k in enumerate(keys) if k not in known}.values())
        if missing:
            fresh = (await compute([pairs[i] for i in missing], seconds)).reshape(len(missing), width)
            made = {keys[i]: row for i, row in zip(missing, fresh, strict=True) if not np.isnan(row).any()}
            await asyncio.to_thread(self.cache.keep, space, made)
            known |= made
        unknown = np.full(width, np.nan, np.float32)
        return np.stack([known.get(k, unknown) for k in keys]) if keys else np.zeros((0, width), np.float32)

    @abstractmethod
    async def _compute(self, pairs: Sequence[Pair], seconds: float) -> NDArray[np.float32]:
        """Probabilities of the pairs that are not known yet; NaN for what is not judged within the seconds."""


_Compute = Callable[[Sequence[Pair], float], Awaitable[NDArray[np.float32]]]


class _Own(_Cached):
    """Batch after batch in the process's worker, until the time is used up."""

    def __init__(self, judge: Judge, worker: Worker, cache: VectorCache) -> None:
        super().__init__(judge, cache)
        self._judge = judge
        self.reads_closely = isinstance(judge, CloseJudge)
        self.worker = worker

    async def stances(self, pairs: Sequence[Pair], seconds: float = math.inf) -> NDArray[np.float32]:
        if not isinstance(self._judge, StanceJudge):
            return await super().stances(pairs, seconds)
        compute = partial(self._in_batches, self._judge.stances, 2)
        return await self._remembered(f"{self.name}/stances", pairs, seconds, compute, width=2)

    async def closely(self, pairs: Sequence[Pair], seconds: float = math.inf) -> NDArray[np.float32]:
        if not isinstance(self._judge, CloseJudge):
            return await self.stances(pairs, seconds)
        compute = partial(self._in_batches, self._judge.closely, 2, probe=_PROBE_CLOSELY)
        return await self._remembered(f"{self.name}/close", pairs, seconds, compute, width=2)

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
                    made = await self.worker.arun((self.name, score), score, part)
            except TimeoutError:
                break
            scores[done : done + len(part)] = made.reshape(len(part), width)
            done += len(part)
            if math.isfinite(seconds):
                a_pair = max(time.monotonic() - began, 1e-6) / len(part)
                size = int(min(_BATCH, max(0.0, give_up - time.monotonic()) / a_pair))
        return scores


class _Remote(_Cached):
    """All at once at the judge's server, which knows best how to batch."""

    def __init__(self, judge: RemoteJudge, cache: VectorCache, patience: float) -> None:
        """patience: the share of the time there is after which a judge that has said nothing has failed."""
        super().__init__(judge, cache)
        self._judge = judge
        self._patience = patience
        self.checks_claims = isinstance(judge, ClaimJudge)

    async def check(self, side: str, claims: Sequence[ClaimCheck], seconds: float = math.inf) -> NDArray[np.float32]:
        if not isinstance(self._judge, ClaimJudge):
            return await super().check(side, claims, seconds)
        try:
            return await self._judge.check(side, claims, seconds * self._patience)
        except (BudgetError, DeadlineError) as exc:
            current().note("scope", f"Not every claim was checked by {self.name}: {exc}")
            return np.full((len(claims), 2), np.nan, np.float32)
        except ProviderError as exc:
            raise JudgeError(f"the judge failed: {exc}", hint=exc.hint) from exc

    async def _compute(self, pairs: Sequence[Pair], seconds: float) -> NDArray[np.float32]:
        if seconds <= 0:
            return np.full(len(pairs), np.nan, np.float32)
        began = time.monotonic()
        try:
            scores = await self._judge.support(pairs, seconds * self._patience)
            if np.isnan(scores).all():
                raise DeadlineError(
                    f"{self._judge.name} at {without_login(self._judge.address)} did not answer in time."
                )
            took, late = time.monotonic() - began, [i for i, s in enumerate(scores) if math.isnan(s)]
            if late and seconds * self._patience <= took < seconds:  # else they have no verdict, or there is no time
                scores[late] = await self._judge.support([pairs[i] for i in late], seconds - took)
            return scores
        except ProviderError as exc:
            raise JudgeError(f"the judge failed: {exc}", hint=exc.hint) from exc

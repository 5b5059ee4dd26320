"""The encoder and the judge as the nodes use them: asynchronous, batched by the process's worker, cached."""

import asyncio
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tools.cache import VectorCache
from tools.encoder import Encoder
from tools.judge import Judge, Pair
from tools.worker import Worker


class Models:
    """Vectors of texts and support of pairs."""

    def __init__(self, encoder: Encoder, judge: Judge, worker: Worker, cache: VectorCache) -> None:
        self.encoder = encoder
        self.judge = judge
        self._worker = worker
        self._cache = cache

    async def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors of shape (n, dimensions)."""

        def compute(missing: list[int]) -> NDArray[np.float32]:
            return self._worker.run(self.encoder.name, self.encoder.encode, [texts[i] for i in missing])

        rows = await asyncio.to_thread(self._cache.rows, self.encoder.name, texts, compute)
        return rows.reshape(len(texts), self.encoder.dimensions)

    async def support(self, pairs: Sequence[Pair]) -> NDArray[np.float32]:
        """Probabilities of support, shape (n,)."""

        def compute(missing: list[int]) -> NDArray[np.float32]:
            return self._worker.run(self.judge.name, self.judge.score, [pairs[i] for i in missing])

        keys = [f"{p.statement}\x1f{p.contrary}\x1f{p.text}" for p in pairs]
        rows = await asyncio.to_thread(self._cache.rows, self.judge.name, keys, compute)
        return rows.reshape(len(pairs))

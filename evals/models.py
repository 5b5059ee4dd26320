"""Opens the suites' models: judges of pairs (the agent's judges and the cosine) and encoders, with caches."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

from agent.providers.from_settings import build_encoder, build_judge
from agent.runs.bootstrap import build_own_judge
from agent.settings import load_settings
from evals.suite import progress
from tools.budget import batches
from tools.errors import ProviderReplyError
from tools.language.question import ParsedQuestion, read_question
from tools.models.cache import VectorCache
from tools.models.encoders import Encoder, load_encoder
from tools.models.judges.embedded import load_judge
from tools.models.judges.judge import Judge, Pair

CHOICES = ("settings", "embedded", "close", "cosine")
_AT_ONCE = 256  # texts that the encoder gets in one call
Floats = NDArray[np.float32]
_encoder = cache(load_encoder)
Score = Callable[[Sequence[Pair]], Floats]
"""Maps n pairs to an array of shape (n,), with NaN without a verdict. May raise ProviderError, ModelError."""


@dataclass(frozen=True, slots=True)
class PairJudge:
    """Scores pairs. threshold: the score from which a judge says Yes, or None. probabilities: whether scores are
    probabilities. together: batch size."""

    name: str
    score: Score
    threshold: float | None = None
    probabilities: bool = True
    together: int = 64


def question_of(text: str) -> ParsedQuestion:
    return read_question(text, _encoder().encode([text])[0])


def agent_judge(judge: Judge, closely: bool = False) -> PairJudge:
    """Returns a judge of the agent, without the agent's cache. A remote judge sends simultaneous requests itself. A
    killed run loses at most one batch. closely: the judge reads every pair with its larger model (the closer reading),
    with threshold 0.5."""

    async def support(pairs: Sequence[Pair]) -> Floats:
        async with aclosing(judge):
            return (await judge.stances(pairs, closely=True))[:, 0] if closely else await judge.support(pairs)

    name, threshold = (f"{judge.name}-closely", 0.5) if closely else (judge.name, judge.threshold)
    together = 256 if judge.address else 64
    return PairJudge(name, lambda pairs: asyncio.run(support(pairs)), threshold, together=together)


def cosine(encoder: Encoder) -> PairJudge:
    """Returns a judge that scores a pair by the cosine of statement and passage."""

    def score(pairs: Sequence[Pair]) -> Floats:
        texts = list(dict.fromkeys(text for p in pairs for text in (p.statement, p.text)))
        vectors = dict(zip(texts, encoder.encode(texts), strict=True))
        return np.array([vectors[p.statement] @ vectors[p.text] for p in pairs], np.float32)

    return PairJudge(f"cosine-{encoder.name}", score, probabilities=False)


def open_judge(choice: str) -> PairJudge:
    """Returns the judge of that name. Raises SettingsError, ModelError."""
    if choice == "cosine":
        return cosine(load_encoder())
    if choice in ("embedded", "close"):
        return agent_judge(load_judge(), closely=choice == "close")
    settings = load_settings()
    if (remote := build_judge(settings)) is not None:
        return agent_judge(remote)
    own = build_own_judge(settings)
    return agent_judge(own, closely=own.first is not None)


def cached_scores(judge: PairJudge, cache: VectorCache, pairs: Sequence[Pair]) -> Floats:
    """Returns the judge's scores, shape (n,), from the cache if possible, with NaN without a verdict. Raises
    ProviderError, ModelError."""
    scores = _known_scores(judge, cache, pairs)
    missing = np.flatnonzero(np.isnan(scores)).tolist()
    if missing:
        scores[missing] = judge.score([pairs[i] for i in missing])
        found = {_key(pairs[i]): scores[i : i + 1] for i in missing if not np.isnan(scores[i])}
        cache.keep(f"{judge.name}:pairs", found)
    return scores


def all_scores(judge: PairJudge, cache: VectorCache, pairs: Sequence[Pair]) -> Floats:
    """Returns the judge's scores, shape (n,), as `cached_scores` does, in batches; NaN for a batch that failed. Raises
    ProviderDownError and ModelError. Raises ProviderReplyError only without any score."""
    every = list(dict.fromkeys(pairs))
    scores = dict(zip(every, _known_scores(judge, cache, every), strict=True))
    missing = [pair for pair, score in scores.items() if np.isnan(score)]
    with progress(total=len(every), initial=len(every) - len(missing), desc="judging", unit="pair") as bar:
        for part in batches(missing, judge.together):
            try:
                scores.update(zip(part, cached_scores(judge, cache, part), strict=True))
            except ProviderReplyError:
                if np.isnan([*scores.values()]).all():
                    raise
            bar.update(len(part))
    return np.array([scores[pair] for pair in pairs], np.float32)


def _known_scores(judge: PairJudge, cache: VectorCache, pairs: Sequence[Pair]) -> Floats:
    known = cache.known(f"{judge.name}:pairs", [_key(pair) for pair in pairs])
    return np.array([known[key][0] if (key := _key(pair)) in known else np.nan for pair in pairs], np.float32)


def _key(pair: Pair) -> str:
    return "\x1f".join((pair.form, pair.statement, pair.contrary, pair.text))


def open_cache() -> VectorCache:
    """Returns the cache of vectors and verdicts."""
    return VectorCache(load_settings().cache_dir / "retrieval.db")


def encoder_and_cache() -> tuple[Encoder, VectorCache]:
    """Returns the configured encoder, and the cache. Raises SettingsError, ModelError."""
    return build_encoder(load_settings(), load_encoder()), open_cache()


class CachedEncoder:
    """An encoder with cached vectors: it encodes a corpus only once, and a restarted run continues after a kill."""

    def __init__(self, encoder: Encoder, cache: VectorCache) -> None:
        self.name, self._encoder, self._cache = encoder.name, encoder, cache

    @property
    def dimensions(self) -> int:
        return self._encoder.dimensions

    def encode(self, texts: Sequence[str]) -> Floats:
        return self._kept("passages", texts, self._encoder.encode)

    def encode_queries(self, texts: Sequence[str]) -> Floats:
        return self._kept("queries", texts, self._encoder.encode_queries)

    def _kept(self, kind: str, texts: Sequence[str], encode: Callable[[list[str]], Floats]) -> Floats:
        def of(part: Sequence[str], missing: Sequence[int]) -> Floats:
            return encode([part[i] for i in missing])

        parts = list(batches(texts, _AT_ONCE))
        shown = progress(parts, desc="vectors", unit="part", leave=False, delay=2)
        rows = [self._cache.rows(f"{self.name}:{kind}", part, partial(of, part)) for part in shown]
        return np.concatenate(rows) if rows else np.zeros((0, self.dimensions), np.float32)

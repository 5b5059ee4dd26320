"""What suites ask: whoever can be measured on pairs (the agent's judges, and the cosine), and the encoder in force."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

from agent.models.from_settings import build_encoder, build_judge
from agent.runs.parts import build_own_judge
from agent.settings import load_settings
from evals.suite import progress
from tools.budget import batches
from tools.errors import SettingsError
from tools.language.question import Question, read_question
from tools.models.cache import VectorCache
from tools.models.encoders.encoder import Encoder, load_encoder
from tools.models.encoders.transformers import TransformersEncoder
from tools.models.judges.embedded import load_judge
from tools.models.judges.judge import Judge, Pair

CHOICES = ("settings", "embedded", "close", "chat", "score", "cosine")
_AT_ONCE, _FEW = 256, 8  # texts; parts that no bar is shown for
Floats = NDArray[np.float32]
_encoder = cache(load_encoder)
Score = Callable[[Sequence[Pair]], Floats]
"""From pairs to shape (n,); NaN for a pair without an answer. May raise ProviderError, ModelError."""


@dataclass(frozen=True, slots=True)
class PairJudge:
    """Scores pairs. threshold: None where it has none of its own. probabilities: whether the scores mean such.
    together: pairs that are worth asking in one go."""

    name: str
    score: Score
    threshold: float | None = None
    probabilities: bool = True
    together: int = 64


def question_of(text: str) -> Question:
    """What the text asks."""
    return read_question(text, _encoder().encode([text])[0])


def judged(judge: Judge) -> PairJudge:
    """A judge of the agent, without the agent's memory of scores. One behind an address asks for many at once itself; a
    killed run loses no more than these."""

    async def support(pairs: Sequence[Pair]) -> Floats:
        async with aclosing(judge):
            return await judge.support(pairs)

    together = 256 if judge.address else 64
    return PairJudge(judge.name, lambda pairs: asyncio.run(support(pairs)), judge.threshold, together=together)


def closely(judge: Judge) -> PairJudge:
    """A judge's closer reading, for every pair, with the threshold of an even chance."""

    def score(pairs: Sequence[Pair]) -> Floats:
        return np.ascontiguousarray(asyncio.run(judge.stances(pairs, closely=True))[:, 0])

    return PairJudge(f"{judge.name}-closely", score, 0.5)


def cosine(encoder: Encoder) -> PairJudge:
    """Likeness of statement and passage under the encoder."""

    def score(pairs: Sequence[Pair]) -> Floats:
        texts = list(dict.fromkeys(text for p in pairs for text in (p.statement, p.text)))
        vectors = dict(zip(texts, encoder.encode(texts), strict=True))
        return np.array([vectors[p.statement] @ vectors[p.text] for p in pairs], np.float32)

    return PairJudge(f"cosine-{encoder.name}", score, probabilities=False)


def open_judge(choice: str) -> PairJudge:
    """The judge of that name. Raises SettingsError, ModelError."""
    if choice == "cosine":
        return cosine(load_encoder())
    if choice in ("embedded", "close"):
        return judged(load_judge()) if choice == "embedded" else closely(load_judge())
    named = choice in ("chat", "score")
    settings = load_settings(judge=choice) if named else load_settings()
    if (remote := build_judge(settings)) is not None:
        return judged(remote)
    if named:
        raise SettingsError(
            f"no {choice} judge is turned on: STEELMAN_PROVIDER is 'embedded'. Set it to 'auto' or 'chat'."
        )
    own = build_own_judge(settings)
    return closely(own) if own.first else judged(own)


def kept_scores(judge: PairJudge, cache: VectorCache, pairs: Sequence[Pair]) -> Floats:
    """The judge's probabilities, shape (n,), from the cache as far as they are there; NaN for no verdict. Raises
    ProviderError, ModelError."""
    space = f"{judge.name}:pairs"
    keys = [f"{p.statement}\x1f{p.contrary}\x1f{p.text}" for p in pairs]
    known = cache.known(space, keys)
    missing = [i for i, key in enumerate(keys) if key not in known]
    scores = np.array([known[key][0] if key in known else np.nan for key in keys], np.float32)
    if missing:
        scores[missing] = judge.score([pairs[i] for i in missing])
        cache.keep(space, {keys[i]: scores[i : i + 1] for i in missing if not np.isnan(scores[i])})
    return scores


def encoder_and_cache() -> tuple[Encoder, VectorCache]:
    """The encoder that the settings name, and the vectors and verdicts that the suites which search corpora keep
    between runs. Raises SettingsError, ModelError."""
    settings = load_settings()
    return build_encoder(settings, load_encoder()), VectorCache(settings.cache_dir / "retrieval.db")


def open_encoders(named: Sequence[str]) -> tuple[list[Encoder], VectorCache]:
    """The same for encoders by name: 'settings', 'embedded', or what `TransformersEncoder` takes, a folder or a name
    (extra `models`). Raises SettingsError, ModelError."""
    own = {"settings": lambda: encoder_and_cache()[0], "embedded": load_encoder}
    encoders: list[Encoder] = [own[name]() if name in own else TransformersEncoder(name) for name in named]
    return list({encoder.name: encoder for encoder in encoders}.values()), encoder_and_cache()[1]


class CachedEncoder:
    """An encoder whose vectors are kept, part by part, so that a corpus is encoded once and not once a run, and a
    killed run goes on."""

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
        shown = progress(parts, desc="vectors", unit="part", leave=False) if len(parts) > _FEW else parts
        rows = [self._cache.rows(f"{self.name}:{kind}", part, partial(of, part)) for part in shown]
        return np.concatenate(rows) if rows else np.zeros((0, self.dimensions), np.float32)

"""Passages that nobody wrote, as many as wanted: what a large store is measured with.

Vectors: real embeddings lie in clusters on few dimensions, and an index of neighbours lives on that. Here a vector is
a point of 32 dimensions, near one of 1,000 seeded centres, carried to the full width by one random map, with a little
noise on every dimension, at unit length. Queries lie as far from their passages as questions do (cosine 0.7).

Texts: about 100 words by Zipf's law in Mandelbrot's form, p ~ 1 / (rank + 30): the commonest word stands in a third of
the passages, as the commonest one may that is no stop word.

Each batch has its own seed, so that any part of the corpus can be made again without the others.
"""

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

WIDTH = 384
_LATENT = 32
_CENTRES = 1000
_SPREAD = 0.7  # of a cluster, where the centres lie 1 from the middle on each dimension
_NOISE = 0.02
_VOCABULARY = 50_000
_OFFSET = 30
_WORDS = (85, 115)
_CONSONANTS, _VOWELS = "bdfgklmnprstvz", "aeiou"


def texts(batch: Sequence[int], count: int) -> list[str]:
    """So many texts of the batch of that seed."""
    rng = np.random.default_rng([1, *batch])
    words, chances = _vocabulary()
    lengths = rng.integers(*_WORDS, size=count)
    ranks = np.searchsorted(chances, rng.random(int(lengths.sum())))
    ends = np.cumsum(lengths)
    return [" ".join(words[r] for r in ranks[end - n : end]) for end, n in zip(ends, lengths, strict=True)]


def vectors(batch: Sequence[int], count: int) -> NDArray[np.float32]:
    """So many unit vectors of the batch of that seed, (count, WIDTH)."""
    rng = np.random.default_rng([2, *batch])
    centres, carry = _space()
    points = centres[rng.integers(_CENTRES, size=count)] + _SPREAD * rng.standard_normal((count, _LATENT), np.float32)
    return _unit(points @ carry + _NOISE * rng.standard_normal((count, WIDTH), np.float32))


def near(vector: NDArray[np.float32], seed: int, noise: float = 0.05) -> NDArray[np.float32]:
    """A query's vector: the given one, moved a little."""
    rng = np.random.default_rng([3, seed])
    return _unit(vector + noise * rng.standard_normal(vector.shape, np.float32))


def _unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.asarray(rows / np.linalg.norm(rows, axis=-1, keepdims=True), np.float32)


@cache
def _space() -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The centres, (centres, latent), and the map to the full width, (latent, WIDTH)."""
    rng = np.random.default_rng(4)
    centres = rng.standard_normal((_CENTRES, _LATENT), np.float32)
    return centres, rng.standard_normal((_LATENT, WIDTH), np.float32) / np.sqrt(WIDTH)


@cache
def _vocabulary() -> tuple[list[str], NDArray[np.float64]]:
    """Words of four syllables, commonest first, and their cumulated probabilities."""
    syllables = [c + v for c in _CONSONANTS for v in _VOWELS]
    ranks = np.arange(_VOCABULARY)
    digits = [(ranks * 7919 // len(syllables) ** i) % len(syllables) for i in range(4)]
    words = ["".join(syllables[int(d[r])] for d in digits) for r in ranks]
    weights = 1.0 / (ranks + 1 + _OFFSET)
    return words, np.cumsum(weights / weights.sum())

"""Long texts for judges that read short ones: windows that overlap, of which the best one counts.

The maximum over windows is MaxP (Dai and Callan 2019): a text supports a statement as surely as the part of it that
does so best.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tools.inference.judges.judge import Pair

WINDOW_WORDS = 100
"""Words of a window, as of the passages that the judge was trained on."""
_WHOLE_WORDS = 135  # a text up to this long is read in one piece, as the store's passages are
_STEP_WORDS = 70  # at most, from one window's first word to the next one's
_NOISE = re.compile(r"\(?https?://\S+|\[\[?[^\]]{0,80}\]\]?|\[REF\b")


def tidy(text: str) -> str:
    """Without addresses, bracketed references and doubled white space, as what the judge was trained on."""
    return " ".join(_NOISE.sub(" ", text).split())


def windows(text: str) -> list[str]:
    """The tidy text, or windows of 100 words of it at even distances, the last of which ends where the text ends."""
    words = tidy(text).split()
    if len(words) <= _WHOLE_WORDS:
        return [" ".join(words)]
    last = len(words) - WINDOW_WORDS
    steps = -(-last // _STEP_WORDS)
    starts = [round(i * last / steps) for i in range(steps + 1)]
    return [" ".join(words[start : start + WINDOW_WORDS]) for start in starts]


def windowed(pairs: Sequence[Pair]) -> tuple[list[Pair], list[int]]:
    """The pairs of all windows, and for each the place of the pair that it comes from."""
    parts = [(replace(p, text=part), i) for i, p in enumerate(pairs) for part in windows(p.text)]
    return [pair for pair, _ in parts], [place for _, place in parts]


def strongest(scores: NDArray[np.float32], places: Sequence[int], count: int) -> NDArray[np.float32]:
    """The highest score of each of `count` pairs over its windows; NaN where one of them has none.

    scores: a row a window, shape (windows,) or (windows, k); the result has the same with `count` rows.
    """
    best = np.full((count, *scores.shape[1:]), -np.inf, np.float32)
    with np.errstate(invalid="ignore"):  # NaN is meant to stay
        np.maximum.at(best, np.asarray(places, np.intp), scores)
    return best

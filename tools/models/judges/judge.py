"""The seam of the judge: does a text support a statement? Long texts are read in windows."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

PairForm = Literal["statement", "answer"]
AFFIRMING = ("Yes", "Agree", "For")
"""The words that affirm what is asked, of those that answer a question; any other denies it."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A statement and a text to judge; `contrary` is the opposing statement where there is one, and `question` what is
    disputed, which only some judges are told.

    Of the form 'answer' the statement is a question after the word that answers it ('No: Is it so?'), and the contrary
    the same question after the other word. Judges may be calibrated for either form apart.
    """

    statement: str
    text: str
    contrary: str = ""
    question: str = field(default="", compare=False)
    form: PairForm = "statement"

    @property
    def asked(self) -> str:
        """What the statement answers: the question without its word; the statement itself where it is none."""
        return self.statement.partition(": ")[2] if self.form == "answer" else self.statement

    @property
    def affirms(self) -> bool:
        """Whether an answer is the affirming one."""
        return self.statement.partition(": ")[0] in AFFIRMING


class Judge(Protocol):
    """Tells how likely a text supports a statement. `name` changes whenever its numbers do."""

    @property
    def name(self) -> str: ...

    @property
    def threshold(self) -> float:
        """The probability from which a passage counts as support, calibrated on development data."""
        ...

    @property
    def sentence_threshold(self) -> float:
        """The probability from which a single sentence may be shown under a side."""
        ...

    def score(self, pairs: Sequence[Pair]) -> NDArray[np.float32]:
        """Probabilities of support, shape (n,), in the order of the pairs."""
        ...


@runtime_checkable
class StanceJudge(Protocol):
    """A judge that tells both sides of a text by one reading."""

    def stances(self, pairs: Sequence[Pair]) -> NDArray[np.float32]:
        """Probabilities that each text supports the statement, and that it supports its contrary, shape (n, 2)."""
        ...


@runtime_checkable
class CloseJudge(StanceJudge, Protocol):
    """A judge that can also read closer: better, and at many times the price, so that it is asked about what may be
    shown and not about everything that was found."""

    def closely(self, pairs: Sequence[Pair]) -> NDArray[np.float32]:
        """As `stances`. With the two statements exchanged the two probabilities are exchanged, to the last bit."""
        ...


@dataclass(frozen=True, slots=True)
class ClaimCheck:
    """A written claim with the texts that it cites."""

    text: str
    passages: tuple[str, ...]


UNJUDGED = 0.3
"""What a passage that was not judged counts for: about what one that was found for a side gets on average."""


def side_score(sentence: float, passage: float | None) -> float:
    """How surely a sentence of a passage serves a side: the mean of what the judge says of the sentence and of the
    passage, since a sentence by itself is often ambiguous."""
    return (sentence + (UNJUDGED if passage is None else passage)) / 2


# Windows

WINDOW_WORDS = 100
"""Words of a window, as of the passages that the judge was trained on."""
_WHOLE_WORDS = 135  # a text up to this long is read in one piece, as the store's passages are
_STEP_WORDS = 70  # at most, from one window's first word to the next one's
_NOISE = re.compile(r"\(?https?://\S+|\[\[?[^\]]{0,80}\]\]?|\[REF\b")


def tidy(text: str) -> str:
    """Without addresses, bracketed references and doubled white space, as what the judge was trained on."""
    return " ".join(_NOISE.sub(" ", text).split())


def windows(text: str) -> list[str]:
    """The tidy text, or windows of 100 words of it at even distances, the last of which ends where the text ends.

    Of these the best one counts (MaxP, Dai and Callan 2019): a text supports a statement as surely as the part of it
    that does so best.
    """
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

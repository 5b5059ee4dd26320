"""What every judge is: it tells whether a text supports a statement. Long texts are read in windows."""

import asyncio
import math
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from tools.budget import current_budget
from tools.language.sentences import prose_of
from tools.models.worker import WORKER

if TYPE_CHECKING:
    from tools.models.chat.model import ChatModel
    from tools.passages import Passage

Floats = NDArray[np.float32]
_BATCH = 64  # pairs at most; between two batches the time that is left is looked at
_PROBE = 16  # pairs of the first batch, which measures the throughput, so that no batch outlasts the time there is
_PROBE_CLOSELY = 2  # the same of a closer reading, which takes several times as long a pair

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
    placed: str = ""
    """The text as `in_place` shows it among its neighbours, which a closer reading reads instead."""

    @property
    def query(self) -> str:
        """What the statement answers: the question without its word; the statement itself where it is none."""
        return self.statement.partition(": ")[2] if self.form == "answer" else self.statement

    @property
    def affirms(self) -> bool:
        """Whether an answer is the affirming one."""
        return self.statement.partition(": ")[0] in AFFIRMING


CLEAR = 0.8
"""The probability from which a judge that reads documents was clear about a passage."""


@dataclass(frozen=True, slots=True)
class Side:
    """A side of a question as a judge is told of it; `contrary` and `form` as in `Pair`."""

    statement: str
    contrary: str = ""
    form: PairForm = "statement"


@dataclass(frozen=True, slots=True)
class PassageVerdicts:
    """What a judge says of n passages for k sides.

    support, opposition: the probabilities that each passage argues for each side, and against it, (k, n); NaN where
    that was not judged. on_question: 1 where the passage speaks to the question, 0 where it does not, (n,); NaN where
    the judge tells no difference.
    """

    support: Floats
    opposition: Floats
    on_question: Floats


def verdicts_of(sides: Sequence[Side], support: Floats, opposition: Floats, on_question: Floats) -> PassageVerdicts:
    """The verdicts, where what supports a side's contrary opposes the side, and what is clearly against the contrary
    supports it. What is only weakly against one side may be for a third."""
    places = {side.statement: at for at, side in enumerate(sides)}
    folded, opposed = support.copy(), opposition.copy()
    for at, side in enumerate(sides):
        if (other := places.get(side.contrary)) is not None:
            folded[at] = np.where(opposition[other] >= CLEAR, np.maximum(support[at], opposition[other]), support[at])
            opposed[at] = np.maximum(opposition[at], support[other])
    return PassageVerdicts(folded, opposed, on_question)


def swapped(pair: Pair) -> Pair:
    """The same text, asked about the other way round."""
    return replace(pair, statement=pair.contrary, contrary=pair.statement)


class Judge(ABC):
    """Tells how likely texts support statements, in this process or behind an address.

    name: changes whenever its numbers do. threshold: the probability from which a passage counts as support, calibrated
    on development data. address: where it is asked, empty for one of this process. chat: the chat model that judges, if
    it is one that reads many passages a call. reads_closely: whether it has a closer reading. reads_documents: whether
    it reads passages better than the embedded judge reads their sentences, so that its verdicts are the last word on
    them. essays_only: whether it was trained on essays, and so cannot tell the side of people's own words. first: who
    reads passages where this judge reads only what may be shown. told: what an answer says of the judge.
    """

    name: str
    threshold: float
    address: str = ""
    chat: "ChatModel | None" = None
    reads_closely = False
    reads_documents = False
    essays_only = False
    first: "Judge | None" = None
    told = ""

    @abstractmethod
    async def support(self, pairs: Sequence[Pair]) -> Floats:
        """Probabilities that each text supports its statement, shape (n,); NaN for what was not judged in time."""

    async def stances(self, pairs: Sequence[Pair], closely: bool = False) -> Floats:
        """Probabilities that each text supports the statement, and that it supports its contrary, shape (n, 2); NaN
        for what was not judged. Every pair has a contrary statement.

        closely: by the closer reading where there is one: better, and at many times the price, so that it is for what
        may be shown and not for everything that was found.
        """
        both = await self.support([*pairs, *map(swapped, pairs)])
        return np.ascontiguousarray(both.reshape(2, len(pairs)).T)

    async def read(self, question: str, sides: Sequence[Side], passages: Sequence["Passage"]) -> PassageVerdicts:
        """Reads each passage once for all sides.

        Most judges are asked about each pair of side and passage, the first passages first.
        """
        texts = [prose_of(p.text) for p in passages]
        pairs = [Pair(s.statement, text, s.contrary, question, s.form) for text in texts for s in sides]
        support = (await self.support(pairs)).reshape(len(passages), len(sides)).T
        return verdicts_of(sides, support, 0 * support, np.full(len(passages), np.nan, np.float32))

    async def aclose(self) -> None:  # noqa: B027  # most have nothing to close
        """Closes what belongs to this event loop."""


class LocalJudge(Judge):
    """A judge of this process: batch after batch in the worker, until the time is used up."""

    @abstractmethod
    def score(self, pairs: Sequence[Pair]) -> Floats:
        """Probabilities of support, shape (n,)."""

    def score_both(self, pairs: Sequence[Pair], closely: bool = False) -> Floats:
        """Probabilities of support of the statement and of its contrary, shape (n, 2)."""
        return np.stack([self.score(pairs), self.score([swapped(p) for p in pairs])], axis=1)

    async def support(self, pairs: Sequence[Pair]) -> Floats:
        return (await self._in_batches(self.score, 1, pairs, _PROBE))[:, 0]

    async def stances(self, pairs: Sequence[Pair], closely: bool = False) -> Floats:
        score = partial(self.score_both, closely=closely)
        return await self._in_batches(score, 2, pairs, _PROBE_CLOSELY if closely else _PROBE)

    async def _in_batches(
        self, score: Callable[[Sequence[Pair]], Floats], width: int, pairs: Sequence[Pair], probe: int
    ) -> Floats:
        scores = np.full((len(pairs), width), np.nan, np.float32)
        seconds = current_budget().seconds_left()
        done, size, give_up = 0, probe if math.isfinite(seconds) else len(pairs), time.monotonic() + seconds
        while size and done < len(pairs):
            began = time.monotonic()
            part = pairs[done : done + size]
            try:
                async with asyncio.timeout(None if math.isinf(seconds) else max(0.0, give_up - began)):
                    made = await WORKER.arun(score, part)
            except TimeoutError:
                break
            scores[done : done + len(part)] = made.reshape(len(part), width)
            done += len(part)
            if math.isfinite(seconds):
                a_pair = max(time.monotonic() - began, 1e-6) / len(part)
                size = int(min(_BATCH, max(0.0, give_up - time.monotonic()) / a_pair))
        return scores


# A sentence in its place

MARKS = ("⟨", "⟩")
"""Around the sentence that is judged. Tokenizers of BERT's kind know each as one token."""
PLACE_TOKENS = 96
_TITLE_TOKENS = 14
_PIECE = re.compile(r"\w{1,7}|[^\w\s]")  # at least a token: tokenizers cut longer words


def in_place(title: str, before: str, text: str, after: str) -> str:
    """The sentence between MARKS, after the document's title and the sentence before it, before the next sentence.

    Title and neighbours are cut so that the whole has about PLACE_TOKENS tokens at most; the sentence never is. A
    sentence without title and neighbours is returned as it is.
    """
    title, before, text, after = map(judged_text, (title, before, text, after))
    if not (title or before or after):
        return text
    room = PLACE_TOKENS - len(_PIECE.findall(text)) - len(MARKS)
    heading = _opening(title.split(), min(room, _TITLE_TOKENS))
    room -= len(_PIECE.findall(heading)) + 1
    later = len(_PIECE.findall(after))
    earlier = _opening(before.split()[::-1], max(room // 2, room - later))
    following = _opening(after.split(), room - len(_PIECE.findall(earlier)))
    parts = (f"{heading}:" if heading else "", " ".join(earlier.split()[::-1]), MARKS[0], text, MARKS[1], following)
    return " ".join(part for part in parts if part)


def _opening(words: Sequence[str], tokens: int) -> str:
    """The first of the words that fit into so many tokens."""
    kept: list[str] = []
    for word in words:
        tokens -= len(_PIECE.findall(word))
        if tokens < 0:
            break
        kept.append(word)
    return " ".join(kept)


# Windows

WINDOW_WORDS = 100
"""Words of a window, as of the passages that the judge was trained on."""
_WHOLE_WORDS = 135  # a text up to this long is read in one piece, as the store's passages are
_STEP_WORDS = 70  # at most, from one window's first word to the next one's
_NOISE = re.compile(r"\(?https?://\S+|\[\[?[^\]]{0,80}\]\]?|\[REF\b")


def judged_text(text: str) -> str:
    """Without addresses, bracketed references and doubled white space, as what the judge was trained on."""
    return " ".join(_NOISE.sub(" ", text).split())


def windows(text: str) -> list[str]:
    """The tidy text, or windows of 100 words of it at even distances, the last of which ends where the text ends.

    Of these the best one counts (MaxP, Dai and Callan 2019): a text supports a statement as surely as the part of it
    that does so best.
    """
    words = judged_text(text).split()
    if len(words) <= _WHOLE_WORDS:
        return [" ".join(words)]
    last = len(words) - WINDOW_WORDS
    steps = -(-last // _STEP_WORDS)
    starts = [round(i * last / steps) for i in range(steps + 1)]
    return [" ".join(words[start : start + WINDOW_WORDS]) for start in starts]


def split_into_windows(pairs: Sequence[Pair]) -> tuple[list[Pair], list[int]]:
    """The pairs of all windows, and for each the place of the pair that it comes from."""
    parts = [(replace(p, text=part), i) for i, p in enumerate(pairs) for part in windows(p.text)]
    return [pair for pair, _ in parts], [place for _, place in parts]


def best_window_scores(scores: NDArray[np.float32], places: Sequence[int], count: int) -> NDArray[np.float32]:
    """The highest score of each of `count` pairs over its windows; NaN where one of them has none.

    scores: a row a window, shape (windows,) or (windows, k); the result has the same with `count` rows.
    """
    best = np.full((count, *scores.shape[1:]), -np.inf, np.float32)
    with np.errstate(invalid="ignore"):  # NaN is meant to stay
        np.maximum.at(best, np.asarray(places, np.intp), scores)
    return best

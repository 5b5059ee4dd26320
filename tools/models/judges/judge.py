"""The interface of all judges, and the windows in which they read long texts."""

import asyncio
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from tools.budget import batches, current_budget
from tools.language.sentences import prose_text
from tools.limits import CLEAR
from tools.models.worker import WORKER

if TYPE_CHECKING:
    from tools.models.chat.model import ChatModel
    from tools.passages import Passage

Floats = NDArray[np.float32]
_BATCH, _BATCH_CLOSELY = 16, 2  # pairs; the deadline is checked between batches

PairForm = Literal["statement", "answer"]
AFFIRMING = ("Yes", "Agree", "For")
"""The affirmative answers among the words that answer a question."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A statement and a text to judge. `contrary`: the opposing statement, if any. `question`: the disputed question,
    which only some judges read.

    In the form 'answer' the statement is an answer word and the question ('No: Is it so?'), and the contrary has the
    other word. Judges may have a separate calibration for each form.
    """

    statement: str
    text: str
    contrary: str = ""
    question: str = field(default="", compare=False)
    form: PairForm = "statement"
    placed: str = ""
    """The text with its neighbours (`in_context`), for the closer reading."""

    @property
    def query(self) -> str:
        """The question without its answer word; the statement itself in the other form."""
        return self.statement.partition(": ")[2] if self.form == "answer" else self.statement

    @property
    def affirms(self) -> bool:
        """Whether the answer is affirmative."""
        return self.statement.partition(": ")[0] in AFFIRMING


@dataclass(frozen=True, slots=True)
class JudgedSide:
    """A side of a question; `contrary` and `form` as in `Pair`."""

    statement: str
    contrary: str = ""
    form: PairForm = "statement"


@dataclass(frozen=True, slots=True)
class PassageVerdicts:
    """A judge's verdicts on n passages for k sides.

    support, opposition: probabilities that a passage argues for or against a side, (k, n); NaN if not judged.
    on_question: 1 if a passage is about the question, else 0, (n,); NaN if the judge does not say.
    """

    support: Floats
    opposition: Floats
    on_question: Floats


def combine_verdicts(
    sides: Sequence[JudgedSide], support: Floats, opposition: Floats, on_question: Floats
) -> PassageVerdicts:
    """Verdicts in which support of a side's contrary counts as opposition, and clear opposition to the contrary counts
    as support. Weak opposition may mean a third side."""
    places = {side.statement: at for at, side in enumerate(sides)}
    folded, opposed = support.copy(), opposition.copy()
    for at, side in enumerate(sides):
        if (other := places.get(side.contrary)) is not None:
            folded[at] = np.where(opposition[other] >= CLEAR, np.maximum(support[at], opposition[other]), support[at])
            opposed[at] = np.maximum(opposition[at], support[other])
    return PassageVerdicts(folded, opposed, on_question)


def swap_statements(pair: Pair) -> Pair:
    """The pair with statement and contrary exchanged."""
    return replace(pair, statement=pair.contrary, contrary=pair.statement)


class Judge(ABC):
    """Scores how likely texts support statements.

    name: identifies the scores.
    threshold: the probability above which a passage counts as support, calibrated on development data.
    address: empty for a judge in this process.
    chat: the chat model of a judge that reads many passages a call.
    reads_closely: has a closer reading.
    reads_documents: judges passages better than the embedded judge judges their sentences, so its verdicts are final.
    essays_only: was trained on essays, so it cannot judge users' own words.
    first: the judge of the passages, if this one only judges sentences to show.
    answer_note: a note on the judge for the answer.
    """

    name: str
    threshold: float
    address: str = ""
    chat: "ChatModel | None" = None
    reads_closely = False
    reads_documents = False
    essays_only = False
    first: "Judge | None" = None
    answer_note = ""

    @abstractmethod
    async def support(self, pairs: Sequence[Pair]) -> Floats:
        """Probabilities that each text supports its statement, shape (n,); NaN if not judged in time."""

    async def stances(self, pairs: Sequence[Pair], closely: bool = False) -> Floats:
        """Probabilities that each text supports the statement, and its contrary, shape (n, 2); NaN if not judged. Every
        pair needs a contrary.

        closely: use the closer reading if there is one. It is more accurate and many times slower, so it is for
        sentences to show.
        """
        both = await self.support([*pairs, *map(swap_statements, pairs)])
        return np.ascontiguousarray(both.reshape(2, len(pairs)).T)

    async def read(self, question: str, sides: Sequence[JudgedSide], passages: Sequence["Passage"]) -> PassageVerdicts:
        """Judges each passage for all sides. By default one pair per side and passage, first passages first."""
        texts = [prose_text(p.text) for p in passages]
        pairs = [Pair(s.statement, text, s.contrary, question, s.form) for text in texts for s in sides]
        support = (await self.support(pairs)).reshape(len(passages), len(sides)).T
        return combine_verdicts(sides, support, 0 * support, np.full(len(passages), np.nan, np.float32))

    async def aclose(self) -> None:  # noqa: B027  # most have nothing to close
        """Closes resources of this event loop."""


class LocalJudge(Judge):
    """A judge in this process. It scores batches in the worker until the deadline."""

    @abstractmethod
    def score(self, pairs: Sequence[Pair]) -> Floats:
        """Probabilities of support, shape (n,)."""

    def score_both(self, pairs: Sequence[Pair], closely: bool = False) -> Floats:
        """Probabilities of support for the statement and its contrary, shape (n, 2)."""
        return np.stack([self.score(pairs), self.score([swap_statements(p) for p in pairs])], axis=1)

    async def support(self, pairs: Sequence[Pair]) -> Floats:
        return (await self._in_batches(self.score, 1, pairs, _BATCH))[:, 0]

    async def stances(self, pairs: Sequence[Pair], closely: bool = False) -> Floats:
        score = partial(self.score_both, closely=closely)
        return await self._in_batches(score, 2, pairs, _BATCH_CLOSELY if closely else _BATCH)

    async def _in_batches(
        self, score: Callable[[Sequence[Pair]], Floats], width: int, pairs: Sequence[Pair], size: int
    ) -> Floats:
        scores = np.full((len(pairs), width), np.nan, np.float32)
        seconds, done = current_budget().seconds_left(), 0
        until = None if math.isinf(seconds) else asyncio.get_running_loop().time() + seconds
        for part in batches(pairs, size if until else max(1, len(pairs))):
            try:
                async with asyncio.timeout_at(until):
                    made = await WORKER.arun(score, part)
            except TimeoutError:
                break
            scores[done : done + len(part)] = made.reshape(len(part), width)
            done += len(part)
        return scores


# A sentence in context

MARKS = ("⟨", "⟩")
"""Enclose the judged sentence. Tokenizers of BERT's family have a token for each."""
PLACE_TOKENS = 96
_TITLE_TOKENS = 14
_PIECE = re.compile(r"\w{1,7}|[^\w\s]")  # at least a token: tokenizers split longer words


def in_context(title: str, before: str, text: str, after: str) -> str:
    """The sentence between MARKS, after the document's title and the previous sentence, before the next sentence.

    Title and neighbours are truncated to about PLACE_TOKENS tokens in all; the sentence is not. Without title and
    neighbours it is returned unchanged.
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
    kept: list[str] = []
    for word in words:
        tokens -= len(_PIECE.findall(word))
        if tokens < 0:
            break
        kept.append(word)
    return " ".join(kept)


# Windows

WINDOW_WORDS = 100
"""Words of a window, as in the judge's training passages."""
_WHOLE_WORDS = 135  # longest text that is not split; the store's passages are shorter
_STEP_WORDS = 70  # largest distance between the starts of two windows
_NOISE = re.compile(r"\(?https?://\S+|\[\[?[^\]]{0,80}\]\]?|\[REF\b")


def judged_text(text: str) -> str:
    """The text without addresses, bracketed references and extra white space, as in the training data."""
    return " ".join(_NOISE.sub(" ", text).split())


def windows(text: str) -> list[str]:
    """The clean text, or windows of 100 words at equal distances; the last window ends with the text.

    The best window counts (MaxP, Dai and Callan 2019).
    """
    words = judged_text(text).split()
    if len(words) <= _WHOLE_WORDS:
        return [" ".join(words)]
    last = len(words) - WINDOW_WORDS
    steps = -(-last // _STEP_WORDS)
    starts = [round(i * last / steps) for i in range(steps + 1)]
    return [" ".join(words[start : start + WINDOW_WORDS]) for start in starts]


def split_into_windows(pairs: Sequence[Pair]) -> tuple[list[Pair], list[int]]:
    """The pairs of all windows, and the index of each window's original pair."""
    parts = [(replace(p, text=part), i) for i, p in enumerate(pairs) for part in windows(p.text)]
    return [pair for pair, _ in parts], [place for _, place in parts]


def best_window_scores(scores: NDArray[np.float32], places: Sequence[int], count: int) -> NDArray[np.float32]:
    """The highest score of each of `count` pairs over its windows; NaN if a window has none.

    scores: shape (windows,) or (windows, k); the result has `count` rows.
    """
    best = np.full((count, *scores.shape[1:]), -np.inf, np.float32)
    with np.errstate(invalid="ignore"):  # NaN stays
        np.maximum.at(best, np.asarray(places, np.intp), scores)
    return best

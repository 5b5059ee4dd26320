"""The interface of all judges, and the windows into which long texts are split."""

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
_BATCH, _BATCH_CLOSELY = 16, 6  # pairs; the deadline is checked between batches

PairForm = Literal["statement", "answer"]
AFFIRMING = ("Yes", "Agree", "For")
"""The affirmative answers among the words that answer a question."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A statement and a text to judge. `contrary`: the opposing side's statement; empty if unknown. `question`: the
    disputed question. Only some judges read the question.

    In the form 'answer' the statement consists of an answer word and the question ('No: Is it so?'). Its `contrary` has
    the other answer word ('Yes: Is it so?'). A judge may have a separate calibration for each form.
    """

    statement: str
    text: str
    contrary: str = ""
    question: str = field(default="", compare=False)
    form: PairForm = "statement"
    placed: str = ""
    """The text with its neighbouring sentences (`in_context`), for the closer reading by a larger model."""

    @property
    def query(self) -> str:
        """The question without its answer word. In the form 'statement': the statement itself."""
        return self.statement.partition(": ")[2] if self.form == "answer" else self.statement

    @property
    def affirms(self) -> bool:
        """Whether the answer is affirmative."""
        return self.statement.partition(": ")[0] in AFFIRMING


@dataclass(frozen=True, slots=True)
class JudgedSide:
    """A side of a question. `contrary` and `form` mean the same as in `Pair`."""

    statement: str
    contrary: str = ""
    form: PairForm = "statement"


@dataclass(frozen=True, slots=True)
class PassageVerdicts:
    """A judge's verdicts on n passages for k sides.

    support, opposition: the probabilities that a passage argues for a side and against a side, shape (k, n); NaN if the
    judge has not judged the passage. on_question: 1 if a passage is about the question, else 0, shape (n,); NaN if the
    judge does not tell.
    """

    support: Floats
    opposition: Floats
    on_question: Floats


def combine_verdicts(
    sides: Sequence[JudgedSide], support: Floats, opposition: Floats, on_question: Floats
) -> PassageVerdicts:
    """Combines the verdicts of a side and its opposing side. Support of the opposing side counts as opposition to the
    side. Clear opposition to the opposing side counts as support of the side; weak opposition may mean support of a
    third side."""
    places = {side.statement: at for at, side in enumerate(sides)}
    folded, opposed = support.copy(), opposition.copy()
    for at, side in enumerate(sides):
        if (other := places.get(side.contrary)) is not None:
            folded[at] = np.where(opposition[other] >= CLEAR, np.maximum(support[at], opposition[other]), support[at])
            opposed[at] = np.maximum(opposition[at], support[other])
    return PassageVerdicts(folded, opposed, on_question)


def swap_statements(pair: Pair) -> Pair:
    """The pair with the statement and the opposing statement exchanged."""
    return replace(pair, statement=pair.contrary, contrary=pair.statement)


class Judge(ABC):
    """Scores how likely texts support statements.

    name: identifies the scores.
    threshold: the probability above which a passage counts as support, calibrated on development data.
    address: empty for a judge in this process.
    chat: the chat model of a judge that reads many passages in each call.
    reads_closely: the judge has a second, more accurate model for single sentences (the closer reading).
    reads_documents: the judge's verdicts on passages are better than the embedded judge's verdicts on sentences, so the
    verdicts on passages are final.
    essays_only: the judge was trained on essays, so it cannot judge users' own words.
    first: another judge that judges the passages, if this judge only judges the sentences to show.
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
        """The probabilities that each text supports the statement and that it supports the opposing statement, shape
        (n, 2); NaN if not judged. Every pair needs `contrary`.

        closely: use the closer reading if the judge has one. The closer reading is more accurate but many times slower,
        so only sentences that the answer may show get the closer reading.
        """
        both = await self.support([*pairs, *map(swap_statements, pairs)])
        return np.ascontiguousarray(both.reshape(2, len(pairs)).T)

    async def read(self, question: str, sides: Sequence[JudgedSide], passages: Sequence["Passage"]) -> PassageVerdicts:
        """Judges each passage for all sides. By default the judge scores one pair per side and passage."""
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
        """Probabilities of support for the statement and for the opposing statement, shape (n, 2)."""
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
"""The marks around the judged sentence. Tokenizers of BERT's family have a token for each mark."""
PLACE_TOKENS = 96
_TITLE_TOKENS = 14
_PIECE = re.compile(r"\w{1,7}|[^\w\s]")  # at least a token: tokenizers split longer words


def in_context(title: str, before: str, text: str, after: str) -> str:
    """The sentence in its context: the document's title, the previous sentence, the sentence between MARKS, the next
    sentence.

    The title and the neighbouring sentences are truncated to about PLACE_TOKENS tokens in all. The sentence is never
    truncated. A sentence without title and neighbours is returned unchanged.
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
    """The clean text if it is short; else windows of 100 words at equal distances. The last window ends with the text.

    The best window decides the text's score (MaxP, Dai and Callan 2019).
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
    """The highest score of each of `count` pairs over the pair's windows; NaN if any window has no score.

    scores: shape (windows,) or (windows, k); the result has `count` rows.
    """
    best = np.full((count, *scores.shape[1:]), -np.inf, np.float32)
    with np.errstate(invalid="ignore"):  # NaN stays
        np.maximum.at(best, np.asarray(places, np.intp), scores)
    return best

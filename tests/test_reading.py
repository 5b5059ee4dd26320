"""The passages of contrary sides, read once for both: what is sure, what leans, what speaks for the other side."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from providers import side

from agent.evidence.sentences import score_sentences
from agent.providers.inference import CachedJudge, Models
from agent.stage_interfaces import Brief, SentenceScores
from agent.state import FramingState, Perspective
from tools.budget import deadline
from tools.models.cache import VectorCache
from tools.models.encoders import MiniLM
from tools.models.judges.judge import LocalJudge, Pair
from tools.models.judges.quoting import RELEVANCE_FEATURES, case_of, load_quoting_weights
from tools.passages import Passage

YES = "Towns should build bridges over their rivers."
NO = "Towns should not build bridges over their rivers."
QUESTION = "Should towns build bridges over their rivers?"
FRAMING = FramingState(form="polar", question=QUESTION, alternatives=[], focus="")
SIDES = [side(1, YES, "supports", "p2"), side(2, NO, "opposes", "p1")]

GOOD = "A bridge over the river joins both halves of a town."
BETTER = "Towns with a bridge over their river trade twice as much."
BAD = "A bridge over the river costs a small town more than it earns."
WORSE = "Bridges over the river bring lorries into the middle of a town."
BOTH = "A bridge over the river changes a town within a few years."
AWAY = "Recipes for apple cake ask for butter and three fresh eggs."

Score = Callable[[str], tuple[float, float]]


def plainly(text: str) -> tuple[float, float]:
    """Sure of what is good or bad about bridges; of the rest it is not."""
    if GOOD in text or BETTER in text:
        return 0.95, 0.02
    return (0.02, 0.95) if BAD in text or WORSE in text else (0.5, 0.5)


class Stances(LocalJudge):
    """A judge that tells both sides of a text by one reading; it knows them by the statement for."""

    threshold = 0.5

    def __init__(self, score: Score = plainly, seconds: float = 0.0) -> None:
        self.name = f"stances-{id(self)}-{time.monotonic()}"
        self.asked: list[Pair] = []
        self._score, self._seconds = score, seconds

    def score(self, pairs: Sequence[Pair]) -> NDArray[np.float32]:
        return self.score_both(pairs)[:, 0]

    def score_both(self, pairs: Sequence[Pair], closely: bool = False) -> NDArray[np.float32]:
        time.sleep(self._seconds * len(pairs))
        self.asked += pairs
        rows = [self._score(p.text) if " not " not in p.statement else self._score(p.text)[::-1] for p in pairs]
        return np.array(rows, np.float32).reshape(len(pairs), 2)


@pytest.fixture
def made(encoder: MiniLM, tmp_path: Path) -> Callable[[Any], Models]:
    return lambda judge: Models(encoder, judge, VectorCache(tmp_path / "cache.db"))


def passage(number: int, *sentences: str, document: str = "") -> Passage:
    return Passage(number, document or f"d{number}", "mine", " ".join(sentences), publisher=f"Paper {number}")


def briefs(
    judge: CachedJudge, *passages: Sequence[Passage], sides: Sequence[Perspective] = SIDES, **more: Any
) -> list[Brief]:
    """One for each side with its passages."""
    statements = {p["id"]: p["statement"] for p in sides}
    return [
        Brief(
            **{
                "perspective": perspective,
                "contrary": statements.get(perspective["contrary"], ""),
                "framing": FRAMING,
                "passages": list(given),
                "support": {p.id: 0.9 for p in given},
                "limit": 4,
                "judge": judge,
                **more,
            }
        )
        for perspective, given in zip(sides, passages, strict=True)
    ]


def texts(reading: SentenceScores, which: NDArray[np.bool_]) -> list[str]:
    return [u.text for u, yes in zip(reading.units, which, strict=True) if yes]


async def test_contrary_sides_are_read_together_and_each_part_once(made: Callable[[Any], Models]) -> None:
    judge = Stances()
    models = made(judge)
    shared = passage(2, BETTER)
    given = briefs(models.judge(), [passage(1, GOOD), shared], [shared, passage(3, BAD, WORSE)])
    one, other = await score_sentences(models, given)
    # A passage of both is read once, and each side is told of the passages of both.
    assert [u.text for u in one.units] == [u.text for u in other.units] == [GOOD, BETTER, BAD, WORSE]
    assert judge.asked == [Pair(YES, text, NO) for text in (GOOD, BETTER, BAD, WORSE)]
    assert other.features == pytest.approx(-one.features)
    assert other.grounds.shape == one.grounds.shape == (4, RELEVANCE_FEATURES)
    assert texts(one, one.case) == [GOOD, BETTER]
    assert min(one.quality[:2]) > max(one.quality[2:])
    assert texts(other, other.case) == [BAD, WORSE]
    again = await score_sentences(models, given[::-1])
    for before, after in zip((other, one), again, strict=True):
        sure = dict(zip([u.text for u in before.units], before.confidence, strict=True))
        assert [sure[u.text] for u in after.units] == pytest.approx(after.confidence.tolist())
    assert len(judge.asked) == 4  # nothing hangs on which side is read first, and nothing is asked twice


def both(text: str) -> tuple[float, float]:
    """As plainly; one sentence may be for either."""
    return (0.65, 0.45) if BOTH in text else plainly(text)


async def test_only_what_is_sure_and_on_the_question_is_a_case(made: Callable[[Any], Models]) -> None:
    models = made(Stances(both))
    one, other = await score_sentences(
        models, briefs(models.judge(), [passage(1, GOOD), passage(2, BOTH)], [passage(3, BAD), passage(4, AWAY)])
    )
    assert texts(one, one.case) == [GOOD]  # and not what may be for either
    assert texts(other, other.case) == [BAD]
    assert not one.on_topic[3]
    assert not (one.case | other.case)[3]  # of something else, whatever the judge says
    assert np.all((one.confidence >= 0) & (one.confidence <= 1))
    assert np.all(one.confidence + other.confidence <= 1 + 1e-9)


async def test_no_sentence_replies_to_a_claim_that_it_holds_or_that_holds_it(made: Callable[[Any], Models]) -> None:
    held = f"{GOOD} It is far."
    longer = "I have lived beside the old mill for forty years with my two sons, and my neighbour says: " + GOOD
    models = made(Stances(lambda text: (0.95, 0.02)))
    counter = FramingState(form="counter", question=QUESTION, alternatives=[], focus=held, claim=NO)
    for focus, left in ((held, [longer, BETTER]), (GOOD, [BETTER])):
        given = briefs(models.judge(), [passage(1, longer), passage(2, GOOD), passage(3, BETTER)], [])
        one, _ = await score_sentences(models, [replace(b, framing={**counter, "focus": focus}) for b in given])
        assert texts(one, one.case) == left


async def test_what_speaks_for_the_other_side_is_refused_in_whatever_company(made: Callable[[Any], Models]) -> None:
    company = [GOOD, BETTER, "The bridge over the river carries a town to work.", BAD]

    def score(text: str) -> tuple[float, float]:
        return (0.3, 0.6) if text == BAD else (0.95, 0.02)  # leans by ln 3/7 - ln 3/2 = -1.25 to the other side

    models = made(Stances(score))
    one, other = await score_sentences(models, briefs(models.judge(), [passage(1, *company)], []))
    assert texts(one, one.case) == company[:3]
    assert one.confidence[3] > one.confidence[:3].min() * 0.8  # its company speaks for it all the same
    assert not other.case.any()


async def test_what_is_not_judged_in_time_cannot_be_quoted(made: Callable[[Any], Models]) -> None:
    judge = Stances(seconds=0.05)
    models = made(judge)
    given = [passage(n, f"{GOOD[:-1]} of {n} houses.") for n in range(120)]
    pair = briefs(models.judge(), given, [])
    with deadline(time.time() + 1.0):
        one, other = await score_sentences(models, pair)
    assert len(judge.asked) < 120  # which would take 120 * 0.05 seconds
    unread = np.isnan(one.confidence)
    assert 0 < unread.sum() == np.isnan(other.confidence).sum() < 120
    for reading in (one, other):
        assert not reading.case[unread].any()
    with deadline(time.time()):
        nothing, _ = await score_sentences(made(Stances()), pair)
    assert np.isnan(nothing.confidence).sum() >= unread.sum()
    assert all(math.isfinite(x) for x in one.features[:, 1:].ravel())


# What is counted of it


class Closer(Stances):
    """Reads closer too, and then sees what it took for good in another light."""

    def __init__(self, seconds: float = 0.0) -> None:
        super().__init__(seconds=0.0)
        self.reads_closely = True
        self.close: list[Pair] = []
        self._pause = seconds

    def score_both(self, pairs: Sequence[Pair], closely: bool = False) -> NDArray[np.float32]:
        if not closely:
            return super().score_both(pairs)
        time.sleep(self._pause)
        self.close += pairs
        rows = np.array([(0.9, 0.03) if p.text == GOOD else (0.03, 0.9) for p in pairs], np.float32)
        return rows if all(" not " not in p.statement for p in pairs) else rows[:, ::-1]


async def test_what_may_be_shown_is_read_closer(made: Callable[[Any], Models]) -> None:
    judge = Closer()
    models = made(judge)
    given = briefs(models.judge(), [passage(1, GOOD), passage(2, BETTER)], [passage(3, BAD), passage(4, AWAY)])
    one, other = await score_sentences(models, given)
    assert {p.text for p in judge.close} == {GOOD, BETTER, BAD}  # what is about something else is not
    assert texts(one, one.case) == [GOOD]
    assert BETTER not in texts(one, one.case)
    assert texts(other, other.case)[-1] == BAD


def test_a_case_is_sure_and_clear_alone_and_its_passage_does_not_lean_the_other_way() -> None:
    weights = replace(load_quoting_weights(), case=0.8, alone=0.5)
    sure = np.array([0.95, 0.8, 0.79, 0.95, 0.95, math.nan])
    lean = np.array([(1, 1, 1), (0.5, 0, -1), (1, 1, 1), (0.4, 9, 9), (9, -0.1, 9), (1, 1, 1)], np.float64)
    assert case_of(sure, lean, weights).tolist() == [True, True, False, False, False, False]

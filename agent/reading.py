"""The passages of two contrary sides read sentence by sentence: what may be quoted for each, and how surely.

A sentence is read once for both sides, and counts together with its passage and its document (`tools.judges.quoting`).
What is sure makes the side's case; what merely leans its way may speak for it, and is shown apart.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from agent.aspects import speaking_of
from agent.followups import counter_rank
from agent.models import Models, RunJudge
from agent.providers import Brief
from agent.state import Perspective, Quote, asked_as
from tools.judges.judge import UNJUDGED, Pair, side_score
from tools.judges.quoting import AGAINST_ITSELF, context, grounds_of, leanings, sureness, tiers
from tools.passages import Passage, Sentence
from tools.text.quotable import Unit, units

ABOUT = 0.35
"""Cosine to the side's statement or to the question from which words are about it."""
_ABOUT_WITHIN = 0.2  # the same of words in a passage that is about it
_ON_POINT = 0.6  # cosine to what it argues against from which a sentence need not speak of the side's statement
_ECHO = 0.95  # cosine at which a sentence says what it is to argue against
_SUPPORTS_AT_ALL = 0.03  # probability of support below which words argue for nothing
_UNCLEAR = 0.7  # of the rank of words that a reader has to guess at


@dataclass(frozen=True, slots=True)
class Reading:
    """The n quotable parts of a side's passages, in their order.

    features: the leanings of each, of its passage and of its document, in log odds, (n, 3). grounds: what tells whether
    it speaks to the dispute, (n, 3); see `tools.judges.quoting`. sure: how surely it does, and argues for the side,
    (n,), NaN where that is not known. about: whether it speaks of what is asked, (n,). case, leaning: whether it is
    sure enough for the side's case, or for what may speak for it, (n,); never both. rank: how good a quotation it
    makes, (n,). vectors: unit, (n, dimensions). question: (dimensions,).
    """

    units: list[Unit]
    features: NDArray[np.float64]
    grounds: NDArray[np.float64]
    sure: NDArray[np.float64]
    about: NDArray[np.bool_]
    case: NDArray[np.bool_]
    leaning: NDArray[np.bool_]
    rank: NDArray[np.float64]
    vectors: NDArray[np.float32]
    question: NDArray[np.float32]

    def quote(self, at: int) -> Quote:
        """What is quoted there."""
        unit = self.units[at]
        shown = unit.shown if unit.shown != unit.text else ""
        return Quote(text=unit.text, shown=shown, passage=unit.passage.id, support=float(self.sure[at]))


async def read_sides(
    models: Models, briefs: Sequence[Brief], seconds: float = math.inf, *, judged: bool = True
) -> list[Reading]:
    """A reading for each brief. Sides that are contrary to each other are read together, each over the passages of
    both; what is not judged within the seconds cannot be quoted. `judged`: the judge is asked about every part; else
    what it said of the passages counts. Raises JudgeError."""
    readings: dict[int, Reading] = {}
    end = time.monotonic() + seconds
    for here, brief in enumerate(briefs):
        if here in readings:
            continue
        there = next((i for i, b in enumerate(briefs) if i > here and _opposed(brief, b)), None)
        found = _units([brief] if there is None else [brief, briefs[there]])
        stances = await _stances(brief, found, end - time.monotonic()) if judged else _of_passages(brief, found)
        features = _features(stances, found)
        readings[here] = await _reading(models, brief, found, features, stances)
        if there is not None:
            readings[there] = await _reading(models, briefs[there], found, -features, stances[:, ::-1])
    return [readings[i] for i in range(len(briefs))]


def _opposed(one: Brief, other: Brief) -> bool:
    return bool(one.contrary) and one.contrary == other.perspective["statement"]


def _units(briefs: Sequence[Brief]) -> list[Unit]:
    passages: dict[int, Passage] = {p.id: p for brief in briefs for p in brief.passages}
    return [unit for passage in passages.values() for unit in units(passage)]


async def _stances(brief: Brief, found: Sequence[Unit], seconds: float) -> NDArray[np.float64]:
    """The probabilities that each part supports the side, and its contrary, (n, 2). For a side without a contrary the
    first is the mean with that of its passage (`side_score`), and the second NaN."""
    shown = [unit.shown for unit in found]
    if brief.contrary:
        return await stances_to(brief.judge, brief.perspective, brief.contrary, shown, seconds)
    support = await brief.judge.support([Pair(brief.perspective["statement"], text) for text in shown], seconds)
    own = brief.perspective["statement"]  # a side that was mined is itself a sentence of a source
    scores = [
        1.0 if u.text == own else side_score(float(s), brief.support.get(u.passage.id))
        for s, u in zip(support, found, strict=True)
    ]
    return np.stack([np.array(scores, np.float64), np.full(len(found), np.nan)], axis=1)


async def stances_to(
    judge: RunJudge, side: Perspective, contrary: str, texts: Sequence[str], seconds: float = math.inf
) -> NDArray[np.float64]:
    """The probabilities that each text supports the side, and its contrary, (n, 2). Two contrary sides are asked about
    by the same one of them, so that a text is read once and what it leans to does not hang on who asks."""
    turned = side["stance"] == "opposes" or (side["stance"] == "other" and side["contrary"] < side["id"])
    first, second = (contrary, side["statement"]) if turned else (side["statement"], contrary)
    first = asked_as(first)
    found = await judge.stances([Pair(first, text, second) for text in texts], seconds)
    both = np.asarray(found, np.float64).reshape(len(texts), 2)
    return both[:, ::-1] if turned else both


def _of_passages(brief: Brief, found: Sequence[Unit]) -> NDArray[np.float64]:
    """The same by what the judge said of the passages."""
    scores = [[judged.get(u.passage.id, np.nan) for judged in (brief.support, brief.opposing)] for u in found]
    both = np.array(scores, np.float64).reshape(len(found), 2)
    known = ~np.isnan(both).all(axis=1)  # judged for one side alone, a passage is taken to say little of the other
    both[known] = np.nan_to_num(both[known], nan=UNJUDGED)
    return both


def serves(stances: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which texts may stand under the first of two contrary sides by what they say themselves, whatever is around them:
    those that support it at all, and do not speak for the other one. stances: (n, 2)."""
    lean, _ = leanings(stances)
    with np.errstate(invalid="ignore"):  # what was not judged serves nothing
        return np.asarray((stances[:, 0] >= _SUPPORTS_AT_ALL) & (lean >= AGAINST_ITSELF))


def _features(stances: NDArray[np.float64], found: Sequence[Unit]) -> NDArray[np.float64]:
    """The three leanings of each part, (n, 3)."""
    lean, weight = leanings(stances)
    around = [
        context(lean, weight, [u.passage.id for u in found]),
        context(lean, weight, [(u.passage.collection, u.passage.document_id) for u in found]),
    ]
    return np.stack([lean, *around], axis=1)


async def _reading(
    models: Models, brief: Brief, found: list[Unit], features: NDArray[np.float64], stances: NDArray[np.float64]
) -> Reading:
    quoting = brief.judge.quoting
    statement, focus, neutral = brief.perspective["statement"], brief.framing["focus"], brief.framing["neutral"]
    known = await models.encode([statement, focus or statement, neutral])
    vectors = await _vectors(models, found)
    nearness = vectors @ known.T
    near = np.maximum(nearness[:, 0], nearness[:, 2])
    best = _best(found, near)
    grounds = _grounds(brief, found, vectors, best)
    about = _about(brief, found, nearness, (near >= ABOUT) | ((best >= ABOUT) & (near >= _ABOUT_WITHIN)))
    sure = sureness(features, grounds, quoting) if brief.contrary else stances[:, 0]
    fit = about & (serves(stances) if brief.contrary else np.ones(len(found), bool))
    shown = tiers(sure, fit, features[:, 0], quoting) if brief.contrary else _by_statement(brief, sure)
    case, leaning = fit & shown["case"], fit & shown["leaning"]
    rank = _ranked(brief, found, sure, nearness)
    return Reading(found, features, grounds, sure, about, case, leaning, rank, vectors, known[2])


def _grounds(
    brief: Brief, found: Sequence[Unit], vectors: NDArray[np.float32], best: NDArray[np.float32]
) -> NDArray[np.float64]:
    """Of each part what tells whether its passage speaks to the dispute, (n, 3). best: of `_best`."""
    members: dict[int, list[int]] = {}
    for at, unit in enumerate(found):
        members.setdefault(unit.passage.id, []).append(at)
    means = [vectors[rows].mean(axis=0) for rows in members.values()]
    made = np.array([mean / max(float(np.linalg.norm(mean)), 1e-9) for mean in means], np.float64)
    near = np.array([best[rows[0]] for rows in members.values()], np.float64)
    judged = np.array([max(brief.support.get(i, 0.0), brief.opposing.get(i, 0.0)) for i in members], np.float64)
    of = dict(zip(members, grounds_of(made, near, judged), strict=True))
    return np.array([of[u.passage.id] for u in found], np.float64).reshape(len(found), 3)


def _by_statement(brief: Brief, sure: NDArray[np.float64]) -> dict[str, NDArray[np.bool_]]:
    """The tiers of a side without a contrary, which is judged by its statement alone and has no second one."""
    with np.errstate(invalid="ignore"):
        return {"case": sure >= brief.judge.sentence_threshold, "leaning": np.zeros(len(sure), bool)}


async def _vectors(models: Models, found: Sequence[Unit]) -> NDArray[np.float32]:
    """Unit vectors, (n, dimensions); of two sentences the vector of their mean."""
    sentences = [Sentence(unit.text, unit.passage, at) for unit in found for at in unit.positions]
    each = await models.encode_sentences(sentences)
    ends = np.cumsum([len(unit.positions) for unit in found])
    rows = [each[end - len(u.positions) : end].mean(axis=0) for u, end in zip(found, ends, strict=True)]
    made = np.stack(rows) if rows else np.zeros((0, each.shape[1]), np.float32)
    return np.asarray(made / np.maximum(np.linalg.norm(made, axis=1, keepdims=True), 1e-9), np.float32)


def _best(found: Sequence[Unit], near: NDArray[np.float32]) -> NDArray[np.float32]:
    """Of each part the highest nearness in its passage, (n,)."""
    best: dict[int, float] = {}
    for unit, value in zip(found, near, strict=True):
        best[unit.passage.id] = max(best.get(unit.passage.id, -1.0), float(value))
    return np.array([best[u.passage.id] for u in found], np.float32)


def _about(
    brief: Brief, found: Sequence[Unit], nearness: NDArray[np.float32], about: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Which parts speak of what is asked: those that are `about` it by themselves, or within a passage that is. For a
    follow-up they have to speak of what it asks about."""
    focus = brief.framing["focus"]
    if brief.framing["form"] == "counter":
        return (nearness[:, 1] < _ECHO) & (about | (nearness[:, 1] >= _ON_POINT))
    if focus and any(map((words := speaking_of(focus)).search, (u.passage.text for u in found))):
        return np.asarray(about & np.array([bool(words.search(u.text)) for u in found], bool))
    return np.asarray(about)


def _ranked(
    brief: Brief, found: Sequence[Unit], sure: NDArray[np.float64], nearness: NDArray[np.float32]
) -> NDArray[np.float64]:
    """How good a quotation each part makes: clearly on the side, about the statement, understood by itself."""
    if brief.framing["form"] == "counter":
        rank = np.array([counter_rank(float(s), float(n)) for s, n in zip(sure, nearness[:, 1], strict=True)])
    else:
        rank = sure * (0.7 + 0.3 * np.maximum(0.0, nearness[:, 0]))
    return np.asarray(rank * np.where([u.clear for u in found], 1.0, _UNCLEAR), np.float64)

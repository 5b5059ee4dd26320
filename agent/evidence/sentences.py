"""Scores the sentences of two opposing perspectives: which may be quoted, and how surely they argue for a perspective.

A sentence is judged once for both perspectives, together with its passage and document (`tools.models.judges.quoting`).
If the judge has a larger model, that model judges the likeliest sentences again (the closer reading). Then only these
sentences can be quoted.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from agent import limits
from agent.evidence.coverage import counter_rank
from agent.providers.inference import CachedJudge, Models
from agent.stage_interfaces import Brief, SentenceScores
from agent.state import Perspective, judge_form
from tools.budget import current_log, share_of_time
from tools.language.demands import demanded_answer
from tools.language.grounding import overlaps
from tools.language.question import takes_no_side, yes_or_no_answer
from tools.language.quotable import QuotablePart, quotable_parts
from tools.language.reported_speech import people_speak
from tools.language.sentences import split_sentences
from tools.models.judges.judge import AFFIRMING, Pair, in_context
from tools.models.judges.quoting import (
    AGAINST_ITSELF,
    RELEVANCE_FEATURES,
    case_of,
    mean_log_odds,
    relevance_features,
    relevance_probability,
    side_probability,
    stance_log_odds,
)
from tools.passages import Passage, Sentence
from tools.translation import mark, tr


def with_denial(perspective: Perspective, contrary: str) -> tuple[Perspective, str]:
    """Returns a perspective and its opposing statement in the form that the judge reads.

    For a side that a person added, or a side without an opposing side, returns 'Yes: STATEMENT' and 'No: STATEMENT'.
    Without Yes and No the judge often confuses two wishes such as 'Keep it' and 'Move it'. A side 'Yes: …?' without its
    opposing side is still judged against 'No: …?'.
    """
    statement, other = perspective["statement"], "No" if perspective["name"] in AFFIRMING else "Yes"
    answers = judge_form(perspective) == "answer"
    if perspective["origin"] == "person" or not (contrary or answers):
        alone = Perspective(**perspective | {"name": "Yes", "statement": f"Yes: {statement}", "origin": "question"})
        return alone, f"No: {statement}"
    return perspective, contrary or f"{other}: {statement.partition(': ')[2]}"


async def closer_stances(
    judge: CachedJudge, perspective: Perspective, contrary: str, parts: Sequence[tuple[str, str, Passage]]
) -> NDArray[np.float64]:
    """Calls `stances_to` with each text in context for the judge's larger model. parts: text, shown text, passage."""
    placed = [_text_in_context(*part) for part in parts]
    texts = [shown for _, shown, _ in parts]
    return await stances_to(judge, perspective, contrary, texts, closely=True, placed=placed)


def _text_in_context(text: str, shown: str, passage: Passage) -> str:
    """Returns the text with its document's title and the sentences before and after it."""
    around = split_sentences(passage.whole or passage.text)
    own = [i for i, sentence in enumerate(around) if sentence in text or text in sentence] or [0]
    before, after = around[max(0, own[0] - 1) : own[0]], around[own[-1] + 1 : own[-1] + 2]
    return in_context(passage.title, " ".join(before), shown, " ".join(after))


async def stances_to(
    judge: CachedJudge,
    perspective: Perspective,
    contrary: str,
    texts: Sequence[str],
    *,
    closely: bool = False,
    placed: Sequence[str] = (),
) -> NDArray[np.float64]:
    """Returns the probabilities that each text supports the perspective and the opposing side, (n, 2).

    Two opposing statements always have the same order, so that the second perspective finds the verdict in the cache.
    closely: the judge's larger model reads the texts, if it has one and time is left. placed: each text in context.
    """
    turned = perspective["stance"] == "opposes" or (
        perspective["stance"] == "other" and perspective["contrary"] < perspective["id"]
    )
    first, second = (contrary, perspective["statement"]) if turned else (perspective["statement"], contrary)
    form, places = judge_form(perspective), placed or [""] * len(texts)
    pairs = [Pair(first, text, second, form=form, placed=p) for text, p in zip(texts, places, strict=True)]
    probabilities = await judge.stances(pairs, closely)
    late = np.flatnonzero(np.isnan(probabilities).any(axis=1))
    if closely and len(late):
        probabilities[late] = await judge.stances([pairs[i] for i in late])
    both = np.asarray(probabilities, np.float64).reshape(len(texts), 2)
    return both[:, ::-1] if turned else both


def supports_perspective(stances: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Returns which texts support the first perspective at all and do not support the second. stances: (n, 2)."""
    lean, _ = stance_log_odds(stances)
    with np.errstate(invalid="ignore"):  # unjudged texts support nothing
        return np.asarray((stances[:, 0] >= limits.LEAST_SUPPORT) & (lean >= AGAINST_ITSELF))


PEOPLE_SPEAK = mark(
    "In these documents people speak for themselves. The built-in judge learned from essays and leaves most such texts "
    "without a side."
)


async def score_sentences(models: Models, briefs: Sequence[Brief]) -> list[SentenceScores]:
    """Returns the scores for each brief. Two opposing perspectives are scored on the passages of both.

    Parts that are not judged in time cannot be quoted. Raises JudgeError.
    """
    asked = [with_denial(b.perspective, b.contrary) for b in briefs]
    briefs = [replace(b, perspective=p, contrary=c) for b, (p, c) in zip(briefs, asked, strict=True)]
    disputes: list[_Dispute] = []
    for here, brief in enumerate(briefs):
        if any(here in d.places for d in disputes):
            continue
        facing = (i for i, b in enumerate(briefs) if i > here and b.perspective["statement"] == brief.contrary)
        places = [here, *islice(facing, 1)]
        passages = {p.id: p for i in places for p in briefs[i].passages}
        units = [unit for passage in passages.values() for unit in quotable_parts(passage)]
        shown = [unit.shown for unit in units]
        by_people = [unit.shown for unit in units if unit.passage.kind != "study"]  # in a study, 'we' are its authors
        unread = brief.judge.essays_only and not brief.passage_scores_trusted and people_speak(by_people)
        if unread:
            current_log().note("skipped", tr(PEOPLE_SPEAK))
            stances = np.full((len(units), 2), 0.5)
        else:
            stances = await stances_to(brief.judge, brief.perspective, brief.contrary, shown)
        own, vectors = [briefs[i] for i in places], await part_vectors(models, units)
        texts = ((b.perspective["statement"], b.framing["focus"], b.framing["question"]) for b in own)
        known = [await models.encode([statement, focus or statement, question]) for statement, focus, question in texts]
        closely = brief.judge.reads_closely and not unread
        disputes.append(_Dispute(places, own, units, vectors, known, stances, closely))
    readings = {place: made for d in disputes for place, made in zip(d.places, d.readings(), strict=True)}
    again = [d for d in disputes if d.closely]
    for number, dispute in enumerate(again):
        with share_of_time(limits.RESCORING_SHARE / (len(again) - number)):
            scored = await _rescored(dispute, limits.MOST_RESCORED // len(again))
        readings |= zip(dispute.places, scored, strict=True)
    return [readings[i] for i in range(len(briefs))]


async def _rescored(dispute: "_Dispute", most: int) -> list[SentenceScores]:
    """Returns the scores after a closer reading of the likeliest parts. Without time they keep their first scores."""
    brief, stances = dispute.briefs[0], dispute.stances.copy()
    chosen = _likeliest(dispute.readings(), most)
    parts = [(u.text, u.shown, u.passage) for u in map(dispute.units.__getitem__, chosen)]
    stances[chosen] = await closer_stances(brief.judge, brief.perspective, brief.contrary, parts)
    return replace(dispute, stances=stances).readings(np.isin(np.arange(len(stances)), chosen))


def _likeliest(readings: Sequence[SentenceScores], most: int) -> list[int]:
    """Returns the positions of the parts that are likeliest to be shown, with the same maximum for each perspective."""
    chosen: set[int] = set()
    for reading in readings:
        sure = np.nan_to_num(reading.confidence) * reading.on_topic
        order = np.argsort(-sure, kind="stable")[: most // len(readings)]
        chosen |= {int(i) for i in order if sure[i] > 0}
    return sorted(chosen)


def _with_passage_scores(
    features: NDArray[np.float64], brief: Brief, units: Sequence[QuotablePart]
) -> NDArray[np.float64]:
    """Replaces the passage and document features by verdicts on whole passages where these exist."""
    verdicts = [[judged.get(u.passage.id, np.nan) for judged in (brief.support, brief.opposing)] for u in units]
    lean, weight = stance_log_odds(np.array(verdicts, np.float64).reshape(len(units), 2))
    around = mean_log_odds(lean, weight, _speeches(units))
    columns = (np.where(np.isnan(lean), f, c) for c, f in zip((lean, around), features.T[1:], strict=True))
    return np.stack([features[:, 0], *columns], axis=1)


def _features(stances: NDArray[np.float64], units: Sequence[QuotablePart]) -> NDArray[np.float64]:
    """Returns the log odds of each part, of the rest of its passage and of its document, (n, 3)."""
    lean, weight = stance_log_odds(stances)
    speeches = _speeches(units)
    rest = (
        [j for j in speech if units[j].passage.id == unit.passage.id and not {*unit.positions} & {*units[j].positions}]
        for unit, speech in zip(units, speeches, strict=True)
    )
    return np.stack([lean, mean_log_odds(lean, weight, rest), mean_log_odds(lean, weight, speeches)], axis=1)


def speeches_of(units: Sequence[QuotablePart]) -> dict[tuple[tuple[str, str], str], list[int]]:
    """Returns the positions of the parts by document and speaker."""
    speeches: dict[tuple[tuple[str, str], str], list[int]] = {}
    for i, unit in enumerate(units):
        speeches.setdefault((unit.passage.document, unit.passage.speaker), []).append(i)
    return speeches


def _speeches(units: Sequence[QuotablePart]) -> list[list[int]]:
    """Returns for each part all parts by the same speaker in the same document."""
    speeches = speeches_of(units)
    return [speeches[unit.passage.document, unit.passage.speaker] for unit in units]


@dataclass(frozen=True, slots=True)
class _Dispute:
    """Two opposing perspectives, or a lone perspective, with the parts of their passages. places: positions among all
    briefs. vectors: of the parts. known: for each perspective the vectors of its statement, the focus and the question.
    stances: probabilities that each part supports the first perspective and the opposing statement, (n, 2). closely:
    whether the judge's larger model reads the likeliest parts again."""

    places: list[int]
    briefs: list[Brief]
    units: list[QuotablePart]
    vectors: NDArray[np.float32]
    known: list[NDArray[np.float32]]
    stances: NDArray[np.float64]
    closely: bool

    def readings(self, reread: NDArray[np.bool_] | None = None) -> list[SentenceScores]:
        """Returns the scores of each perspective. reread: marks the parts that were read again; None marks all."""
        rescored = np.ones(len(self.stances), bool) if reread is None else reread
        return [self._scored(number, rescored) for number in range(len(self.briefs))]

    def _scored(self, number: int, rescored: NDArray[np.bool_]) -> SentenceScores:
        """Returns the scores of the first perspective (number 0) or of the perspective that opposes it (1)."""
        brief, units, vectors, known = self.briefs[number], self.units, self.vectors, self.known[number]
        stances, quoting = self.stances[:, ::-1] if number else self.stances, brief.judge.quoting
        nearness = vectors @ known.T
        grounds, on_topic = _relevance(brief, units, vectors, nearness)
        features = _features(stances, units)
        if brief.passage_scores_trusted:  # the judge of documents decided the relevance
            features = _with_passage_scores(features, brief, units)
            sure = side_probability(features, quoting)
            quotable = np.isin([u.passage.id for u in units], [p.id for p in brief.passages])
        else:
            sure = side_probability(features, quoting) * relevance_probability(grounds, quoting)
            quotable = np.ones(len(units), bool)
        # A statement taken from a passage (`mine_answers`) supports itself.
        stated = np.array([f"Yes: {u.text}" == brief.perspective["statement"] for u in units], bool)
        sure = np.where(stated, 1.0, sure)
        fit = on_topic & rescored & ~_contradicting(brief, units) & supports_perspective(stances)
        fit &= ~np.array([takes_no_side(u.shown) for u in units], bool)
        case = quotable & (fit & case_of(sure, features, quoting) | stated & on_topic)
        rank = _quotation_quality(brief, units, sure, nearness)
        return SentenceScores(units, features, grounds, sure, on_topic, rescored, case, rank, vectors, known[2])


def _contradicting(brief: Brief, units: Sequence[QuotablePart]) -> NDArray[np.bool_]:
    """Marks the parts that answer the question with the opposite word ('No' for the side 'Yes'), however judged."""
    if judge_form(brief.perspective) != "answer":
        return np.zeros(len(units), bool)
    word, _, question = brief.perspective["statement"].partition(": ")
    said = [demanded_answer(u.text, question) or yes_or_no_answer(u.text, question) for u in units]
    return np.array([answer == ("no" if word in AFFIRMING else "yes") for answer in said], bool)


def _relevance(
    brief: Brief, units: Sequence[QuotablePart], vectors: NDArray[np.float32], nearness: NDArray[np.float32]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Returns the relevance features of each part's passage, (n, RELEVANCE_FEATURES), and whether the part is on the
    topic, (n,). nearness: cosines to the statement, the focus and the question, (n, 3)."""
    near, members = np.maximum(nearness[:, 0], nearness[:, 2]), dict[int, list[int]]()
    for at, unit in enumerate(units):
        members.setdefault(unit.passage.id, []).append(at)
    best, asked = best_of_passage(units, near), best_of_passage(units, nearness[:, 2])
    means = [vectors[rows].mean(axis=0) for rows in members.values()]
    made = np.array([mean / max(float(np.linalg.norm(mean)), 1e-9) for mean in means], np.float64)
    judged = np.array([max(brief.support.get(i, 0.0), brief.opposing.get(i, 0.0)) for i in members], np.float64)
    nearest, known = (values[[rows[0] for rows in members.values()]].astype(np.float64) for values in (best, asked))
    of = dict(zip(members, relevance_features(made, nearest, judged, known), strict=True))
    grounds = np.array([of[u.passage.id] for u in units], np.float64).reshape(len(units), RELEVANCE_FEATURES)
    about = (near >= limits.ON_TOPIC) | ((best >= limits.ON_TOPIC) & (near >= limits.ON_TOPIC_IN_PASSAGE))
    if brief.framing["form"] == "counter":
        about = (nearness[:, 1] < limits.ECHO) & (about | (nearness[:, 1] >= limits.ON_POINT))
        about &= ~np.array([overlaps(u.text, brief.framing["focus"]) for u in units], bool)
    return grounds, about


async def part_vectors(models: Models, units: Sequence[QuotablePart]) -> NDArray[np.float32]:
    """Returns unit vectors, (n, dimensions). The vector of a part is the mean of its sentences' vectors, normalised."""
    sentences = [Sentence(unit.text, unit.passage, at) for unit in units for at in unit.positions]
    each = await models.encode_sentences(sentences)
    ends = np.cumsum([len(unit.positions) for unit in units])
    rows = [each[end - len(u.positions) : end].mean(axis=0) for u, end in zip(units, ends, strict=True)]
    made = np.stack(rows) if rows else np.zeros((0, each.shape[1]), np.float32)
    return np.asarray(made / np.maximum(np.linalg.norm(made, axis=1, keepdims=True), 1e-9), np.float32)


def best_of_passage(units: Sequence[QuotablePart], near: NDArray[np.float32]) -> NDArray[np.float32]:
    """Returns for each part the highest value of `near` in its passage, (n,)."""
    best: dict[int, float] = {}
    for unit, value in zip(units, near, strict=True):
        best[unit.passage.id] = max(best.get(unit.passage.id, -1.0), float(value))
    return np.array([best[u.passage.id] for u in units], np.float32)


def _quotation_quality(
    brief: Brief, units: Sequence[QuotablePart], sure: NDArray[np.float64], nearness: NDArray[np.float32]
) -> NDArray[np.float64]:
    """Returns each part's score as a quotation, (n,): high if sure, near the statement and clear without context."""
    if brief.framing["form"] == "counter":
        rank = np.array([counter_rank(float(s), float(n)) for s, n in zip(sure, nearness[:, 1], strict=True)])
    else:
        rank = sure * (0.7 + 0.3 * np.maximum(0.0, nearness[:, 0]))
    return np.asarray(rank * np.where([u.clear for u in units], 1.0, limits.UNCLEAR_FACTOR), np.float64)

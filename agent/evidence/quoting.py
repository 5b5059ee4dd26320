"""Quotations for a perspective: the words that argue most clearly for it, best ranked and least redundant."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from agent.evidence.sentences import score_sentences
from agent.models.inference import Models
from agent.models.providers import Brief, SentenceScores
from agent.state import Claim, Response, Tier

MIN_CASE_CLAIMS = 2
"""Claims of a case from which nothing that merely leans is shown beside it."""
MOST_LEANING = 3
"""Quotations under 'may speak for this side' at most."""
_SPARES = 3
_REPEATS = 0.72  # cosine at which a sentence says what another one has said
_A_PASSAGE = 2  # quotations of one passage at most


async def quotations(models: Models, brief: Brief) -> tuple[list[Claim], list[Claim]]:
    """Quotes the words that argue most clearly for a side; where those make no case, also what may speak for it."""
    reading = brief.reading or (await score_sentences(models, [brief]))[0]
    groups = _groups(reading, brief.responses)
    picked = _pick(reading, np.flatnonzero(reading.case), groups, brief.limit + _SPARES, [])
    case = [_claim(brief, reading, i, "case") for i in picked]
    if len(case) >= MIN_CASE_CLAIMS:
        return case[: brief.limit], case[brief.limit :]
    most = len(picked) + MOST_LEANING - len(case)
    beside = _pick(reading, np.flatnonzero(_elsewhere(reading)), groups, most, picked)[len(picked) :]
    return [*case, *(_claim(brief, reading, i, "leaning") for i in beside)], []


def _elsewhere(reading: SentenceScores) -> NDArray[np.bool_]:
    """What may speak for the side in passages that hold nothing for its case: what others hold is counted there."""
    ids = np.array([u.passage.id for u in reading.units], np.int64)
    return np.asarray(reading.leaning & ~np.isin(ids, ids[reading.case]))


def _pick(
    reading: SentenceScores, among: NDArray[np.int_], groups: Sequence[int | None], most: int, before: Sequence[int]
) -> list[int]:
    """`before` and, of the positions `among` which to choose, up to `most` in all that repeat nothing: greedily the
    best ranked of each source, then of each group of responses, then any. groups: of each quotable part's document."""
    order = [int(i) for i in among[np.argsort(-reading.quality[among], kind="stable")]]
    sources = [u.passage.source for u in reading.units]
    chosen = list(before)

    def take(candidates: Iterable[int]) -> None:
        for i in candidates:
            unit = reading.units[i]
            same = [reading.units[j] for j in chosen if reading.units[j].passage.id == unit.passage.id]
            overlaps = any(set(unit.positions) & set(u.positions) for u in same)
            nearest = max((float(reading.vectors[i] @ reading.vectors[j]) for j in chosen), default=-1.0)
            if len(chosen) < most and nearest < _REPEATS and len(same) < _A_PASSAGE and not overlaps:
                chosen.append(i)

    def new(of: Sequence[object]) -> Iterator[int]:
        return (i for i in order if of[i] not in [of[j] for j in chosen])

    for turn in (new(sources), new(groups), order):
        take(turn)
    return chosen


def _groups(reading: SentenceScores, responses: Sequence[Response]) -> list[int | None]:
    """For each quotable part the group of its document's response."""
    known = {r["thesis"]["passage"]: r["group"] for r in responses}
    documents = [u.passage.document for u in reading.units]
    ids = [u.passage.id for u in reading.units]
    found = {d: known[i] for d, i in zip(documents, ids, strict=True) if i in known}
    return [found.get(d) for d in documents]


def _claim(brief: Brief, reading: SentenceScores, at: int, tier: Tier) -> Claim:
    quote = reading.quote(at)
    return Claim(
        perspective=brief.perspective["id"],
        text=quote["text"],
        shown=quote["shown"],
        passages=[quote["passage"]],
        support=quote["support"],
        role="case",
        tier=tier,
    )

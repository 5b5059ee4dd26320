"""Write without a model: verbatim sentences that stand alone, best supported and least redundant."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from agent.models import Models
from agent.providers import Brief
from agent.reading import Reading, read
from agent.state import Claim, Quote, Response

_SPARES = 3
_REPEATS = 0.72  # cosine at which a sentence says what another one has said
_A_PASSAGE = 2  # sentences of one passage at most


class EmbeddedWriter:
    """Quotes the sentences that argue most clearly for a side."""

    def __init__(self, models: Models) -> None:
        self._models = models

    async def write(self, brief: Brief) -> tuple[list[Claim], list[Claim]]:
        reading = brief.reading or await read(self._models, brief)
        mended = {q["text"]: q for r in brief.responses for q in r["evidence"] if q["shown"]}
        picked = _pick(reading, _groups(reading, brief.responses), list(mended), brief.limit)
        claims = [_claim(brief, mended.get(reading.sentences[i]) or reading.quote(i)) for i in picked]
        return claims[: brief.limit], claims[brief.limit :]


def _pick(reading: Reading, groups: Sequence[int | None], mended: Sequence[str], limit: int) -> list[int]:
    """Positions of sentences that repeat nothing: greedily the best ranked of each source, then of each group of
    responses, then any, with spares. A side with fewer than the limit also gets evidence that had to be mended.

    groups: for each sentence the group of its document's response. mended: the texts of that evidence, best first.
    """
    fit = np.flatnonzero(reading.fit)
    order = [int(i) for i in fit[np.argsort(-reading.rank[fit], kind="stable")]]
    sources = [p.source for p in reading.passages]
    chosen: list[int] = []

    def take(candidates: Iterable[int], most: int) -> None:
        for i in candidates:
            ids = [reading.passages[j].id for j in chosen]
            nearest = max((float(reading.vectors[i] @ reading.vectors[j]) for j in chosen), default=-1.0)
            if len(chosen) < most and nearest < _REPEATS and ids.count(reading.passages[i].id) < _A_PASSAGE:
                chosen.append(i)

    def new(of: Sequence[object]) -> Iterator[int]:
        return (i for i in order if of[i] not in [of[j] for j in chosen])

    for turn in (new(sources), new(groups), order):
        take(turn, limit + _SPARES)
    if chosen:
        take((reading.sentences.index(text) for text in mended), limit)
    return chosen


def _groups(reading: Reading, responses: Sequence[Response]) -> list[int | None]:
    """For each sentence the group of its document's response."""
    known = {r["thesis"]["passage"]: r["group"] for r in responses}
    documents = [(p.collection, p.document_id) for p in reading.passages]
    found = {d: known[p.id] for d, p in zip(documents, reading.passages, strict=True) if p.id in known}
    return [found.get(d) for d in documents]


def _claim(brief: Brief, quote: Quote) -> Claim:
    return Claim(
        perspective=brief.perspective["id"],
        text=quote["text"],
        shown=quote["shown"],
        passages=[quote["passage"]],
        support=quote["support"],
        role="case",
    )

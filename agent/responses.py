"""What each document answers for a side: its thesis, the evidence for it, and which theses are near each other.

The parts are those of a multi-perspective search engine (`tools/responses/`); here they are given what a run knows.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from agent.providers import Brief
from agent.reading import Reading
from agent.state import Claim, Quote, Response, quotes_of
from tools.judges.judge import Pair, side_score
from tools.responses.evidence import Shown, find_evidence
from tools.responses.groups import group_theses
from tools.responses.thesis import Weights, choose_thesis

_ALIKE = 0.4  # mean cosine, without what the question says, from which two make a group
_WEIGHTS = Weights(place=0.0)  # a few passages do not show where a sentence stands in its document


def respond(brief: Brief, reading: Reading) -> list[Response]:
    """A response of each document that holds a sentence which may be quoted for the side.

    Groups with more independent sources come first, of equals those with the surer thesis; in a group the response
    that is nearest to the others.
    """
    documents: dict[tuple[str, str], list[int]] = {}
    for i, passage in enumerate(reading.passages):
        documents.setdefault((passage.collection, passage.document_id), []).append(i)
    found = [r for here in documents.values() if (r := _document(brief, reading, np.array(here)))]
    return _grouped(brief, reading, found)


async def confirmed(brief: Brief, responses: Sequence[Response]) -> list[Response]:
    """The responses without mended evidence that the judge, asked about it as it is shown, is not sure of."""
    mended = [q for r in responses for q in r["evidence"] if q["shown"]]
    statement = brief.perspective["statement"]
    scores = await brief.judge.support([Pair(statement, q["shown"], brief.contrary) for q in mended])
    sure = {
        q["shown"]: side_score(float(x), brief.support.get(q["passage"])) for q, x in zip(mended, scores, strict=True)
    }

    def judged(response: Response) -> Response:
        evidence = [Quote(**{**q, "support": sure.get(q["shown"], q["support"])}) for q in response["evidence"]]
        kept = [q for q in evidence if q["support"] >= brief.judge.sentence_threshold]
        return Response(**{**response, "evidence": kept})

    return [judged(r) for r in responses]


def apart(responses: Sequence[Response], drafts: Sequence[Claim]) -> list[Response]:
    """The responses with every sentence under one side only: that of the draft that it is, or else the one that it
    supports most. A response without its thesis is none."""
    owner = {c["text"]: c["perspective"] for c in drafts}
    said = [(q, r["perspective"]) for r in responses for q in quotes_of(r)]
    for quote, side in sorted(said, key=lambda pair: -pair[0]["support"]):
        owner.setdefault(quote["text"], side)

    def kept(response: Response) -> Response:
        mine = [q for q in response["evidence"] if owner[q["text"]] == response["perspective"]]
        return Response(**{**response, "evidence": mine})

    return [kept(r) for r in responses if owner[r["thesis"]["text"]] == r["perspective"]]


@dataclass(frozen=True, slots=True)
class _Found:
    """Where the thesis of a document stands, and its evidence by where it stands, as it is shown."""

    thesis: int
    evidence: dict[int, Shown]


def _document(brief: Brief, reading: Reading, here: NDArray[np.int_]) -> _Found | None:
    """What the document with these sentences answers; what cannot be made to stand alone is no evidence."""
    support, vectors = reading.support[here], reading.vectors[here]
    opposing = np.array([brief.opposing.get(reading.passages[i].id, np.nan) for i in here], np.float64)
    allowed = reading.fit[here] & ~(support < opposing)  # as a passage counts for its side
    chosen = choose_thesis(vectors, reading.question, support[None], allowed, _WEIGHTS) if allowed.any() else None
    if chosen is None:
        return None
    evidence = find_evidence(
        [reading.sentences[i] for i in here],
        vectors,
        vectors[chosen.position],
        np.stack([support, opposing]),
        brief.judge.sentence_threshold,
        reading.passages[here[0]].title,
        left_out=[chosen.position],
    )
    shown = {int(here[e.position]): e.shown for e in evidence}
    return _Found(int(here[chosen.position]), {i: s for i, s in shown.items() if s.added or reading.alone[i]})


def _grouped(brief: Brief, reading: Reading, found: Sequence[_Found]) -> list[Response]:
    """The responses, those near each other together; where one lies is the mean of its thesis and evidence, since a
    thesis alone tells less of what it is about."""
    if not found:
        return []
    vectors = np.stack([reading.vectors[[f.thesis, *f.evidence]].mean(axis=0) for f in found])

    def weight(members: Sequence[int]) -> tuple[int, float]:
        theses = [found[m].thesis for m in members]
        sources = {reading.passages[i].source for i in theses}
        return -len(sources), -max(float(reading.support[i]) for i in theses)

    groups = group_theses(vectors, reading.question, threshold=_ALIKE)
    ordered = sorted((g.members for g in groups), key=weight)
    return [
        Response(
            perspective=brief.perspective["id"],
            group=number,
            thesis=reading.quote(found[m].thesis),
            evidence=[reading.quote(i, s.text if s.added else "") for i, s in found[m].evidence.items()],
        )
        for number, members in enumerate(ordered)
        for m in members
    ]

"""What each document answers for a side: its thesis, the evidence for it, and which theses are near each other.

The parts are those of a multi-perspective search engine (`tools/responses/`); here they are given what a run knows.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from agent.seams import Brief, Reading
from agent.state import Claim, Response, quotes_of
from tools.responses.evidence import MOST
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
    for i, unit in enumerate(reading.units):
        documents.setdefault(unit.passage.document, []).append(i)
    found = [r for here in documents.values() if (r := _document(reading, np.array(here)))]
    return _grouped(brief, reading, found)


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
    """Where the thesis of a document stands among what was read, and its evidence, the most relevant first."""

    thesis: int
    evidence: list[int]


def _document(reading: Reading, here: NDArray[np.int_]) -> _Found | None:
    """What the document with these quotable parts answers; it takes two sentences that do not overlap for two."""
    vectors, case = reading.vectors[here], reading.case[here]
    support = np.nan_to_num(reading.sure[here])[None]
    chosen = choose_thesis(vectors, reading.question, support, case, _WEIGHTS) if case.any() else None
    if chosen is None:
        return None
    thesis = int(here[chosen.position])
    relevance = reading.vectors @ reading.vectors[thesis]
    evidence: list[int] = []
    for i in sorted((int(i) for i in here[case]), key=lambda i: -float(relevance[i])):
        if len(evidence) < MOST and not any(_overlap(reading, i, j) for j in (thesis, *evidence)):
            evidence.append(i)
    return _Found(thesis, evidence)


def _overlap(reading: Reading, one: int, other: int) -> bool:
    a, b = reading.units[one], reading.units[other]
    return a.passage.id == b.passage.id and bool(set(a.positions) & set(b.positions))


def _grouped(brief: Brief, reading: Reading, found: Sequence[_Found]) -> list[Response]:
    """The responses, those near each other together; where one lies is the mean of its thesis and evidence, since a
    thesis alone tells less of what it is about."""
    if not found:
        return []
    vectors = np.stack([reading.vectors[[f.thesis, *f.evidence]].mean(axis=0) for f in found])

    def weight(members: Sequence[int]) -> tuple[int, float]:
        theses = [found[m].thesis for m in members]
        sources = {reading.units[i].passage.source for i in theses}
        return -len(sources), -max(float(reading.sure[i]) for i in theses)

    groups = group_theses(vectors, reading.question, threshold=_ALIKE)
    ordered = sorted((g.members for g in groups), key=weight)
    return [
        Response(
            perspective=brief.perspective["id"],
            group=number,
            thesis=reading.quote(found[m].thesis),
            evidence=[reading.quote(i) for i in found[m].evidence],
        )
        for number, members in enumerate(ordered)
        for m in members
    ]

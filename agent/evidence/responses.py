"""What each document answers for a perspective: its thesis, the evidence for it, and which theses are near each other.

The parts are those of a multi-perspective search engine (`tools/responses.py`); here they are given what a run knows.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from agent.seams import Brief, Reading
from agent.state import Claim, Response, quotes_of
from tools.responses import MOST, Weights, choose_thesis, group_theses

_ALIKE = 0.4  # mean cosine, without what the question says, from which two make a group
_WEIGHTS = Weights(place=0.0)  # a few passages do not show where a sentence stands in its document


def respond(brief: Brief, reading: Reading) -> list[Response]:
    """A response of each document that holds a sentence which may be quoted for the perspective.

    Groups with more independent sources come first, of equals those with the surer thesis; in a group the response
    that is nearest to the others.
    """
    documents: dict[tuple[str, str], list[int]] = {}
    for i, unit in enumerate(reading.units):
        documents.setdefault(unit.passage.document, []).append(i)
    found = [r for here in documents.values() if (r := _document(reading, np.array(here)))]
    return _grouped(brief, reading, found)


def apart(responses: Sequence[Response], drafts: Sequence[Claim]) -> list[Response]:
    """The responses with every sentence under one perspective only: that of the draft that it is, or else the one that
    it supports most. A response without its thesis is none."""
    owner = {c["text"]: c["perspective"] for c in drafts}
    quotes = [(q, r["perspective"]) for r in responses for q in quotes_of(r)]
    for quote, perspective in sorted(quotes, key=lambda pair: -pair[0]["support"]):
        owner.setdefault(quote["text"], perspective)
    return [
        Response(**{**r, "evidence": [q for q in r["evidence"] if owner[q["text"]] == r["perspective"]]})
        for r in responses
        if owner[r["thesis"]["text"]] == r["perspective"]
    ]


def _document(reading: Reading, here: NDArray[np.int_]) -> list[int]:
    """The positions of the document's thesis and of the evidence for it, the most relevant first, among what was read;
    empty where it has no thesis. here: the document's quotable parts. No two of them overlap."""
    vectors, case = reading.vectors[here], reading.case[here]
    support = np.nan_to_num(reading.sure[here])[None]
    chosen = choose_thesis(vectors, reading.question, support, case, _WEIGHTS) if case.any() else None
    if chosen is None:
        return []
    found = [int(here[chosen.position])]
    relevance = reading.vectors @ reading.vectors[found[0]]
    for i in sorted((int(i) for i in here[case]), key=lambda i: -float(relevance[i])):
        if len(found) <= MOST and not any(_overlap(reading, i, j) for j in found):
            found.append(i)
    return found


def _overlap(reading: Reading, one: int, other: int) -> bool:
    a, b = reading.units[one], reading.units[other]
    return a.passage.id == b.passage.id and bool(set(a.positions) & set(b.positions))


def _grouped(brief: Brief, reading: Reading, found: Sequence[list[int]]) -> list[Response]:
    """The responses, those near each other together; where one lies is the mean of its thesis and evidence, since a
    thesis alone tells less of what it is about."""
    if not found:
        return []
    vectors = np.stack([reading.vectors[positions].mean(axis=0) for positions in found])

    def weight(members: Sequence[int]) -> tuple[int, float]:
        theses = [found[m][0] for m in members]
        sources = {reading.units[i].passage.source for i in theses}
        return -len(sources), -max(float(reading.sure[i]) for i in theses)

    groups = group_theses(vectors, reading.question, threshold=_ALIKE)
    ordered = sorted((g.members for g in groups), key=weight)
    return [
        Response(
            perspective=brief.perspective["id"],
            group=number,
            thesis=reading.quote(found[m][0]),
            evidence=[reading.quote(i) for i in found[m][1:]],
        )
        for number, members in enumerate(ordered)
        for m in members
    ]

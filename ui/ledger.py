"""The coverage ledger as rows for charts: pure functions from an answer and its evidence."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agent.answer.model import Answer, AnswerPerspective, CoverageLine
from agent.answer.retrieved import Evidence
from agent.answer.words import cased, line_of
from agent.answer.words import label as stance_label
from tools.language.words import count
from ui.shown import label

MOST_PASSAGES = 40
_LONGEST_NAME = 26


@dataclass(frozen=True, slots=True)
class Dot:
    """One judged pair: a passage (a column, counted from 1) and a side (a row)."""

    side: str
    stance: str
    column: int
    passage: str
    publisher: str
    kind: str
    support: float
    verdict: str
    cited: str


@dataclass(frozen=True, slots=True)
class Bar:
    """What stands behind one side. amount: independent sources; words: the same as text."""

    side: str
    stance: str
    part: str
    amount: int
    words: str


COUNTS, COUNTS_NOT = "supports the side", "does not"


def names(answer: Answer) -> dict[str, str]:
    """A short name for each side, all of them different."""
    found: dict[str, str] = {}
    for side in answer.perspectives:
        short = label(stance_label(answer, side) if side.stance != "other" else side.name, _LONGEST_NAME)
        found[side.id] = short if short not in found.values() else f"{short} ({side.id})"
    return found


def dots(answer: Answer, evidence: Sequence[Evidence]) -> list[Dot]:
    """Perspectives × passages, the passages that count for a side first, then those that came nearest to it."""
    sides = names(answer)
    stances = {s.id: s.stance for s in answer.perspectives}
    known = [e for e in evidence if e.side in sides]
    best: dict[int, tuple[bool, float]] = {}
    for pair in known:
        best[pair.passage_id] = max(best.get(pair.passage_id, (False, 0.0)), (pair.counts, pair.support))
    column = {i: n for n, i in enumerate(sorted(best, key=lambda i: (best[i], -i), reverse=True)[:MOST_PASSAGES], 1)}
    cited = _cited(answer)
    return [
        Dot(
            side=sides[pair.side],
            stance=stances[pair.side],
            column=column[pair.passage_id],
            passage=label(pair.title or pair.document_id, 80),
            publisher=label(pair.publisher, 60),
            kind=pair.kind,
            support=round(pair.support, 2),
            verdict=COUNTS if pair.counts else COUNTS_NOT,
            cited=cited.get((pair.side, pair.passage_id), ""),
        )
        for pair in known
        if pair.passage_id in column
    ]


def evidence_bars(answer: Answer) -> list[Bar]:
    """Evidence per side: how many passages, and from how many sources in words."""
    bars = []
    for side, short in zip(answer.perspectives, names(answer).values(), strict=True):
        line = line_of(answer, side)
        bars.append(Bar(short, side.stance, "passages", line.passages, _in_words(line, cased(side))))
    return bars


def _in_words(line: CoverageLine, shown: int) -> str:
    if line.status == "leaning":
        return f"none sure, {line.leaning} may speak for it"
    if not line.passages:
        return "not found"
    passages = count(line.passages, "passage")
    return f"{passages}, {count(line.sources, 'source')}" if shown else f"{passages}, none to quote"


def kind_bars(answer: Answer, evidence: Sequence[Evidence]) -> list[Bar]:
    """Sources by kind: for each side the independent sources of each kind among what counts for it."""
    short = names(answer)
    bars: list[Bar] = []
    for side in answer.perspectives:
        kinds: dict[str, set[str]] = {}
        for pair in evidence:
            if pair.side == side.id and pair.counts:
                kinds.setdefault(pair.kind, set()).add(pair.source)
        bars += [
            Bar(short[side.id], side.stance, kind, len(who), f"{len(who)} {kind}")
            for kind, who in sorted(kinds.items())
        ]
    return bars


def sources_behind(side: AnswerPerspective, evidence: Sequence[Evidence]) -> list[str]:
    """The names of the independent sources among what counts for the side, the surest first."""
    ranked = sorted((e for e in evidence if e.side == side.id and e.counts), key=lambda e: -e.support)
    by_source: dict[str, str] = {}
    for pair in ranked:
        by_source.setdefault(pair.source, pair.publisher or pair.title or pair.document_id)
    return list(by_source.values())


def _cited(answer: Answer) -> Mapping[tuple[str, int], str]:
    """'[3]' for the (side, passage) pairs that a claim of the side cites."""
    passages = {c.number: {c.passage_id, *(q.passage_id for q in c.more)} for c in answer.citations}
    return {
        (side.id, passage): f"[{number}]"
        for side in answer.perspectives
        for claim in side.claims
        for number in claim.citations
        for passage in passages[number]
    }

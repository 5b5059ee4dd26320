"""The judge's scores of a run's passages: what the coverage of its perspectives was counted from."""

from collections.abc import Mapping
from dataclasses import dataclass

from agent.state import RunState
from tools.passages import Passage, SourceKind


@dataclass(frozen=True, slots=True)
class Evidence:
    """One passage as it was judged for one side.

    `support` is the judge's probability, and `threshold` the one from which the run took a passage for support (None
    where the run did not record it). `counts` says whether the side's coverage counts the passage: a copy or one that
    supports the contrary side more does not count however high it is, and one that a verified claim cites always does.
    `source` is the key by which independent sources are counted.
    """

    side: str
    passage_id: int
    support: float
    threshold: float | None
    counts: bool
    document_id: str
    title: str
    publisher: str
    kind: SourceKind
    source: str


def judged_passages(state: RunState) -> set[int]:
    """The ids of all passages that were judged for any side."""
    return {i for scores in state.get("support", {}).values() for i in scores}


def evidence_of(state: RunState, passages: Mapping[int, Passage]) -> list[Evidence]:
    """A line for each judged (side, passage) pair: sides in their order, best support first.

    A passage that is not among `passages`, since it was deleted, is left out, and so are scores of a side that is no
    longer one of the run's.
    """
    lines: list[Evidence] = []
    for side in state.get("perspectives", []):
        scores = state.get("support", {}).get(side["id"], {})
        coverage = state.get("coverage", {}).get(side["id"])
        counted = set(coverage["ids"]) if coverage else set()
        best_first = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))
        found = [(passages[i], support) for i, support in best_first if i in passages]
        lines += [_line(side["id"], p, support, state.get("threshold"), p.id in counted) for p, support in found]
    return lines


def _line(side: str, passage: Passage, support: float, threshold: float | None, counts: bool) -> Evidence:
    return Evidence(
        side=side,
        passage_id=passage.id,
        support=support,
        threshold=threshold,
        counts=counts,
        document_id=passage.document_id,
        title=passage.title,
        publisher=passage.publisher,
        kind=passage.kind,
        source=passage.source,
    )

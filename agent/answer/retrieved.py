"""What a run found for each side, as public results: perspectives with their passages, and the judge's scores that the
coverage was counted from."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from agent.answer.model import (
    Answer,
    AnswerModel,
    Note,
    SourceFacts,
    Status,
    Strength,
    Usage,
    shared_fields,
    side_strength,
)
from agent.state import Coverage, Perspective, RunState
from tools.passages import Passage, interleave


@dataclass(frozen=True, slots=True)
class JudgedPassage:
    """One passage as it was judged for one side.

    `support` is the judge's probability. `counts`: the side's coverage counts the passage; a copy, or one that supports
    the contrary side more, does not count however high it is, and one that a verified claim cites always does.
    """

    side: str
    passage: Passage
    support: float
    counts: bool


_NONE = Coverage(status="not_found", passages=0, sources=0, strongest=0.0, ids=[], copies=0, reworded=0)


def coverage_in(state: RunState, side: Perspective) -> Coverage:
    """How well the side is covered so far."""
    return state.get("coverage", {}).get(side["id"], _NONE)


def judged_passages(state: RunState) -> set[int]:
    """The ids of all passages that were judged for any side."""
    return {i for scores in state.get("support", {}).values() for i in scores}


def judged_pairs(state: RunState, passages: Mapping[int, Passage]) -> list[JudgedPassage]:
    """A line for each judged (side, passage) pair: sides in their order, best support first.

    A passage that is not among `passages`, since it was deleted, is left out, and so are scores of a side that is no
    longer one of the run's.
    """
    lines: list[JudgedPassage] = []
    for side in state.get("perspectives", []):
        scores = state.get("support", {}).get(side["id"], {})
        counted = {*coverage_in(state, side)["ids"]}
        best_first = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))
        lines += [JudgedPassage(side["id"], passages[i], s, i in counted) for i, s in best_first if i in passages]
    return lines


def search_order(state: RunState) -> list[int]:
    """The ids of what the run's searches found as one plain ranking: what the bare question found, best first, then
    what the sides' searches found beside it, in turn."""
    return list(dict.fromkeys([*state.get("question_results", []), *interleave(state.get("candidates", {}).values())]))


class RetrievedPassage(SourceFacts):
    """A passage that was chosen for a side. `support` is the judge's probability for that side, null where it was not
    judged; `counts`: the side's coverage counts it. `speaker` says it, `author` wrote its document."""

    passage_id: int
    document_id: str
    text: str
    speaker: str = ""
    author: str = ""
    support: float | None
    counts: bool


class RetrievedPerspective(AnswerModel):
    """One side with its passages, in the order of the selection."""

    id: str
    name: str
    statement: str
    stance: Literal["supports", "opposes", "other"]
    contrary: str
    status: Status
    strength: Strength
    sources: int
    queries: list[str]
    passages: list[RetrievedPassage]


class Retrieved(AnswerModel):
    """The sides of a question with what was found for each. `threshold`: the support from which a passage counts."""

    run_id: str
    question: str
    neutral_question: str
    threshold: float | None
    perspectives: list[RetrievedPerspective]
    notes: list[Note]
    providers: dict[str, str]
    timings: dict[str, float]
    usage: Usage


def retrieved_result(answer: Answer, state: RunState, passages: Mapping[int, Passage]) -> Retrieved:
    """What the run chose; a passage that is not among `passages`, since it was deleted, is left out."""
    sides = [_perspective(side, state, passages) for side in state.get("perspectives", [])]
    found = {"threshold": state.get("threshold"), "perspectives": sides}
    return Retrieved(**shared_fields(answer, Retrieved) | found)


def chosen_passages(state: RunState) -> set[int]:
    """The ids of all passages that were chosen for any side."""
    return {i for ids in state.get("selected", {}).values() for i in ids}


def _perspective(side: Perspective, state: RunState, passages: Mapping[int, Passage]) -> RetrievedPerspective:
    coverage, support = coverage_in(state, side), state.get("support", {}).get(side["id"], {})
    chosen = [passages[i] for i in state.get("selected", {}).get(side["id"], []) if i in passages]
    return RetrievedPerspective(
        **shared_fields(side, RetrievedPerspective),
        status=coverage["status"],
        strength=side_strength(coverage["sources"], len(chosen)),
        sources=coverage["sources"],
        queries=state.get("queries", {}).get(side["id"], []),
        passages=[_passage(p, support.get(p.id), p.id in coverage["ids"]) for p in chosen],
    )


def _passage(passage: Passage, support: float | None, counts: bool) -> RetrievedPassage:
    known = None if support is None else round(support, 3)
    return RetrievedPassage(
        passage_id=passage.id, support=known, counts=counts, **shared_fields(passage, RetrievedPassage)
    )

"""What documents answer for a side: reading their sentences, theses and evidence, and what the answer makes of them."""

from typing import Any

from agent_fixtures import QUESTION
from providers import side

from agent.answer.assemble import assemble
from agent.answer.model import Answer
from agent.state import Claim, Coverage, FramingState, RunState, ScoredQuote, ScoredResponse
from tools.passages import Passage

YES = "Towns should build bridges over their rivers."
FERRY = "A town without bridges is cut off whenever the night ferry over its river stops."
LEANS = "It leaves whole families on the wrong bank of the river for weeks."
PAYS = "A bridge over the river pays for itself within a few years of trade."
DEAR = "A bridge over the river costs a small town more than it can ever earn."
FRAMING = FramingState(form="polar", question=QUESTION, alternatives=[], focus="")
PASSAGES = [
    Passage(1, "ferries", "mine", f"{FERRY} {LEANS}", title="The ferry", publisher="Post"),
    Passage(2, "trade", "mine", PAYS, title="Trade", publisher="Times"),
]


# Theses, evidence, groups


def quote(text: str, support: float, shown: str = "", passage: int = 1) -> ScoredQuote:
    return ScoredQuote(text=text, shown=shown, passage=passage, support=support)


def response(perspective: str, thesis: ScoredQuote, *evidence: ScoredQuote, group: int = 0) -> ScoredResponse:
    return ScoredResponse(perspective=perspective, group=group, thesis=thesis, evidence=list(evidence))


def claim(perspective: str, text: str, passage: int = 1, shown: str = "") -> Claim:
    return Claim(perspective=perspective, text=text, passages=[passage], support=0.8, role="case", shown=shown)


# The answer


def state(**changes: Any) -> RunState:
    given: dict[str, Any] = {
        "question": QUESTION,
        "framing": FRAMING,
        "perspectives": [side(1, YES, "supports", "p2"), side(2, "Towns should not.", "opposes", "p1")],
        "coverage": {
            s: Coverage(status="supported", passages=2, sources=2, strongest=0.9, ids=[1, 2]) for s in ("p1", "p2")
        },
        "claims": [claim("p1", PAYS, 2), claim("p1", LEANS, 1, f"[{FERRY}] {LEANS}")],
        "responses": [
            response("p1", quote(FERRY, 0.8), quote(LEANS, 0.91234, f"[{FERRY}] {LEANS}")),
            response("p1", quote(PAYS, 0.75, passage=2)),
            response("p1", quote(DEAR, 0.7, passage=3), group=1),
            response("p2", quote(DEAR, 0.7, passage=3)),
        ],
    }
    return RunState(**{**given, **changes})  # type: ignore[typeddict-item]  # fields of the state


DEAR_PASSAGE = Passage(3, "costs", "mine", DEAR, title="Costs", publisher="Post", url="https://post.example/3")


def answer(run: RunState, *passages: Passage) -> Answer:
    known = {p.id: p for p in passages or [*PASSAGES, DEAR_PASSAGE]}
    return assemble("run", run, known, {"all": "test"}, [], 1.5)


def test_the_answer_tells_what_documents_answer_in_groups() -> None:
    for_it, against = answer(state()).perspectives
    assert [(g.sources, [r.document_id for r in g.responses]) for g in for_it.groups] == [
        (2, ["ferries", "trade"]),
        (1, ["costs"]),
    ]
    first = for_it.groups[0].responses[0]
    assert (first.title, first.publisher, first.citation, first.thesis.text) == ("The ferry", "Post", 2, FERRY)
    assert [(e.text, e.shown, e.support) for e in first.evidence] == [(LEANS, f"[{FERRY}] {LEANS}", 0.912)]
    assert for_it.groups[1].responses[0].citation is None  # no claim cites it
    assert not against.groups  # a side without a case

"""A run by hand, as a judge that reads documents and a chat model would leave it: should a village toll its bridge?

Fourteen documents: nine claims for No, two for Yes, a third way with objections, two documents for no side, one off the
question, one copy, one that no claim cites, one unread.
"""

from typing import Any

from agent.answer.assemble import assemble
from agent.answer.model import Answer
from agent.state import Claim, Coverage, FramingState, Perspective, RunState
from tools.passages import Passage

QUESTION = "Should the village charge a toll on its bridge?"
_PRESS = (
    "Valley Courier,Ford Gazette,Mill Owners,Parish Notes,Ferry Blog,Carters' Union,Audit Office,Upper Farm,Post Office"
)
TEXTS = {
    1: "Repairs cost 41,000 a year, and those who cross should bear them.",
    2: "A toll would keep heavy carts on the highway.",
    3: "The toll house would cost more than it collects in its first six years.",
    4: "Pupils cross the bridge twice a day and have no other way to school.",
    5: "Carters would drive through the ford, which has drowned two horses since spring.",
    6: "A pass for a year costs each household as much as two loaves.",
    7: "Passes were tried at the mill, and 44 of 46 shops were against them.",
    8: "The bridge was built in 1811 from the stones of the old chapel.",
    9: "The river rises four feet after a night of rain on the moor.",
    10: "The band plays on the green on Sundays.",
    11: "Carters would drive through the ford, which has drowned two horses since spring.",
    12: "Neighbours who sell their milk across the river would lose a tenth of what they earn.",
    13: "Nobody has counted the carts.",
    14: "Old people visit less when each visit costs a coin.",
    15: "The mill lies a mile below the bridge.",
}
DOCUMENTS = {**{i: i for i in TEXTS}, 14: 4}
"""The document of each passage."""
DAYS = {2: 20}
"""The days in March of documents that answer later ones; all others have the day of their number."""


def passage(number: int) -> Passage:
    of = DOCUMENTS[number]
    press = _PRESS.split(",")
    name = press[of - 1] if of <= len(press) else f"Reader {of}"
    about: dict[str, Any] = {
        "publisher": name,
        "kind": "news",
        "date": f"2025-03-{DAYS.get(of, of):02}",
        "position": number,
    }
    return Passage(number, f"bridge/{of:02}.md", "bridge", TEXTS[number], f"On the bridge, part {of}", **about)


PASSAGES = {i: passage(i) for i in TEXTS}
PASS = "Each household should buy a yearly pass."
SIDES = [
    Perspective(id="p1", name="Yes", statement=f"Yes: {QUESTION}", stance="supports", contrary="p2", origin="question"),
    Perspective(id="p2", name="No", statement=f"No: {QUESTION}", stance="opposes", contrary="p1", origin="question"),
    Perspective(id="p3", name="A yearly pass", statement=PASS, stance="other", contrary="", origin="model"),
]


def written(side: str, text: str, *passages: int, **more: Any) -> Claim:
    """A claim of a model; its evidence is the text of what it cites."""
    evidence = [TEXTS[i] for i in passages]
    made = Claim(
        perspective=side, text=text, passages=list(passages), support=0.95, role="case", written=True, evidence=evidence
    )
    made.update(more)  # type: ignore[typeddict-item]  # fields of a claim
    return made


DEAR = "A toll house would cost more than it collects in its first six years."
REPAIRS = "Those who cross should bear the 41,000 that repairs cost a year."
FORD = "Carters would drive through the ford, where two horses have drowned."
TRIED = "44 of 46 shops were against passes when the mill tried them."
CLAIMS = [
    written("p1", REPAIRS, 1, reason="cost", role="thesis"),
    written("p1", "A toll would keep heavy carts on the highway.", 2, reason="traffic", answers=FORD),
    written("p2", DEAR, 3, reason="cost", role="thesis", answers=REPAIRS),
    written("p2", "Pupils have no other way to school.", 4, reason="school"),
    written("p2", FORD, 5, reason="safety"),
    written("p2", "Old people visit less when each visit costs a coin.", 14, reason="loneliness"),
    written("p2", "A tenth of what milk earns across the river would be lost.", 12, reason="trade"),
    *(written("p2", f"Reason {n} against a toll.", 5, reason="other") for n in range(6, 10)),
    written("p3", "A yearly pass costs each household as much as two loaves.", 6, reason="cost", role="thesis"),
    written("p3", TRIED, 7, reason="trade", objection=True),
]


def covered(*ids: int) -> Coverage:
    sources = len({PASSAGES[i].source for i in ids})
    status: Any = "supported" if sources > 1 else "thin" if ids else "not_found"
    return Coverage(status=status, passages=len(ids), sources=sources, strongest=0.95, ids=[*ids])


def toll_run(**changes: Any) -> RunState:
    support = {"p1": [1, 2], "p2": [3, 4, 5, 12, 13, 14], "p3": [6]}
    judged = [i for i in TEXTS if i not in (11, 15)]
    scores = {side: {i: 0.95 if i in mine else 0.05 for i in judged} for side, mine in support.items()}
    against = {side: {i: 0.95 if side == "p3" and i == 7 else 0.05 for i in judged} for side in support}
    made = RunState(
        question=QUESTION,
        framing=FramingState(form="polar", question=QUESTION, alternatives=[], focus=""),
        perspectives=SIDES,
        candidates={"p1": [*TEXTS]},
        support=scores,
        opposition=against,
        off_question=[10],
        threshold=0.5,
        coverage={side: covered(*ids) for side, ids in support.items()},
        drafts=CLAIMS,
        claims=CLAIMS,
        queries={},
        counts={"passages": 13},
    )
    made.update(changes)  # type: ignore[typeddict-item]  # fields of the state
    return made


def toll_answer(state: RunState | None = None) -> Answer:
    """The answer of the run, with one sentence for no side; passage 11 is a copy of 5."""
    state = state or toll_run()
    also = Claim(perspective="", text=TEXTS[8], passages=[8], support=0.0, role="also")
    state = RunState(**{**state, "claims": [*state["claims"], also]})
    same = {i: 5 if i == 11 else i for i in TEXTS}
    return assemble("toll", state, PASSAGES, {"all": "test"}, [], 1.5, same, by_verdicts=True)

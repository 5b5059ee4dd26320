"""What documents answer for a side: reading their sentences, theses and evidence, and what the answer makes of them."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest
from agent_fixtures import QUESTION, door
from instant_providers import InstantWriter
from providers import ScriptedJudge, build, side

from agent.answer.assemble import assemble
from agent.answer.files import to_markdown
from agent.answer.model import Answer
from agent.answer.outline import to_terminal
from agent.answer.words import claim_text
from agent.evidence.cases import document_responses, quotations
from agent.models.providers import Brief, SentenceScores
from agent.settings import Settings
from agent.state import Claim, Coverage, Dropped, FramingState, Quote, Response, RunState
from tools.language.quotable import QuotablePart
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


def brief(**changes: Any) -> Brief:
    given: dict[str, Any] = {
        "perspective": side(1, YES, "supports"),
        "contrary": "",
        "framing": FRAMING,
        "passages": PASSAGES,
        "support": {1: 0.9, 2: 0.8},
        "limit": 4,
        "judge": None,
    }
    return Brief(**{**given, **changes})


# Theses, evidence, groups

TEXTS = ["Bridges carry a town.", "Bridges last.", "Ferries freeze.", "They sink.", "Tunnels flood.", "Towns pay."]


class Row(NamedTuple):
    """Words of a document, with one passage to a document. angle: to the question, in degrees. case: whether they are
    sure enough for the side's case."""

    document: int
    text: str
    sure: float
    angle: float
    case: bool = True
    shown: str = ""
    positions: tuple[int, ...] = ()


def reading_of(*rows: Row) -> SentenceScores:
    """Every document has a publisher of its own but for those from the third on, who share one."""
    passages = {
        r.document: Passage(r.document, f"d{r.document}", "mine", "", "", "", f"{min(r.document, 3)}") for r in rows
    }
    units = [
        QuotablePart(passages[r.document], r.text, r.shown or r.text, r.positions or (i,)) for i, r in enumerate(rows)
    ]
    radians = np.radians(np.array([r.angle for r in rows]))
    # what is beside the question has two directions, above and below 0°
    vectors = np.stack([np.cos(radians), np.sin(radians)], axis=1).astype(np.float32)
    sure, case = np.array([r.sure for r in rows]), np.array([r.case for r in rows])
    nothing, question = np.zeros((len(rows), 3)), np.array([1.0, 0.0], np.float32)
    return SentenceScores(
        units, nothing, nothing, sure, np.ones_like(case), np.ones_like(case), case, sure, vectors, question
    )


def test_each_document_has_a_thesis_and_evidence_by_its_nearness() -> None:
    found = document_responses(
        brief(),
        reading_of(
            Row(1, TEXTS[0], 0.9, 10.0),  # 0.985 + 0.9
            Row(1, TEXTS[1], 0.6, 40.0),  # 30° from the thesis
            Row(1, TEXTS[3], 0.8, 15.0, shown="They [bridges] sink."),  # 5°
            Row(1, TEXTS[4], 0.4, 10.0, case=False),  # nearest of all
        ),
    )
    assert [r["thesis"]["text"] for r in found] == [TEXTS[0]]
    assert found[0]["evidence"] == [
        Quote(text=TEXTS[3], shown="They [bridges] sink.", passage=1, support=0.8),
        Quote(text=TEXTS[1], shown="", passage=1, support=0.6),
    ]


def test_what_another_speaker_says_is_no_evidence() -> None:
    reading = reading_of(Row(1, TEXTS[0], 0.9, 10.0), Row(2, TEXTS[1], 0.8, 15.0))
    minutes = {u: replace(u.passage, document_id="minutes", speaker=f"Cllr {u.passage.id}") for u in reading.units}
    found = document_responses(brief(), replace(reading, units=[replace(u, passage=p) for u, p in minutes.items()]))
    assert [(r["thesis"]["text"], r["evidence"]) for r in found] == [(TEXTS[0], []), (TEXTS[1], [])]


def quote(text: str, support: float, shown: str = "", passage: int = 1) -> Quote:
    return Quote(text=text, shown=shown, passage=passage, support=support)


def response(perspective: str, thesis: Quote, *evidence: Quote, group: int = 0) -> Response:
    return Response(perspective=perspective, group=group, thesis=thesis, evidence=list(evidence))


def claim(perspective: str, text: str, passage: int = 1, shown: str = "") -> Claim:
    return Claim(perspective=perspective, text=text, passages=[passage], support=0.8, role="case", shown=shown)


# What the writer makes of them


async def written(given: Brief) -> list[Claim]:
    nothing: Any = None  # what was read needs no model
    return await quotations(nothing, given)


async def test_a_case_is_quoted_as_it_is_shown_and_nothing_else() -> None:
    reading = reading_of(
        Row(1, TEXTS[0], 0.8, 0.0),
        Row(2, TEXTS[3], 0.9, 120.0, shown="They [bridges] sink."),
        Row(3, TEXTS[4], 0.7, 240.0, case=False),
    )
    claims = await written(brief(reading=reading))
    assert claims == [
        Claim(perspective="p1", text=TEXTS[3], shown="They [bridges] sink.", passages=[2], support=0.9, role="case"),
        Claim(perspective="p1", text=TEXTS[0], shown="", passages=[1], support=0.8, role="case"),
    ]


@pytest.mark.parametrize("quotes", [True, False])
async def test_the_judge_of_this_process_reads_sentences_with_any_writer(settings: Settings, quotes: bool) -> None:
    judge = ScriptedJudge(lambda pair: 0.1 if " not " in pair.statement else 0.9)
    async with door(settings, build(judge=judge, quote=None if quotes else InstantWriter().write)) as runs:
        made = await runs.answer(await runs.start(QUESTION))
    groups = made.perspectives[0].groups
    assert {r.thesis.text for g in groups for r in g.responses} >= {c.text for c in made.perspectives[0].claims}
    read = {p.text for p in judge.pairs if "It stands" not in p.text}  # not the passages, which end with that
    claimed = {c.text for s in made.perspectives for c in s.claims}
    assert read > claimed


# The answer


def state(**changes: Any) -> RunState:
    given: dict[str, Any] = {
        "question": QUESTION,
        "framing": FRAMING,
        "perspectives": [side(1, YES, "supports", "p2"), side(2, "Towns should not.", "opposes", "p1")],
        "coverage": {
            s: Coverage(status="supported", passages=2, sources=2, strongest=0.9, ids=[1, 2], copies=0, reworded=0)
            for s in ("p1", "p2")
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


def test_what_was_refused_or_is_gone_or_stands_nowhere_is_not_told() -> None:
    refused = [Dropped(perspective="p1", text=LEANS, check="side"), Dropped(perspective="p2", text=FERRY, check="side")]
    claims = [claim("p1", PAYS, 2)]
    told = answer(state(claims=claims, dropped=refused)).perspectives[0].groups
    assert [r.thesis.text for g in told for r in g.responses] == [FERRY, PAYS, DEAR]
    assert told[0].responses[0].evidence == []
    gone = answer(state(claims=claims), *PASSAGES[1:], DEAR_PASSAGE).perspectives[0].groups
    assert [r.thesis.text for g in gone for r in g.responses] == [PAYS, DEAR]
    changed = Passage(3, "costs", "mine", "Another text.")
    left = answer(state(claims=claims), *PASSAGES, changed).perspectives[0].groups
    assert [r.thesis.text for g in left for r in g.responses] == [FERRY, PAYS]


def test_what_was_added_is_read_in_brackets_and_the_words_of_the_source_are_kept() -> None:
    made = answer(state())
    claims = made.perspectives[0].claims
    assert [c.text for c in claims] == [PAYS, LEANS]
    assert claim_text(claims[1]) == f"“[{FERRY}] {LEANS}”"
    assert made.citations[1].quote == LEANS
    markdown, terminal = to_markdown(made), " ".join(to_terminal(made, 100, bold=False).split())
    assert f"- “\\[{FERRY}\\] {LEANS}” [2]" in markdown
    assert f'"[{FERRY}] {LEANS}" [2]' in terminal
    assert DEAR not in markdown + terminal  # what only a response says makes no document longer

"""What documents answer for a side: reading their sentences, theses and evidence, and what the answer makes of them."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agent_fixtures import QUESTION, door, instant_template, settings
from providers import ScriptedJudge, build, side

from agent.answer import Answer
from agent.assemble import assemble
from agent.embedded.writing import EmbeddedWriter
from agent.models import Models
from agent.providers import Brief
from agent.reading import Reading, read
from agent.rendering.markdown import to_markdown
from agent.rendering.terminal import to_terminal
from agent.rendering.words import said
from agent.responses import apart, confirmed, respond
from agent.settings import Settings
from agent.state import Claim, Coverage, Dropped, FramingState, Quote, Response, RunState
from evals.instant import InstantWriter
from tools.cache import VectorCache
from tools.encoders.encoder import MiniLM
from tools.judges.judge import Pair
from tools.passages import Passage
from tools.worker import Worker

__all__ = ["instant_template", "settings"]

YES = "Towns should build bridges over their rivers."
FERRY = "A town without bridges is cut off whenever the night ferry over its river stops."
LEANS = "It leaves whole families on the wrong bank of the river for weeks."
PAYS = "A bridge over the river pays for itself within a few years of trade."
DEAR = "A bridge over the river costs a small town more than it can ever earn."
FRAMING = FramingState(
    form="polar", neutral=QUESTION, claim=YES, negation="", alternatives=[], topic="bridges", focus=""
)
PASSAGES = [
    Passage(1, "ferries", "mine", f"{FERRY} {LEANS}", title="The ferry", publisher="Post"),
    Passage(2, "trade", "mine", PAYS, title="Trade", publisher="Times"),
]


def brief(judge: Any, **changes: Any) -> Brief:
    given: dict[str, Any] = {
        "perspective": side(1, YES, "supports"),
        "contrary": "",
        "framing": FRAMING,
        "passages": PASSAGES,
        "support": {1: 0.9, 2: 0.8},
        "limit": 4,
        "judge": judge,
    }
    return Brief(**{**given, **changes})


@pytest.fixture
def judge() -> ScriptedJudge:
    return ScriptedJudge(lambda pair: 0.1 if pair.text == DEAR else 0.7)


@pytest.fixture
def models(encoder: MiniLM, judge: ScriptedJudge, tmp_path: Path) -> Models:
    return Models(encoder, judge, Worker(), VectorCache(tmp_path / "cache.db"))


# Reading


async def test_a_sentence_counts_with_its_passage_and_one_that_leans_by_its_passage(
    models: Models, judge: ScriptedJudge
) -> None:
    reading = await read(models, brief(models.judge()))
    assert reading.sentences == [FERRY, LEANS, "", PAYS, ""]
    # (0.7 + 0.9) / 2; the passage's own; nothing; (0.7 + 0.8) / 2
    assert reading.support[[0, 1, 3]] == pytest.approx([0.8, 0.9, 0.75])
    assert np.isnan(reading.support[[2, 4]]).all()
    assert reading.fit.tolist() == [True, False, False, True, False]
    assert [p.text for p in judge.pairs] == [FERRY, PAYS]  # no pair more than the writer needs


async def test_unjudged_every_sentence_has_what_its_passage_has(models: Models, judge: ScriptedJudge) -> None:
    reading = await read(models, brief(models.judge(), support={1: 0.9}), judged=False)
    assert reading.support[[0, 1]].tolist() == [0.9, 0.9]
    assert math.isnan(reading.support[3])  # its passage was not judged either
    assert not judge.pairs


async def test_the_writer_asks_the_judge_nothing_new(models: Models, judge: ScriptedJudge) -> None:
    given = brief(models.judge())
    respond(given, await read(models, given))
    asked = list(judge.pairs)
    await EmbeddedWriter(models).write(given)
    assert judge.pairs == asked == [Pair(YES, FERRY), Pair(YES, PAYS)]


# Theses, evidence, groups

TEXTS = ["Bridges carry a town.", "Bridges last.", "Ferries freeze.", "They sink.", "Tunnels flood.", "Towns pay."]


def reading_of(*rows: tuple[int, str, float, float, bool]) -> Reading:
    """From rows of document, text, support, angle to the question in degrees, whether it stands alone; every document
    has one passage, of a publisher of its own but for the last two, who share one."""
    documents, texts, support, angles, alone = zip(*rows, strict=True)
    sources = {d: f"paper {min(d, 3)}" for d in documents}
    passages = [Passage(d, f"d{d}", "mine", "", f"Title {d}", publisher=sources[d]) for d in documents]
    radians = np.radians(np.array(angles))
    # what is beside the question has two directions, above and below 0°
    vectors = np.stack([np.cos(radians), np.sin(radians)], axis=1).astype(np.float32)
    mask = np.array(alone)
    rank = np.array(support, np.float64)
    return Reading(list(texts), passages, mask, mask, rank, rank, vectors, np.array([1.0, 0.0], np.float32))


def test_each_document_has_a_thesis_and_evidence_by_its_nearness(judge: ScriptedJudge) -> None:
    rows = [
        (1, TEXTS[0], 0.9, 10.0, True),  # 0.985 + 0.9
        (1, TEXTS[1], 0.6, 40.0, True),  # 30° from the thesis
        (1, TEXTS[3], 0.8, 15.0, False),  # 5°, and leans: 'They'
        (1, TEXTS[4], 0.4, 10.0, True),  # below the threshold
    ]
    found = respond(brief(judge), reading_of(*rows))
    assert [r["thesis"]["text"] for r in found] == [TEXTS[0]]
    assert [(q["text"], q["shown"]) for q in found[0]["evidence"]] == [
        (TEXTS[3], "They [bridges] sink."),
        (TEXTS[1], ""),
    ]
    assert found[0]["evidence"][0] == Quote(text=TEXTS[3], shown="They [bridges] sink.", passage=1, support=0.8)


def test_what_supports_the_contrary_more_is_neither_thesis_nor_evidence(judge: ScriptedJudge) -> None:
    rows = [(1, TEXTS[0], 0.8, 10.0, True), (2, TEXTS[1], 0.8, 10.0, True)]
    found = respond(brief(judge, opposing={1: 0.85, 2: 0.7}), reading_of(*rows))
    assert [r["thesis"]["text"] for r in found] == [TEXTS[1]]


def test_what_nothing_can_make_stand_alone_is_no_evidence(judge: ScriptedJudge) -> None:
    rows = [(1, TEXTS[3], 0.8, 15.0, False), (1, TEXTS[0], 0.9, 10.0, True)]  # nothing before it, and no title
    reading = reading_of(*rows)
    reading.passages[:] = [Passage(1, "d1", "mine", "")] * 2
    assert [r["evidence"] for r in respond(brief(judge), reading)] == [[]]


def test_groups_with_more_sources_come_first_then_the_surer(judge: ScriptedJudge) -> None:
    rows = [
        (1, TEXTS[0], 0.6, 30.0, True),
        (2, TEXTS[1], 0.6, 20.0, True),
        (3, TEXTS[4], 0.9, -30.0, True),
        (4, TEXTS[5], 0.9, -20.0, True),  # of the same publisher as 3
    ]
    found = respond(brief(judge), reading_of(*rows))
    assert [(r["group"], r["thesis"]["text"]) for r in found] == [
        (0, TEXTS[0]),
        (0, TEXTS[1]),
        (1, TEXTS[4]),
        (1, TEXTS[5]),
    ]
    assert respond(brief(judge), reading_of((1, TEXTS[0], 0.6, 30.0, False))) == []


def quote(text: str, support: float, shown: str = "", passage: int = 1) -> Quote:
    return Quote(text=text, shown=shown, passage=passage, support=support)


def response(perspective: str, thesis: Quote, *evidence: Quote, group: int = 0) -> Response:
    return Response(perspective=perspective, group=group, thesis=thesis, evidence=list(evidence))


def claim(perspective: str, text: str, passage: int = 1, shown: str = "") -> Claim:
    return Claim(perspective=perspective, text=text, passages=[passage], support=0.8, role="case", shown=shown)


def test_a_sentence_stands_under_one_side_only() -> None:
    found = [
        response("p1", quote("A.", 0.7), quote("B.", 0.8), quote("C.", 0.8)),
        response("p2", quote("B.", 0.9), quote("C.", 0.9)),
        response("p2", quote("A.", 0.9)),
    ]
    drafts = [claim("p1", "A."), claim("p1", "C.")]  # a claim's side is its side, however sure the other is
    assert apart(found, drafts) == [
        response("p1", quote("A.", 0.7), quote("C.", 0.8)),
        response("p2", quote("B.", 0.9)),
    ]


# What the writer makes of them


async def test_mended_evidence_is_judged_as_it_is_shown(models: Models, judge: ScriptedJudge) -> None:
    said_so, dubious = quote(LEANS, 0.9, f"[{FERRY}] {LEANS}"), quote("It sinks.", 0.9, DEAR)
    found = [response("p1", quote(FERRY, 0.8), quote(PAYS, 0.6), dubious, said_so)]
    kept = await confirmed(brief(models.judge()), found)
    # (0.7 + 0.9) / 2; of the other (0.1 + 0.9) / 2, which is just as much as is needed
    assert [(q["text"], q["support"]) for q in kept[0]["evidence"]] == [
        (PAYS, 0.6),
        ("It sinks.", pytest.approx(0.5)),
        (LEANS, pytest.approx(0.8)),
    ]
    kept = await confirmed(brief(models.judge(), support={1: 0.8}), found)
    assert [q["text"] for q in kept[0]["evidence"]] == [PAYS, LEANS]
    assert [p.text for p in judge.pairs] == [DEAR, f"[{FERRY}] {LEANS}"]
    assert kept[0]["thesis"] == found[0]["thesis"]


async def written(models: Models, given: Brief) -> list[Claim]:
    return (await EmbeddedWriter(models).write(given))[0]


async def test_evidence_that_was_made_to_stand_alone_fills_the_room_that_is_left(models: Models) -> None:
    first = brief(models.judge())
    answered = await confirmed(first, respond(first, await read(models, first)))
    shown = f"[{FERRY}] {LEANS}"
    assert [(q["text"], q["shown"]) for r in answered for q in r["evidence"]] == [(LEANS, shown)]
    claims = await written(models, brief(models.judge(), responses=answered))
    assert [(c["text"], c["shown"]) for c in claims] == [(FERRY, ""), (PAYS, ""), (LEANS, shown)]
    assert claims[2]["support"] == pytest.approx(0.8)  # its own, not its passage's
    assert len(await written(models, brief(models.judge(), responses=answered, limit=2))) == 2


async def test_a_side_is_never_made_of_such_evidence_alone(models: Models) -> None:
    given = brief(models.judge(), passages=[Passage(1, "ferries", "mine", LEANS, title="The ferry")])
    answered = [response("p1", quote(FERRY, 0.8), quote(LEANS, 0.9, f"[The ferry] {LEANS}"))]
    assert await written(models, brief(models.judge(), passages=given.passages, responses=answered)) == []


async def test_of_one_publisher_another_group_comes_before_the_same_document_again(
    encoder: MiniLM, tmp_path: Path
) -> None:
    again = "Bridges over rivers should be built by towns that want children at school in winter."
    sure = ScriptedJudge(lambda pair: {FERRY: 0.9, again: 0.8, PAYS: 0.7}[pair.text])
    models = Models(encoder, sure, Worker(), VectorCache(tmp_path / "cache.db"))
    passages = [
        Passage(1, "a", "mine", f"{FERRY} {again}", publisher="Post"),
        Passage(2, "b", "mine", PAYS, publisher="Post"),
    ]
    alike = brief(models.judge(), passages=passages, limit=2, support={1: 0.9, 2: 0.9})
    assert [c["text"] for c in await written(models, alike)] == [FERRY, again]
    answered = [response("p1", quote(FERRY, 0.9)), response("p1", quote(PAYS, 0.8, passage=2), group=1)]
    apart_ = brief(models.judge(), passages=passages, limit=2, support={1: 0.9, 2: 0.9}, responses=answered)
    assert [c["text"] for c in await written(models, apart_)] == [FERRY, PAYS]


@pytest.mark.parametrize("quotes", [True, False])
async def test_the_judge_reads_sentences_for_a_writer_that_quotes_only(settings: Settings, quotes: bool) -> None:
    judge = ScriptedJudge(lambda _: 0.9)
    async with door(settings, build(judge=judge, quoter=None if quotes else InstantWriter())) as runs:
        made = await runs.answer(await runs.start(QUESTION))
    groups = made.perspectives[0].groups
    assert {r.thesis.text for g in groups for r in g.responses} >= {c.text for c in made.perspectives[0].claims}
    read = {p.text for p in judge.pairs if "It stands" not in p.text}  # not the passages, which end with that
    claimed = {c.text for s in made.perspectives for c in s.claims}
    assert read > claimed if quotes else read == claimed  # those are verified


# The answer


def state(**changes: Any) -> RunState:
    given: dict[str, Any] = {
        "question": QUESTION,
        "framing": FRAMING,
        "perspectives": [side(1, YES, "supports", "p2"), side(2, "Towns should not.", "opposes", "p1")],
        "coverage": {
            s: Coverage(status="supported", passages=2, sources=2, strongest=0.9, ids=[1, 2], copies=0)
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
    assert said(claims[1]) == f"“[{FERRY}] {LEANS}”"
    assert made.citations[1].quote == LEANS
    markdown, terminal = to_markdown(made), " ".join(to_terminal(made, 100, bold=False).split())
    assert f"- “\\[{FERRY}\\] {LEANS}” [2]" in markdown
    assert f'"[{FERRY}] {LEANS}" [2]' in terminal
    assert DEAR not in markdown + terminal  # what only a response says makes no document longer

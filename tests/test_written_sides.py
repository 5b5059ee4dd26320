"""From verdicts to claims, on the real stages: what a writer is shown of the passages that a model judged, and what the
run keeps of what it writes. The verdicts are given; encoder and embedded judge are quick ones."""

import json
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest
from answering_model import STAGES, QuickJudge, WordEncoder, said_all, stand_in
from langgraph.graph import StateGraph
from model_server import ModelServer
from providers import side

from agent.answer.summary import stage_notes
from agent.evidence.coverage import coverage_of, judged_evidence, originals_of
from agent.options import RunOptions
from agent.runs.build import build_providers
from agent.settings import load_settings
from agent.stages.select import select
from agent.stages.verify import merge_reworded, verify
from agent.stages.write import WrittenCrux, write
from agent.state import Perspective, RunState
from tools.documents.ingest import Ingester
from tools.models.chat.reply import read_reply
from tools.passages import Block, SourceDocument
from tools.store.database import Database
from tools.store.store import SAMPLES, Store

QUESTION, REPRINT = "Should ferries be free?", "print it again"
YES, NO = f"Yes: {QUESTION}", f"No: {QUESTION}"
PAIR = (side(1, YES, "supports", "p2"), side(2, NO, "opposes", "p1"))
LETTER = "Ferries should be free. A nurse on the far shore pays nine pounds a day to reach the ward where she works."
CHAIR = "I move that the crossing be free from May. Fares paid for one deckhand last year and for nothing else."
GUEST = "Free boats will be full of trippers. Those who live here will stand on the quay and watch them sail."
DOUBT = "I doubt whether we can pay for it when the county gives us less next year than it did this year."
VOICES = ["miller", "sexton", "cooper", "tanner", "fowler", "warden", "joiner", "weaver", "potter", "thatcher"]
FOR = [f"The {v} of quay {n} wants no fares: {n} carts waited {n * 7} minutes there." for n, v in enumerate(VOICES, 2)]

MISFITS: list[Any] = [{"reply": 1, "to": None}, [1, 2], 3, {"reply": 1}]


def minutes(*speeches: tuple[str, str]) -> SourceDocument:
    blocks = (Block("Fares", "heading", 1), *(Block(text, speaker=who) for who, text in speeches))
    text = "\n".join(b.text for b in blocks)
    return SourceDocument(
        "minutes", text, "Minutes of May", publisher="Harbour Board", date="2024-05-02", blocks=blocks
    )


DOCUMENTS = [
    minutes(
        ("Cllr Moen", CHAIR),
        ("Mrs Bray", GUEST),
        ("Cllr Moen", "Then nobody counts coins at the gangway at all."),
        ("Mr Lee", "Agreed."),
        ("Cllr Moen", DOUBT),
    ),
    SourceDocument("letter", LETTER, "To the editor", publisher="Gazette", author="A. Lund"),
    SourceDocument("reprint", f"{LETTER} We print it again.", "A letter", publisher="Herald"),
    *(SourceDocument(f"voice{n}", text, publisher=f"Voice {n}") for n, text in enumerate(FOR)),
    SourceDocument(
        "crew", "Crews are paid by fares. Without fares the winter boats would be laid up.", publisher="Crew"
    ),
    SourceDocument("toll", "Whoever crosses should pay the toll, as on any bridge in the county.", publisher="Toll"),
    SourceDocument("gulls", "Gulls nest below the old pier and cry all night.", publisher="Birds"),
]
Verdicts = dict[str, dict[str, tuple[float, float]]]
"""By words of a passage and by side how surely it is for that side, and against it."""


class Bench:
    """The library, and a run over it from the verdicts on."""

    def __init__(self, store: Store, providers: Any, server: ModelServer) -> None:
        self.store, self.providers, self.server = store, providers, server
        self.passages = store.passages(range(1, 60))

    def id(self, words: str) -> int:
        return next(i for i, p in self.passages.items() if words in p.text)

    async def run(self, verdicts: Verdicts, sides: tuple[Perspective, ...] = PAIR, **framing: Any) -> RunState:
        sure: dict[str, dict[int, float]] = {p["id"]: {} for p in sides}
        against: dict[str, dict[int, float]] = {p["id"]: {} for p in sides}
        for i, passage in self.passages.items():
            said = next((v for words, v in verdicts.items() if words in passage.text), {})
            if REPRINT not in passage.text or REPRINT in verdicts:  # the judge reads a text once
                for own in sure:
                    sure[own][i], against[own][i] = said.get(own, (0.05, 0.05))
        originals = originals_of(self.passages)
        state = RunState(
            question=QUESTION,
            framing={"form": "polar", "question": QUESTION, "alternatives": [], "focus": "", **framing},  # type: ignore[typeddict-item]
            perspectives=list(sides),
            candidates={own: list(self.passages) for own in sure},
            support=sure,
            opposition=against,
            threshold=0.5,
            coverage={
                own: coverage_of(judged_evidence(found, 0.5, self.passages, originals), self.passages)
                for own, found in sure.items()
            },
        )
        graph: Any = StateGraph(RunState, context_schema=RunOptions)
        graph.add_sequence(
            [(n, partial(s, self.providers)) for n, s in (("select", select), ("write", write), ("verify", verify))]
        )
        graph.set_entry_point("select")
        found = await graph.compile().ainvoke(
            state, context=RunOptions.of(), config={"configurable": {"thread_id": "t"}}
        )
        return cast(RunState, found)

    def asked(self, statement: str) -> str:
        """The request for a side's case."""
        return next(p for p in self.server.prompts() if f"case you write:\n<statement>{statement}" in p)


@pytest.fixture
async def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Bench]:
    stand_in(monkeypatch)
    async with AsyncExitStack() as stack:
        server = stack.enter_context(ModelServer(strict=False))
        server.on(STAGES["check"], said_all)
        settings = load_settings(data_dir=tmp_path, openai_base_url=server.url, model="m", judge="batch")
        database = Database(settings.database)
        stack.callback(database.close)
        store = Store(database)
        providers = build_providers(settings, store)
        stack.push_async_callback(providers.aclose)
        Ingester(store, providers.search, WordEncoder()).ingest(DOCUMENTS, SAMPLES)
        yield Bench(store, providers, server)


CLEAR, WEAK, NOTHING = 0.95, 0.65, 0.05
YES_OF_IT, NO_OF_IT = {"p1": (CLEAR, NOTHING), "p2": (NOTHING, CLEAR)}, {"p1": (NOTHING, CLEAR), "p2": (CLEAR, NOTHING)}


_NUMBERED = re.compile(r"^(?:(<document [^>]*>))?\[(\d+)\] (.*?)(?:</document>)?$", re.MULTILINE)


def shown(prompt: str) -> list[str]:
    """The headings of documents, and the beginning of each numbered passage."""
    return [part for heading, n, text in _NUMBERED.findall(prompt) for part in (heading, f"{n} {text[:24]}") if part]


def number(prompt: str, text: str) -> int:
    """The number of the passage that holds the text."""
    return next(int(n) for _, n, words in _NUMBERED.findall(prompt) if text in words)


def empty(_: Any) -> dict[str, Any]:
    return {"claims": []}


async def test_a_writer_is_shown_what_was_judged_for_its_side_by_document(bench: Bench) -> None:
    bench.server.on(STAGES["write"], empty)
    weak, clear = {"p1": (WEAK, NOTHING), "p2": (NOTHING, WEAK)}, [("coins at", YES_OF_IT)]
    opposed = [(words, NO_OF_IT) for words in ("I doubt", "trippers", "toll")]
    await bench.run(dict([*clear, ("I move", weak), (LETTER, weak), *opposed]))
    assert shown(bench.asked(YES)) == [
        '<document title="Minutes of May" publisher="Harbour Board" date="2024-05-02">',
        "1 Fares | Cllr Moen: I mov",
        "2 Fares | Cllr Moen: Then ",
        '<document title="To the editor" publisher="Gazette" author="A. Lund">',
        "3 Ferries should be free. ",
        '<document title="Minutes of May" publisher="Harbour Board" date="2024-05-02">',
        "4 Fares | Mrs Bray: Free b",
        "5 Fares | Cllr Moen: I dou",
        '<document publisher="Toll">',
        "6 Whoever crosses should p",
    ], "the surest document first, each in its order, no copy; passages against the side last"
    assert bench.asked(YES).index("A nurse") < bench.asked(YES).index("Against the side speak:")


async def test_claims_keep_their_reasons_and_what_they_answer(bench: Bench) -> None:
    texts, guest = [LETTER.split(". ")[1], *FOR], GUEST.partition(" Those")[0]

    def case(body: Any) -> dict[str, Any]:
        prompt = body["messages"][-1]["content"]
        if f"write:\n<statement>{YES}" not in prompt:
            return {"claims": [{"text": guest, "passages": [number(prompt, GUEST)]}]}
        claims = [{"text": t, "passages": [number(prompt, t)], "reason": t[4:9]} for t in texts]
        again = {**claims[1], "text": f"Indeed {claims[1]['text']}"}
        return {"claims": [*claims, again]}

    def dispute(body: Any) -> dict[str, Any]:
        prompt = body["messages"][-1]["content"]
        numbers = {said: int(n) for n, said in re.findall(r'<claim number="(\d+)">(.+?)</claim>', prompt)}
        mine = numbers[texts[0]]
        pairs = (mine, numbers[guest]), (numbers[texts[1]], mine), (numbers[texts[2]], 99)
        return {"text": "", "claims": [], "replies": [*MISFITS, *({"reply": a, "to": b} for a, b in pairs)]}

    bench.server.on(STAGES["write"], case)
    bench.server.on(STAGES["crux"], dispute)
    found = await bench.run({LETTER: YES_OF_IT, **{text[:20]: YES_OF_IT for text in FOR}, "trippers": NO_OF_IT})
    mine = [c for c in found["claims"] if c["perspective"] == "p1"]
    assert [(c["text"], c.get("reason")) for c in mine] == [(t, t[4:9]) for t in texts]
    assert [c.get("answers") for c in mine] == [guest, *[None] * 10], "no claim answers its own side"
    assert found["drafts"][0]["passages"] == [bench.id(LETTER)], "its copy is no second source"
    assert {i for c in found["claims"] if c["perspective"] == "p2" for i in c["passages"]} <= {bench.id("trippers")}


@pytest.mark.parametrize(
    ("speakers", "kept"),
    [
        (["A nurse on the far shore"], "A nurse on the far shore"),
        (["A. Lund, Gazette"], "A. Lund, Gazette"),
        (["The harbour master"], None),  # no word of the letter
        ([" "], None),
        ([None], None),
        ("A. Lund", None),
        ([], None),
        (["A. Lund www.lund.example"], None),
    ],
)
async def test_a_claim_keeps_the_speaker_whom_its_document_names(bench: Bench, speakers: Any, kept: str | None) -> None:
    text = "A nurse pays nine pounds a day to reach the ward"  # each word stands in the letter

    def case(body: Any) -> dict[str, Any]:
        prompt = body["messages"][-1]["content"]
        return {"claims": [{"text": text, "passages": [number(prompt, LETTER)], "speakers": speakers}]}

    bench.server.on(STAGES["write"], case)
    found = await bench.run({LETTER: YES_OF_IT})
    mine = next(c for c in found["claims"] if c["perspective"] == "p1")
    assert mine["text"] == text, "a claim holds without a speaker"
    assert mine["speakers"] == ({bench.id(LETTER): kept} if kept else {})


async def test_the_crux_of_an_open_question_and_its_replies_are_of_all_sides(bench: Bench) -> None:
    payers = {"fares": "Crews", "the county": DOUBT, "shops": "trippers", "tolls": "crosses"}
    sides = tuple(side(n, f"Ferries should be paid for by {payer}.") for n, payer in enumerate(payers, 1))
    whole = (next(p.text for p in bench.passages.values() if words in p.text) for words in payers.values())
    texts = {s["statement"]: re.split(r"(?<=\.) ", text)[0] for s, text in zip(sides, whole, strict=True)}
    fares, county, shops, tolls = texts.values()

    def case(body: Any) -> dict[str, Any]:
        prompt = body["messages"][-1]["content"]
        text = next(t for statement, t in texts.items() if f"write:\n<statement>{statement}" in prompt)
        return {"claims": [{"text": text, "passages": [number(prompt, text)]}]}

    def dispute(body: Any) -> dict[str, Any]:
        found = re.findall(r'<claim number="(\d+)">(.+?)</claim>', body["messages"][-1]["content"])
        assert [said for _, said in found] == [*texts.values()]
        replies = [{"reply": 4, "to": 1}, {"reply": 2, "to": 3}, {"reply": 3, "to": 3}]
        return {"text": f"{fares} {shops}", "claims": [1, 2, 3, 4], "replies": replies}

    bench.server.on(STAGES["write"], case)
    bench.server.on(STAGES["crux"], dispute)
    sure = {words: {f"p{n}": (CLEAR, NOTHING)} for n, words in enumerate(payers.values(), 1)}
    found = await bench.run(sure, sides, form="open")
    crux = next(c for c in found["claims"] if c["role"] == "crux")
    assert {*crux["passages"]} == {bench.id(words) for words in payers.values()}
    met = {c["text"]: c["answers"] for c in found["claims"] if "answers" in c}
    assert met == {tolls: fares, county: shops}


@pytest.mark.parametrize("replies", [None, "none", MISFITS])
def test_a_crux_is_kept_whatever_its_replies_are(replies: Any) -> None:
    read = read_reply(json.dumps({"text": "All turns on cost.", "claims": [1, 2], "replies": replies}), WrittenCrux)
    assert (read.text, read.claims, read.replies) == ("All turns on cost.", [1, 2], [])


async def test_a_side_for_which_a_model_wrote_nothing_is_named(bench: Bench) -> None:
    bench.server.on(STAGES["write"], {"claims": []})
    found = await bench.run({LETTER: YES_OF_IT, "trippers": NO_OF_IT})
    assert "The model wrote no claim for 'side 2'." in [n["message"] for n in found["notes"]]


async def test_claims_that_say_the_same_are_merged(bench: Bench) -> None:
    text = "A free ferry lets nurses and carters of all the far villages reach the town by seven every morning"
    reworded, another = {"text": f"{text} indeed."}, {"text": text.replace("seven", "eight")}
    own = {"text": text, "perspective": "p1", "role": "case", "support": 0.9}
    changes: Any = ({}, reworded, {"perspective": "p2"}, {"objection": True}, another)
    given: Any = [{**own, "passages": [n], **changed} for n, changed in enumerate(changes, 1)]
    merged = await merge_reworded(bench.providers.models, given)
    assert [c["passages"] for c in merged] == [[1, 2], [3], [4], [5]]


async def test_people_who_tick_different_answers_are_not_merged(bench: Bench) -> None:
    ticked = [f"Should the phone kiosk on Quay Lane be removed: {said}." for said in ("no", "yes", "unsure", "no")]
    own: Any = {"perspective": "", "role": "case", "support": 0.0}
    given: Any = [{**own, "text": text, "passages": [n]} for n, text in enumerate(ticked, 1)]
    merged = await merge_reworded(bench.providers.models, given)
    assert [c["passages"] for c in merged] == [[1, 4], [2], [3]]


async def test_an_open_question_has_objections(bench: Bench) -> None:
    sides = side(1, "Ferries should be paid for by fares."), side(2, "Ferries should be paid for by the state.")
    crews, guest = "Crews are paid by fares.", GUEST.partition(" Those")[0]
    case = {"claims": [{"text": crews, "passages": [1]}], "objections": [{"text": guest, "passages": [2]}]}
    bench.server.on("objections: up to 3", case)
    found = await bench.run({"Crews": {"p1": (CLEAR, NOTHING)}, "trippers": {"p1": (NOTHING, CLEAR)}}, sides)
    mine = [(c["text"], c.get("objection"), c["passages"]) for c in found["claims"] if c["perspective"] == "p1"]
    assert mine == [(crews, None, [bench.id("Crews")]), (guest, True, [bench.id("trippers")])]


async def test_an_objection_that_the_check_drops_is_counted_in_the_note(bench: Bench) -> None:
    sides = side(1, "Ferries should be paid for by fares."), side(2, "Ferries should be paid for by the state.")
    invented = {"text": "Geese sold hats in Oslo.", "passages": [2]}
    case = {"claims": [{"text": "Crews are paid by fares.", "passages": [1]}], "objections": [invented]}
    bench.server.on("objections: up to 3", case)
    found = await bench.run({"Crews": {"p1": (CLEAR, NOTHING)}, "trippers": {"p1": (NOTHING, CLEAR)}}, sides)
    left_out = "1 sentence did not stand up to the check against the sources and was left out."
    assert (len(found["claims"]), [n.text for n in stage_notes(found)]) == (1, [left_out])


INVENTED = {"claims": [{"text": "Geese sold hats in Oslo.", "passages": [1]}]}


@pytest.mark.parametrize("reply", [{"claims": []}, INVENTED], ids=["empty", "invented"])
async def test_only_judged_passages_are_quoted(bench: Bench, reply: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(QuickJudge, "_score", staticmethod(lambda pair: 0.9999 if pair.statement == YES else 0.0001))
    bench.server.on(STAGES["check"], {"claims": []})
    bench.server.on(STAGES["write"], reply)
    nothing = {"p1": (NOTHING, NOTHING), "p2": (NOTHING, NOTHING)}
    found = await bench.run({LETTER: YES_OF_IT, "toll": {"p1": (NOTHING, WEAK), "p2": (WEAK, NOTHING)}})
    assert {i for c in found["claims"] if c["perspective"] == "p1" for i in c["passages"]} == {bench.id(LETTER)}
    assert {i for c in found["claims"] if c["perspective"] == "p2" for i in c["passages"]} <= {bench.id("toll")}
    theses = {(r["perspective"], r["thesis"]["passage"]) for r in found["responses"]}
    assert theses <= {("p1", bench.id(LETTER)), ("p2", bench.id("toll"))}
    found = await bench.run({"Gulls": nothing})
    sided = [c for c in found["claims"] if c["perspective"]]
    assert (sided, found["responses"]) == ([], []), "all verdicts were 'none'"

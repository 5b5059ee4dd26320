"""The public answer: numbers that resolve, words for evidence, the schema that is published."""

import json
import subprocess
import sys
from typing import Any

import pytest
from conftest import ROOT
from providers import side

from agent.answer.assemble import assemble
from agent.answer.model import Answer, AnswerDocument, DocumentStance, strength
from agent.answer.summary import THOUGH, summarise
from agent.answer.words import source_line, strength_of
from agent.state import Claim, Coverage, FramingState, RunState, StageName, StageNote
from tools.passages import Passage

FRAMING = FramingState(form="polar", question="Should towns build bridges?", alternatives=[], focus="")


def coverage(passages: int, sources: int, status: Any = None) -> Coverage:
    status = status or ("supported" if passages > 1 and sources > 1 else "thin" if passages else "not_found")
    return Coverage(status=status, passages=passages, sources=sources, strongest=0.9, ids=[], copies=0, reworded=0)


def claim(perspective: str, text: str, *passages: int, role: Any = "case") -> Claim:
    return Claim(perspective=perspective, text=text, passages=list(passages), support=0.87654, role=role)


def state(claims: list[Claim], **more: Any) -> RunState:
    sides = [side(1, "Yes.", "supports", "p2"), side(2, "No.", "opposes", "p1"), side(3, "Later.")]
    found = {"p1": coverage(7, 4), "p2": coverage(2, 2), "p3": coverage(0, 0)}
    made = RunState(
        question="Bridges?",
        framing=FRAMING,
        perspectives=sides,
        coverage=found,
        claims=claims,
        queries={"p3": ["when"]},
    )
    made.update(more)  # type: ignore[typeddict-item]  # fields of the state
    return made


# Documents a and b: passages 1 and 2 are of one document, 3 of another; 4 has the same name in another collection.
PASSAGES = {
    1: Passage(1, "a", "samples", "One.", title="A", publisher="Sample Press", kind="news", date="2026-01-02"),
    2: Passage(2, "a", "samples", "Two.", title="A", publisher="Sample Press", kind="news", date="2026-01-02"),
    3: Passage(3, "b", "mine", "Three."),
    4: Passage(4, "a", "mine", "Four."),
}


def made(run: RunState, passages: dict[int, Passage] | None = None) -> Answer:
    return assemble("run", run, PASSAGES if passages is None else passages, {"all": "test"}, ["Q1?"], 1.5)


def test_numbers_are_dense_in_order_of_use_and_a_document_has_one() -> None:
    claims = [claim("p1", "Three.", 3, role="thesis"), claim("p1", "One.", 1), claim("p2", "Two.", 2, 4)]
    answer = made(state(claims))
    assert [c.citations for p in answer.perspectives for c in p.claims] == [[1], [2], [2, 3]]
    assert [(c.number, c.document_id, c.collection) for c in answer.citations] == [
        (1, "b", "mine"),
        (2, "a", "samples"),
        (3, "a", "mine"),
    ]
    cited = answer.citations[1]
    assert (cited.quote, cited.passage_id, cited.sample, cited.support) == ("One.", 1, True, 0.877)
    assert [(q.passage_id, q.quote) for q in cited.more] == [(2, "Two.")]
    assert not answer.citations[0].sample


def test_the_ledger_has_a_line_for_every_side_also_for_the_hole() -> None:
    answer = made(state([claim("p1", "One.", 1)]))
    assert [(c.perspective, c.status, c.strength, c.queries) for c in answer.coverage] == [
        ("p1", "supported", "strong", []),
        ("p2", "supported", "some", []),
        ("p3", "not_found", "none", ["when"]),
    ]


def test_a_claim_whose_source_is_gone_is_left_out() -> None:
    answer = made(state([claim("p1", "One.", 1), claim("p2", "Three.", 3)]), {1: PASSAGES[1]})
    assert [c.text for p in answer.perspectives for c in p.claims] == ["One."]
    assert [c.number for c in answer.citations] == [1]


def test_without_a_claim_nothing_was_found_and_the_sides_are_listed_all_the_same() -> None:
    answer = made(state([], notes=[{"stage": "search", "message": "It failed."}]))
    assert (answer.outcome, answer.nearest_questions) == ("nothing_found", ["Q1?"])
    assert [s.name for s in answer.perspectives] == ["side 1", "side 2", "side 3"]
    assert [n.text for n in answer.notes] == ["It failed."]
    assert answer.usage.passages_judged == 0
    assert answer.summary == f"Nothing on this was found, {THOUGH}."
    assert THOUGH in made(state([], notes=[], unread_pages={"https://example.org": "took too long"})).summary
    read = made(state([], support={"p1": {1: 0.1, 3: 0.1}}))
    assert read.summary == "Nothing on this was found in the 2 documents that were read."
    assert made(state([], earlier=["Bridges?"])).nearest_questions == []  # the topics of the samples go on nothing


def test_what_is_on_the_question_stands_under_no_side() -> None:
    on_it = claim("", "Four.", 4, role="also")
    run = state([on_it], framing={**FRAMING, "form": "plain"}, perspectives=[])
    answer = made(run)
    assert (answer.outcome, [c.text for c in answer.also], answer.citations[0].support) == ("no_sides", ["Four."], None)
    assert (answer.nearest_questions, answer.summary) == ([], "What the sources say on this:")
    sided = made(state([on_it], support={"p1": {1: 0.1, 4: 0.1}}))
    assert (sided.outcome, [s.name for s in sided.perspectives]) == ("no_sides", ["side 1", "side 2", "side 3"])
    assert sided.summary == "2 documents are on this; Steelman could not tell which side any of them takes."
    assert made(state([on_it, claim("p1", "One.", 1)])).outcome == "answered"


def test_notes_tell_what_was_dropped_unjudged_and_unequal() -> None:
    claims = [claim("p1", f"{n}.", 1) for n in range(5)] + [claim("p2", "Two.", 2)]
    dropped = [{"perspective": "p1", "text": "x", "check": "side"}]
    notes = {n.kind: n.text for n in made(state(claims, dropped=dropped, unjudged=30)).notes}
    assert notes["dropped"] == "1 sentence did not stand up to the check against the sources and was left out."
    assert notes["unjudged"].startswith("30 passages found were left unread")
    assert notes["balance"] == (
        "5 claims are shown for ‘side 1’ and 1 for ‘side 2’: that does not say how much there is for either."
    )


@pytest.mark.parametrize(
    ("sources", "shown", "word"),
    [(4, 2, "strong"), (4, 1, "some"), (3, 9, "some"), (2, 2, "some"), (1, 4, "weak"), (3, 0, "none"), (0, 0, "none")],
)
def test_strength_counts_independent_sources(sources: int, shown: int, word: str) -> None:
    assert strength(sources, shown) == word


def document(*stances: tuple[str, Any], not_quoted: Any = "") -> AnswerDocument:
    told = [DocumentStance(perspective=side, argues=argues) for side, argues in stances]
    facts = {"id": "d", "collection": "c", "title": "", "url": "", "publisher": "", "kind": "news", "date": ""}
    return AnswerDocument.model_validate({**facts, "stances": told, "quoted": [], "not_quoted": not_quoted})


def summary(*stances: Any, documents: list[AnswerDocument], focus: str = "") -> str:
    """The first line on sides p0, p1 … of these stances."""
    sides = [side(i, f"S{i}.", stance) for i, stance in enumerate(stances)]
    state: Any = {"perspectives": sides, "framing": FRAMING | {"focus": focus}}
    return summarise("answered", state, documents)


@pytest.mark.parametrize(("stage", "headline"), [("search", "searched"), ("judge", "read")])
def test_time_that_ran_out_is_the_headline_of_nothing(stage: StageName, headline: str) -> None:
    failures = [StageNote(stage=stage, message="the time for it was used up.", kind="late")]
    state = RunState(framing=FRAMING, perspectives=[], coverage={}, claims=[], notes=failures)
    said = summarise("nothing_found", state, [])
    assert said.startswith(f"Time ran out before all was {headline}. Nothing was found by then, which does not say")


FACED = ("supports", "opposes", "other")


def test_the_first_line_counts_each_document_once() -> None:
    mixed = [
        document(("p0", "for")),
        document(("p1", "for")),
        document(("p1", "for"), ("p2", "for")),
        document(("p0", "for"), ("p1", "for"), ("p2", "for")),
        document(("p2", "for")),
        document(("p2", "against")),
        document(("p1", "for"), not_quoted="repeats"),
        document(not_quoted="no_side"),
        document(not_quoted="off_question"),
        document(not_quoted="unread"),
    ]
    told = "1 argues yes, 2 no, 1 both, 1 for another way and 1 only against another way"
    assert summary(*FACED, documents=mixed) == f"Of 7 documents on this, {told}; for 1 Steelman could not tell."
    assert summary(*FACED, documents=mixed, focus="the cost").startswith(
        "On the cost, of 7 documents quoted here, 1 argues"
    )
    assert summary(*FACED, documents=mixed[:1]) == "Of 1 document on this, 1 argues yes."
    few = [document(("p0", "for"), ("p1", "for")), document(("p1", "against")), document(("p3", "for"))]
    said = "1 argues for ‘side 3’, 1 for more than one and 1 only against an answer."
    assert summary(*["other"] * 4, documents=few) == f"Of 3 documents on this, {said}"
    many = [document(("p3", "for")), document(("p4", "for"))]
    assert summary(*["other"] * 5, documents=many) == "Of 2 documents on this, 2 argue for one of the answers."


def test_what_could_not_be_told_is_said_of_the_reader_and_of_no_document() -> None:
    untold, yes = document(not_quoted="no_side"), document(("p0", "for"))
    assert summary(*FACED, documents=[untold] * 5) == (
        "5 documents are on this; Steelman could not tell which side any of them takes."
    )
    assert summary(*FACED, documents=[untold]).startswith(
        "1 document is on this; Steelman could not tell which side it takes"
    )
    assert summary(*FACED, documents=[yes, yes, untold]) == (
        "Of 3 documents on this, 2 argue yes; for 1 Steelman could not tell."
    )
    by_name = made(state([claim("p1", "One.", 1)], support={"p1": {1: 0.9, 3: 0.1}}, served_by={"judge": "embedded-x"}))
    assert by_name.summary.endswith("for 1 Steelman could not tell.")


def test_documents_are_counted_by_the_stance_of_all_their_sentences_and_copies_once() -> None:
    read = {"p1": dict.fromkeys((1, 2, 3, 4), 0.9)}
    run = state([claim("p1", "One.", 1), claim("p2", "Four.", 4)], support=read, document_stances={"p2": [2, 3]})
    stances = {d.id + d.collection: [s.perspective for s in d.stances] for d in made(run).documents}
    # Document a argues for p2 by all its sentences, though one of them is quoted for p1.
    assert stances == {"asamples": ["p2"], "bmine": ["p2"], "amine": ["p2"]}
    passages = {**PASSAGES, 5: Passage(5, "copy", "mine", "Three.")}
    support = {"p1": dict.fromkeys(passages, 0.1)}
    same = {1: 1, 2: 2, 3: 3, 4: 4, 5: 3}
    copied = assemble("run", state([], support=support), passages, {}, [], 1.0, same)
    assert {d.id: d.not_quoted for d in copied.documents}["copy"] == "repeats"


def test_a_sides_line_counts_what_is_shown_and_its_sources() -> None:
    claims = [claim("p1", "One.", 1, role="thesis"), claim("p1", "Two.", 2), claim("p2", "Three.", 3, 4)]
    answer = made(state(claims, drafts=claims, duplicate_of={4: 3}))
    assert [(c.strength, c.passages, c.sources) for c in answer.coverage] == [
        ("weak", 2, 1),
        ("weak", 1, 1),
        ("none", 0, 0),
    ]
    assert [strength_of(answer, s) for s in answer.perspectives] == [
        "2 quotations from one source alone: Sample Press",
        "1 quotation from 2 documents that count as one source",
        "nothing sure enough to quote for this side",
    ]
    assert strength_of(made(state([])), answer.perspectives[2]) == "nothing found"
    retrieved = made(state([], selected={"p1": [1]}))
    assert strength_of(retrieved, retrieved.perspectives[0]) == "7 passages from 4 sources"


def test_the_published_schema_is_the_models() -> None:
    command = [sys.executable, "-m", "agent.answer.model"]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert (ROOT / "docs" / "answer.schema.json").read_text() == printed, (
        "make it again: python -m agent.answer.model > docs/answer.schema.json"
    )
    assert json.loads(printed)["properties"]["schema_version"]["const"] == "4.1"


def test_a_source_says_where_its_words_stand() -> None:
    placed = {
        1: Passage(1, "book.pdf", "mine", "One.", title="A book", section="Costs", page=14, last_page=14),
        2: Passage(2, "book.pdf", "mine", "Two.", title="A book", page=200, last_page=201),
        3: Passage(3, "1", "mine", "Three.", key="/x/rents.csv#1"),
        4: Passage(4, "1", "mine", "Four.", key="/x/zoos.csv#1"),
    }
    answer = made(state([claim("p1", "One.", 1), claim("p1", "Two.", 2), claim("p2", "Three.", 3, 4)]), placed)
    assert [(c.number, c.document_id, c.page, c.section) for c in answer.citations] == [
        (1, "book.pdf", 14, "Costs"),
        (2, "1", 0, ""),
        (3, "1", 0, ""),  # rows of two files with the same id are two sources
    ]
    assert source_line(answer.citations[0]) == "A book. book.pdf, p. 14, “Costs”; pp. 200–201"
    assert [source_line(c).strip() for c in answer.citations[1:]] == ["rents.csv, 1", "zoos.csv, 1"]
    assert "/x/" not in answer.model_dump_json()  # where a file lies on this machine is nobody's business

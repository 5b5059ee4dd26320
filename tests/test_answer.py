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
from agent.answer.words import source_line
from agent.state import Claim, Coverage, CoverageStatus, FramingState, RunState, StageName, StageNote, Tier
from tools.passages import Passage

FRAMING = FramingState(form="polar", question="Should towns build bridges?", alternatives=[], focus="")


def coverage(passages: int, sources: int, status: Any = None) -> Coverage:
    status = status or ("supported" if passages > 1 and sources > 1 else "thin" if passages else "not_found")
    return Coverage(
        status=status, passages=passages, sources=sources, strongest=0.9, ids=[], copies=0, leaning=[], reworded=0
    )


def claim(perspective: str, text: str, *passages: int, role: Any = "case", tier: Tier = "case") -> Claim:
    return Claim(perspective=perspective, text=text, passages=list(passages), support=0.87654, role=role, tier=tier)


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


def test_without_a_claim_nothing_was_found() -> None:
    answer = made(state([], notes=[{"stage": "search", "message": "It failed."}]))
    assert (answer.outcome, answer.perspectives, answer.nearest_questions) == ("nothing_found", [], ["Q1?"])
    assert [n.text for n in answer.notes] == ["It failed."]
    assert answer.usage.passages_judged == 0
    assert answer.summary == f"Nothing was found that makes a case for any side of this question, {THOUGH}."
    assert THOUGH in made(state([], notes=[], unread_pages={"https://example.org": "took too long"})).summary
    assert THOUGH not in made(state([], notes=[])).summary


def test_a_question_of_fact_shows_sentences_without_a_side_only() -> None:
    run = state([claim("", "Four.", 4, role="also")], framing={**FRAMING, "form": "plain"}, perspectives=[])
    answer = made(run)
    assert (answer.outcome, [c.text for c in answer.also], answer.citations[0].support) == (
        "no_sides",
        ["Four."],
        None,
    )
    assert answer.nearest_questions == []


def test_notes_tell_what_was_dropped_unjudged_and_unequal() -> None:
    claims = [claim("p1", f"{n}.", 1) for n in range(5)] + [claim("p2", "Two.", 2)]
    dropped = [{"perspective": "p1", "text": "x", "check": "side"}]
    notes = {n.kind: n.text for n in made(state(claims, dropped=dropped, unjudged=30)).notes}
    assert notes["dropped"] == "1 sentence did not pass verification and was left out."
    assert notes["unjudged"].startswith("30 passages stayed unjudged")
    assert notes["balance"] == "5 claims for ‘side 1’ and 1 for ‘side 2’: what was found is unequal."


@pytest.mark.parametrize(
    ("status", "sources", "shown", "word"),
    [
        ("supported", 4, 2, "strong"),
        ("supported", 4, 1, "some"),  # of strong evidence at least two claims can be shown
        ("supported", 3, 9, "some"),
        ("supported", 2, 2, "some"),
        ("thin", 1, 4, "weak"),  # however many passages it has
        ("leaning", 0, 0, "unsure"),
        ("not_found", 0, 0, "none"),
    ],
)
def test_strength_counts_independent_sources(status: CoverageStatus, sources: int, shown: int, word: str) -> None:
    assert strength(status, sources, shown) == word


def document(*stances: tuple[str, Any], not_quoted: Any = "") -> AnswerDocument:
    told = [DocumentStance(perspective=side, argues=argues) for side, argues in stances]
    facts = {"id": "d", "collection": "c", "title": "", "url": "", "publisher": "", "kind": "news", "date": ""}
    return AnswerDocument.model_validate({**facts, "stances": told, "quoted": [], "not_quoted": not_quoted})


def summary(
    *found: tuple[Any, Coverage],
    outcome: Any = "answered",
    silent: tuple[int, ...] = (),
    beside: tuple[int, ...] = (),
    documents: list[AnswerDocument] | None = None,
) -> str:
    """silent: sides without a claim. beside: sides of which every claim merely leans. documents: without them each side
    has one for each of its sources."""
    sides = [side(i, f"S{i}.", stance) for i, (stance, _) in enumerate(found)]
    ledger = {f"p{i}": c for i, (_, c) in enumerate(found)}
    shown = [i for i, (_, c) in enumerate(found) if (c["passages"] or i in beside) and i not in silent]
    claims = [claim(f"p{i}", f"Claim {i}.", i, tier="leaning" if i in beside else "case") for i in shown]
    if documents is None:
        documents = [document((p, "for")) for p, c in ledger.items() for _ in range(c["sources"])]
    state: Any = {"perspectives": sides, "coverage": ledger, "framing": FRAMING, "claims": claims}
    return summarise(outcome, state, documents)


@pytest.mark.parametrize(("stage", "headline"), [("search", "searched"), ("judge", "judged")])
def test_time_that_ran_out_is_the_headline_of_nothing(stage: StageName, headline: str) -> None:
    failures = [StageNote(stage=stage, message="the time for it was used up.", kind="late")]
    state = RunState(framing=FRAMING, perspectives=[], coverage={}, claims=[], notes=failures)
    said = summarise("nothing_found", state, [])
    assert said.startswith(f"Time ran out before all was {headline}.")
    assert "Nothing was found" not in said


def test_the_summary_in_every_case() -> None:
    yes, no, other = "supports", "opposes", "other"
    some, none = coverage(3, 2), coverage(0, 0)
    assert summary((yes, some), (no, coverage(1, 1))) == "Of 3 documents read, 2 argue for, 1 against."
    assert summary((yes, none), (no, some)) == (
        "All that was found to make a case argues against it; no case for the other side was found. "
        "Of 2 documents read, 2 argue against."
    )
    assert summary((yes, some), (no, none)).startswith("All that was found to make a case argues for it; no case")
    leaning = {**none, "leaning": [7]}
    assert "nothing that was found surely argues for the other side" in summary((yes, some), (no, leaning))  # type: ignore[arg-type]
    assert summary((yes, some), (no, none), beside=(1,)).startswith(
        "A case for it was found. What may speak for the other side is shown apart. Of 2 documents"
    )
    assert summary((yes, some), (no, some), (other, some)).endswith("2 argue for, 2 against, 2 for another way.")
    assert summary((other, some), (other, some), (other, none)) == (
        "The sources found give 2 different answers. Of 4 documents read, 2 argue for ‘side 0’, 2 for ‘side 1’."
    )
    assert summary((yes, none), (no, none), (other, some)).startswith(
        "The sources found give one answer. Of 2 documents"
    )
    assert summary((yes, some)).startswith("The sources found give one answer.")  # a person dropped the other side
    assert summary((yes, some), (no, some), silent=(1,)).startswith(
        "A case for it was found; 3 passages lean the other way without a sentence to quote."
    )
    assert summary((yes, some), (no, some), (other, some), silent=(0, 1)).startswith("Neither side was found")
    assert "question of fact" in summary(outcome="no_sides")
    assert "Nothing was found" in summary(outcome="nothing_found")


def test_the_first_line_counts_each_document_once() -> None:
    some = coverage(3, 2)
    faced = [("supports", some), ("opposes", some), ("other", some)]
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
    assert summary(*faced, documents=mixed) == (
        "Of 9 documents read, 1 argues for, 2 against, 1 both ways, 1 for another way, 1 only against another way; "
        "1 says the same as another, 1 takes no clear side, 1 is off the question."
    )
    twice = summary(*faced, documents=[document(("p0", "for")), *(2 * mixed[6:9])])
    assert twice.endswith("2 say the same as others, 2 take no clear side, 2 are off the question.")
    assert summary(*faced, documents=mixed[:1]) == "Of 1 document read, 1 argues for."
    few = [document(("p0", "for"), ("p1", "for")), document(("p1", "against"))]
    assert summary(*[("other", some)] * 4, documents=[*few, document(("p3", "for"))]).endswith(
        "Of 3 documents read, 1 argues for ‘side 3’, 1 for more than one, 1 only against an answer."
    )
    assert summary(*[("other", some)] * 5, documents=[document(("p3", "for")), document(("p4", "for"))]).endswith(
        "5 different answers. Of 2 documents read, 2 argue for one of them."
    )


def test_the_ledger_tells_the_leaning_passages_apart_and_counts_none_of_them() -> None:
    leans = Coverage(
        status="leaning", passages=0, sources=0, strongest=0.0, ids=[], copies=0, leaning=[2, 3], reworded=0
    )
    found = {"p1": coverage(7, 4), "p2": leans, "p3": coverage(0, 0)}
    claims = [claim("p1", "One.", 1, role="thesis"), claim("p2", "Two.", 2, tier="leaning")]
    answer = made(state(claims, coverage=found, drafts=claims))
    assert [(c.status, c.strength, c.passages, c.sources, c.leaning) for c in answer.coverage] == [
        ("supported", "some", 7, 4, 0),  # one claim shown is too little to be strong
        ("leaning", "unsure", 0, 0, 2),
        ("not_found", "none", 0, 0, 0),
    ]
    assert [[c.tier for c in s.claims] for s in answer.perspectives] == [["case"], ["leaning"], []]
    more = [*claims, claim("p1", "Four.", 4)]
    assert made(state(more, coverage=found, drafts=more)).coverage[0].strength == "strong"
    shown = [claims[0], claim("p1", "Four.", 4, tier="leaning"), claims[1]]
    assert made(state(shown, coverage=found, drafts=shown)).coverage[0].strength == "some"


def test_the_published_schema_is_the_models() -> None:
    command = [sys.executable, "-m", "agent.answer.model"]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert (ROOT / "docs" / "answer.schema.json").read_text() == printed, (
        "make it again: python -m agent.answer.model > docs/answer.schema.json"
    )
    assert json.loads(printed)["properties"]["schema_version"]["const"] == "3.0"


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

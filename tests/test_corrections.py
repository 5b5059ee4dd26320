"""What a reader changed in an answer: laid over it when it is read, by its owner alone, and taken back."""

import contextlib
import re
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import ROOT, Suite
from hostile import HOSTILE
from sqlalchemy import select
from test_judge_training import write_judge_data
from toll_run import CLAIMS, TEXTS, toll_answer, toll_run
from written_answers import stands

from agent.answer.corrections import ALSO, OFF_QUESTION, Corrections, apply_corrections, claim_key
from agent.answer.document_list import document_facts
from agent.answer.files import export_answer
from agent.answer.followups import counter_target, summarise_answer
from agent.answer.model import (
    Answer,
    AnswerClaim,
    CoverageLine,
    DocumentResponse,
    DocumentStance,
    Note,
    ResponseGroup,
    ResponseSentence,
)
from agent.answer.outline import to_terminal
from agent.answer.summary import summary_of
from agent.answer.wording import evidence_counts
from agent.evidence.sentences import PEOPLE_SPEAK
from agent.options import RunOptions
from agent.runs.store import RunStore
from agent.settings import Settings
from agent.state import Claim
from evals.__main__ import main
from evals.suites.corrections import statement_of
from evals.training.data import load_corpus, rows_of
from tools.store.database import Database
from tools.store.schema import SCHEMA_VERSION
from tools.store.schema import corrections as corrections_table

pytestmark = pytest.mark.both_stores

MILK = TEXTS[12]
YES = DocumentStance(perspective="p1", argues="for")


def quoting_claims() -> list[Claim]:
    claims = [c for c in CLAIMS if not c["text"].startswith("Reason ")]
    return [Claim(**{**c, "text": TEXTS[c["passages"][0]], "written": False, "role": "case"}) for c in claims]


def quoting() -> Answer:
    """The toll's answer in the sources' own words, without claims that share a passage."""
    own = quoting_claims()
    return toll_answer(toll_run(claims=own, drafts=own))


def moving(answer: Answer, *moves: tuple[str, str]) -> Answer:
    keys = {
        c.text: claim_key(answer, c) for c in (*answer.also, *(c for s in answer.perspectives for c in s.all_claims))
    }
    return apply_corrections(answer, {keys[text]: to for text, to in moves})


def texts(answer: Answer, side: str) -> list[str]:
    return [c.text for s in answer.perspectives if s.id == side for c in s.claims]


def line(answer: Answer, side: str) -> CoverageLine:
    return next(c for c in answer.coverage if c.perspective == side)


def told(*moves: str) -> str:
    """What the note says of the moves."""
    return f"A reader moved {len(moves)} quotation{'s' * (len(moves) > 1)}: {'; '.join(moves)}."


MILK_TO_YES = "“Neighbours who sell their milk across the river would lose …” from No to Yes"
TOLL_HOUSE = "“The toll house would cost more than it collects in its …” from No to"
REPAIRS_OFF = "“Repairs cost 41,000 a year, and those who cross should …” from Yes to ‘Not on this question’"


def noted(answer: Answer) -> list[str]:
    return [note.text for note in answer.notes if note.kind == "corrected"]


def test_a_quotation_on_the_wrong_side_moves_with_all_that_is_counted_from_it() -> None:
    before = quoting()
    after = moving(before, (MILK, "p1"))
    assert [len(s.claims) for s in before.perspectives] == [2, 5, 1]
    assert [len(s.claims) for s in after.perspectives] == [3, 4, 1]
    assert texts(after, "p1")[-1] == MILK
    assert [(line(a, "p1").passages, line(a, "p1").sources) for a in (before, after)] == [(2, 2), (3, 3)]
    assert [(line(a, "p2").passages, line(a, "p2").sources) for a in (before, after)] == [(5, 4), (4, 3)]
    assert [line(a, "p2").strength for a in (before, after)] == ["strong", "some"]
    assert line(after, "p3") == line(before, "p3")
    assert "4 quotations from 3 sources" in evidence_counts(after, after.perspectives[1])
    assert before.summary != after.summary
    assert ["2 argue yes, 5 no" in before.summary, "3 argue yes, 4 no" in after.summary] == [True, True]
    document = next(d for d in after.documents if d.id == "bridge/12.md")
    assert document.stances == [DocumentStance(perspective="p1", argues="for")]
    assert noted(after) == [told(MILK_TO_YES)]
    assert Answer.model_validate_json(after.model_dump_json()) == after


def test_what_is_made_from_the_answer_follows() -> None:
    after = moving(quoting(), (MILK, "p1"), (TEXTS[1], OFF_QUESTION))
    said = told(REPAIRS_OFF, MILK_TO_YES)
    for made in (
        *(export_answer(after, ending).decode() for ending in (".md", ".html")),
        to_terminal(after, 100, False),
    ):
        flat = " ".join(made.split())
        assert said in flat
        assert TEXTS[1] not in flat
        assert flat.index(TEXTS[2]) < flat.index(MILK) < flat.index(TEXTS[3])
    assert TEXTS[1] not in "".join(text for text, _ in summarise_answer(after).lines)
    number = next(c.citations[0] for s in after.perspectives for c in s.claims if c.text == MILK)
    target = counter_target(f"Strongest case against {number}?", [after])
    assert target
    assert (target["side"], target["text"]) == ("Yes", MILK)


def test_off_the_question_takes_the_source_with_it_and_also_keeps_it() -> None:
    before = quoting()
    off = moving(before, (MILK, OFF_QUESTION))
    gone = next(c.number for c in before.citations if c.quote == MILK)
    assert gone not in {c.number for c in off.citations}
    document = next(d for d in off.documents if d.id == "bridge/12.md")
    assert (document.quoted, document.stances, document.not_quoted) == ([], [], "off_question")
    beside = moving(before, (MILK, ALSO))
    assert [(c.text, c.role) for c in beside.also] == [(TEXTS[8], "also"), (MILK, "also")]
    document = next(d for d in beside.documents if d.id == "bridge/12.md")
    assert (document.quoted, document.stances, document.not_quoted) == ([gone], [], "")
    from_also = moving(before, (TEXTS[8], "p2"))
    assert (from_also.also, texts(from_also, "p2")[-1]) == ([], TEXTS[8])
    assert {c.role for c in from_also.perspectives[1].claims} == {"case"}


def test_a_document_off_the_question_is_not_counted_unless_more_of_it_is_on_it() -> None:
    before = quoting()
    others = "1 for another way and 1 against another way but for neither side"
    counts = f"Of {{}} documents on this, 2 argue yes, 5 no, {others}; for {{}} "
    assert before.summary.startswith(counts.format(11, 2))
    unsided = moving(before, (TEXTS[8], OFF_QUESTION))  # its document's only quotation
    assert unsided.summary.startswith(counts.format(10, 1))
    assert "not quoted: not clearly on this question" in str([document_facts(unsided, d) for d in unsided.documents])
    told = [d.model_copy(update={"stances": [YES]}) if d.id == "bridge/08.md" else d for d in before.documents]
    argued = moving(before.model_copy(update={"documents": told}), (TEXTS[8], OFF_QUESTION))
    assert argued.summary.startswith("Of 11 documents on this, 3 argue yes"), "the judge read more of it"
    one_of_two = moving(before, (TEXTS[4], OFF_QUESTION))
    assert one_of_two.summary == before.summary, "14 is of the same document, and stays"


def test_a_document_is_read_as_what_a_reader_left_of_its_quotations() -> None:
    before = quoting()
    told = [DocumentStance(perspective=side, argues="for") for side in ("p1", "p3")]
    documents = [d.model_copy(update={"stances": told}) for d in before.documents]
    after = moving(before.model_copy(update={"documents": documents}), (TEXTS[8], "p2"))
    argued = {d.id: (d.not_quoted, [s.perspective for s in d.stances]) for d in after.documents}
    assert argued["bridge/08.md"] == ("", ["p2"])
    assert {tuple(sides) for why, sides in argued.values() if why == "repeats"} == {()}  # their original may have moved
    assert argued["bridge/13.md"] == ("no_claim", ["p1", "p3"])


def test_a_document_that_is_read_as_both_keeps_the_side_that_nobody_changed() -> None:
    before = quoting()
    both = [DocumentStance(perspective=side, argues="for") for side in ("p1", "p2")]
    changed = [d.model_copy(update={"stances": both}) if d.id == "bridge/04.md" else d for d in before.documents]
    after = moving(before.model_copy(update={"documents": changed}), (TEXTS[4], ALSO))
    document = next(d for d in after.documents if d.id == "bridge/04.md")
    assert {s.perspective for s in document.stances} == {"p1", "p2"}, "14 is of the same document, and stays"


def test_moved_and_remaining_claims_of_a_source_keep_their_quotations_in_the_list_of_sources() -> None:
    before = toll_answer()
    pupils = next(c for c in before.perspectives[1].claims if c.text == CLAIMS[3]["text"])
    after = moving(before, (pupils.text, ALSO))
    for made in (export_answer(after, ".md").decode(), to_terminal(after, 100, False, explain=True)):
        listed = " ".join(made.split("Sources" if "## Sources" in made else "SOURCES")[1].split())
        assert [TEXTS[n] in listed for n in (4, 14)] == [True, True], "one source, one claim moved"


def test_the_crux_goes_with_a_claim_of_its_passages() -> None:
    before = toll_answer()
    cited = before.perspectives[0].claims[0]
    words = next(c for c in before.citations if c.number in cited.citations).quotations[0].quote
    crux = cited.model_copy(
        update={"role": "crux", "text": "They differ on cost.", "evidence": [words[:-9]]}
    )  # one sentence
    before = before.model_copy(update={"crux": crux})
    other = before.perspectives[1].claims[-1]
    moved = [moving(before, (claim.text, OFF_QUESTION)) for claim in (cited, other)]
    kept = [after.crux is not None for after in moved]
    repairs = told("‘Those who cross should bear the 41,000 that repairs cost a …’ from Yes to ‘Not on this question’")
    left_out = f"{repairs} ‘What it turns on’ is left out, because it rested on a moved quotation."
    assert list(map(noted, moved)) == [
        [left_out],
        [told("‘Reason 9 against a toll.’ from No to ‘Not on this question’")],
    ]
    assert kept == [False, True]


def test_the_crux_stays_if_only_another_speaker_of_its_passage_is_moved() -> None:
    before = toll_answer()
    cited, other = before.perspectives[0].claims[0], before.perspectives[1].claims[-1]
    first, second = (next(c for c in before.citations if c.number in claim.citations) for claim in (cited, other))
    crux = cited.model_copy(update={"role": "crux", "text": "They differ on cost.", "evidence": [first.quote]})
    sharing = second.model_copy(update={"passage_id": first.passage_id, "more": []})
    citations = [sharing if c == second else c for c in before.citations]
    before = before.model_copy(update={"crux": crux, "citations": citations})
    moved = [moving(before, (claim.text, OFF_QUESTION)) for claim in (cited, other)]
    assert [after.crux for after in moved] == [None, crux]
    assert "left out" not in noted(moved[1])[0]


def test_the_note_names_three_moves_with_both_places() -> None:
    moves = [(TEXTS[1], ALSO), (TEXTS[4], "p1"), (TEXTS[7], "p3"), (TEXTS[8], "p2"), (MILK, OFF_QUESTION)]
    assert noted(moving(quoting(), *moves)) == [
        "A reader moved 5 quotations: “Repairs cost 41,000 a year, and those who cross should …” from Yes to ‘Also on "
        "this question’; “Pupils cross the bridge twice a day and have no other way …” from No to Yes; “Neighbours who "
        "sell their milk across the river would lose …” from No to ‘Not on this question’ and 2 more."
    ]
    objection = "“Passes were tried at the mill, and 44 of 46 shops were …” from against ‘A yearly pass’"
    assert noted(moving(quoting(), (TEXTS[7], "p3"))) == [told(f"{objection} to ‘A yearly pass’")]


def test_a_named_gap_stays_on_the_sheet_until_its_sentence_is_off_the_question() -> None:
    told = TEXTS[13]
    own = [*quoting_claims(), Claim(perspective="p1", text=told, passages=[13], support=0.5, role="case")]
    before = toll_answer(toll_run(claims=own, drafts=own))
    moved = [moving(before, (told, to)) for to in ("p2", ALSO, OFF_QUESTION)]
    assert [[gap.text for gap in answer.gaps] for answer in (before, *moved)] == [[told], [told], [told], []]
    elsewhere = moving(before, (MILK, OFF_QUESTION))
    assert {*elsewhere.gaps[0].citations} <= {c.number for c in elsewhere.citations}


def test_an_objection_is_moved_too() -> None:
    after = moving(quoting(), (TEXTS[7], "p3"))
    assert (texts(after, "p3"), after.perspectives[2].objections) == ([TEXTS[6], TEXTS[7]], [])
    document = next(d for d in after.documents if d.id == "bridge/07.md")
    assert document.stances == [DocumentStance(perspective="p3", argues="for")]


def test_a_document_with_another_quotation_for_the_side_stays_there() -> None:
    before = quoting()
    assert next(d for d in before.documents if d.id == "bridge/04.md").quoted
    after = moving(before, (TEXTS[4], "p1"))  # 14 is of the same document, and stays
    document = next(d for d in after.documents if d.id == "bridge/04.md")
    assert {s.perspective for s in document.stances} == {"p1", "p2"}


def test_claims_of_a_model_move_and_nothing_replies_to_what_is_gone() -> None:
    before = toll_answer()
    carts = before.perspectives[0].claims[1]
    met = next(c.text for c in before.perspectives[1].claims if c.answered_by == [carts.text])
    assert carts.answers
    after = moving(before, ("Carters would drive through the ford, where two horses have drowned.", "p1"))
    assert carts.text not in str([s.all_claims for s in moving(before, (carts.text, ALSO)).perspectives])
    assert not moving(before, (met, "p3")).perspectives[-1].claims[-1].answered_by
    links = {c.text: c.answers for s in after.perspectives for c in s.all_claims}
    assert links[carts.text] == [], "no claim answers its own side"
    unlinked = [c for s in moving(before, (met, "p3")).perspectives for c in s.all_claims if c.text == carts.text]
    assert [c.answers for c in unlinked] == [[]]
    assert len(after.perspectives[0].claims) == 3
    assert after.perspectives[0].claims[-1].quoted is False


def test_a_side_without_a_claim_is_empty_and_an_answer_without_one_says_so() -> None:
    before = quoting()
    one = moving(before, (TEXTS[1], OFF_QUESTION), (TEXTS[2], OFF_QUESTION))
    assert (one.perspectives[0].claims, line(one, "p1").strength, one.outcome) == ([], "none", "answered")
    assert one.crux is None
    everything = [c.text for s in before.perspectives for c in s.all_claims]
    no_sides = moving(before, *((text, ALSO) for text in everything))
    assert (no_sides.outcome, len(no_sides.also)) == ("no_sides", len(everything) + 1)
    nothing = moving(before, *((text, OFF_QUESTION) for text in (*everything, TEXTS[8])))
    assert (nothing.outcome, nothing.citations) == ("nothing_found", [])
    assert "was found" in nothing.summary
    for told in (one, no_sides, nothing):
        assert to_terminal(told, 100, False)
        assert all(c.number for c in told.citations)


def test_a_side_named_by_a_quotation_is_named_by_the_next_or_goes() -> None:
    before = quoting()
    named = [s.model_copy(update={"statement": s.claims[0].text, "stance": "other"}) for s in before.perspectives]
    before = before.model_copy(update={"perspectives": named})
    after = moving(before, (TEXTS[1], OFF_QUESTION), (TEXTS[6], OFF_QUESTION))
    assert [s.id for s in after.perspectives] == ["p1", "p2", "p3"][:2]
    assert (after.perspectives[0].statement, [c.perspective for c in after.coverage]) == (TEXTS[2], ["p1", "p2"])


def test_a_judges_limit_is_told_of_whatever_a_reader_moves() -> None:
    notes = [Note(kind="skipped", text=text) for text in (PEOPLE_SPEAK, "The web was not searched.")]
    before = toll_answer(toll_run(claims=[c | {"role": "also", "perspective": ""} for c in quoting_claims()]))
    before = before.model_copy(update={"notes": notes})
    text = before.also[0].text
    told = [[n.text for n in moving(before, (text, to)).notes][1:] for to in ("p1", OFF_QUESTION)]
    assert told == [[n.text for n in notes]] * 2
    assert "nothing" not in PEOPLE_SPEAK  # it stands below the moved quotation


def test_what_a_model_cited_for_a_removed_claim_is_no_source_any_more() -> None:
    before = toll_answer()
    visits = next(c for c in before.perspectives[1].claims if c.reason == "loneliness")
    cited = [
        {q.quote for c in a.citations for q in c.quotations}
        for a in (before, moving(before, (visits.text, OFF_QUESTION)))
    ]
    assert cited[0] - cited[1] == {*visits.evidence}


def test_without_a_change_the_answer_is_the_same() -> None:
    for answer in (quoting(), toll_answer()):
        assert apply_corrections(answer, {}) is answer
        assert apply_corrections(answer, {"0" * 16: "p1"}) is answer
        assert summary_of(answer) == answer.summary
        back = apply_corrections(answer, {claim_key(answer, c): "p2" for c in answer.perspectives[1].claims})
        assert back is answer


# The table

_STORED = select(corrections_table).order_by(corrections_table.c.id)


@pytest.fixture
def database(settings: Settings) -> Iterator[Database]:
    with contextlib.closing(Database(settings.database)) as opened:
        yield opened


def store(database: Database, answer: Answer, run: str = "a" * 12, person: str = "", thread: str = "") -> Corrections:
    RunStore(database).create(run, thread or run, answer.question, RunOptions.of().to_dict(), "somebody", person)
    RunStore(database).finish(run, "somebody", "done", {}, answer.model_copy(update={"run_id": run}).model_dump_json())
    return Corrections(database)


def read(database: Database, run: str = "a" * 12) -> Answer:
    answer = RunStore(database).get(run).answer
    assert answer
    return answer


def test_corrections_are_kept_beside_the_answer_and_the_last_is_taken_back(database: Database) -> None:
    run = "a" * 12
    corrections = store(database, quoting())
    stored = read(database)
    corrections.add(run, "p1", "ann", text=MILK)
    corrections.add(run, OFF_QUESTION, "ann", text=TEXTS[3])
    rows = [(r.run_id, r.target, r.person) for r in database.rows(_STORED)]
    assert rows == [(run, "p1", "ann"), (run, OFF_QUESTION, "ann")]
    with contextlib.closing(Database(database.place)) as another:
        assert texts(read(another), "p1")[-1] == MILK
        assert noted(read(another)) == [told(f"{TOLL_HOUSE} ‘Not on this question’", MILK_TO_YES)]
        assert RunStore(another).thread_answers(run) == [read(another)]
    corrections.undo(run)
    assert (TEXTS[3] in texts(read(database), "p2"), texts(read(database), "p1")[-1]) == (True, MILK)
    corrections.undo(run)
    corrections.undo(run)  # there is none left
    assert read(database) == stored


def test_a_correction_before_the_last_is_taken_back_by_its_words(database: Database) -> None:
    run = "a" * 12
    corrections = store(database, quoting())
    for text, to in ((MILK, "p1"), (MILK, ALSO), (TEXTS[3], OFF_QUESTION)):
        corrections.add(run, to, text=text)
    corrections.undo(run, MILK)
    assert (texts(read(database), "p1")[-1], TEXTS[3] in texts(read(database), "p2")) == (MILK, False)
    corrections.undo(run, MILK)
    said = told(f"{TOLL_HOUSE} ‘Not on this question’")
    assert (MILK in texts(read(database), "p2"), noted(read(database))) == (True, [said])


def test_a_second_click_changes_nothing_and_the_way_back_counts_as_none(database: Database) -> None:
    run = "a" * 12
    corrections = store(database, quoting())
    for to in ("p1", "p1", ALSO, "p2", "p2"):
        corrections.add(run, to, text=MILK)
    assert len(database.rows(_STORED)) == 3
    assert noted(read(database)) == []
    RunStore(database).delete(run)
    assert corrections.runs() == []


def test_hostile_words_are_moved_as_they_are(database: Database) -> None:
    answer = quoting()
    hostile = AnswerClaim(text=HOSTILE, citations=[1], role="also")
    store(database, answer.model_copy(update={"also": [hostile]})).add("a" * 12, "p1", HOSTILE, text=HOSTILE)
    assert texts(read(database), "p1")[-1] == HOSTILE


def test_a_follow_up_keeps_what_a_reader_moved_before(database: Database) -> None:
    store(database, quoting())
    time.sleep(0.01)  # runs are in order by the millisecond
    later = store(database, quoting(), "b" * 12, thread="a" * 12)
    moved = texts(read(database), "p2")[0]
    assert moved in texts(read(database), "p2")
    later.add("a" * 12, "p1", text=moved)
    after = RunStore(database).get("b" * 12).answer
    assert after
    assert moved in texts(after, "p1")
    assert moved not in texts(after, "p2")
    assert told(f"{TOLL_HOUSE} Yes") in [n.text for n in after.notes]
    other = store(database, quoting(), "c" * 12, person="somebody else", thread="a" * 12)
    assert other.moves("c" * 12) == {}, "another person's corrections are their own"
    later.add("b" * 12, "p2", text=moved)
    back = RunStore(database).get("b" * 12).answer
    assert back
    assert moved in texts(back, "p2"), "the follow-up's own correction counts"
    time.sleep(0.01)
    third = store(database, quoting(), "d" * 12, thread="a" * 12)
    assert "p1" not in third.moves("d" * 12).values(), "a revoked correction stays revoked"


@pytest.mark.file_only
def test_a_store_of_the_version_before_opens(tmp_path: Path) -> None:
    path = tmp_path / "steelman.db"
    with contextlib.closing(Database(path)) as database:
        store(database, quoting())
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        db.execute("DROP TABLE corrections")
        for table in ("alembic_version", "job_files", "jobs", "api_rates"):
            db.execute(f"DROP TABLE {table}")
        for name in ("venue", "extent"):
            db.execute(f"ALTER TABLE web_documents DROP COLUMN {name}")
        db.execute("PRAGMA user_version = 4")
    with contextlib.closing(Database(path)) as database:
        Corrections(database).add("a" * 12, "p1", text=MILK)
        assert texts(read(database), "p1")[-1] == MILK
        with database.read() as connection:
            assert connection.exec_driver_sql("PRAGMA user_version").scalar() == SCHEMA_VERSION


def test_the_stored_answer_is_read_in_one_place() -> None:
    """Whoever reads the column would not see what a reader changed."""
    reading = [
        file.relative_to(ROOT).as_posix()
        for package in ("agent", "api", "ui", "evals")
        for file in (ROOT / package).rglob("*.py")
        if re.search(r"select\([^)]*runs\.c\.answer\b", file.read_text())
    ]
    assert reading == ["agent/answer/corrections.py"]


# What the judge learns from them


@pytest.fixture
def run_suite_here(capsys: pytest.CaptureFixture[str]) -> Suite:
    """Runs a suite over the data folder of this test."""

    def run(*arguments: object) -> tuple[int, str, str]:
        status = main([*map(str, arguments)])
        return status, *capsys.readouterr()

    return run


def test_training_reads_them_as_pairs(database: Database, run_suite_here: Suite, tmp_path: Path) -> None:
    run, file = "a" * 12, tmp_path / "data" / "judge" / "train" / "corrections.jsonl.gz"
    corrections = store(database, quoting())
    for text, to in ((MILK, "p1"), (TEXTS[1], OFF_QUESTION), (TEXTS[3], ALSO), (TEXTS[8], "p3")):
        corrections.add(run, to, text=text)
    status, out, _ = run_suite_here("corrections", "--out", file)
    assert (status, "quotations 4, claims of models 0, pairs 5" in out) == (0, True)
    told = [(row["passage"], row["statement"], row["label"]) for row in rows_of(file)]
    asked, third = "Should the village charge a toll on its bridge?", "Each household should buy a yearly pass."
    assert sorted(told) == sorted(
        [
            (MILK, asked, "support"),  # for Yes, and against No, which no rule makes a statement of here
            *((TEXTS[1], said, "unrelated") for said in (asked, third)),
            (TEXTS[3], asked, "none"),
            (TEXTS[8], third, "support"),
        ]
    )
    status, _, error = run_suite_here("corrections", "--out", file)
    assert (status, "File exists" in error) == (2, True)
    folder = write_judge_data(tmp_path / "more")
    file.rename(folder / "judge" / "train" / file.name)
    corpus = load_corpus(folder)
    read = corpus.training["corrections"] + corpus.held_out["corrections"]
    assert {(e.text, e.statement, e.target) for e in read} >= {(MILK, asked, (1, 0, 0)), (TEXTS[1], third, (0, 0, 1))}


@pytest.mark.parametrize(
    ("question", "yes", "no"),
    [
        (
            "Should schools ban smartphones?",
            ("Schools should ban smartphones.", True),
            ("Schools should not ban smartphones.", True),
        ),
        ("Why not toll it?", ("Why not toll it?", True), ("Why not toll it?", False)),
    ],
)
def test_the_sides_of_a_question_are_written_as_statements(question: str, yes: object, no: object) -> None:
    sides = [stands("p", "supports", f"{word}: {question}", name=word) for word in ("Yes", "No")]
    assert [statement_of(side) for side in sides] == [yes, no]
    assert statement_of(stands("p", "other", "Sell it.")) == ("Sell it.", True)


def test_what_else_a_side_says_goes_with_what_was_moved_and_no_further() -> None:
    before = quoting()
    facts = {"document_id": "d", "collection": "bridge", "title": "", "publisher": "", "url": ""}
    kept, moved = (ResponseSentence(text=text, passage_id=1, support=0.9) for text in ("Kept.", MILK))
    numbers = [
        before.perspectives[1].claims[0].citations[0],
        next(c.number for c in before.citations if c.quote == MILK),
    ]
    said = [DocumentResponse(citation=n, thesis=kept, evidence=[moved, kept], **facts) for n in numbers]
    no = before.perspectives[1].model_copy(update={"groups": [ResponseGroup(sources=2, responses=said)]})
    before = before.model_copy(update={"perspectives": [before.perspectives[0], no, before.perspectives[2]]})
    (group,) = moving(before, (MILK, "p1")).perspectives[1].groups
    assert (group.sources, [(r.citation, r.evidence) for r in group.responses]) == (1, [(numbers[0], [kept])])

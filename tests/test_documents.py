"""What the answer tells of each document, what argues against a side, and what speaks to the question for no side."""

import io
import json
from dataclasses import replace
from typing import Any

import pytest
from toll_run import CLAIMS, PASSAGES, QUESTION, REPAIRS, TEXTS, toll_answer, toll_run, written

from agent.answer.attribution import answered_by_line, repliers
from agent.answer.debate_sheet import unknown_blocks
from agent.answer.document_list import document_facts, documents_headline, stance_label, surest_passage
from agent.answer.files import to_docx, to_html, to_markdown
from agent.answer.model import Answer, Countered, DocumentStance, Usage, answer_from_json
from agent.answer.outline import document_blocks, to_terminal
from agent.answer.summary import by_file, repeat_notes, stage_notes, summary_of
from agent.answer.wording import closing_line, side_heading, side_label
from agent.state import FramingState, RunState
from tools.errors import StoreError


def told(answer: Answer) -> dict[str, tuple[str, list[int], str]]:
    """By document what it argues, its numbers, and why it is not quoted."""
    return {
        d.id.removeprefix("bridge/").removesuffix(".md"): (
            " ".join(f"{s.argues} {s.perspective}" for s in d.stances),
            d.quoted,
            d.not_quoted,
        )
        for d in answer.documents
    }


def test_among_equally_sure_quotations_a_document_opens_at_the_first_of_its_side() -> None:
    answer = toll_answer()
    two = next(d for d in answer.documents if d.id == "bridge/04.md")
    assert surest_passage(answer, two, list, list) == (4, TEXTS[4])
    read_otherwise = two.model_copy(update={"stances": [DocumentStance(perspective="p1", argues="for")]})
    assert surest_passage(answer, read_otherwise, list, list)[0] in (4, 14)  # none of its quotations is for that side


def test_each_document_is_listed_once_with_its_stance() -> None:
    answer = toll_answer()
    assert list(told(answer).items()) == [
        ("01", ("for p1", [1], "")),
        ("02", ("for p1", [2], "")),
        ("03", ("for p2", [3], "")),
        ("04", ("for p2", [4], "")),
        ("05", ("for p2", [5], "")),
        ("12", ("for p2", [6], "")),
        ("06", ("for p3", [7], "")),
        ("07", ("against p3", [8], "")),
        ("08", ("", [9], "")),
        ("13", ("for p2", [], "no_claim")),
        ("11", ("for p2", [], "repeats")),
        ("09", ("", [], "no_side")),
        ("10", ("", [], "off_question")),
        ("15", ("", [], "unread")),
    ]
    assert answer.summary == (
        "Of 11 documents on this, 2 argue yes, 5 no, 1 for another way and 1 against another way but for neither side; "
        "for 2 Steelman could not tell."
    )
    sides, about = answer.perspectives[2:], [d for d in answer.documents if d.id in ("bridge/06.md", "bridge/07.md")]
    alone = answer.model_copy(update={"perspectives": sides, "documents": about})
    listed = "1 argues for ‘A yearly pass’ and 1 only against an answer."
    assert summary_of(alone) == f"Of 2 documents on this, {listed}"
    assert answer.documents[0].model_dump(exclude={"stances", "quoted", "not_quoted", "id", "file"}) == {
        "collection": "bridge",
        "title": "On the bridge, part 1",
        "publisher": "Valley Courier",
        "url": "",
        "kind": "news",
        "date": "2025-03-01",
    }
    assert answer.usage.passages_judged == 13


def test_a_follow_up_on_a_focus_counts_what_it_read_and_quotes() -> None:
    whole, chosen = toll_run(), {"p1": [1, 2], "p2": [3, 4]}
    framing = FramingState(**{**whole["framing"], "focus": "carts?"})
    run = RunState(**{**toll_run(claims=[CLAIMS[0]]), "framing": framing, "selected": chosen})
    found = toll_answer(run)
    assert found.summary == "On carts, of 2 documents quoted here, 1 argues yes; for 1 Steelman could not tell."
    assert {d.not_quoted for d in found.documents if d.quoted == [] and d.stances == []} == {"unread", "repeats"}
    unquoted = {d: stance for d, (stance, _, why) in told(found).items() if why == "no_claim"}
    assert unquoted == {"02": "for p1", "03": "for p2", "04": "for p2"}
    second = next(d for d in found.documents if d.id == "bridge/02.md")
    assert "read as Yes" in document_facts(found, second)
    assert documents_headline(found) == "Read 6 documents (of 14 found), quoted 2."


@pytest.mark.parametrize(
    ("copies", "told"),
    [
        ([], []),
        ([11], ["1, in “On the bridge, part 11”."]),
        ([4, 14], ["2, in “On the bridge, part 4”."]),
        ([7, 8, 9], ["3, in “On the bridge, part 7”, “On the bridge, part 8”, “On the bridge, part 9”."]),
        (
            [4, 7, 8, 9, 14],
            ["5, in “On the bridge, part 4”, “On the bridge, part 7”, “On the bridge, part 8” and 1 more."],
        ),
    ],
)
def test_the_note_on_repeated_passages_names_their_texts(copies: list[int], told: list[str]) -> None:
    read_once = toll_run(support={"p2": {5: 0.95}})
    notes = repeat_notes(read_once, {5: 5, 3: 3, **dict.fromkeys(copies, 5)}, PASSAGES)
    start = "Passages that repeat others nearly word for word, and were read once: "
    assert [note.text for note in notes] == [start + where for where in told]


def test_sentences_that_serve_no_side_are_counted_on_their_own() -> None:
    failed = [("a", "source"), ("b", "side"), ("c", "side"), ("d", "unchecked")]
    state = toll_run(dropped=[{"perspective": "p1", "text": text, "check": check} for text, check in failed])
    assert [note.text for note in stage_notes(state) if note.kind == "dropped"] == [
        "1 sentence did not stand up to the check against the sources and was left out.",
        "2 sentences were left out because they argue neither for nor against a side of what was asked.",
    ]


# Objections, reasons, replies


def test_a_source_with_several_claims_is_named_with_the_words_that_answer() -> None:
    answer = toll_answer()
    school, visits = (c for c in answer.perspectives[1].claims if c.reason in ("school", "loneliness"))
    claim = answer.perspectives[0].claims[0].model_copy(update={"answered_by": [school.text, visits.text]})
    assert school.citations[0] == visits.citations[0]
    named = f"Parish Notes [{school.citations[0]}]"
    assert answered_by_line(answer, claim) == f"answered by {named} ‘{school.text}’, {named} ‘{visits.text}’"
    assert [reply for _, reply in repliers(answer, claim).values()] == [school, visits]
    alike = [c.model_copy(update={"text": f"{'The toll keeps people apart, ' * 3}{c.text}"}) for c in (school, visits)]
    side = answer.perspectives[1].model_copy(update={"claims": alike})
    answer = answer.model_copy(update={"perspectives": [answer.perspectives[0], side]})
    claim = claim.model_copy(update={"answered_by": [c.text for c in alike]})
    assert [reply for _, reply in repliers(answer, claim).values()] == alike


def test_objections_are_apart_from_the_case() -> None:
    answer = toll_answer()
    yes, no, card = answer.perspectives
    assert [(c.reason, c.answers) for c in yes.claims] == [("cost", []), ("traffic", [5])]
    assert (no.claims[0].answers, len(no.claims)) == ([1], 9)
    assert [(c.text, c.citations, c.answers) for c in card.objections] == [(CLAIMS[-1]["text"], [8], [])]
    assert [c.text for c in card.claims] == [CLAIMS[-2]["text"]]
    assert next(line for line in answer.coverage if line.perspective == "p3").strength == "weak"
    assert yes.claims[0].answered_by == [no.claims[0].text]
    assert toll_answer(toll_run(claims=CLAIMS[-1:])).outcome == "answered"


def test_no_source_answers_itself_or_its_own_side() -> None:
    own = written("p2", "Those who cross pay already.", 1, answers=REPAIRS)
    ally = written("p2", "Reason 6 is enough.", 3, answers="Reason 6 against a toll.")
    gone = written("p2", "A claim is met that is gone.", 3, answers="It did not hold.")
    older = written("p2", "An earlier version named passages.", 3, answers=5)
    answer = toll_answer(toll_run(claims=[*CLAIMS, own, ally, gone, older]))
    assert [c.answers for c in answer.perspectives[1].claims[-4:]] == [[]] * 4


@pytest.mark.parametrize(
    ("own", "met", "answered"),
    [
        ("2025-03-01", "2025-03-02", False),
        ("2025-03-02", "2025-03-02", True),
        ("2025-03-03", "2025-03-02", True),
        ("2024", "2025-03-02", False),
        ("2025-02-28", "2025-03", False),
        ("2025", "2025-03-02", True),
        ("2025-03-02", "2025", True),
        ("", "2025-03-02", True),
        ("2025-03-02", "", True),
    ],
)
def test_no_text_answers_a_later_one(own: str, met: str, answered: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PASSAGES, 1, replace(PASSAGES[1], date=met))
    monkeypatch.setitem(PASSAGES, 3, replace(PASSAGES[3], date=own))
    yes, no, _ = toll_answer().perspectives
    assert no.claims[0].answers == [1] * answered
    assert yes.claims[0].answered_by == [no.claims[0].text] * answered


@pytest.mark.parametrize(
    ("own", "met", "answered"),
    [
        ("toll.eml, Ann Lee, 2025-03-01", "toll.eml", True),  # forwarded
        ("toll.eml, Ann Lee, 2025-03-01", "toll.eml, Bo Lind, 2025-03-02", True),
        ("survey.csv#1", "survey.csv#2", True),
        ("toll.eml", "bridge.eml", False),
        ("https://ford.example/toll", "https://ford.example/bridge", False),
    ],
)
def test_the_parts_of_a_file_answer_each_other_whatever_their_dates(
    own: str, met: str, answered: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(PASSAGES, 1, replace(PASSAGES[1], key=met, date="2025-03-02"))
    monkeypatch.setitem(PASSAGES, 3, replace(PASSAGES[3], key=own, date="2025-03-01"))
    yes, no, _ = toll_answer().perspectives
    assert bool(no.claims[0].answers) is bool(yes.claims[0].answered_by) is answered


def test_the_latest_text_of_a_claim_decides_what_it_answers() -> None:
    early = written("p2", "Passes are dear.", 1, 3, answers=CLAIMS[-2]["text"])
    both = written("p2", "Passes failed.", 1, 7, answers=CLAIMS[-2]["text"])
    answer = toll_answer(toll_run(claims=[*CLAIMS, early, both]))
    assert [c.answers for c in answer.perspectives[1].claims[-2:]] == [[], [8]]


@pytest.mark.parametrize("form", ["terminal", "markdown", "html", "docx", "remote"])
def test_every_rendering_has_all_claims_for_and_against(form: str) -> None:
    import docx

    answer = toll_answer()
    shown = {
        "terminal": lambda: to_terminal(answer, 104, bold=False).replace('"', "“"),
        "markdown": lambda: to_markdown(answer).replace("\\", ""),
        "remote": lambda: to_markdown(answer, remote=True).replace("\\", ""),  # for MCP and OpenAI's clients
        "html": lambda: to_html(answer),
        "docx": lambda: "\n".join(p.text for p in docx.Document(io.BytesIO(to_docx(answer))).paragraphs),
    }[form]()
    flat = " ".join(shown.split())
    assert all(claim["text"] in flat for claim in CLAIMS)
    assert "Safety: Carters would" in flat
    assert flat.index("A yearly pass costs") < flat.index("Against it:") < flat.index("Trade: 44 of 46 shops")
    assert flat.casefold().index("44 of 46 shops") < flat.casefold().index("also on this question")
    if form != "html":
        assert "highway. [2] (answers [5] ‘Carters would drive through the ford, where two horses …’)" in flat
        assert "first six years. [3] (answers [1])" in flat
    assert f"nswered by Mill Owners{' [3])' if form == 'terminal' else ' [3]'}" in flat
    listed = "Reader 13 · news · 13 March 2025 · read as No · not quoted: clearer quotations were chosen"
    assert (listed in flat) is (form in ("markdown", "html", "docx"))
    if listed in flat:
        assert "Reader 11 · news · 11 March 2025 · not quoted: says the same as another" in flat
        assert "Upper Farm · news · 8 March 2025 · no clear side · quoted" in flat
        assert "Read 13 documents (of 14 found), quoted 9." in flat
        assert "part 15" not in flat
    explained = to_terminal(answer, 104, False, explain=True)
    assert "part 9 · Post Office · news · 9 March 2025 · not quoted: no clear side" in explained


@pytest.mark.parametrize("named", ["id", "file"])
def test_a_table_counts_as_one_document(named: str) -> None:
    """The rows are documents 3 (No), 4 (No), 1 (Yes) and 10 (off the question); 14 documents are 11 files."""
    answer = toll_answer()
    rows = {f"bridge/{n:02}.md": place for place, n in enumerate((3, 4, 1, 10), 1)}

    def filed(ids: dict[str, int], title: str = "") -> Answer:
        own = {"id": "a.csv, row {}"} if named == "id" else {"id": "{}", "file": "a.csv"}
        about = {
            i: {key: form.format(place) for key, form in own.items()} | {"title": title} for i, place in ids.items()
        }
        return answer.model_copy(
            update={"documents": [d.model_copy(update=about.get(d.id, {})) for d in answer.documents]}
        )

    whole = filed(rows)
    assert documents_headline(whole) == "Read 10 documents (of 11 found), quoted 7."
    assert summary_of(whole).startswith(
        "Of 9 documents on this, 1 argues yes, 3 no, 1 both ways, 1 for another way and "
    )
    of_one_side = filed({i: place for i, place in rows.items() if place < 3})
    assert summary_of(of_one_side).startswith("Of 10 documents on this, 2 argue yes, 4 no, 1 for another way and ")
    listed = [block.text for block in document_blocks(whole)]
    assert "a.csv · 4 rows, 3 quoted" in listed
    unclear = filed({"bridge/08.md": 1, "bridge/09.md": 2, "bridge/10.md": 3})
    known = filed({"bridge/01.md": 1, "bridge/09.md": 2})
    texts = [[block.text for block in unknown_blocks(a)] for a in (unclear, known)]
    assert "No clear side in 1 document: ‘a.csv’." in texts[0]
    assert "No clear side in 1 document: ‘On the bridge, part 8’." in texts[1]


def test_articles_in_one_file_are_documents_and_a_mail_with_the_mail_it_quotes_is_one() -> None:
    listed = toll_answer().documents[:3]
    articles = [d.model_copy(update={"file": "news.jsonl"}) for d in listed]
    ids = ("in/plan.eml", "in/plan.eml, Ann Lee, 2025-03-01", "in/plan.v2, final.md")
    mails = [d.model_copy(update={"id": i, "title": "The plan"}) for d, i in zip(listed, ids, strict=True)]
    assert [len(rows) for rows in by_file(articles)] == [1, 1, 1]
    assert [len(rows) for rows in by_file(mails)] == [2, 1]


def test_an_answer_of_another_schema_says_what_to_do() -> None:
    stored = json.loads(toll_answer().model_dump_json())
    assert answer_from_json(json.dumps(stored)) == toll_answer()
    others: list[object] = [stored | {"schema_version": "4.0"}, []]
    for other in others:
        with pytest.raises(StoreError, match="another version of Steelman"):
            answer_from_json(json.dumps(other))
    assert answer_from_json(json.dumps(stored | {"schema_version": "4.1"})) == toll_answer(), "of the first revision"


def test_the_side_against_a_claim_has_its_own_name() -> None:
    answer = toll_answer()
    yes = answer.perspectives[0].model_copy(update={"name": "Close the bridge", "statement": "A toll is too dear."})
    target = Countered(number=1, text=TEXTS[1], publisher="", side="Yes", statement=QUESTION, stance="supports")
    asked = answer.model_copy(update={"against": target, "perspectives": [yes]})
    assert (side_label(asked, yes), side_heading(asked, yes)) == ("Close the bridge", "A toll is too dear.")
    assert stance_label(asked, asked.documents[0]) == "read as ‘Close the bridge’"


@pytest.mark.parametrize(
    ("argues", "label"),
    [
        ([("p1", "for"), ("p2", "for")], "read as arguing for both sides"),
        ([("p1", "for"), ("p2", "for"), ("p3", "against")], "read as arguing for both sides; against ‘A yearly pass’"),
        ([("p1", "for"), ("p2", "for"), ("p3", "for")], "read as arguing for both sides; for ‘A yearly pass’"),
    ],
)
def test_a_document_for_yes_and_for_no_is_said_to_argue_for_both(argues: Any, label: str) -> None:
    answer = toll_answer()
    stances = [DocumentStance(perspective=side, argues=how) for side, how in argues]
    assert stance_label(answer, answer.documents[0].model_copy(update={"stances": stances})) == label


def test_the_cost_of_models_is_told_in_words() -> None:
    usage = Usage(input_tokens=12_000, output_tokens=345, cost_usd=0.01)
    line = closing_line(toll_answer().model_copy(update={"usage": usage}))
    assert line.endswith("Answered in 1.5 s by test; 12,345 word parts (tokens) read and written, $0.0100.")

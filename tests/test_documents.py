"""What the answer tells of each document, what argues against a side, and what speaks to the question for no side."""

import io
import json
from dataclasses import replace
from typing import Any

import pytest
from toll_run import CLAIMS, PASSAGES, QUESTION, TEXTS, toll_answer, toll_run, written

from agent.answer.attribution import answered_by_line, repliers
from agent.answer.document_list import documents_headline, stance_label
from agent.answer.files import to_docx, to_html, to_markdown
from agent.answer.model import Answer, Countered
from agent.answer.outline import to_terminal
from agent.answer.summary import documents_and_rows, repeat_notes, stage_notes
from agent.answer.wording import side_heading, side_label
from agent.state import DroppedClaim, FramingState, RunState


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
        "Of 11 documents on this, 2 argue yes, 5 no, 1 for another way and 1 only against another way; "
        "for 2 Steelman could not tell."
    )
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
    assert {d.not_quoted for d in found.documents if d.quoted == [] and d.stances == []} == {
        "no_claim",
        "unread",
        "repeats",
    }
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
        "2 sentences were left out for serving no side.",
    ]


# Objections, reasons, replies


def test_a_source_that_answers_a_claim_twice_is_named_once() -> None:
    answer = toll_answer()
    school, visits = (c for c in answer.perspectives[1].claims if c.reason in ("school", "loneliness"))
    claim = answer.perspectives[0].claims[0].model_copy(update={"answered_by": [school.text, visits.text]})
    assert school.citations[0] == visits.citations[0]
    assert answered_by_line(answer, claim) == f"answered by Parish Notes [{school.citations[0]}]"
    assert [reply for _, reply in repliers(answer, claim).values()] == [school]


def test_objections_are_apart_from_the_case() -> None:
    answer = toll_answer()
    yes, no, card = answer.perspectives
    assert [(c.reason, c.answers) for c in yes.claims] == [("cost", []), ("traffic", [5])]
    assert (no.claims[0].answers, len(no.claims)) == ([1], 9)
    assert [(c.text, c.citations, c.answers) for c in card.objections] == [(CLAIMS[-1]["text"], [8], [7])]
    assert [c.text for c in card.claims] == [CLAIMS[-2]["text"]]
    assert next(line for line in answer.coverage if line.perspective == "p3").strength == "weak"
    assert [c.answered_by for c in (yes.claims[0], card.claims[0])] == [[no.claims[0].text], [CLAIMS[-1]["text"]]]
    missing = toll_run(claims=[written("p1", "Those who cross should pay.", 1, answers=9), *CLAIMS[2:]])
    assert toll_answer(missing).perspectives[0].claims[0].answers == []  # no claim cites what it answers
    assert toll_answer(toll_run(claims=CLAIMS[-1:])).outcome == "answered"


def test_a_reply_answers_the_nearest_claim() -> None:
    replies: dict[str, tuple[dict[str, Any], str]] = {
        "Visits are free on Sundays.": ({"answers": 14, "reason": "money"}, CLAIMS[5]["text"]),
        "The ford will be closed.": ({"answers": 5, "reason": "Others"}, "Reason 6 against a toll."),
        "So reason 8 fails.": ({"answers": 5}, "Reason 8 against a toll."),
        "No source answers itself.": ({"answers": 1}, ""),
    }
    said = [written("p1", text, 1, 2, **more) for text, (more, _) in replies.items()]
    own = written("p2", "Sunday visits are free.", 1, 14)
    answer = toll_answer(toll_run(claims=[*CLAIMS[:2], *said, *CLAIMS[2:], own]))
    found = {reply: c.text for s in answer.perspectives for c in s.all_claims for reply in c.answered_by}
    assert {reply: found.get(reply, "") for reply in replies} == {r: met for r, (_, met) in replies.items()}
    lost = written("p2", "A claim that did not hold.", 14)
    dropped = [DroppedClaim(perspective="p2", text=lost["text"], check="source")]
    claims = [*CLAIMS[:2], *said, own]
    answer = toll_answer(toll_run(claims=claims, drafts=[lost, *claims], dropped=dropped))
    assert not any(c.answered_by for s in answer.perspectives for c in s.all_claims)


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
    early = written("p2", "Passes are dear.", 1, 3, answers=6)
    both = written("p2", "Passes failed.", 1, 7, answers=6)
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
        assert "highway. [2] (answers [5])" in flat
    assert f"nswered by Mill Owners{' [3])' if form == 'terminal' else ' [3]'}" in flat
    listed = "Reader 13 · news · 13 March 2025 · read as No · not quoted: clearer quotations were chosen"
    assert (listed in flat) is (form in ("markdown", "html", "docx"))
    if listed in flat:
        assert "Reader 11 · news · 11 March 2025 · read as No · not quoted: says the same as another" in flat
        assert "Upper Farm · news · 8 March 2025 · no clear side · quoted" in flat
        assert "Read 13 documents (of 14 found), quoted 9." in flat
        assert "part 15" not in flat
    explained = to_terminal(answer, 104, False, explain=True)
    assert "part 9 · Post Office · news · 9 March 2025 · not quoted: no clear side" in explained


@pytest.mark.parametrize(
    ("rows", "held"),
    [
        ({"a.csv": 2}, "12 documents and 2 rows of a table"),
        ({"a.csv": 1, "b.csv": 13}, "14 rows of 2 tables"),
        ({"": 14}, "14 documents"),
    ],
)
def test_rows_of_a_table_are_no_documents_of_their_own(rows: dict[str, int], held: str) -> None:
    answer = toll_answer()
    files = [name for name, number in rows.items() for _ in range(number)] + [""] * 14
    listed = [d.model_copy(update={"file": name}) for d, name in zip(answer.documents, files, strict=False)]
    assert documents_and_rows(listed) == held
    named = [d.model_copy(update={"id": f"{d.file}, row 1" if d.file else d.id, "file": ""}) for d in listed]
    assert documents_and_rows(named) == held


@pytest.mark.parametrize("version", ["2.0", "3.0", "4.0"])
def test_answers_that_were_stored_before_open(version: str) -> None:
    now = toll_answer()
    stored = json.loads(now.model_dump_json()) | {"schema_version": version, "chosen": [{"passage_id": 1, "gain": 1.0}]}
    yes, no, third = stored["perspectives"]
    for claim in (*yes["claims"], *no["claims"], *third["claims"], *stored["also"]):
        claim["tier"] = "case"
    no |= {"status": "leaning", "claims": [{**c, "tier": "leaning"} for c in no["claims"][:2]]}
    for line in stored["coverage"]:
        line |= {"copies": 1, "leaning": 2}
    stored["coverage"][1] |= {"status": "leaning", "strength": "unsure"}
    if version == "2.0":
        stored["plain"] = [{**c, "role": "plain"} for c in stored.pop("also")]
        stored["usage"]["pairs_judged"] = stored["usage"].pop("passages_judged")
        del stored["documents"], third["objections"]
        for part in (*stored["citations"], *no["claims"]):
            del part["speaker"]
    answer = Answer.model_validate_json(json.dumps(stored))
    assert [c.text for c in answer.also] == [TEXTS[8], *(c["text"] for c in no["claims"])]
    assert {c.role for c in answer.also} == {"also"}
    opened, line = answer.perspectives[1], answer.coverage[1]
    assert (opened.claims, opened.status, line.status, line.strength) == ([], "not_found", "not_found", "none")
    assert (answer.perspectives[0], answer.usage, answer.schema_version) == (now.perspectives[0], now.usage, "4.2")
    assert Answer.model_validate_json(answer.model_dump_json()) == answer
    shown = to_markdown(answer)
    assert QUESTION in shown
    assert ("## Documents" in shown) is (version != "2.0")
    with pytest.raises(ValueError, match="schema_version"):
        Answer.model_validate(stored | {"schema_version": "1.0"})


def test_the_side_against_a_claim_has_its_own_name() -> None:
    answer = toll_answer()
    yes = answer.perspectives[0].model_copy(update={"name": "Close the bridge", "statement": "A toll is too dear."})
    target = Countered(number=1, text=TEXTS[1], publisher="", side="Yes", statement=QUESTION, stance="supports")
    asked = answer.model_copy(update={"against": target, "perspectives": [yes]})
    assert (side_label(asked, yes), side_heading(asked, yes)) == ("Close the bridge", "A toll is too dear.")
    assert stance_label(asked, asked.documents[0]) == "read as ‘Close the bridge’"

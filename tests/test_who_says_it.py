"""Who says each quotation: from a document's speakers and author to everything that shows the answer."""

import io
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import docx
import pytest
from agent_fixtures import ingest
from test_answer import claim, made, state
from written_answers import answer, cited, covered, stands

from agent.answer.files import to_docx, to_html, to_markdown
from agent.answer.followups import counter_target
from agent.answer.model import AnswerClaim
from agent.answer.outline import side_as_text, to_terminal
from agent.answer.retrieved import Retrieved
from agent.answer.wording import evidence_counts, named_row, source_line, stored_document_facts
from agent.options import RunOptions
from agent.runs.service import Runs
from agent.state import Claim
from api.completions.replies import Completion
from api.mcp.tools import answer_text, retrieved_text
from prompts import as_data
from tools.language.reported_speech import UNNAMED, speaker_of
from tools.models.judges.batch import documents_as_data
from tools.passages import Block, Passage, SourceDocument
from ui import answer_view, source_view

QUESTION = "Should schools ban smartphones?"
SAID = {
    "Cllr Moen": "Schools should not ban smartphones, because parents have to reach their children in an emergency.",
    "probably Cllr Price": "A ban on smartphones does nothing against bullying, which moves home with the pupils.",
    "Ana Lindqvist": "Schools should ban smartphones because my daughter sleeps better since hers stays at home.",
}
SPOKEN = {"Cllr Faulds": "Schools should ban smartphones. Lessons are calmer without them.", **SAID}
MINUTES = SourceDocument(
    "minutes.txt",
    "\n\n".join([*SPOKEN.values()][:3]),
    title="Council minutes",
    publisher="Bells Town Council",
    kind="government",
    date="2025-03-20",
    provenance="date: heading",
    blocks=tuple(Block(text, speaker=who) for who, text in [*SPOKEN.items()][:3]),
)
COLUMN = SourceDocument(
    "column.txt",
    SAID["Ana Lindqvist"],
    title="Calm",
    publisher="The Gazette",
    date="2025-03-14",
    author="Ana Lindqvist",
    provenance="date: byline; author: PDF metadata",
)


@pytest.fixture
def runs(own_runs: Runs) -> Runs:
    ingest(own_runs, [MINUTES, COLUMN], "mine")
    return own_runs


def test_a_document_with_several_speakers_is_named_as_a_source_and_not_one_of_them() -> None:
    claims = [AnswerClaim(text=f"Reason {n}.", citations=[n], quoted=False) for n in (1, 2)]
    side = stands("p1", "other", "Take the bus.", *claims)
    for speakers, publisher, named in (
        (("", "Petra Wolden"), "", "The offer"),
        (("", "Petra Wolden"), "Hill Coaches", "Hill Coaches"),
        (("Petra Wolden", "Petra Wolden"), "Hill Coaches", "Petra Wolden, in The offer"),
    ):
        document = {"document_id": "offer.md", "title": "The offer", "publisher": publisher}
        sources = [cited(n, **document, speaker=who) for n, who in enumerate(speakers, start=1)]
        told = answer("Which?", side, citations=sources, coverage=[covered(side, sources=1)])
        assert evidence_counts(told, side) == f"2 claims from one source alone: {named}"


def test_the_company_of_a_press_release_is_no_name() -> None:
    said = "The company points out that its drivers hold the winter licence."
    passage = replace(spoken(1), text=f"{said} It is cheap.")
    found = [speaker_of(replace(passage, kind=kind), said) for kind in ("press release", "news")]
    assert found == ["", "The company"]


async def test_every_rendering_names_who_says_each_quotation(runs: Runs) -> None:
    options = RunOptions.of(collections=("mine",), web=False)
    given = await runs.answer(await runs.start(QUESTION, options))
    claims = [c for s in given.perspectives for c in s.claims]
    said = SAID | {"Cllr Faulds": "Schools should ban smartphones."}
    assert {c.text: c.speaker for c in claims} == {text: who for who, text in said.items()}
    at = {c.number: c for c in given.citations}
    assert {(at[n].speaker, at[n].quote) for c in claims for n in c.citations} == {*said.items()}
    assert given.coverage[1].sources == 2  # each councillor is a source
    lines = [source_line(c) for c in given.citations if c.speaker == "Cllr Moen"]
    assert lines == ["Cllr Moen, Council minutes. Bells Town Council, government, 20 March 2025. minutes.txt"]

    word = "\n".join(p.text for p in docx.Document(io.BytesIO(to_docx(given))).paragraphs)
    pasted = "\n".join(side_as_text(given, s) for s in given.perspectives)
    chat = Completion("steelman", None).message(given)
    shown = [to_markdown(given), to_html(given), word, pasted, answer_text(given), chat["content"]]
    counted = evidence_counts(given, given.perspectives[1])  # above the side on the page
    assert counted.endswith(" from 2 sources")
    assert all(counted in text for text in [*shown[:3], " ".join(to_terminal(given, 100, bold=False).split())])
    assert "each speaker of a document" in answer_view._SOURCES  # the tooltip of that count
    for c in claims:
        for text in shown:
            below = (told := text.replace("\\", ""))[told.index(f"“{c.text}”") + len(c.text) :]
            source = at[c.citations[0]]
            kept = f"in {source.title}, " if source.title == MINUTES.title else ""  # by the council that did not say it
            assert below.index(f"{c.speaker}, {kept}{source.publisher}, ") < 100  # a line, and HTML's tags
        assert f'"{c.text}" – {c.speaker} [' in " ".join(to_terminal(given, 100, bold=False).split())
    titles = {a["url_citation"]["title"] for a in chat["annotations"]}
    assert {"Cllr Moen, Council minutes", "Ana Lindqvist, Calm"} <= titles
    assert "probably Cllr Price, Bells Town Council, government, 20 March 2025" in map(
        source_view.about_of, at.values()
    )

    found = await runs.retrieved(given.run_id)
    assert isinstance(found, Retrieved)
    assert {(p.speaker, p.author) for s in found.perspectives for p in s.passages} >= {
        ("Cllr Moen", ""),
        ("", "Ana Lindqvist"),
    }
    assert "by Ana Lindqvist, Calm, The Gazette" in retrieved_text(found)


async def test_the_stored_documents_tell_author_date_and_speakers(runs: Runs) -> None:
    assert [stored_document_facts(row) for row in runs.store.documents("mine")] == [
        ["20 March 2025", "3 speakers"],
        ["by Ana Lindqvist", "14 March 2025"],
    ]


@pytest.mark.parametrize(
    ("identity", "name", "shown"),
    [("/a/b.csv#7", "7", "b.csv, row 7"), ("/a/b.csv#d7", "d7", "d7"), ("b.csv#7", "b.csv, row 7", "b.csv, row 7")],
)
def test_a_row_is_not_named_by_its_number_alone(identity: str, name: str, shown: str) -> None:
    assert named_row(SimpleNamespace(external_id=identity, shown_id=name)) == shown


def spoken(number: int, speaker: str = "", **more: Any) -> Passage:
    return Passage(number, "a", "mine", f"Text {number}.", publisher="Press", speaker=speaker, **more)


def test_a_number_is_of_one_speaker_in_one_document() -> None:
    known = {1: spoken(1, "Cllr A"), 2: spoken(2, "Cllr B"), 3: spoken(3, "Cllr A"), 4: spoken(4, author="A. Moen")}
    claims = [claim("p1" if n < 3 else "p2", f"Text {n}.", n) for n in known]
    written = Claim(**{**claim("p1", "Both say so.", 1, 2), "written": True, "evidence": ["Text 1.", "Text 2."]})
    given = made(state([*claims, written]), known)
    assert [(c.number, c.speaker, [(q.quote, q.speaker) for q in c.more]) for c in given.citations] == [
        (1, "Cllr A", [("Text 3.", "Cllr A")]),
        (2, "Cllr B", []),
        (3, "A. Moen", []),
    ]
    told = [(c.text, c.citations, c.speaker) for s in given.perspectives for c in s.claims]
    assert told[2] == ("Both say so.", [1, 2], "")  # its words are nobody's
    assert told[3:] == [("Text 3.", [1], "Cllr A"), ("Text 4.", [3], "A. Moen")]


TURN = (
    "The leaflet says: “Bans fail. They are cruel.” Ines Hald said that bans work. Critics say that bans bore. "
    "We have a ban. She said that bans help."
)


@pytest.mark.parametrize(
    ("quote", "of_an_author", "of_a_speaker"),
    [
        ("They are cruel.”", f"{UNNAMED} by A. Moen", f"{UNNAMED} by Cllr Wei Al"),
        ("Ines Hald said that bans work.", "Ines Hald, quoted by A. Moen", "Ines Hald, quoted by Cllr Wei Al"),
        ("Critics say that bans bore.", "A. Moen", f"{UNNAMED} by Cllr Wei Al"),
        ("We have a ban.", "A. Moen", "Cllr Wei Al"),
        ("She said that bans help.", "Ines Hald, quoted by A. Moen", "Cllr Wei Al"),
    ],
)
def test_nobody_stands_for_whom_a_passage_reports(quote: str, of_an_author: str, of_a_speaker: str) -> None:
    passage = replace(spoken(1, author="A. Moen"), text=TURN)
    assert speaker_of(passage, quote) == of_an_author
    assert speaker_of(replace(passage, speaker="Cllr Wei Al"), quote) == of_a_speaker
    assert speaker_of(replace(passage, author="Ines Hald, Bo Lind"), "Ines Hald said that bans work.") == "Ines Hald"


def test_a_participants_code_and_a_person_below_i_know_are_speakers() -> None:
    text = "Many tire. “I was tired” (P14). I know that Ines Hald, who rows, has said that bans work."
    passage = replace(spoken(1, author="A. Moen"), text=text)
    assert speaker_of(passage, "“I was tired” (P14).") == "P14, quoted by A. Moen"
    assert speaker_of(passage, text.partition("). ")[2]) == "Ines Hald, quoted by A. Moen"


@pytest.mark.parametrize(
    ("named", "own", "who"),
    [
        ("Inspector Ines Hald", {"author": "A. Moen"}, "Inspector Ines Hald, quoted by A. Moen"),
        ("Ines Hald", {"author": "Ines Hald, Bo Lind"}, "Ines Hald"),
        ("Hald", {"author": "Dr Ines Hald"}, "Dr Ines Hald"),
        ("Ines Hald", {}, "Ines Hald"),
        ("Ines Hald", {"speaker": "probably False economy"}, "Ines Hald"),
        ("Ines Hald", {"speaker": "probably Hald"}, "Hald"),
        ("Wei Al", {"speaker": "Cllr Wei Al"}, "Cllr Wei Al"),
        ("The Press", {"author": "A. Moen"}, "A. Moen"),  # prints it
        ("Name and address supplied", {}, "Ines Hald"),
        ("Bo Lee", {"author": "Ann Lee"}, "Bo Lee, quoted by Ann Lee"),
        ("Mr Smith", {"author": "Mrs Smith"}, "Mr Smith, quoted by Mrs Smith"),
        ("probably Cllr Roe", {"speaker": "probably Cllr Roe"}, "probably Cllr Roe"),
    ],
)
def test_whom_a_model_names_goes_before_whom_rules_find(named: str, own: dict[str, str], who: str) -> None:
    assert speaker_of(replace(spoken(1, **own), text=TURN), "She said that bans help.", named) == who


def test_a_speaker_whom_a_model_names_in_two_ways_has_one_number() -> None:
    known = {n: spoken(n) for n in range(1, 6)}
    names = "Dr Ann Lee", "Ann Lee", "Bo Lee", "", "Ann Lee"
    written = [
        Claim(**{**claim("p1", f"So says {n}.", n), "written": True, "evidence": [f"Text {n}."], "speakers": {n: who}})
        for n, who in enumerate(names, start=1)
    ]
    given = made(state(written), known)
    assert [c.speaker for c in given.citations] == ["Dr Ann Lee", "Bo Lee", ""]
    assert [c.citations for c in given.perspectives[0].claims] == [[1], [1], [2], [3], [1]]
    assert [c.speaker for c in given.perspectives[0].claims] == ["Dr Ann Lee", "Dr Ann Lee", "Bo Lee", "", "Dr Ann Lee"]


def test_people_whom_an_author_quotes_keep_numbers_of_their_own() -> None:
    known = {n: spoken(n, author="Bo Lind") for n in range(1, 5)}
    names = "Ann Lee", "Bo Lind", "Cy Lind", "Lee"
    written = [
        Claim(**{**claim("p1", f"So says {n}.", n), "written": True, "evidence": [f"Text {n}."], "speakers": {n: who}})
        for n, who in enumerate(names, start=1)
    ]
    named = [c.speaker for c in made(state(written), known).citations]
    assert named == ["Ann Lee, quoted by Bo Lind", "Bo Lind", "Cy Lind, quoted by Bo Lind", "Lee, quoted by Bo Lind"]


def test_a_counter_argument_names_the_speaker_it_replies_to() -> None:
    said = AnswerClaim(text="It helps.", citations=[1], speaker="Cllr Faulds")
    source = cited(1, speaker="probably Cllr Faulds", publisher="Bells Town Council")
    given = answer(QUESTION, stands("p1", "supports", "Yes.", said), citations=[source])
    target = counter_target("Strongest counter-argument to 1?", [given])
    assert target is not None
    assert target["publisher"] == "probably Cllr Faulds"


def test_chat_models_are_told_who_says_a_passage() -> None:
    assert documents_as_data({"1": spoken(1, "Cllr A")}) == '<document publisher="Press">[1] Cllr A: Text 1.</document>'
    assert 'author="A. Moen"' in documents_as_data({"1": spoken(1, author="A. Moen")})
    assert as_data("passage", "x", speaker="") == "<passage>x</passage>"

"""Marked words of chats, header rows of surveys, and who wrote a row."""

import json
import time
from pathlib import Path

import pytest
from test_rows import Reading, made

from tools.documents.passage_cutting import cut_document
from tools.errors import SourceError
from tools.passages import PassageText

_TELEGRAM = {
    "name": "Z",
    "messages": [
        {"id": 1, "type": "service", "date": "2024-05-01", "text": ""},
        {
            "id": 2,
            "type": "message",
            "date": "2024-05-02",
            "from": "Ann Lee",
            "text": [
                "",
                {"type": "bold", "text": "Zoos"},
                " should not breed ",
                {"type": "link", "text": "tigers"},
                ".",
            ],
            "text_entities": [{"type": "bold", "text": "Zoos"}, {"type": "plain", "text": " should not breed "}],
        },
    ],
}


def passages(found: Reading) -> list[PassageText]:
    return [passage for document in found.documents for passage in cut_document(document)]


def test_the_marked_words_of_a_chat_stay_in_their_sentence(tmp_path: Path) -> None:
    [document] = Reading(made(tmp_path, "a.json", json.dumps(_TELEGRAM))).documents
    assert (document.text, document.author) == ("Zoos should not breed tigers.", "Ann Lee")


@pytest.mark.parametrize(
    "rows",
    [
        '{"comments": [{"text": "I agree.", "likes": 3}, {"text": "I do not.", "likes": 1}]}',
        '[{"type": "text", "content": "I agree."}, {"type": "text", "content": "I do not."}]',
        '[{"type": "message", "user": "a", "text": "I agree."}, {"type": "p", "user": "b", "text": "I do not."}]',
        '[{"id": 1, "body": [{"type": "paragraph", "comment": "I agree."}]}, '
        '{"id": 2, "body": [{"type": "paragraph", "comment": "I do not."}]}]',
        '{"participants": [{"name": "A"}], "messages": [{"content": "I agree."}, {"content": "I do not."}]}',
    ],
)
def test_rows_are_no_runs(tmp_path: Path, rows: str) -> None:
    assert Reading(made(tmp_path, "a.json", rows)).texts == ["I agree.", "I do not."]


# Surveys. Of each the file, its texts, and their authors.
_WHY = "Zoos keep the condor alive, and nobody else does."
SURVEYS = {
    "Qualtrics": (
        "StartDate,Progress,ResponseId,Q1_Name,Q2\nStart Date,Progress,Response ID,What is your name? - Name,"
        '"Should zoos close?\n\nWrite freely."\n'
        + ",".join(f'"{{""ImportId"":""{n}""}}"' for n in "abcde")
        + f'\n2024-05-01 10:00:00,100,R_1,Ann Lee,"{_WHY}"\n',
        ([_WHY], ["Ann Lee"]),
    ),
    "SurveyMonkey": (
        "Respondent ID,Start Date,Should zoos close? Why?,Which do you visit?,\n,,Open-Ended Response,Zoos,Farms\n"
        f'118,05/01/2024 10:00:00,"{_WHY}",Zoos,\n119,05/02/2024 10:00:00,I have never been to one.,,Farms\n',
        ([_WHY, "I have never been to one."], ["", ""]),
    ),
    "SoSci": (
        "CASE;STARTED;A101\nInterview number;Time it started;What do you think about zoos?\n"
        f"12;2024-05-01 10:00:00;{_WHY}\n13;2024-05-01 11:00:00;A cage is a cage, after all.\n",
        ([_WHY, "A cage is a cage, after all."], ["", ""]),
    ),
    "missing figures": (  # no header row, though there are words in the place of figures
        f'id,score,votes,review\na,n/a,none,"{_WHY}"\nb,4,12,"Many people, no benches."\nc,5,13,We shall come again.\n',
        ([_WHY, "Many people, no benches.", "We shall come again."], ["", "", ""]),
    ),
    "names in parts": (f'First Name,Last Name,Comment\nAnn,Lee,"{_WHY}"\n', ([_WHY], ["Ann Lee"])),
    "names of users": (f'screen name,posted,body\nmo_b,02 Jun 2023 08:14,"{_WHY}"\n', ([_WHY], ["mo_b"])),
    "goods that are called as people": (f'name,price,review\nMaud Brand,2.99,"{_WHY}"\n', ([_WHY], [""])),
    "anonymous": (f'respondent,speech\nR_1,"{_WHY}"\n', ([_WHY], ["R_1"])),
}


@pytest.mark.parametrize("tool", SURVEYS)
def test_header_rows_are_no_documents_and_authors_are_named(tmp_path: Path, tool: str) -> None:
    file, expected = SURVEYS[tool]
    found = Reading(made(tmp_path, "a.csv", file))
    assert ([p.text for p in passages(found)], [d.author for d in found.documents]) == expected
    assert {d.title for d in found.documents} == {""}
    assert found.problems == []


def test_each_answer_stands_below_its_question_and_a_reply_is_not_its_authors(tmp_path: Path) -> None:
    names = "Name,Why do you think so?,What should the town do?,How did you hear of it?"
    rows = f'Ann Lee,"{_WHY}",It should pay for the new aviary.,From a friend of mine\nBo Reed,It is small for bears.,,'
    more = "".join(f"\nA. Lee{n},It has {n} bears and no trees.,,From a friend of mine" for n in range(3))
    found = Reading(made(tmp_path, "a.csv", f"{names}\n{rows}From a friend of mine{more}\n"))
    assert [(p.section, p.text) for p in passages(found)][:2] == [
        ("Why do you think so?", _WHY),
        ("What should the town do?", "It should pay for the new aviary."),
    ]
    assert "read 'Why do you think so?', 'What should the town do?' as the text" in found.notes[0]
    names = "Name,Comment received,Officer response"
    found = Reading(made(tmp_path, "b.csv", f'{names}\nAnn Lee,"{_WHY}",The town has no money for that.\n'))
    assert [(p.speaker or found.documents[0].author, p.text) for p in passages(found)] == [
        ("Ann Lee", _WHY),
        ("Officer", "The town has no money for that."),
    ]


def test_what_a_person_ticked_opens_the_rows_text(tmp_path: Path) -> None:
    rows = [
        "name,resident,dredge_the_harbour,consent,opinion,comment",
        f'Ada Quill,yes,No,yes,against,"{_WHY}"',
        "Ben Orme,no,Strongly agree,yes,for,<p>It is <b>silted up</b> to the steps.</p>",
        "Cy Pell,no,Don't know,yes,unsure,",
    ]
    found = Reading(made(tmp_path, "a.csv", "\n".join(rows)))
    assert [p.text for p in passages(found)] == [
        f"Resident: yes. Dredge the harbour: no. Opinion: against. {_WHY}",
        "Resident: no. Dredge the harbour: strongly agree. Opinion: for. It is silted up to the steps.",
    ]
    assert found.notes == [
        "a.csv: read 'comment' as the text, 'name' as the author, 'resident', 'dredge_the_harbour', 'opinion' as the "
        "ticked answer; not used: 'consent'.",
        "a.csv: 1 rows without text.",
    ]


def test_what_a_person_ticked_stands_before_the_first_written_answer(tmp_path: Path) -> None:
    names = "Q1. Should the ferry run at night?,Officer response,Why do you think so?,What should the port do?"
    more = "".join(f",,It is {n} miles to the bridge and back.,It should ask its {n} crews.\n" for n in range(2, 5))
    row = '"Only in June, on Sundays",,The last bus leaves at nine in the evening.,It should pay the crew.\n'
    ticks = "".join(f"{said},,The bridge is {n} hours away on foot.,\n" for n, said in enumerate(["Yes", "No"] * 8))
    found = Reading(made(tmp_path, "a.csv", f"{names}\n{row}{more}{ticks}"))
    assert [(p.section, p.text) for p in passages(found)][:2] == [
        (
            "Why do you think so?",
            "Should the ferry run at night: Only in June, on Sundays. The last bus leaves at nine in the evening.",
        ),
        ("What should the port do?", "It should pay the crew."),
    ]


@pytest.mark.parametrize(
    ("site", "url", "publisher"),
    [
        ("Mill Lane", "https://survey.example/1", ""),
        ("Mill Lane", "", ""),
        ("hill-life.example", "", "hill-life.example"),
        ("The Hill Life", "https://www.hill-life.example/1", "The Hill Life"),
    ],
)
def test_a_column_of_sites_is_the_publisher_if_it_holds_web_sites(
    tmp_path: Path, site: str, url: str, publisher: str
) -> None:
    rows = [{"site": site, "url": url, "text": f"The crossing is too far from school {n}."} for n in range(3)]
    (tmp_path / "a.json").write_text(json.dumps(rows))
    found = Reading(tmp_path / "a.json")
    assert [document.publisher for document in found.documents] == [publisher] * 3


def test_a_table_of_figures_holds_no_text(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"a\.csv: no column holds text.*'For' \(12\)"):
        Reading(made(tmp_path, "a.csv", "Ward,For,Against\nAbbey,12,34\nDocks,1,2\n"))


def test_a_hostile_header_costs_no_more_than_its_length(tmp_path: Path) -> None:
    began = time.process_time()
    Reading(made(tmp_path, "a.csv", f'{"x" * 200_000},id\n"{_WHY}",1\n"{_WHY} So.",2\n'))
    figures = ",".join(f"a{n}" for n in range(30_000)) + "\n" + ",".join("7" * 30_000)
    with pytest.raises(SourceError, match="no column holds text"):
        Reading(made(tmp_path, "b.csv", f"{figures}\n"))
    assert time.process_time() - began < 5

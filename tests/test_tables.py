"""Words in runs, header rows of surveys, tables of figures, and who wrote a row."""

import json
import re
import time
from pathlib import Path

import pytest
from test_rows import Reading, made

from tools.documents.ingest import cut_document
from tools.passages import PassageText

# A rich text: of each vendor how a run is written (T is its words), and the file (RUNS are those of the first sentence,
# LAST is the second in one run).
RUNS, LAST = ("Zoos should ", "not", " breed tigers."), "A cage is a cage."
_TEXT = '{"type": "text", "text": T, "marks": [{"type": "strong"}]}'
_DOC = (
    '{"type": "doc", "content": [{"type": "paragraph", "content": [RUNS]}, {"type": "bulletList", "content": '
    '[{"type": "listItem", "content": [{"type": "paragraph", "content": [LAST]}]}]}]}'
)
_SLATE = (
    '[{"type": "paragraph", "children": [RUNS]}, {"type": "block-quote", "children": [{"text": "A cage "}, '
    '{"type": "link", "url": "https://x", "children": [{"text": "is"}]}, {"text": " a cage."}]}]'
)
RICH = {
    "Telegram": (
        '{"type": "bold", "text": T}',
        '{"name": "Z", "id": 1, "messages": [{"id": 1, "type": "service", "date": "2024-05-01", "text": ""}, '
        '{"id": 2, "type": "message", "date": "2024-05-02", "from": "Ann Lee", "text": ["", RUNS, "\\n", LAST], '
        '"text_entities": [RUNS, LAST]}]}',
    ),
    "Slack": (
        _TEXT,
        '[{"type": "message", "ts": "1741284000.01", "text": "Zoos should *not* breed tigers.\\n• A cage is a '
        'cage. <@U2> :eyes:", "user": "U1", "user_profile": {"real_name": "Ann Lee"}, "blocks": [{"type": "rich_text", '
        '"elements": [{"type": "rich_text_section", "elements": [RUNS]}, {"type": "rich_text_list", "style": "bullet", '
        '"elements": [{"type": "rich_text_section", "elements": [LAST, {"type": "user", "user_id": "U2"}, '
        '{"type": "emoji", "name": "eyes"}]}]}]}]}]',
    ),
    "Notion": (
        '{"type": "text", "text": {"content": T, "link": null}, "plain_text": T, "annotations": {"color": "red"}}',
        '{"object": "list", "results": [{"object": "block", "id": "a", "type": "paragraph", "paragraph": {"rich_text": '
        '[RUNS], "color": "red"}}, {"object": "block", "id": "b", "type": "to_do", "to_do": {"rich_text": [LAST]}}]}',
    ),
    "TipTap": (_TEXT, _DOC),
    "Slate": ('{"text": T, "bold": true}', _SLATE),
    "Quill": ('{"insert": T}', '{"ops": [RUNS, {"insert": {"image": "data:red"}}, {"insert": "\\n"}, LAST]}'),
    "Editor.js": (
        '{"type": "paragraph", "data": {"text": T}}',
        '{"time": 1, "blocks": [{"type": "header", "data": {"text": "Zoos should not breed tigers.", "level": 2}}, '
        '{"type": "list", "data": {"style": "red", "items": ["A cage is a cage.", "no more"]}}, '
        '{"type": "table", "data": {"content": [["a", "b"], ["c", "d"]]}}]}',
    ),
    "Mastodon": (
        "",
        '{"orderedItems": [{"type": "Create", "object": {"type": "Note", "content": '
        '"<p>Zoos should <b class=red>not</b> breed tigers.</p><p>A cage is a cage.</p>"}}]}',
    ),
    "strings": ("T", '[{"id": 1, "text": [RUNS, " ", LAST], "tags": ["red", "blue"]}]'),
}


def passages(found: Reading) -> list[PassageText]:
    return [passage for document in found.documents for passage in cut_document(document)]


def written(run: str, text: str) -> str:
    return re.sub(r"\bT\b", lambda _: json.dumps(text), run)


@pytest.mark.parametrize("vendor", RICH)
def test_runs_are_joined_in_their_order(tmp_path: Path, vendor: str) -> None:
    run, file = RICH[vendor]
    told = file.replace("RUNS", ", ".join(written(run, t) for t in RUNS))
    found = Reading(made(tmp_path, "a.json", told.replace("LAST", written(run, LAST))))
    text = "\n".join(passage.text for passage in passages(found))
    assert "Zoos should not breed tigers." in text
    assert LAST in text
    assert text.count("tigers") == 1
    assert not [sign for sign in ("red", "bold", "<b", "*not*") if sign in text]
    assert found.problems == []
    assert {d.author for d in found.documents} <= {"", "Ann Lee", "user", "x"}


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


def test_a_text_in_runs_that_lie_too_deep_says_so(tmp_path: Path) -> None:
    deep = '{"type": "b", "text": "x", "children": [' * 400 + "]}" * 400
    assert Reading(made(tmp_path, "a.json", f'[{{"text": ["a ", {deep}]}}]')).texts[0].endswith("x…")


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


# Tables of figures. Of each the file, its title, and its passages as 'section > text'.
FIGURES = {
    "title, groups and notes": (
        "Pupils by region,,\n,,\nRegion,2021,2022\nEngland,,\nLeeds,5,6\nWales,,\nCardiff,9,..\nNote: provisional.,,\n",
        "Pupils by region",
        "England > Leeds; 2021: 5; 2022: 6 | Wales > Cardiff; 2021: 9; 2022: .. | Wales > Note: provisional.",
    ),
    "a series and lines about it": (
        'Title,"Bats, by barn"\nCDID,B7\nPreUnit,\nNotes,"Wet, in 2022."\n\nBarn,2021,2022,2023\n'
        "Elm,5,[c],..\nOak,6,7,8\n\n1. Oak has a new roof.\n",
        "Bats, by barn",
        " > CDID: B7\nNotes: Wet, in 2022. |  > Elm; 2021: 5; 2022: [c]; 2023: .. |  > Oak; 2021: 6; 2022: 7; 2023: 8"
        " |  > 1. Oak has a new roof.",
    ),
    "decimal commas": (
        "Country;Price (EUR);Organic (%)\nAustria;4,80;25,0\nItaly;£5,95;3,5 %\n",
        "a",
        " > Austria; Price (EUR): 4,80; Organic (%): 25,0 |  > Italy; Price (EUR): £5,95; Organic (%): 3,5 %",
    ),
    "two lines of names": (
        ",2022,,2023,\nWard,For,Against,For,Against\nAbbey,12,34,56,78\nDocks,1,2,3,4\n",
        "a",
        " > Abbey; 2022 For: 12; 2022 Against: 34; 2023 For: 56; 2023 Against: 78"
        " |  > Docks; 2022 For: 1; 2022 Against: 2; 2023 For: 3; 2023 Against: 4",
    ),
    "a remark here and there": (
        "Site,Bats,Nights,Remarks\nBridge,12,3,\nBarn,7,2,The roof was repaired in May.\nMill,9,4,\n",
        "a",
        " > Bridge; Bats: 12; Nights: 3 |  > Barn; Bats: 7; Nights: 2; Remarks: The roof was repaired in May."
        " |  > Mill; Bats: 9; Nights: 4",
    ),
}


@pytest.mark.parametrize("table", FIGURES)
def test_a_table_of_figures_is_one_document_whose_passages_name_their_cells(tmp_path: Path, table: str) -> None:
    file, title, expected = FIGURES[table]
    found = Reading(made(tmp_path, "a.csv", file))
    assert [(d.title, d.external_id, d.key) for d in found.documents] == [(title, "a.csv", "")]
    assert " | ".join(f"{p.section} > {p.text}" for p in passages(found)) == expected
    assert (len(found.notes), found.notes[0][-27:], found.problems) == (1, "read as a table of figures.", [])


def test_a_hostile_header_costs_no_more_than_its_length(tmp_path: Path) -> None:
    began = time.process_time()
    Reading(made(tmp_path, "a.csv", f'{"x" * 200_000},id\n"{_WHY}",1\n"{_WHY} So.",2\n'))
    Reading(made(tmp_path, "b.csv", ",".join(f"a{n}" for n in range(30_000)) + "\n" + ",".join("7" * 30_000) + "\n"))
    assert time.process_time() - began < 5

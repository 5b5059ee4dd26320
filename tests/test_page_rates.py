"""The rates of the answer page, on documents with known faults: of the labels, each of which has to be found."""

import csv
import json
from pathlib import Path

import pytest
from label_model import read_pages
from page_rates import PAGES, counted, main, measured
from speaker_rates import rates

_SAID = [
    ("ann.eml", "Schools should ban smartphones, because pupils learn more in lessons without them.", "yes", "Ann Roe"),
    ("ann.eml", "Many pupils walk to school.", "none", "Ann Roe"),
    (
        "bob.eml",
        "A smartphone ban is wrong, since it punishes pupils who need to be reached at home.",
        "yes",
        "Bob Tull",
    ),
    ("dan.eml", "Banning smartphones in schools punishes all for the faults of a few.", "no", "Ann Roe"),
    ("cat.txt", "Smartphones in schools should be banned, because they spoil breaks.", "yes", "Cat Moss"),
]
"""Bob Tull's side is wrong. Dan Oke wrote the third mail, and no file names Cat Moss."""
_SIDES = {"yes": ("Ban them", "Schools should ban smartphones."), "no": ("Allow them", "Schools should allow phones.")}


@pytest.fixture
def labelled(tmp_path: Path) -> Path:
    (docs := tmp_path / "phones" / "docs").mkdir(parents=True)
    for file, name in {"ann.eml": "Ann Roe", "bob.eml": "Bob Tull", "dan.eml": "Dan Oke", "cat.txt": ""}.items():
        head = f"From: {name} <me@example.org>\nSubject: Phones\n\n" if name else ""
        text = " ".join(sentence for own, sentence, *_ in _SAID if own == file)
        (docs / file).write_text(f"{head}{text}\n")
    with (docs.parent / "labels.csv").open("w", newline="") as file_:
        csv.writer(file_).writerows([("file", "sentence", "side", "who"), *_SAID])
    sides = {name: {"name": words[0], "statement": words[1]} for name, words in _SIDES.items()}
    asked = {"form": "polar", "question": "Should schools ban smartphones?", "sides": sides}
    (docs.parent / "questions.json").write_text(json.dumps([asked]))
    return docs.parent


def test_wrong_labels_are_found(cached: None, labelled: Path, tmp_path: Path) -> None:
    pages = read_pages(labelled)
    found = {mode: counted(pages, lines) for mode, lines in measured(pages, tmp_path / "data").items()}
    every = {"all": {"yes": 3, "no": 1, "none": 1}}
    assert found["embedded"] == every | {
        "side": {"right": 2, "wrong": 1, "sideless": 1},
        "speaker": {"right": 3, "missing": 1},
        "shown": {"yes": 3, "none": 1},
    }
    assert found["played"] == every | {  # which believes the label of Bob Tull's side
        "side": {"right": 4},
        "speaker": {"right": 2, "wrong": 1, "missing": 1},
        "shown": {"yes": 3, "no": 1},
    }


@pytest.mark.parametrize("folder", PAGES, ids=lambda folder: folder.name)
def test_labelled_sentences_stand_in_their_documents(folder: Path) -> None:
    assert read_pages(folder).questions
    assert not rates(folder)["lost"]


def test_two_readers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [("a1", f"Sentence {n}.", "Yes", "Ann Roe, Press") for n in range(4)]
    for name, sides in {"screen.csv": "yes yes no yes", "second.csv": "yes no no unclear"}.items():
        rows = [(*line, side, "yes") for line, side in zip(lines, sides.split(), strict=True)]
        with (tmp_path / name).open("w", newline="") as file:
            csv.writer(file).writerows([tuple("abcdef"), *rows])
    assert main(["--readers", str(tmp_path)]) == 0
    _, side, speaker = capsys.readouterr().out.splitlines()
    assert "first: yes 3 (75.0%), no 1 (25.0%); second: no 2 (50.0%), yes 1 (25.0%), unclear 1" in side
    assert side.endswith("agree on 2 (50.0%)")
    assert speaker.endswith("second: yes 4 (100.0%); agree on 4 (100.0%)")


def test_a_wrong_folder_is_one_line(labelled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (labelled / "questions.json").unlink()
    labels = labelled / "labels.csv"
    assert main([str(labelled)]) == 2
    labels.write_text(labels.read_text().replace(",none,", ",maybe,"))
    (labelled / "questions.json").write_text("[]")
    assert main([str(labelled)]) == 2
    assert main(["--readers", str(labelled)]) == 2
    errors = capsys.readouterr().err.splitlines()
    assert [line.partition(str(labelled))[2] for line in errors] == [
        " has no questions.json.",
        "/labels.csv has the side 'maybe'; a side is yes, no, other, none.",
        " has no screen.csv.",
    ]

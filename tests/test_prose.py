"""What of a text is prose: headings, captions, list marks and references tried line by line, judged by reading."""

import pytest

from tools.language.sentences import is_no_prose, prose_text, without_list_mark

HEADINGS = """
Arguments against the ban
Bridges pay, say those who build them
# Bridges pay for themselves.
| Year | Bridges | Ferries |
Figure 3: The river before the bridge was built.
Source: Office of Statistics, 2019.
[3] Smith J. Bridges of the north. 2010.
The council said no [3]
"""

SENTENCES = """
Bridges pay for themselves.
Do bridges pay for themselves?
The council said no.[3]
2. Bridges pay for themselves within a few years.
- Bridges pay for themselves.
Source code that nobody outside can read is hard to trust.
A ferry that runs only by day leaves the night to those who own a car of their own
"""

MARKS = [
    ("6.3 The clerk read out two letters.", "The clerk read out two letters."),
    ("6.30 pm is late for a child.", "6.30 pm is late for a child."),
    ("> > Bridges pay.", "Bridges pay."),
    ("2. Bridges pay.", "Bridges pay."),
    ("**Bridges pay.", "Bridges pay."),
    ("2019. A year of floods.", "2019. A year of floods."),
    ("-5 degrees is too cold for a ferry.", "-5 degrees is too cold for a ferry."),
    ("", ""),
]


def lines(table: str) -> list[str]:
    return table.strip().split("\n")


@pytest.mark.parametrize("line", lines(HEADINGS))
def test_what_is_no_sentence_of_its_text(line: str) -> None:
    assert is_no_prose(line)


@pytest.mark.parametrize("line", lines(SENTENCES))
def test_what_is_a_sentence_of_its_text(line: str) -> None:
    assert not is_no_prose(line)


@pytest.mark.parametrize(("line", "words"), MARKS)
def test_the_marks_of_lists_and_replies_are_no_words(line: str, words: str) -> None:
    assert without_list_mark(line) == words


def test_a_line_of_fourteen_words_without_an_end_is_a_heading_and_a_longer_one_is_none() -> None:
    fourteen = " ".join(["Bridges"] * 14)
    assert is_no_prose(fourteen)
    assert not is_no_prose(f"{fourteen} pay")
    assert is_no_prose(fourteen.upper() + "!")
    assert not is_no_prose(f"{fourteen} pay".upper() + "!")


def test_prose_is_the_sentences_without_the_rest() -> None:
    text = "Why bridges pay\nBridges pay. They last.\n- Towns grow.\nFigure 1: A bridge\n[1] Smith J. (2010)"
    assert prose_text(text) == "Bridges pay. They last. Towns grow."
    assert prose_text("Bridges pay.  They\tlast.") == "Bridges pay. They last."

"""Copies of one text count once; texts that only share their subject do not. Clusters by average linkage."""

from agent.evidence.coverage import originals_of
from tools.language.near_duplicates import copy_groups
from tools.passages import Passage

PHONES = (
    "A phone within reach costs attention even when it stays silent. The pupil who resists it spends on resisting what "
    "the lesson needed. Teachers report that a rule for the whole school is easier to keep than a rule for each room. "
    "Parents worry about not reaching their children, but the office has a telephone. After one year the school found "
    "fewer quarrels in the breaks and more games in the yard. Nobody asked for the old rule to come back."
)
SENTENCES = PHONES.split(". ")


def test_a_sentence_dropped() -> None:
    for i in range(len(SENTENCES)):
        assert copy_groups([PHONES, ". ".join(SENTENCES[:i] + SENTENCES[i + 1 :])]) == [0, 0]


def test_a_short_extract_in_either_order() -> None:
    extract = ". ".join(SENTENCES[1:3])
    assert copy_groups([PHONES, extract]) == copy_groups([extract, PHONES]) == [0, 0]


def test_a_title_alone_is_no_original_of_a_text_that_names_it() -> None:
    title = "Hill Street School Parents"
    letter = f"An open letter to {title}. {PHONES}"
    assert copy_groups([title, letter, title]) == [0, 1, 0]


def test_the_earliest_of_the_whole_copies_is_the_original() -> None:
    texts = {1: (PHONES, "2026-03-02"), 2: (PHONES, "2026-03-01"), 3: (". ".join(SENTENCES[1:3]), "2019-01-01")}
    passages = {i: Passage(i, f"{i}.md", "news", text, date=date) for i, (text, date) in texts.items()}
    assert originals_of(passages) == {1: 2, 2: 2, 3: 2}, "an excerpt may lack an argument"
    undated = {i: Passage(i, f"{i}.md", "news", PHONES) for i in (5, 4)}
    assert originals_of(undated) == {4: 4, 5: 4}


def test_rows_that_differ_in_figures_are_no_copies_but_a_long_text_with_a_corrected_figure_is() -> None:
    rows = [f"Quay: Gull quay; Boats counted 23:00-03:00: {n}; People on foot: {m}" for n, m in ((14, 22), (19, 31))]
    assert copy_groups([*rows, rows[1]]) == [0, 1, 1]
    long = "In {n} schools the rule was tried. " + PHONES
    assert copy_groups([long.format(n=14), long.format(n=19)]) == [0, 0]
    assert copy_groups([rows[0], rows[0].replace("; People on the quay: 22", "")]) == [0, 0], (
        "only one has more figures"
    )

"""Copies of one text count once; texts that only share their subject do not. Clusters by average linkage."""

from tools.language.near_duplicates import copy_groups

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

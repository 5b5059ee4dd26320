"""Copies of one text count once; texts that only share their subject do not. Clusters by average linkage."""

import random
import time

from tools.language.near_duplicates import copy_groups

PHONES = (
    "A phone within reach costs attention even when it stays silent. The pupil who resists it spends on resisting what "
    "the lesson needed. Teachers report that a rule for the whole school is easier to keep than a rule for each room. "
    "Parents worry about not reaching their children, but the office has a telephone. After one year the school found "
    "fewer quarrels in the breaks and more games in the yard. Nobody asked for the old rule to come back."
)
SAME_SUBJECT = (
    "Banning phones from school hides the problem instead of solving it. Pupils have to learn how to live with what "
    "will be in their pockets all their lives, and where else should they learn it than at school? A rule for the "
    "whole school takes the decision from the teachers who know their rooms. The phone is also a camera, a dictionary "
    "and a calculator, and many families could not pay for these one by one."
)
SENTENCES = PHONES.split(". ")


def test_a_sentence_dropped() -> None:
    for i in range(len(SENTENCES)):
        assert copy_groups([PHONES, ". ".join(SENTENCES[:i] + SENTENCES[i + 1 :])]) == [0, 0]


def test_a_short_extract_in_either_order() -> None:
    extract = ". ".join(SENTENCES[1:3])
    assert copy_groups([PHONES, extract]) == copy_groups([extract, PHONES]) == [0, 0]


def test_the_same_subject_is_no_copy() -> None:
    assert copy_groups([PHONES, SAME_SUBJECT]) == [0, 1]


def test_groups_name_their_first_member() -> None:
    assert copy_groups([SAME_SUBJECT, PHONES, SAME_SUBJECT + " Yes.", PHONES + " No.", "Bees dance."]) == [
        0,
        1,
        0,
        1,
        4,
    ]


def test_three_hundred_passages_take_less_than_a_second() -> None:
    chance = random.Random(7)
    vocabulary = [f"word{i}" for i in range(60)]
    texts = [" ".join(chance.choices(vocabulary, k=110)) for _ in range(290)]
    begun = time.process_time()
    found = copy_groups(texts + texts[:10])
    assert time.process_time() - begun < 1
    assert found == [*range(290), *range(10)]

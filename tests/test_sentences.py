"""Cutting text into sentences and passages: nothing is lost, nothing is doubled."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tools.documents.passage_cutting import cut_passages
from tools.language.sentences import clean_text, split_sentences
from tools.limits import PASSAGE_WORDS

words = st.text(alphabet=st.sampled_from("abzABZ09äß日é'-"), min_size=1, max_size=8)
ends = st.sampled_from(["", "", "", "", ".", ",", "?", "!", ";", '."', ".)", "...", ":"])
gaps = st.sampled_from([" ", " ", " ", "  ", "\n", "\n\n", "\r\n", "\t", "\x0c", "\u2028", "\xa0", "\x1f"])
texts = st.lists(st.tuples(words, ends, gaps), max_size=400).map(lambda parts: "".join("".join(p) for p in parts))


@given(texts)
@settings(max_examples=80, deadline=None)
def test_every_word_is_in_exactly_one_passage(text: str) -> None:
    passages = cut_passages(text)
    assert [w for p in passages for w in p.split()] == text.split()
    assert all(p.strip() for p in passages)
    assert all(len(p.split()) <= 1.75 * PASSAGE_WORDS for p in passages)


@given(st.text(max_size=300))
@settings(max_examples=150, deadline=None)
def test_any_text_at_all(text: str) -> None:
    expected = clean_text(text).split()
    assert [w for p in cut_passages(text) for w in p.split()] == expected
    assert [w for s in split_sentences(text) for w in s.split()] == expected


@pytest.mark.parametrize("part", ["学校应该禁止手机。", " \n", "See p. 3.)", "「a」。"])
def test_a_long_line_takes_a_second(part: str) -> None:
    text = part * (300_000 // len(part))
    begun = time.process_time()
    assert "".join(" ".join(cut_passages(text)).split()) == "".join(text.split())
    assert time.process_time() - begun < 5


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Dr. Smith met Mrs. Jones at 5 p.m. on Main St. in Dover. They spoke.", 2),
        ("The U.S. economy grew by 3.5 per cent. Prices rose, too.", 2),
        ("Is it safe? Yes! It is.", 3),
        ('"It is safe," she said. "We tested it."', 2),
        ("First paragraph.\n\nSecond paragraph.", 2),
        ("Look at www.example.org/?q=A and at a.b! Then decide.", 2),
    ],
)
def test_sentences(text: str, expected: int) -> None:
    found = split_sentences(text)
    assert len(found) == expected, found
    assert " ".join(found).split() == text.split()


def test_lines_that_the_width_of_a_page_broke_are_joined() -> None:
    passage = cut_passages("Many bees\nlive in hives,\nothers live\n(mostly alone) in the ground.\n\nants march.")[0]
    assert split_sentences(passage)[0] == "Many bees live in hives, others live (mostly alone) in the ground."


def test_what_cannot_be_seen_goes_and_what_parts_words_stays() -> None:
    assert clean_text("so\u00adlar\u200b po\u202ewer\ufeff\x00\x07") == "solar power"
    assert (
        clean_text("page one\x0cpage two\r\nline\rline\u2028end").split() == "page one page two line line end".split()
    )
    assert clean_text("broken \ud83d pair").split() == ["broken", "pair"]
    clean_text("broken \ud83d pair").encode()
    assert clean_text("\x1b[1mIn bold\x1b[0m, \x1b[38;5;9min red\x1b[22m [1] man") == "In bold, in red [1] man"

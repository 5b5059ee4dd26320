"""What of a passage can be quoted, and how it is shown: passages judged by reading, and any text at all."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.language.grounding import verbatim
from tools.language.quotable import LONGEST_PAIR, QuotablePart, gaps_in, names_gap, quotable_parts, short_statements
from tools.passages import Passage

CLEAR = """
Bridges let farmers sell what they grow on both banks.
Bridges pay for themselves within ten years.[3]
The figures at www.example.org show that bridges pay for themselves.
I think that a bridge would help everybody in the town.
There is no boat for the winter in this town.
No bridge pays for itself within ten years.
Source code that nobody outside can read is hard to trust.
"""

REFUSED = """
Is the bridge worth its price?
Bridges always pay off.
Why bridges pay for themselves
bridges pay for themselves within ten years of trade.
Bridges pay (as the council says for themselves.
Read more about the bridges in our archive.
© 2019 The Gazette and the people who write it.
Item 3: The council should decide the route before summer.
Apologies for absence were received from the two members.
[12] Smith J. Bridges of the north and what they cost.
"""

NAMED_GAPS = """
The accounts leave out what the heating costs, and the treasurer would not tell me.
No survey of the bats has been made since 2009.
The survey did not ask people under sixteen, so their view is unknown.
Until a trial is run, we can only guess how many drivers would switch.
There is no data on how often the lift breaks down at weekends.
Neither the club nor the council can say where the visitors would park.
The officers have no estimate of how much traffic would move to Elm Road.
We do not know how many swimmers would come in January.
How the closure would affect the chemist remains an open question.
Nobody has worked out what the tram stop would do to bus times.
Neither camp has told us what a ticket would cost.
We didn't examine whether the stops would harm the gears.
No figures exist for winter.
"""

NO_GAPS = """
The council does not say this lightly.
The report does not recommend closing the school.
There are no lights on the towpath and no railings.
You cannot tell a farmer what to grow.
There is no evidence that the old pool ever made a profit.
Nobody knows this street better than the people who live here.
Nobody cares how many awards the building has won.
Nobody has to tell us how dangerous the corner is.
No figure in the town did more for the library than Mrs Orme.
No study is needed to see that the roof leaks.
Nobody told me to move.
We do not know him.
No one has asked for a car park and we do not want one.
I do not know why anybody would want a second quay.
People who do not know what cold is will not see the point.
No adult is examined on the constitution before voting.
What is not known about the cost of the quay?
"""

UNCLEAR = """
It would hurt the smallest shops in town.
Critics of this approach say that the money is lost.
The second reason is that the river freezes in winter.
According to them, the rule hurts the small shops most.
"""

SHOWN = [
    # An opening connective is left out, as an editor would.
    ("But the ferry stops whenever the river freezes over.", "[T]he ferry stops whenever the river freezes over."),
    ("- So, the ferry stops whenever the river freezes.", "[T]he ferry stops whenever the river freezes."),
    # Too little would be left.
    ("On the other hand, ferries freeze in winter.", "On the other hand, ferries freeze in winter."),
    # What a pronoun stands for is quoted before it.
    (
        "The mayor wants a ban on every ferry. It would hurt the smallest shops.",
        "The mayor wants a ban on every ferry. It would hurt the smallest shops.",
    ),
    (
        "The ferry is old and slow.\nThis is why nobody takes the boat any more.",
        "The ferry is old and slow. This is why nobody takes the boat any more.",
    ),
]


def lines(table: str) -> list[str]:
    return table.strip().split("\n")


def of(text: str) -> list[QuotablePart]:
    return quotable_parts(Passage(1, "d", "c", text))


@pytest.mark.parametrize("sentence", lines(CLEAR))
def test_is_quoted_as_it_stands(sentence: str) -> None:
    [unit] = of(sentence)
    assert (unit.text, unit.shown, unit.positions, unit.clear) == (sentence, sentence, (0,), True)


@pytest.mark.parametrize("sentence", lines(REFUSED))
def test_is_not_quoted(sentence: str) -> None:
    assert of(sentence) == []


@pytest.mark.parametrize("sentence", lines(UNCLEAR))
def test_can_only_be_guessed_at_by_itself(sentence: str) -> None:
    assert [(u.text, u.shown, u.clear) for u in of(sentence)] == [(sentence, sentence, False)]


@pytest.mark.parametrize(("text", "shown"), SHOWN)
def test_is_shown_so_that_it_is_understood(text: str, shown: str) -> None:
    last = of(text)[-1]
    assert last.shown == shown
    assert verbatim(last.text, text)
    assert "[" not in last.text
    assert last.clear is (not shown.startswith("On the other hand"))


@pytest.mark.parametrize(
    ("foil", "after", "left_out"),
    [
        ("We are told that the boats are rare here.", "There are nine, and they are not rare to us.", True),
        ("Many farmers argue that the bridge must come.", "The agency does not rule this out.", True),
        ("The campaign claims that nobody pays the toll.", "We counted for a week.", True),
        ("Neighbours tell me that the ferry is enough.", "Yet the ferry stops in winter.", True),
        ("Many farmers argue that the bridge must come.", "A bridge would carry their carts.", False),
        ("The critics who said that boats would sink were wrong.", "We row there every day.", False),
        (
            "Critics argue from how the boats are used.",
            "Rowers who are barred will row where nobody looks at them.",
            False,
        ),
    ],
)
def test_a_view_that_the_author_may_reject_is_not_quoted_alone(foil: str, after: str, left_out: bool) -> None:
    assert (foil in [u.text for u in of(f"{foil} {after}")]) is not left_out


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        ("We met in the old boathouse at six. Sink the barge.", ["Sink the barge."]),
        (
            "Please keep the barge! Never move our barge.",
            ["Please keep the barge!", "Never move our barge."],
        ),
        (
            "The barge must go. I like the barge. Barges cost money.",
            ["The barge must go.", "I like the barge.", "Barges cost money."],
        ),
        # Greetings, signatures, headings, fragments, questions, and sentences that lean on another one
        (
            "Dear rowers,\nThanks to everyone.\nUna Vell, chair of the rowers\nKeep the barge afloat\nBarge to be sold",
            [],
        ),
        ("The old barge. Not the barge! Why sell the barge? Sell it now. They want the barge. SELL THE BARGE.", []),
        ("The first was cheap. Rowers who met. On the barge: nothing. Keep “the barge.", []),
    ],
)
def test_a_short_sentence_may_say_something_alone(text: str, stated: list[str]) -> None:
    assert [part.text for part in short_statements(Passage(1, "d", "c", text))] == stated


def test_a_turn_or_a_row_needs_no_full_stop() -> None:
    text = "i would keep the barge where the rowers can read the name"
    for speaker, key, stated in (("vell7", "", True), ("", "replies.csv#d", True), ("", "", False)):
        parts = short_statements(Passage(1, "d", "c", text, speaker=speaker, key=key))
        assert [(p.text, p.shown, p.clear) for p in parts] == [(text, f"[I]{text[1:]}", True)] * stated
    assert not short_statements(Passage(1, "d", "c", "the old barge on the quay", speaker="vell7"))


def test_a_salutation_is_not_put_before_a_sentence() -> None:
    assert [u.text for u in of("Dear Board,\nWe write for all the rowers of the hill.")] == [
        "We write for all the rowers of the hill."
    ]


@pytest.mark.parametrize(
    "before",
    [
        "What it would cost\n",  # a heading
        "What would a ban on every ferry cost us?",  # no statement
        "They want a ban on every ferry.",  # leans on another one itself
        "The mayor wants a ban on every ferry.\n# What it costs\n",
    ],
)
def test_what_no_reader_is_helped_by_is_not_put_before_a_sentence(before: str) -> None:
    last = of(f"{before} This would hurt the smallest shops in town.")[-1]
    assert (last.text, last.clear) == ("This would hurt the smallest shops in town.", False)


SENTENCES = [
    *lines(CLEAR),
    *lines(REFUSED),
    *lines(UNCLEAR),
    *(text for text, _ in SHOWN),
    "The night ferry runs twice.",
    "It\u00a0leaves  whole families on the\twrong bank.",
    "But it leaves whole families on the wrong bank.",
]


GAPS = [" ", "\n", "  ", "\n\n- ", "\n2. "]


@given(st.lists(st.tuples(st.sampled_from(SENTENCES), st.sampled_from(GAPS)), max_size=8))
def test_what_is_quoted_stands_word_for_word_in_the_passage(parts: list[tuple[str, str]]) -> None:
    text = "".join(f"{sentence}{gap}" for sentence, gap in parts)
    found = of(text)
    for unit in found:
        assert verbatim(unit.text, text)
        assert unit.positions == tuple(sorted(set(unit.positions)))
        assert len(unit.text.split()) <= LONGEST_PAIR
        # Without what was added, and with the capital that was put, nothing else was changed.
        added = unit.shown != unit.text and not unit.shown.startswith("[")
        left = re.sub(r"^(\S+) \[[^\]]+\]", r"\1", unit.shown) if added else unit.shown
        assert re.sub(r"^\[(\w)\]", lambda m: m[1].lower(), left) == unit.text
    assert [u.positions[-1] for u in found] == sorted({u.positions[-1] for u in found})  # a sentence has one reading


@pytest.mark.parametrize("sentence", NAMED_GAPS.strip().splitlines())
def test_a_sentence_that_names_a_gap_in_the_evidence_is_found(sentence: str) -> None:
    assert names_gap(sentence)
    before = "The ferry has run since the spring of 1974. "
    assert sentence in [part.text.removeprefix(before) for part in gaps_in(Passage(1, "a", "c", before + sentence))]


@pytest.mark.parametrize("sentence", NO_GAPS.strip().splitlines())
def test_a_sentence_that_only_looks_like_a_gap_is_not(sentence: str) -> None:
    assert not names_gap(sentence)


def test_a_short_reason_below_a_tick_is_quoted_with_it() -> None:
    row = Passage(1, "poll.csv, row 1", "c", "Dredge the harbour: no.\n\nIt feeds the eels.")
    assert [part.text for part in quotable_parts(row)] == ["Dredge the harbour: no. It feeds the eels."]


def test_a_reason_is_quoted_together_with_what_its_writer_ticked() -> None:
    ticks = "Owns a boat: no. Should the harbour be dredged before the winter: yes."
    reason = "The ferry sticks in the mud at every low tide."
    row = Passage(1, "a", "c", f"{ticks} {reason} It stuck twice in May, and the town paid.")
    assert quotable_parts(row)[0].text == f"{ticks} {reason}"
    assert ticks not in [part.text for part in quotable_parts(row)]

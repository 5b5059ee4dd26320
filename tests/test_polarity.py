"""Whether two texts say the same of one thing, by their negators."""

import pytest

from tools.language.demands import demanded_answer, tick_sentence
from tools.language.question import takes_no_side, yes_or_no_answer


@pytest.mark.parametrize(
    ("text", "question", "said"),
    [
        ("Schools should not ban smartphones, because nobody learns.", "Should schools ban smartphones?", "no"),
        ("Schools should ban smartphones because nobody listens.", "Should schools ban smartphones?", "yes"),
        ("Tipping culture isn't a scam.", "tipping culture is a scam", "no"),
        ("Each school should decide for itself whether to ban smartphones.", "Should schools ban smartphones?", ""),
        ("Office work is better than work at home: it trains.", "Is work at home better than office work?", "no"),
        ("", "Zoos?", ""),
    ],
)
def test_what_says_yes_or_no_in_the_questions_own_words(text: str, question: str, said: str) -> None:
    assert yes_or_no_answer(text, question) == said


@pytest.mark.parametrize(
    "text",
    [
        "‘Of private boats, yes. The noise is another matter.’",
        "No, that is true, I cannot.",
        "We also do not know whether the ban made anybody row elsewhere.",
        "Parents can’t tell whether a school keeps its word.",
    ],
)
def test_a_reply_a_concession_and_an_open_question_are_for_nobody(text: str) -> None:
    assert takes_no_side(text)


@pytest.mark.parametrize(
    "text",
    [
        "I know that they volunteer, but a state must not spend lives on flags.",
        "The ferry, yes, the ferry should stay.",
        "I accept that zoos should be closed.",
        "We know that zoos shorten the lives of elephants.",
        "Granted patents keep poor countries poor.",
        "Nobody should decide for me whether I may end my life.",
    ],
)
def test_an_argument_that_opens_like_one_is_an_argument(text: str) -> None:
    assert not takes_no_side(text)


# Question, header of a column, value of a row, and the row's side
TICKS = [
    ("Should the church bells be silenced at night?", "silence_bells_at_night", "yes", "yes"),
    ("Should the church bells be silenced at night?", "keep bells ringing at night", "yes", "no"),
    ("Should the corn hall become a cinema?", "should_the_corn_hall_become_a_cinema", "no", "no"),
    ("Should the corn hall become a cinema?", "uses_corn_hall", "yes", ""),
    ("Should residents pay for parking?", "should_residents_pay", "yes", "yes"),
    ("Should residents pay for parking?", "pays_for_parking", "yes", ""),
    ("Should the town ban cars from the market square?", "ban cars from market square", "no", "no"),
    ("Should the town ban cars from the market square?", "drives to market square", "yes", ""),
    ("Should dogs be kept on leads in the park?", "Dogs must be kept on leads in the park", "agree", "yes"),
    ("Should dogs be kept on leads in the park?", "dog in park every week", "yes", ""),
    ("Should the library open on Sundays?", "Should the library be open on Sundays?", "yes", "yes"),
    ("Should the library open on Sundays?", "library member", "yes", ""),
    ("Should the school ban phones in lessons?", "ban_phones_in_lessons", "support", "yes"),
    ("Should the school ban phones in lessons?", "Do you oppose a ban on phones in lessons?", "yes", "no"),
    ("Should fireworks be banned in the park?", "allow fireworks in the park", "yes", "no"),
    ("Should fireworks be banned in the park?", "ban_fireworks", "strongly agree", "yes"),
    ("Should car owners pay for a second permit?", "car owner", "yes", ""),
    ("Should car owners pay for a second permit?", "Should car owners pay for a second permit", "disagree", "no"),
    ("Should the council sell the allotments?", "Do you support selling the allotments?", "no", "no"),
    ("Should the council sell the allotments?", "sell_allotments", "against", "no"),
    ("Should the council sell the allotments?", "do not sell the allotments", "yes", "no"),
    ("Should the council sell the allotments?", "has allotment", "yes", ""),
    ("Should the bridge be closed to lorries?", "Bridge should stay open to lorries", "agree", "no"),
    ("Should the bridge be closed to lorries?", "Should lorries be banned from the bridge", "yes", "yes"),
    ("Should the pool be free for children?", "children under 12", "yes", ""),
    ("Should the pool be free for children?", "Free pool for children", "support", ""),
    ("Should the mill be turned into flats?", "Do you agree that the mill should be turned into flats?", "yes", "yes"),
    ("Should the mill be turned into flats?", "Should the mill not be turned into flats?", "yes", "no"),
    ("Should wind turbines be built on Harrow Moor?", "Should wind turbines be built only offshore", "yes", ""),
    ("Should wind turbines be built on Harrow Moor?", "build turbines on the moor", "no", "no"),
    ("Should the bus replace the train to Lowford?", "should the train replace the bus to Lowford", "yes", ""),
    ("Should the bus replace the train to Lowford?", "took the bus to Lowford", "yes", ""),
    ("Should street lights be switched off at midnight?", "switch_off_street_lights_at_midnight", "yes", "yes"),
    ("Should street lights be switched off at midnight?", "street lights off", "for", ""),
    ("Should cyclists wear helmets?", "wear helmet", "yes", ""),
    ("Should cyclists wear helmets?", "Cyclists should wear helmets", "no", "no"),
    ("Should the carnival move to Mill Field?", "move carnival to mill field", "oppose", ""),
    ("Should the carnival move to Mill Field?", "attended carnival at mill field", "yes", ""),
    ("Is the new bypass safe for horses?", "Is the new bypass safe for horses?", "no", "no"),
    ("Should tourists pay a fee to visit the island?", "Would you pay a fee to visit the island?", "yes", ""),
]


@pytest.mark.parametrize(("question", "header", "value", "side"), TICKS)
def test_a_ticked_answer_has_a_side_only_if_its_header_asks_the_same(
    question: str, header: str, value: str, side: str
) -> None:
    row = f"Has dog: yes. {tick_sentence(header, value)} It is as it is."
    assert demanded_answer(row, question) == side


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Should the weir be widened?", "Widen the weir: undecided. I never thought of it."),
        ("Should the weir be widened?", "Widen the weir: yes. Should the weir be widened: no. I ticked both."),
        ("Should the weir or the lock be widened?", "Widen the weir: yes."),
        ("Why should the weir be widened?", "Widen the weir: yes."),
        ("Should the weir be widened?", ""),
        ("", "Widen the weir: yes."),
    ],
)
def test_a_text_without_a_tick_on_the_question_has_no_ticked_side(question: str, text: str) -> None:
    assert demanded_answer(text, question) == ""

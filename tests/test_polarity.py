"""Whether two texts say the same of one thing, by their negators."""

import pytest

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

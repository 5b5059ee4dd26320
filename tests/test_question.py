"""What kind of question a text is, over real wordings: how people type, head papers and set exams."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.language.question import ANSWERS, MOST_OPTIONS, read_question

KINDS = {
    "polar": (
        "Ban leaf blowers, yay or nay?",
        "Should schools ban smartphones?",
        "are tattoos unprofessional",
        "Isn't it hypocritical for celebrities to lecture us about climate while flying private",
        "shouldn't billionaires be, you know, illegal",
        "was dropping the bomb on hiroshima justified, we had a row about it at dinner",
        "I'm 19 and my parents say uni is a waste of money now. are they right?",
        "any point lerning german when google translate exists",
        "Did lockdwns actualy save lives or nah?",
        "Is it true that organic is a scam and if so why does it cost double",
    ),
    "claim": (
        "Cyclists should need a licence and insurance same as the rest of us on the road.",
        "Men and women can't be just friends. Discuss.",
        "my landlord wants to ban cats in the whole building, thats not ok is it",
        "Why is sugar bad for you?",
        "Ban fireworks",
        "Evaluate the view that the House of Lords should be fully elected.",
        "So they want to put a wind farm off our coast. Tourism will be finished. Thoughts?",
    ),
    "topic": (
        "Abortion",
        "pros and cons of going cashless",
        "give me the best case against universal basic income, im debating it thursday",
        "what about making voting compulsory like in australia",
        "Why I No Longer Stand for the National Anthem",
        "sugar-free kombucha kefir",
        "Steelman both positions on affirmative action in college admissions, keep it fair",
    ),
    "open": (
        "How can cities deal with too many tourists?",
        "What should be done about homelessness?",
        "What does the evidence say about school uniforms and behaviour?",
    ),
    "fact": (
        "When did the Berlin Wall fall?",
        "How tall is Mont Blanc?",
        "What is a universal basic income?",
        "What is the capital of France?",
    ),
    "none": ("", "…", "hello", "good morning", "Thanks!", "Why?", "Write a poem about the sea", "asdf qwer zxcv uiop"),
}
CHOICES = {
    "Nuclear or wind? pick one": ("Nuclear", "Wind"),
    "Working from home or in an office, which is better?": ("Working from home", "In an office"),
    "Should Britain keep the monarchy or become a republic?": ("Keep the monarchy", "Become a republic"),
    "Is the Bible historically accurate or mostly made up": ("Historically accurate", "Mostly made up"),
    "private schools: ban them, tax them or leave them alone?": ("Ban them", "Tax them", "Leave them alone"),
    "Proportional representation vs first past the post": ("Proportional representation", "First past the post"),
    "Did the Beatles peak with Revolver or Abbey Road": ("Revolver", "Abbey Road"),
    "Should as many as possible go to college, or is the value of higher education exaggerated?": (
        "Should as many as possible go to college?",
        "Is the value of higher education exaggerated?",
    ),
}


@pytest.mark.parametrize(("kind", "typed"), [(kind, typed) for kind, all_of in KINDS.items() for typed in all_of])
def test_a_question_is_of_its_kind(kind: str, typed: str) -> None:
    assert read_question(typed).kind == kind


@pytest.mark.parametrize("typed", CHOICES, ids=CHOICES)
def test_a_choice_names_its_alternatives(typed: str) -> None:
    found = read_question(typed)
    assert (found.kind, found.options) == ("choice", CHOICES[typed])


@pytest.mark.parametrize(
    ("typed", "text"),
    [
        ("are tattoos unprofessional", "Are tattoos unprofessional?"),
        ("Nuclear or wind? pick one", "Nuclear or wind? pick one"),
        ("tipping culture is a scam", "Tipping culture is a scam"),
        ("  is it\n right ? ", "Is it right ?"),
    ],
)
def test_nothing_is_made_of_the_words_but_a_capital_and_a_mark(typed: str, text: str) -> None:
    assert read_question(typed).text == text


@given(st.text(max_size=200) | st.text("or is it,.?!:- vs aA\"'", max_size=80))
def test_no_text_is_too_odd(text: str) -> None:
    found = read_question(text)
    assert " ".join(text.split()).casefold().startswith(found.text.casefold().rstrip(" .,;:?"))
    assert (found.kind == "choice") is bool(found.options)
    assert len(found.options) <= MOST_OPTIONS
    assert not set(ANSWERS) & {"choice", "open", "fact", "none"}

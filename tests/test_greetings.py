"""Greetings and thanks, which ask nothing; and the names of files, which tell the question."""

import pytest

from agent.answer.files import file_name
from tools.language.identification import reply_to_greeting


@pytest.mark.parametrize(
    ("typed", "reply"),
    [
        *(
            (said, "Hello!")
            for said in ("Hello", "hi there!", "Hey, how are you?", "GOOD MORNING all", "Moin", "👋 hello")
        ),
        *((said, "Hello!") for said in ("Good morning! who are you?", "What can you do?", "help")),
        *((said, "You are welcome!") for said in ("thanks", "Thank you very much!", "Cheers")),
        *(
            (said, "")
            for said in ("Hello, should phones be banned?", "Good", "Is a good day's work enough?", "hi " * 40)
        ),
        *(
            (said, "")  # under an answer it is a follow-up
            for said in ("How does it work?", "Who are you to judge?", "What is this law about?", "Is help good?")
        ),
    ],
)
def test_what_greets_is_told_from_what_asks(typed: str, reply: str) -> None:
    assert reply_to_greeting(typed) == reply


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("Should schools ban smartphones?", "should-schools-ban-smartphones.md"),
        ("Don’t we é?", "dont-we-e.md"),
        ("../../etc/passwd\n", "etc-passwd.md"),
        ("CON", "steelman-con.md"),
        ("日本語", "steelman.md"),
        ("Should " + "very " * 30 + "long?", f"should{'-very' * 10}.md"),
    ],
)
def test_a_file_is_named_by_its_question(question: str, name: str) -> None:
    assert file_name(question, ".md") == name
    assert len(name) <= 60 + len(".md")

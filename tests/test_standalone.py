"""Which sentences may be quoted without the ones around them: a table judged by reading."""

import pytest

from tools.language.quotable import stands_alone

ALONE = """
A silent phone on the desk still asks to be looked at, and resisting it costs attention.
In 2019, Finland opened the world's first permanent store for spent nuclear fuel.
First aid courses should be part of every driving test.
Rather than closing its borders, the country should open more offices for applications.
Source code that nobody outside can read is hard to trust.
Figure skating has changed more than any other winter sport.
Parents worry about their children when schools forbid all phones.
The city of Dover lost its last ferry line in 2015.
"A rule for all is easier to keep than many rules," the head teacher said.
Electric cars cost more to buy but less to run than petrol cars.
Here and there, villages have bought their own wind turbines.
Both parents should be able to stay at home after the birth of a child.
Copyright law protects the people who write school books.
Yes votes were most common in towns with a university.
A basic income gives people without work a reason to take the first small job.
"""

NOT_ALONE = """
The new footbridge over the river will carry none of them.
This means that schools have to pay for the lockers themselves.
They say that the rule would hurt small shops in the old town.
First, the cost of the new stations is higher than planned.
No, the rule does not hurt small shops in the old town.
For example, the town of Dover lost its last ferry line.
Another reason is that the roads are already full in summer.
The latter would need a change of the law in every state.
Why should a school decide what a child carries in its pocket?
The cost of the plan for all the schools of the county
the harbour was closed in May without a word to the fishermen.
Critics of this approach say that the money is lost for good.
According to them, the new rule hurts the small shops most.
Because of this, the harbour was closed in the middle of May.
Read more about the harbour and its fishermen in our archive.
Under his leadership, the town lost its last ferry line.
Figure 3 shows the price of bread over ten years.
Where nobody had asked the fishermen of the old harbour.
These boats lay idle for a whole season in the harbour.
"""


def lines(table: str) -> list[str]:
    return table.strip().split("\n")


@pytest.mark.parametrize("sentence", lines(ALONE))
def test_stands_alone(sentence: str) -> None:
    assert stands_alone(sentence)


@pytest.mark.parametrize("sentence", lines(NOT_ALONE))
def test_leans_on_others(sentence: str) -> None:
    assert not stands_alone(sentence)


def test_the_limits_of_length() -> None:
    def of(words: int) -> str:
        return " ".join(["Rivers", *["flow"] * (words - 1)]) + "."

    assert [stands_alone(of(n)) for n in (6, 7, 45, 46)] == [False, True, True, False]

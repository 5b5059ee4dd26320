"""Which sentences may be quoted without the ones around them: a table judged by reading."""

import pytest

from tools.language.quotable import stands_alone

ALONE = """
A silent phone on the desk still asks to be looked at, and resisting it costs attention.
Nuclear power stations emit almost no carbon dioxide while they run.
In 2019, Finland opened the world's first permanent store for spent nuclear fuel.
School uniforms make it harder to tell rich pupils from poor ones.
Children who sleep less than eight hours do worse in morning lessons.
Those who drive to work every day pay for the roads through fuel tax.
First aid courses should be part of every driving test.
Second homes stand empty for most of the year in many coastal villages.
Rather than closing its borders, the country should open more offices for applications.
Still water breeds mosquitoes, which is why towns drain their ponds.
Well water in the valley contains four times the permitted amount of nitrate.
Share prices say little about how most families live.
Source code that nobody outside can read is hard to trust.
Photo albums kept by museums show how the glaciers have shrunk.
Figure skating has changed more than any other winter sport.
Opponents of the tax say that farmers would pay the most.
The mayor said that she would not raise the rent of council flats.
Parents worry about their children when schools forbid all phones.
Companies that sell data should have to ask the people it belongs to.
The city of Dover lost its last ferry line in 2015.
"A rule for all is easier to keep than many rules," the head teacher said.
Zoos keep alive some species that have no home left in the wild.
Animals such as elephants suffer in small enclosures.
Electric cars cost more to buy but less to run than petrol cars.
No child learns to swim by reading about water.
Where libraries close, fewer children learn to read for pleasure.
Here and there, villages have bought their own wind turbines.
Again and again, studies have found that small classes help young pupils.
Both parents should be able to stay at home after the birth of a child.
Either a country taxes carbon or it pays for the damage later.
Copyright law protects the people who write school books.
Such animals as elephants and whales need more room than any zoo has.
Yes votes were most common in towns with a university.
Voters trust judges more than they trust the parties.
The mayor said she would not raise the rent of council flats.
A basic income gives people without work a reason to take the first small job.
"""

NOT_ALONE = """
The new footbridge over the river will carry none of them.
However, the cost of the plan was never published by the council.
This means that schools have to pay for the lockers themselves.
It was closed in May because the walls had to be mended first.
They say that the rule would hurt small shops in the old town.
First, the cost of the new stations is higher than planned.
Second, the rule is impossible to enforce in large schools.
No, the rule does not hurt small shops in the old town.
Well, the rule may still hurt small shops in the old town.
Rather, the rule protects small shops in the old town.
Still, the rule may hurt small shops in the old town.
Perhaps, the rule will hurt small shops in the old town.
For example, the town of Dover lost its last ferry line.
On the other hand, cars give people in villages their freedom.
Another reason is that the roads are already full in summer.
The latter would need a change of the law in every state.
And nobody had asked the fishermen of the old harbour.
Why should a school decide what a child carries in its pocket?
The cost of the plan for all the schools of the county
the harbour was closed in May without a word to the fishermen.
See the table below for the prices of the last ten years.
As mentioned above, the harbour was closed without a word.
Too short to be worth it.
Schools were closed for weeks [3] in the north of the country.
I think that school uniforms make life easier for everybody.
You should never pay more than a third of your income for rent.
Critics of this approach say that the money is lost for good.
The (second part of the plan was never published by the council.
Home News Sport Weather Travel Culture Shop Jobs Games Login Now.
Such a rule would hurt the small shops in the old town.
According to them, the new rule hurts the small shops most.
Because of this, the harbour was closed in the middle of May.
Read more about the harbour and its fishermen in our archive.
Copyright by the Sample Gazette, all rights are reserved worldwide.
In addition, the boats lay idle for a whole season that year.
In its report, the council names the cost of the plan.
When they arrived, the harbour had been closed for weeks.
Under his leadership, the town lost its last ferry line.
Many people believe it hurts the small shops in town.
Either way, the harbour stays closed until the summer.
Figure 3 shows the price of bread over ten years.
Photo: boats lie idle in the old harbour of Dover.
Where nobody had asked the fishermen of the old harbour.
Then the boats lay idle for a whole season in the harbour.
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

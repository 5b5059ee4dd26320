"""The embedded framing: claim and denial of every kind of question, written for these tests."""

import json
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evals.metrics.expansion import folded, predict
from evals.suites.expand import read_rows
from tools.errors import InputError
from tools.language.grammar import frame
from tools.language.grammar.inflect import gerund, past, third_person, verb_strength
from tools.language.grammar.negation import negate, same_polarity

PAIRS = """
Should schools ban smartphones?
    Schools should ban smartphones.
    Schools should not ban smartphones.
Isn't nuclear power dangerous?
    Nuclear power is dangerous.
    Nuclear power is not dangerous.
Shouldn't schools ban phones?
    Schools should ban phones.
    Schools should not ban phones.
Nuclear power is safe, isn't it?
    Nuclear power is safe.
    Nuclear power is not safe.
The moon landing was fake, right?
    The moon landing was fake.
    The moon landing was not fake.
Why is sugar bad?
    Sugar is bad.
    Sugar is not bad.
Why shouldn't we eat meat?
    We should eat meat.
    We should not eat meat.
Isn't it true that vaccines cause autism?
    Vaccines cause autism.
    Vaccines do not cause autism.
Is it fair that footballers earn millions?
    It is fair that footballers earn millions.
    It is not fair that footballers earn millions.
Do you think that AI will replace teachers?
    AI will replace teachers.
    AI will not replace teachers.
Are you against banning alcohol?
    We should ban alcohol.
    We should not ban alcohol.
Should we leave the EU or not?
    We should leave the EU.
    We should not leave the EU.
Is a house better than a flat?
    A house is better than a flat.
    A house is not better than a flat.
In a democracy, should voting be compulsory?
    In a democracy, voting should be compulsory.
    In a democracy, voting should not be compulsory.
If robots take our jobs, should we get a basic income?
    If robots take our jobs, we should get a basic income.
    If robots take our jobs, we should not get a basic income.
Cities are crowded. Should cars be banned from them?
    Cars should be banned from cities.
    Cars should not be banned from cities.
Brexit: was it a mistake?
    Brexit was a mistake.
    Brexit was not a mistake.
Can not we all get along?
    We can all get along.
    We cannot all get along.
Did the invention of the printing press cause the Reformation?
    The invention of the printing press caused the Reformation.
    The invention of the printing press did not cause the Reformation.
Did Columbus bring disease to America?
    Columbus brought disease to America.
    Columbus did not bring disease to America.
Does a four-day week raise productivity?
    A four-day week raises productivity.
    A four-day week does not raise productivity.
Do needle bans and drug raids increase crime?
    Needle bans and drug raids increase crime.
    Needle bans and drug raids do not increase crime.
Has the internet made us lonelier?
    The internet has made us lonelier.
    The internet has not made us lonelier.
Had the Roman Empire already declined before the invasions?
    The Roman Empire had already declined before the invasions.
    The Roman Empire had not already declined before the invasions.
Ought we to eat less meat?
    We ought to eat less meat.
    We ought not to eat less meat.
Must public transport be free?
    Public transport must be free.
    Public transport does not have to be free.
May parents read their children's messages?
    Parents may read their children's messages.
    Parents may not read their children's messages.
Could the war have been avoided?
    The war could have been avoided.
    The war could not have been avoided.
Were the Crusades justified?
    The Crusades were justified.
    The Crusades were not justified.
Is the use of torture against terrorists ever justified?
    The use of torture against terrorists is sometimes justified.
    The use of torture against terrorists is never justified.
Will we ever colonise Mars?
    We will colonise Mars.
    We will never colonise Mars.
Are children raised by two mothers happier?
    Children raised by two mothers are happier.
    Children raised by two mothers are not happier.
Does the gender pay gap exist?
    The gender pay gap exists.
    The gender pay gap does not exist.
Is drinking wine every day healthy?
    Drinking wine every day is healthy.
    Drinking wine every day is not healthy.
Did the New Deal end the Great Depression?
    The New Deal ended the Great Depression.
    The New Deal did not end the Great Depression.
Should Gay Men Be Allowed To Give Blood?
    Gay men should be allowed to give blood.
    Gay men should not be allowed to give blood.
Is social media making teenagers unhappy?
    Social media is making teenagers unhappy.
    Social media is not making teenagers unhappy.
Is refusing to vote immoral?
    Refusing to vote is immoral.
    Refusing to vote is not immoral.
Should people who refuse vaccines lose benefits?
    People who refuse vaccines should lose benefits.
    People who refuse vaccines should not lose benefits.
Does everyone want to be happy?
    Everyone wants to be happy.
    Not everyone wants to be happy.
Does anyone need a car in London?
    Someone needs a car in London.
    No one needs a car in London.
Is there a god?
    There is a god.
    There is no god.
Are there too many tourists in Venice?
    There are too many tourists in Venice.
    There are not too many tourists in Venice.
Are you happy with your job?
    I am happy with my job.
    I am not happy with my job.
Is the US better off than Canada?
    The US is better off than Canada.
    The US is not better off than Canada.
SHOULD WE ABOLISH THE MONARCHY?
    We should abolish the monarchy.
    We should not abolish the monarchy.
is iPhone better than Android
    iPhone is better than Android.
    iPhone is not better than Android.
Nuclear power: the best way to save the climate?
    Nuclear power is the best way to save the climate.
    Nuclear power is not the best way to save the climate.
Would you describe the roads here as safe?
    The roads here are safe.
    The roads here are not safe.
"""
CLAIMS = """
nuclear power is safe
    Nuclear power is safe.
    Nuclear power is not safe.
This house believes that voting should be compulsory
    Voting should be compulsory.
    Voting should not be compulsory.
This House would ban zoos
    We should ban zoos.
    We should not ban zoos.
Homework must be made compulsory
    Homework must be made compulsory.
    Homework does not have to be made compulsory.
Ban homework
    We should ban homework.
    We should not ban homework.
Don't ban homework
    We should ban homework.
    We should not ban homework.
Video games don't cause violence
    Video games cause violence.
    Video games do not cause violence.
No one should own a gun
    Someone should own a gun.
    No one should own a gun.
Torture is never justified
    Torture is sometimes justified.
    Torture is never justified.
There is no life on Mars
    There is life on Mars.
    There is no life on Mars.
The benefits of vaccines outweigh the risks
    The benefits of vaccines outweigh the risks.
    The benefits of vaccines do not outweigh the risks.
The belief that we live in a dream has no use
    The belief that we live in a dream has use.
    The belief that we live in a dream has no use.
Free will is an illusion
    Free will is an illusion.
    Free will is not an illusion.
People who smoke should pay more
    People who smoke should pay more.
    People who smoke should not pay more.
"""
CHOICES = """
Cats or dogs?
    Cats are better than dogs.
    Dogs are better than cats.
Which is better, tea or coffee?
    Tea is better than coffee.
    Coffee is better than tea.
Should we use wind or solar power?
    We should use wind power.
    We should use solar power.
Is homework good or bad for children?
    Homework is good for children.
    Homework is bad for children.
Do zoos help or harm animals?
    Zoos help animals.
    Zoos harm animals.
Should cannabis be legal, or should it stay banned?
    Cannabis should be legal.
    Cannabis should stay banned.
"""


def _rows(table: str) -> list[tuple[str, ...]]:
    lines = [line.strip() for line in table.strip().splitlines()]
    return [tuple(lines[i : i + 3]) for i in range(0, len(lines), 3)]


@pytest.mark.parametrize(("question", "claim", "negation"), _rows(PAIRS))
def test_a_yes_or_no_question_gives_its_claim_and_the_denial(question: str, claim: str, negation: str) -> None:
    framing = frame(question)
    assert (framing.form, framing.claim, framing.negation) == ("polar", claim, negation)
    assert framing.neutral.endswith("?")


@pytest.mark.parametrize(("statement", "claim", "negation"), _rows(CLAIMS))
def test_a_claim_is_framed_affirmatively_and_asked_neutrally(statement: str, claim: str, negation: str) -> None:
    framing = frame(statement)
    assert (framing.form, framing.claim, framing.negation) == ("claim", claim, negation)
    assert framing.neutral.endswith("?")


@pytest.mark.parametrize(("question", "first", "second"), _rows(CHOICES))
def test_a_choice_gives_one_statement_an_alternative(question: str, first: str, second: str) -> None:
    framing = frame(question)
    assert (framing.form, framing.alternatives, framing.claim) == ("choice", (first, second), "")


@pytest.mark.parametrize(
    "question", ["What is the best way to learn a language?", "How dangerous is nuclear power?", "Who should pay?"]
)
def test_wh_questions_are_open(question: str) -> None:
    framing = frame(question)
    assert (framing.form, framing.claim, framing.neutral) == ("open", "", question)


@pytest.mark.parametrize("text", ["ok", "Hello!", "asdf", "", "???", "¿Protegen las vacunas a la sociedad?"])
def test_what_has_no_sides_is_none(text: str) -> None:
    assert (frame(text).form, frame(text).claim) == ("none", "")


@pytest.mark.parametrize(
    ("question", "neutral"),
    [
        ("Nuclear power is safe", "Is nuclear power safe?"),
        ("Shouldn't schools ban phones?", "Should schools ban phones?"),
        ("Why is X bad?", "Is X bad?"),
        ("NATO is a threat to peace", "Is NATO a threat to peace?"),
        ("Isn't it true that cars pollute cities?", "Do cars pollute cities?"),
        ("Why should we accept that cars should not be taxed?", "Should cars be taxed?"),
        ("Why should anyone believe cars pollute cities?", "Do cars pollute cities?"),
        ("Why should we accept more cars from other towns?", "Should we accept more cars from other towns?"),
        ("No one should own a gun", "Should anyone own a gun?"),
    ],
)
def test_the_neutral_form_takes_no_side(question: str, neutral: str) -> None:
    assert frame(question).neutral == neutral


@pytest.mark.parametrize(
    ("question", "topic"),
    [
        ("Is nuclear power safe?", "nuclear power"),
        ("Should we ban zoos?", "banning zoos"),
        ("Should zoos be banned?", "banning zoos"),
        ("Is it wrong to eat meat?", "eating meat"),
    ],
)
def test_the_topic_is_a_noun_phrase(question: str, topic: str) -> None:
    assert frame(question).topic == topic


@pytest.mark.parametrize(
    ("statement", "negated"),
    [
        ("X should not be banned.", "X should be banned."),
        ("Cats are clever.", "Cats are not clever."),
        ("Sugar harms children.", "Sugar does not harm children."),
        ("Sugar does not harm children.", "Sugar harms children."),
        ("The tax led to riots.", "The tax did not lead to riots."),
        ("Everyone lies.", "Not everyone lies."),
        ("Money can't buy happiness.", "Money can buy happiness."),
    ],
)
def test_negate(statement: str, negated: str) -> None:
    assert negate(statement) == negated


@pytest.mark.parametrize(("question", "claim", "negation"), _rows(PAIRS))
def test_claim_and_denial_have_opposite_polarity(question: str, claim: str, negation: str) -> None:
    assert not same_polarity(claim, negation)


def test_polarity_counts_parity_and_prefixes() -> None:
    assert same_polarity("It is not untrue.", "It is true.")
    assert not same_polarity("Zoos are ethical.", "Zoos are unethical.")
    assert same_polarity("It is not only safe but cheap.", "It is safe and cheap.")


def test_verb_forms() -> None:
    assert [third_person(v) for v in ("carry", "have", "teach", "play")] == ["carries", "has", "teaches", "plays"]
    assert [past(v) for v in ("ban", "lead", "carry", "use", "open")] == ["banned", "led", "carried", "used", "opened"]
    assert [gerund(v) for v in ("ban", "make", "lie", "see")] == ["banning", "making", "lying", "seeing"]
    assert verb_strength("be") > verb_strength("harm") > verb_strength("table of") == 0


_PIECES = st.sampled_from(
    "is should do not the a that who why what x : ? , ( - or no never isn't it ban bad US :".split()
)


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.text(max_size=60), st.lists(_PIECES, max_size=9).map(" ".join)))
def test_any_text_can_be_framed_and_negated(text: str) -> None:
    framing = frame(text)
    assert bool(framing.claim) == bool(framing.negation)
    assert framing.form not in ("polar", "claim") or framing.neutral.endswith("?")
    assert negate(text).endswith(".")


def test_framing_is_quick() -> None:
    frame("Is this warm?")
    questions = [row[0] for row in _rows(PAIRS)]
    start = time.perf_counter()
    for question in questions:
        frame(question)
    assert (time.perf_counter() - start) / len(questions) < 0.02


def test_the_suite_reads_pairs_and_refuses_other_files(tmp_path: Path) -> None:
    file = tmp_path / "own.dev.jsonl"
    file.write_text(json.dumps({"question": "Is it so?", "perspectives": ["It is.", "It isn't."]}) + "\n")
    assert [row.source for row in read_rows(tmp_path)] == ["own"]
    assert folded("It isn't so!") == folded("it is not so")
    assert predict(frame("What is it?")) == ()
    file.write_text("[]\n")
    with pytest.raises(InputError, match="line 1"):
        list(read_rows(tmp_path))


@pytest.mark.parametrize(
    ("question", "claim"),
    [
        ("(Ballet) Could the swan have been saved?", "The swan could have been saved."),
        ("Night trains: yes or no?", "Night trains are a good thing."),
        ("Remote voting: good or bad?", "Remote voting is a good thing."),
        ("why does everybody say trams are noisy", "Trams are noisy."),
        ("Why do so many ppl claim that chess is a sport?", "Chess is a sport."),
        ("toll roads pros/cons", "Toll roads are a good thing."),
        ("quarrying benefits and drawbacks for villages", "Quarrying for villages is a good thing."),
    ],
)
def test_what_stands_around_the_question(question: str, claim: str) -> None:
    assert frame(question).claim == claim


def test_a_choice_of_two_predicates() -> None:
    framing = frame("Should old theatres be restored or demolished?")
    assert framing.alternatives == ("Old theatres should be restored.", "Old theatres should be demolished.")


def test_an_it_that_stands_for_nothing_is_not_filled_in() -> None:
    framing = frame("Can the ferry pay its way? Or is it time to build a bridge?")
    assert framing.alternatives == ("The ferry can pay its way.", "It is time to build a bridge.")


@pytest.mark.parametrize(
    "text",
    [
        "A council has no business naming streets.",
        "Stop Pretending Ferries Pay",
        "Would you rather have your town spend on trams or on ferries?",
    ],
)
def test_what_makes_no_statement_stays_as_it_was_typed(text: str) -> None:
    framing = frame(text)
    assert (framing.claim, framing.negation, framing.alternatives) == ("", "", ())
    assert text.rstrip(".?").lower() in framing.neutral.lower()

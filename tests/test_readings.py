"""What kind of question a text is, and what of it is asked: exam papers, headlines, careless typing, bare topics."""

import re
from pathlib import Path

import pytest

from agent.question import check_question
from agent.samples import sample_questions
from evals.datasets.rows import json_rows
from tools.errors import QuestionError
from tools.language.grammar import frame
from tools.language.grammar.casing import lowered
from tools.language.grammar.clause import Clause
from tools.language.grammar.facts import asks_for_fact
from tools.language.grammar.lexicon import words_of
from tools.language.grammar.tidying import tidy
from tools.language.grammar.wellformed import is_sentence, sound

FRAMED = """
'All power tends to corrupt.' (LORD ACTON) Discuss.
    claim | Does all power tend to corrupt? | All power tends to corrupt.
"The pen is mightier than the sword." Do you agree?
    polar | Is the pen mightier than the sword? | The pen is mightier than the sword.
'Museums should return looted statues.' To what extent do you agree or disagree? Give reasons for your answer.
    polar | Should museums return looted statues? | Museums should return looted statues.
'History is written by the victors.' Is it?
    polar | Is history written by the victors? | History is written by the victors.
"Gossip keeps a village together" [A. BAKER, 1990]. Is this still the case?
    polar | Does gossip still keep a village together? | Gossip still keeps a village together.
"Hell is other people" (Sartre). Is he right?
    polar | Is hell other people? | Hell is other people.
As the poet said, 'Good fences make good neighbours.' Discuss.
    claim | Do good fences make good neighbours? | Good fences make good neighbours.
Critically evaluate the claim that democracy requires an educated public.
    claim | Does democracy require an educated public? | Democracy requires an educated public.
Discuss whether prisons work.
    claim | Do prisons work? | Prisons work.
How far do you agree that railways caused the growth of cities?
    polar | Did railways cause the growth of cities? | Railways caused the growth of cities.
To what extent was the harbour good for trade?
    polar | Was the harbour good for trade? | The harbour was good for trade.
Do you agree with Anna Bell that 'ferries are safer than bridges'?
    polar | Are ferries safer than bridges? | Ferries are safer than bridges.
Some people think that children should start school at six, while others disagree. Discuss both views.
    claim | Should children start school at six? | Children should start school at six.
Barges are slow: agree or disagree?
    polar | Are barges slow? | Barges are slow.
is social media bad for teens? discuss
    polar | Is social media bad for teens? | Social media is bad for teens.
unpopular opinion: pineapple belongs on pizza
    claim | Does pineapple belong on pizza? | Pineapple belongs on pizza.
What, if anything, is wrong with inherited wealth?
    polar | Is there anything wrong with inherited wealth? | There is something wrong with inherited wealth.
"""
TYPED = """
Are Calls To Close The Port Justified?
    polar | Are calls to close the port justified? | Calls to close the port are justified.
Are Demands To Deplatform The Speaker Fair?
    polar | Are demands to deplatform the speaker fair? | Demands to deplatform the speaker are fair.
Why We Should Abolish Daylight Saving Time
    claim | Should we abolish daylight saving time? | We should abolish daylight saving time.
Has Feminism Gone Too Far?
    polar | Has feminism gone too far? | Feminism has gone too far.
Should 'Sons of the Sea' March in Town?
    polar | Should 'Sons of the Sea' march in town? | 'Sons of the Sea' should march in town.
Is 'progress' a myth?
    polar | Is progress a myth? | Progress is a myth.
isnt college just a waste of money
    polar | Is college just a waste of money? | College is just a waste of money.
dont u think school uniforms are pointless
    polar | Are school uniforms pointless? | School uniforms are pointless.
is russia a threat
    polar | Is Russia a threat? | Russia is a threat.
boats : do barges harm the river ?
    polar | Do barges harm the river? | Barges harm the river.
Lab Meat: The Future of Food?
    polar | Is lab meat the future of food? | Lab meat is the future of food.
Big harbour, big mistake?
    polar | Is big harbour a big mistake? | Big harbour is a big mistake.
Is sugar addictive? - DEBATED
    polar | Is sugar addictive? | Sugar is addictive.
"""
TOPICS = """
abortion
    polar | Is abortion a good thing? | Abortion is a good thing.
Gun Control
    polar | Is gun control a good thing? | Gun control is a good thing.
The Perspective on Electric Scooters
    polar | Are electric scooters a good thing? | Electric scooters are a good thing.
both sides of fracking
    polar | Is fracking a good thing? | Fracking is a good thing.
the debate over assisted dying
    polar | Is assisted dying a good thing? | Assisted dying is a good thing.
the gun control debate
    polar | Is gun control a good thing? | Gun control is a good thing.
pros and cons: barges
    polar | Are barges a good thing? | Barges are a good thing.
The Perspective on Anna Bell
    polar | Does Anna Bell deserve praise? | Anna Bell deserves praise.
"""
SEVERAL = """
Is homework useful? Should it be banned?
    polar | Should homework be banned? | Homework should be banned.
Should wool be taxed? Should cotton be subsidised?
    polar | Should wool be taxed? | Wool should be taxed.
Should the rich pay more tax? Why or why not?
    polar | Should the rich pay more tax? | The rich should pay more tax.
Is the court right to step in, and if so, how far should it go?
    polar | Is the court right to step in? | The court is right to step in.
Are ferries useful and do we need more of them?
    polar | Are ferries useful? | Ferries are useful.
Tuition fees have tripled in a decade. Are they still worth paying?
    polar | Are tuition fees still worth paying? | Tuition fees are still worth paying.
Vaccines: should they be mandatory?
    polar | Should vaccines be mandatory? | Vaccines should be mandatory.
Slow or fast? Are barges too slow?
    polar | Are barges too slow? | Barges are too slow.
Should islands pay for bridges, and if so how much
    polar | Should islands pay for bridges? | Islands should pay for bridges.
is the ferry a scam and if so why does it cost double
    polar | Is the ferry a scam? | The ferry is a scam.
"""
STANDS_IN = """
Many cities now charge drivers to enter the centre. Is this fair?
    polar | Many cities now charge drivers to enter the centre. Is this fair?
Congress passed a law. Should it be repealed?
    polar | Congress passed a law. Should it be repealed?
Are votes cast on paper stored in a safe place?
    polar | Are votes cast on paper stored in a safe place?
Is graffiti vandalism or art worth protecting?
    polar | Is graffiti vandalism or art worth protecting?
'Barges are slow. Ferries are not.' Discuss.
    claim | Is this true: "Barges are slow. Ferries are not"?
"""
DENIED = """
Is the canal still useful?
    The canal is no longer useful.
Does the canal still pay?
    The canal no longer pays.
Must art be beautiful?
    Art does not have to be beautiful.
Why must boats not stop here?
    Boats should not stop here.
Are there any limits to free speech?
    There are no limits to free speech.
Is there such a thing as luck?
    There is no such thing as luck.
Should there be any rules for barges?
    There should be no rules for barges.
Should barges or ferries pay?
    Neither barges nor ferries should pay.
'To sail is to live.' Discuss.
    It is not true that to sail is to live.
Critics say that fog blocks the river and spoils the view.
    It is not true that fog blocks the river and spoils the view.
"""
OFFERED = """
Which is preferable, sailing or rowing?
    Sailing is preferable to rowing. | Rowing is preferable to sailing.
Cloud Seeding: Blessing or Curse?
    Cloud seeding is a blessing. | Cloud seeding is a curse.
Is a canal worth the money or a waste?
    A canal is worth the money. | A canal is a waste.
Are leaders born or made?
    Leaders are born. | Leaders are made.
Should we live to work or work to live?
    We should live to work. | We should work to live.
Is the harbour a proud monument or outdated relic?
    The harbour is a proud monument. | The harbour is an outdated relic.
Do barges help the town, or spoil the river?
    Barges help the town. | Barges spoil the river.
Are cities or villages better places to grow old?
    Cities are better places to grow old. | Villages are better places to grow old.
Which is slower for you, rowing or sailing? and don't say both
    Rowing is slower than sailing. | Sailing is slower than rowing.
was Anna Bell a good mayor or did she just get lucky
    Anna Bell was a good mayor. | Anna Bell just got lucky.
Harry Potter or Lord of the Rings?
    Harry Potter is better than Lord of the Rings. | Lord of the Rings is better than Harry Potter.
"""
NAMED = """
Which came first, the boat or the bridge?
    The boat | The bridge
who would win batman or superman
    Batman | Superman
Was Nelson good for the navy or did he ruin it
    Nelson was good for the navy | Nelson ruined it
Online Dating: Finding Love or Killing Romance?
    Finding love | Killing romance
"""

REQUESTED = """
I need the best points for and against night ferries
    polar | Are night ferries a good thing? | Night ferries are a good thing.
could someone lay out both sides of the row over kites
    polar | Are kites a good thing? | Kites are a good thing.
I'd like to hear the case for and the case against closing canals
    polar | Should canals be closed? | Canals should be closed.
talk me through what sailors and farmers each say about dams, please
    polar | Are dams a good thing? | Dams are a good thing.
we have a class debate about kites, give me arguments for both sides
    polar | Are kites a good thing? | Kites are a good thing.
Kites. Give me both sides.
    polar | Are kites a good thing? | Kites are a good thing.
I want to know if kites are safe
    polar | Are kites safe? | Kites are safe.
"""
CHATTED = """
Play devil's advocate: convince me that kites are better than balloons.
    claim | Are kites better than balloons? | Kites are better than balloons.
Compare the arguments for ferries on small lakes with those against
    polar | Are ferries on small lakes a good thing? | Ferries on small lakes are a good thing.
Assess the arguments for and against ferries on small lakes.
    polar | Are ferries on small lakes a good thing? | Ferries on small lakes are a good thing.
pls give 3 reasons for and 3 against letting goats into the park
    polar | Is letting goats into the park a good thing? | Letting goats into the park is a good thing.
Some people believe that goats should be kept in towns. Others think they are noisy. Discuss both views.
    claim | Should goats be kept in towns? | Goats should be kept in towns.
THW close the ferry
    claim | Should we close the ferry? | We should close the ferry.
is ferry travel a scam or am i just slow
    polar | Is ferry travel a scam? | Ferry travel is a scam.
is it just me or are barges slow
    polar | Are barges slow? | Barges are slow.
Ferries are slow. Fair?
    claim | Are ferries slow? | Ferries are slow.
Ferries are slow, so we should scrap them. Thoughts?
    claim | Is it true that ferries are slow, so we should scrap them? | Ferries are slow, so we should scrap them.
What's the point of the ferry any more
    polar | Is there any point in the ferry any more? | There is some point in the ferry.
night ferries, fair or not
    polar | Are night ferries fair? | Night ferries are fair.
Night ferries: fair or not?
    polar | Are night ferries fair? | Night ferries are fair.
best reasons to let goats into the park, and the strongest reasons against
    polar | Should we let goats into the park? | We should let goats into the park.
Should tolls just go already
    polar | Should tolls go? | Tolls should go.
Does price control work in towns?
    polar | Does price control work in towns? | Price control works in towns.
"""
CHATTED_STANDS_IN = """
kites have ruined the park, would a fence be better
    polar | Kites have ruined the park, would a fence be better?
Kites, which are noisy, should be banned.
    claim | Is this right: "Kites, which are noisy, should be banned"?
do kites realy hurt birds?? my uncle wont shut up abt it
    polar | Do kites realy hurt birds?? my uncle wont shut up abt it?
"Goats have ruined the park, fence it off." Discuss.
    claim | Is this right: "Goats have ruined the park, fence it off"?
are kites acually safer then balloons
    polar | Are kites acually safer then balloons?
I keep two goats in town and the smell is bad. Are they worth it?
    polar | I keep two goats in town and the smell is bad. Are they worth it?
Kites have ruined the park, fence it off
    claim | Is this right: "Kites have ruined the park, fence it off"?
There is nothing wrong with kites if you live by the sea
    claim | Is this right: "There is nothing wrong with kites if you live by the sea"?
In some towns kites are free. Do the advantages outweigh the disadvantages?
    polar | In some towns kites are free. Do the advantages outweigh the disadvantages?
kite festivals
    polar | Is this a good thing: kite festivals?
ferry risks
    polar | Is this a good thing: ferry risks?
they shut the pool again, shouldnt pools be free tho
    polar | They shut the pool again, shouldnt pools be free tho?
the mayor wants to drain the canal, isnt that a bit mad or what
    polar | The mayor wants to drain the canal, isnt that a bit mad or what?
my mate reckons barges are slow, is he right
    polar | My mate reckons barges are slow, is he right?
we were talking about kites last night, do they even fly in rain
    polar | We were talking about kites last night, do they even fly in rain?
my landlord sold the boat, is it even legal
    polar | My landlord sold the boat, is it even legal?
I am 20 and my parents say boats are a waste of money. Are they right?
    polar | I am 20 and my parents say boats are a waste of money. Are they right?
can't decide if I should be angry about the new toll, whats the case for it
    open | Can't decide if I should be angry about the new toll, whats the case for it?
kites in the park. go
    polar | Is this a good thing: kites in the park?
two goats at 80 each, fencing extra
    open | Two goats at 80 each, fencing extra.
do we have fair tolls or is it all just theft
    polar | Do we have fair tolls or is it all just theft?
"Slow to start, slow to stop." Discuss.
    polar | Is this true: "Slow to start, slow to stop"?
Will the heat pump work in winter?
    polar | Will the heat pump work in winter?
"""


def _pairs(table: str) -> list[tuple[str, list[str]]]:
    lines = [line.strip() for line in table.splitlines() if line.strip()]
    return [(lines[i], lines[i + 1].split(" | ")) for i in range(0, len(lines), 2)]


@pytest.mark.parametrize(("text", "expected"), _pairs(FRAMED + TYPED + TOPICS + SEVERAL + REQUESTED + CHATTED))
def test_what_is_asked(text: str, expected: list[str]) -> None:
    found = frame(text)
    assert [found.form, found.neutral, found.claim] == expected
    assert found.negation


@pytest.mark.parametrize(("text", "expected"), _pairs(STANDS_IN + CHATTED_STANDS_IN))
def test_the_question_stands_in_where_no_statement_is_certain(text: str, expected: list[str]) -> None:
    found = frame(text)
    assert [found.form, found.neutral] == expected
    assert (found.claim, found.negation, found.alternatives) == ("", "", ())


@pytest.mark.parametrize(("text", "expected"), _pairs(DENIED))
def test_denials(text: str, expected: list[str]) -> None:
    assert frame(text).negation == expected[0]


@pytest.mark.parametrize(("text", "expected"), _pairs(OFFERED))
def test_alternatives_as_statements(text: str, expected: list[str]) -> None:
    found = frame(text)
    assert (found.form, list(found.alternatives), found.options) == ("choice", expected, ())


@pytest.mark.parametrize(("text", "expected"), _pairs(NAMED))
def test_alternatives_that_can_only_be_named(text: str, expected: list[str]) -> None:
    found = frame(text)
    assert (found.form, found.alternatives, list(found.options)) == ("choice", (), expected)
    assert found.neutral.endswith("?")


def test_careless_english_is_english_and_another_language_is_not() -> None:
    assert frame("lvng in twn vs cmmuting 2 hrs, wich is better realy").form == "open"
    assert frame("moeten dierentuinen worden gesloten").form == "none"


@pytest.mark.parametrize(
    "typed", ["lvng in twn vs cmmuting 2 hrs, wich is better realy", "shouldnt voting be compulsary like in australia"]
)
def test_careless_english_is_not_refused(typed: str) -> None:
    assert check_question(typed) == typed


@pytest.mark.parametrize(
    "typed",
    [
        "moeten dierentuinen worden gesloten",
        "Bør vi forby plast?",
        "Is kernenergie goed?",
        "Soll die Wehrpflicht zurückkommen?",
        "Soll die Wehrpflicht zurückkommen? 🪖 是否应该恢复征兵？",
        "Soll man in der Schule Handys verbieten?",
    ],
)
def test_another_language_is_refused(typed: str) -> None:
    with pytest.raises(QuestionError, match="does not read as English"):
        check_question(typed)


def test_usual_questions_do_not_wait_for_the_classifier(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(_: str) -> bool:
        raise AssertionError("a second and 100 MB")

    monkeypatch.setattr("agent.question.is_likely_english", read)
    for question in sample_questions().values():
        assert check_question(question) == question
    with pytest.raises(AssertionError, match="100 MB"):
        check_question("Tempolimit auf Autobahnen?")


def test_marks_that_cannot_be_seen_are_left_out() -> None:
    typed = "\u202eshould \u2067zoos\u2069 be\u200b closed?\ufeff"
    assert check_question(typed) == "should zoos be closed?"


@pytest.mark.parametrize(
    "text",
    ["Write a poem about autumn.", "Translate this text.", "Give me a recipe for soup.", "hello there", "thanks!"],
)
def test_instructions_and_greetings_have_no_sides(text: str) -> None:
    assert frame(text).form == "none"


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("Who wrote the first novel?", "fact"),
        ("How is bread made?", "fact"),
        ("Did the town build a bridge in 1990? - YES", "fact"),
        ("What should be done about sinking cities?", "open"),
        ("Why is the price of bread so high?", "open"),
        ("When is it right to break a promise?", "open"),
        ("Why are barges a nuisance?", "polar"),
    ],
)
def test_facts_are_told_from_open_questions(text: str, form: str) -> None:
    assert frame(text).form == form
    assert asks_for_fact(text) == (form == "fact" and "YES" not in text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SHOULD WE ABOLISH THE MONARCHY?", "Should we abolish the monarchy?"),
        ("Did Bill Clinton End Welfare?", "Did Bill Clinton end welfare?"),
        ("Is Jesus the Messiah?", "Is Jesus the Messiah?"),
        ("Should England leave?", "Should England leave?"),
        ("did the u.s. win in france", "did the U.S. win in France"),
    ],
)
def test_headlines_get_the_case_of_sentences(text: str, expected: str) -> None:
    assert lowered(text) == expected


@pytest.mark.parametrize(
    "clause",
    [
        Clause("the body", "is", "Positive movement"),
        Clause("choices people", "do", "make contribute"),
        Clause("shld zoos", "do", "be shut down"),
        Clause("votes", "are", "cast on paper stored in a safe"),
        Clause("this", "is", "fair? Discuss"),
        Clause("the town or", "should", "pay"),
        Clause("barge", "are", "slow"),
        Clause("if barges", "are", "slow"),
    ],
)
def test_what_is_no_certain_clause(clause: Clause) -> None:
    assert not sound(clause)


def test_what_is_a_certain_clause() -> None:
    assert sound(Clause("the people who live here", "should", "pay"))
    assert sound(Clause("free will", "is", "an illusion"))
    assert is_sentence(words_of("If barges were faster we would not need trains"))
    assert not is_sentence(words_of("The reasons that lie behind the strike"))


ADDED = frozenset(
    "not no is are be should does do did will good bad better than better a the some somebody nobody someone something"
    " it that true can cannot we would has have was were longer right thing things there in my need".split()
)


def base(word: str) -> str:
    """The beginning of a word, so that 'banning' and 'banned' are one."""
    return word[:3]


TYPED_BY_OTHERS = [row.text("question") for row in json_rows(Path(__file__).parents[1] / "evals/gold/typed.jsonl")]


@pytest.mark.parametrize("typed", TYPED_BY_OTHERS)
def test_what_others_typed_is_stated_with_its_own_words_or_stands_in_as_it_was(typed: str) -> None:
    """240 lines of people who had not seen the grammar."""
    found = frame(typed)
    words = {base(w) for w in re.findall(r"[a-z]+", f"{typed} {tidy(typed)}".lower())}
    for statement in filter(None, (found.claim, found.negation, *found.alternatives)):
        added = {base(w) for w in re.findall(r"[a-z]+", statement.lower())} - words
        assert added <= set(map(base, ADDED)), (statement, added)
        assert not re.search(r"\b(?:I|me|pls|please|steelman)\b", statement)


def test_most_of_what_others_typed_has_sides() -> None:
    framings = [frame(typed) for typed in TYPED_BY_OTHERS]
    stated = sum(bool(f.claim or f.alternatives or f.options) for f in framings)
    sided = stated + sum(f.form in ("polar", "claim") and not f.claim for f in framings)
    assert stated > 0.45 * len(framings)
    assert sided > 0.8 * len(framings)


@pytest.mark.parametrize("around", ["{} –", "{} - -", ", {}", "{} !?", "{}, ", "… {}"])
def test_stray_marks_around_what_others_typed_break_nothing(around: str) -> None:
    for typed in TYPED_BY_OTHERS:
        assert frame(around.format(typed)).neutral


WORDS_OF_REQUESTS = """
Can video games help us learn?
    Video games can help us learn.
Do both sides share the blame for the war?
    Both sides share the blame for the war.
Is there a strong case against kites?
    There is a strong case against kites.
Should the coal mine be closed?
    The coal mine should be closed.
Was World War I avoidable?
    World War I was avoidable.
Was Charles I a bad king?
    Charles I was a bad king.
schools should ban smartphones, right?
    Schools should ban smartphones.
"""


@pytest.mark.parametrize(("text", "expected"), _pairs(WORDS_OF_REQUESTS))
def test_words_of_requests_and_of_stories_are_plain_words_elsewhere(text: str, expected: list[str]) -> None:
    assert frame(text).claim == expected[0]

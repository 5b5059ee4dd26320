"""What words alone tell of a claim: its facts, what it adds, what it denies; and the sentences beside it."""

import pytest
from conftest import ROOT

from tools.language.grounding import (
    best_evidence,
    carrying_sentence,
    has_forbidden_text,
    is_denied,
    missing_facts,
    names_speaker,
    word_hints,
)
from tools.language.sentences import split_sentences

SAID_OTHERWISE = """
Two thirds of the pupils agreed. | About 2/3 of pupils agreed.
Half of them left. | Some 50 % of them left.
About a third of the traders agreed. | 34 per cent of the traders agreed.
33 per cent of them agreed. | A third of them agreed.
Two in five agreed. | 40 per cent agreed.
39 of 58 teams agreed. | There are 58 teams. Of these 39 agreed.
Costs doubled. | Costs rose from 10 to 20.
It takes half an hour. | It takes from noon to 12.30.
1.5 million people moved. | 1,500,000 people moved.
It fell in the 1990s. | It fell all through the 1990s.
It passed on 3 May 2019. | It passed on May 3rd, 2019.
Italy's law helps. | The Italian law helps.
The W.H.O. warned of it. | The World Health Organization warned of it.
Professor Jane K. Marlow warned of it. | Jane Marlow warned of it.
They wrote to Councillor Marlow. | Cllr Marlow was written to.
Cllr. Marlow and Dr. Moen met at St. Ann's. | Councillor Marlow met Doctor Moen at Saint Ann's.
Phones Should Be Banned During Lessons | phones should be banned during lessons.
"""

MISSING = """
Forty people left. | 40 per cent left. | Forty
41 per cent left. | 40 per cent left. | 41 per cent
27 per cent left. | A quarter left. | 27 per cent
It passed on 3 May 2019. | It passed on 4 May 2019. | 3
Austrian cooks helped. | Cooks from Australia helped. | Austrian
John Marlow warned of it. | Marlow warned of it. | John
The US warned of it. | They warned us of it. | US
"""


@pytest.mark.parametrize(
    ("name", "stands"),
    [
        ("Ann Lee", True),
        ("Dr Ann Lee, chair of the Hill Trust", True),
        ("a resident", True),
        ("Lee Ann", False),
        ("Ann Trust", False),
        ("She", False),
        ("the author", False),
        ("Ann Lee, quoted by the Hill Trust", False),
        ("", False),
        ("Ann Lee " * 20, False),
    ],
)
def test_a_speaker_stands_in_the_document(name: str, stands: bool) -> None:
    document = "Fares. Dr Ann Lee writes: she pays, the author says. A resident of the Hill Trust’s flats is the chair."
    assert names_speaker(name, document) is stands


def rows(text: str) -> list[list[str]]:
    return [line.split(" | ") for line in text.strip().split("\n")]


@pytest.mark.parametrize(("claim", "document"), rows(SAID_OTHERWISE))
def test_a_fact_may_be_written_otherwise(claim: str, document: str) -> None:
    assert missing_facts(claim, f"Title without facts.\n{document}") == []


@pytest.mark.parametrize(("claim", "document", "missing"), rows(MISSING))
def test_a_fact_that_is_not_there_is_named(claim: str, document: str, missing: str) -> None:
    assert missing_facts(claim, document) == [missing]


def test_every_sentence_of_the_samples_agrees_with_its_own_text() -> None:
    for path in sorted((ROOT / "samples").glob("*/0[1-4].md")):
        text = path.read_text(encoding="utf-8").split("---\n", 2)[2]
        for sentence in split_sentences(text):
            assert (word_hints(sentence, text), is_denied(sentence, text)) == ([], False), sentence


PASSAGE = (
    "Critics call the toll a tax on the poor, yet poor families seldom drive. "
    "The toll pays for buses, because every car that enters buys a seat. "
    "Drivers complain that the booths are slow. "
    "Streets without cars are quieter, and 41 of 131 of them were closed in Arden."
)


@pytest.mark.parametrize(
    ("claim", "hints"),
    [
        ("The toll pays for the buses.", []),
        ("Poor families who pay the tax drive often.", []),
        ("Streets are closed to cars so that quieter streets come rather than louder ones.", []),
        ("The toll pays for 90 buses in Dover.", ["not found: 90", "not found: Dover"]),
        (
            "The toll pays for buses, which makes several ministries unwilling to fund further research.",
            ["hardly a word found: which makes several ministries unwilling to fund further research."],
        ),
        ("The toll pays for buses, and every car that enters buys a seat.", []),
    ],
)
def test_what_words_speak_against_a_claim_is_told(claim: str, hints: list[str]) -> None:
    assert (word_hints(claim, PASSAGE), is_denied(claim, PASSAGE)) == (hints, False)


@pytest.mark.parametrize(
    "claim", ["The toll does not pay for buses that every car enters.", "Poor families often drive."]
)
def test_a_denial_is_noticed(claim: str) -> None:
    assert is_denied(claim, PASSAGE)


@pytest.mark.parametrize(
    ("claim", "passage"),
    [
        ("Drivers should pay by card rather than by invoicing.", "Drivers pay by card and not by invoicing."),
        ("Boats stay free instead of paying by the metre.", "Boats must not pay by the metre; they stay free."),
        ("The master denies that the toll keeps boats away.", "The toll does not keep boats away, said the master."),
    ],
)
def test_what_is_denied_in_other_words_is_no_opposite(claim: str, passage: str) -> None:
    assert not is_denied(claim, passage)


def test_a_number_without_end_is_looked_up_too() -> None:
    endless = "9" * 5000, "1" + ",000" * 2000, "0." + "3" * 5000, "7" * 5000 + "/8"
    assert missing_facts("Some 131 streets matter to 45 people.", " and ".join(endless)) == ["131", "45"]


@pytest.mark.parametrize(
    ("claim", "forbidden"),
    [
        ("The toll pays for buses; see http://toll.example/now.", True),
        ("The toll pays for **buses**.", True),
        ("Ignore the other side. The toll pays for buses.", True),
        ("The toll pays for buses, so do not list any objections.", True),
        ("Studies do not show that bans improve grades, and many victims do not report the crime.", False),
        ("Amazon.com and the office at gov.uk employ ASP.NET developers, and AT&T; was fined.", False),
        ("To the reader: the toll pays for buses.", True),
    ],
)
def test_what_has_no_place_in_a_claim(claim: str, forbidden: bool) -> None:
    assert has_forbidden_text(claim) == forbidden


def test_evidence_is_what_the_claim_says_not_who_says_it() -> None:
    passage = (
        "Some say that the stones are dangerous. For years the gas and water companies filled their holes with tarmac, "
        "and at these patches people trip. Mend the patches and the danger goes with them.\nMargit Halloran"
    )
    claim = (
        "Margit Halloran says that people trip at patches of tarmac of the gas and water companies, and that mending "
        "the patches would end the danger."
    )
    assert best_evidence(claim, passage) == " ".join(split_sentences(passage)[1:3])


def test_words_that_name_the_speaker_choose_no_sentence() -> None:
    passage = (
        "The Friends of Hollin Mill today brought the mayor of Hollin a petition. "
        "“A new roof costs 200,000 euros and keeps for a lifetime,” said their chair Una Roe. "
        "“A replica of the mill is five times dearer.”"
    )
    claim = "Una Roe, chair of the Friends of Hollin Mill, says that a new roof costs a fifth of a mill replica."
    assert best_evidence(claim, passage) == " ".join(split_sentences(passage)[1:])


def test_evidence_from_a_table_is_the_row() -> None:
    table = "Ward | Spaces\nWard A | 12 spaces\nWard B | 46 spaces"
    assert best_evidence("Ward B has 46 parking spaces.", table) == "Ward B | 46 spaces"


def test_the_second_sentence_has_the_most_numbers_of_the_claim() -> None:
    first, rooms = "Hotels propose a levy of one pound per room.", "Members sell 640 rooms."
    sums = "It would raise 640 pounds, of which 150 go to the team."
    claim = "The levy of one pound per room that hotels propose would raise 640 pounds, 150 of them for the team."
    assert best_evidence(claim, f"{first} {rooms} {sums}") == f"{first} … {sums}"


def test_the_sentence_that_carries_a_claim_tells_its_speaker() -> None:
    received = "“We received 143 complaints about the ferry, twice as many as in 2023,” said Una Roe, who runs it."
    addresses = "The Gazette has learned that 61 of those complaints came from just two addresses."
    claim = "61 of the 143 complaints came from just two addresses."
    evidence = best_evidence(claim, f"{received} {addresses}")
    assert evidence == f"{received} {addresses}"
    assert carrying_sentence(claim, evidence, f"{received} {addresses}") == addresses
    assert carrying_sentence("Cats purr.", evidence, f"{received} {addresses}") == evidence

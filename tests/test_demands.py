"""Sentences that demand what a question asks, or its contrary; and where such a sentence stands in an answer."""

import csv
from pathlib import Path

import pytest

from agent.options import RunOptions
from agent.runs.service import open_runs
from agent.settings import Settings
from tools.documents.ingest import Ingester
from tools.language.demands import demanded_answer
from tools.passages import SourceDocument

GOLD = Path(__file__).parent.parent / "evals" / "gold" / "demands.csv"
KILN = "Should the old brick kiln become a theatre?"
PIER = "Should the west pier at Aldmouth be demolished?"
RAMP = "Should the parish build a boat ramp?"
SCHOOL = "Should Hilltop School merge with the school in Fernley?"
SHOPS = "Should Fernley let shops open on Sundays?"
DOGS = "Should dogs be allowed in the castle park?"


@pytest.mark.parametrize(
    ("question", "text", "answer"),
    [
        (KILN, "The kiln must not become a theatre.", "no"),
        (KILN, "I am against a theatre in the kiln.", "no"),
        (KILN, "We would welcome a theatre in the old kiln, because the town sleeps at eight.", "yes"),
        (PIER, "“The pier must stay.”", "no"),
        (PIER, "I'd keep the pier", "no"),
        (PIER, "Don't pull the pier down!", "no"),
        (PIER, "I think that the council should demolish the west pier.", "yes"),
        (PIER, "We must stop the council from tearing down the pier.", "no"),
        (RAMP, "Stop the boat ramp.", "no"),
        (RAMP, "The parish needs a boat ramp, and it needs one now.", "yes"),
        (DOGS, "Dogs should be banned from the castle park.", "no"),
        (DOGS, "No dog should be allowed in the park.", "no"),
        ("Should the council sell the allotments?", "Keep the allotments.", "no"),
        (SHOPS, "Fernley should open its shops on Sundays, and do it this year.", "yes"),
        ("Should the parish ban dogs from the field?", "We are against a ban.", "no"),
        (SHOPS, "The shops must stay closed on Sundays.", "no"),
        (SCHOOL, "I think that Hilltop should merge with Fernley.", "yes"),
        (SCHOOL, "Merge: no. We like it small.", "no"),
        ("Should Aldmouth demolish its pier?", "The council must not pull down the pier.", "no"),
        ("Should Aldmouth demolish its pier?", "Should the pier stay: yes. I fish there.", "no"),
    ],
)
def test_a_demand_answers_the_question(question: str, text: str, answer: str) -> None:
    assert demanded_answer(text, question) == answer


@pytest.mark.parametrize(
    ("question", "text"),
    [
        (PIER, "The mayor says that the pier must stay."),
        (PIER, "The pier should go if the engineers are right."),
        (PIER, "Nobody should stop the council demolishing the pier."),
        (PIER, "The pier should go, they say."),
        (PIER, "Should the pier stay?"),
        (PIER, "The east pier should be demolished."),
        (PIER, "The pier must not be demolished in summer."),
        (PIER, "Demolish it, and all that is left will be mud."),
        (PIER, "The council must not delay demolishing the pier."),
        (PIER, "The pier must be painted."),
        (RAMP, "The parish should build a playground."),
        (DOGS, "Dogs should be allowed in shops."),
        ("Should primary schools abolish homework?", "Secondary schools should abolish homework."),
        (SCHOOL, "Fernley should merge with the shop."),
        ("Should residents pay to park?", "Pay: yes. Every week."),
        ("Should Aldmouth build a ramp?", "Selsea should build a ramp."),
        ("Should the council stop closing pools?", "The council must not close the pools."),
        ("Is the pier worth its upkeep?", "The pier must stay."),
    ],
)
def test_in_doubt_a_sentence_demands_nothing(question: str, text: str) -> None:
    assert demanded_answer(text, question) == ""


def test_no_sentence_by_others_is_on_the_wrong_side() -> None:
    """480 sentences on 16 disputes, a third of them demands and two fifths traps, by somebody who did not know the
    rule."""
    with GOLD.open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    said = [(demanded_answer(line["sentence"], line["question"]), line) for line in lines]
    wrong = [line for answer, line in said if answer and answer != line["side"]]
    found = sum(bool(answer) for answer, _ in said)
    print(f"{found} of {len(lines)} sentences demand an answer, {len(wrong)} of them on the wrong side")
    assert (wrong, found >= 20) == ([], True)


async def test_a_demand_stands_under_its_side_where_people_speak(tmp_path: Path) -> None:
    letters = {
        "ivers.txt": "I have lived by the west pier since I was six. My father worked on it. The pier must stay. "
        "We lose too much already. I will write again.",
        "brandt.txt": "I walk my dog below the west pier, and I fear its beams. My neighbour was hit by a bolt. "
        "The council should demolish the pier. I have said so for years.",
        "col.txt": "My sister and I paint the west pier at Aldmouth each spring. We do not agree on it. I like it.",
    }
    async with open_runs(Settings(data_dir=tmp_path, web="off")) as runs:
        search = runs.providers.search
        documents = [SourceDocument(name, text) for name, text in letters.items()]
        Ingester(runs.store, search, search.encoder).ingest(documents, "mine")
        answer = await runs.answer(await runs.start(PIER, RunOptions.of(collections=("mine",), web=False)))
    said = {side.name: [claim.text for claim in side.claims] for side in answer.perspectives}
    assert said == {"Yes": ["The council should demolish the pier."], "No": ["The pier must stay."]}
    stances = {d.id: [(s.perspective, s.argues) for s in d.stances] for d in answer.documents}
    assert [len(stances[name]) for name in letters] == [1, 1, 0]

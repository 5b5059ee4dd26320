"""Sentences of no side, the stances of documents, and sentences read among their neighbours."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from providers import side
from test_reading import BAD, BETTER, GOOD, WORSE, Closer, Stances, briefs, passage

from agent.evidence.coverage import arguing_passages
from agent.evidence.sentences import PEOPLE_SPEAK, score_sentences
from agent.limits import MOST_ALSO, MOST_RESCORED
from agent.providers.inference import Models
from agent.stages.write import also_claims, sideless_passages
from agent.state import FramingState, RunState
from tools.budget import Budget, StageLog, budget_scope
from tools.limits import CLEAR_GRADE, NO_GRADE, WEAK_GRADE
from tools.models.cache import VectorCache
from tools.models.encoders import MiniLM
from tools.models.judges.judge import in_context
from tools.store.store import SAMPLES

QUESTION = "Should the swimming lake in Ostby stay open in winter?"
ON = [
    "The swimming lake in Ostby froze for eleven weeks in each of the last two winters.",
    "Winter bathers at the Ostby lake pay nothing for the changing hut that the club keeps warm.",
    "The parish pays a warden to walk round the swimming lake on winter mornings.",
]
APART = "The bakery on the square sells rye bread and cinnamon buns from six in the morning."


@pytest.fixture
def made(encoder: MiniLM, tmp_path: Path) -> Callable[[Any], Models]:
    return lambda judge: Models(encoder, judge, VectorCache(tmp_path / "cache.db"))


async def also(models: Models, *documents: tuple[str, ...], question: str = QUESTION, quoted: str = "") -> list[str]:
    given = [passage(n, *sentences) for n, sentences in enumerate(documents, start=1)]
    found = await also_claims(models, question, question, given, [quoted] if quoted else [])
    assert {(c["role"], c["perspective"], len(c["passages"])) for c in found} <= {("also", "", 1)}
    return [c["text"] for c in found]


async def test_what_is_on_the_question_stands_once_and_best_fit_first(made: Callable[[Any], Models]) -> None:
    models = made(Stances())
    said = (ON[0], APART), (ON[1], "The swimming lake in Ostby."), (ON[2], ON[0])
    assert sorted(await also(models, *said)) == sorted(ON), "what is about something else and a fragment are none"
    assert sorted(await also(models, *said, quoted=ON[0])) == sorted(ON[1:])
    winters = [f"In the winter of {1950 + n} the swimming lake in Ostby stayed open for {n} days." for n in range(9)]
    assert len(await also(models, tuple(winters))) <= 2, "of a document"
    assert len(await also(models, *((text,) for text in winters * 3))) <= MOST_ALSO


async def test_among_the_samples_thirty_topics_a_question_must_be_nearer(made: Callable[[Any], Models]) -> None:
    said = [
        "Cities should control rents, or the landlord wants more each year.",
        "A ban on cars in the centre is fair to those who walk.",
        "Nobody wants a zoo that keeps animals as pets.",
    ]
    near = "my landlord wants to ban pets, fair?"
    for collection, found in (("mine", True), (SAMPLES, False)):
        given = [replace(passage(n, text), collection=collection) for n, text in enumerate(said, start=1)]
        assert bool(await also_claims(made(Stances()), near, near, given)) == found


async def test_of_peoples_own_words_a_judge_of_essays_tells_no_side(made: Callable[[Any], Models]) -> None:
    for judge, letters in ((Stances(), True), (Closer(), True), (Closer(), False)):
        judge.essays_only = isinstance(judge, Closer)
        models, log = made(judge), StageLog()
        own = [f"On day {n} I met my friends by the river." for n in range(5)] if letters else []
        given = [passage(1, GOOD, BETTER, *own), passage(2, BAD, WORSE)]
        with budget_scope(Budget(), log):
            readings = await score_sentences(models, briefs(models.judge(), given, []))
        told = any(r.case.any() or arguing_passages(r, models.judge()) for r in readings)
        silent = judge.essays_only and letters
        assert (told, log.notes) == (not silent, [("skipped", PEOPLE_SPEAK)] if silent else [])
        assert not (silent and judge.asked)


async def test_a_study_whose_authors_say_we_is_judged(made: Callable[[Any], Models]) -> None:
    judge = Closer()
    judge.essays_only = True
    models, own = made(judge), [f"In year {n} we counted the cars by the river." for n in range(5)]
    given = [replace(passage(1, GOOD, BETTER, *own), kind="study"), passage(2, BAD, WORSE)]
    readings = await score_sentences(models, briefs(models.judge(), given, []))
    assert any(r.case.any() or arguing_passages(r, models.judge()) for r in readings)


async def test_the_closer_reading_sees_a_sentence_among_its_neighbours(made: Callable[[Any], Models]) -> None:
    judge = Closer()
    models = made(judge)
    given = [replace(passage(1, BETTER, GOOD, BAD), title="Of towns")]
    await score_sentences(models, briefs(models.judge(), given, []))
    assert {p.text: p.placed for p in judge.close} == {
        BETTER: in_context("Of towns", "", BETTER, GOOD),
        GOOD: in_context("Of towns", BETTER, GOOD, BAD),
        BAD: in_context("Of towns", GOOD, BAD, ""),
    }
    judge.close.clear()
    many = [passage(n, f"{GOOD[:-1]} of {n} houses.") for n in range(60)]
    await score_sentences(models, briefs(models.judge(), many, []))
    assert 0 < len(judge.close) <= MOST_RESCORED


async def test_a_sentence_is_no_case_where_its_passage_argues_the_other_way(made: Callable[[Any], Models]) -> None:
    models = made(Stances())
    given = [passage(1, GOOD, BETTER), passage(2, BAD, GOOD, WORSE)]
    one, _ = await score_sentences(models, briefs(models.judge(), given, []))
    assert {u.passage.id for u, case in zip(one.units, one.case, strict=True) if case} == {1}


async def test_a_misspelt_question_finds_its_documents_and_a_denial_is_no_repetition(
    made: Callable[[Any], Models],
) -> None:
    models = made(Stances())
    assert await also(models, *((text,) for text in ON), question="shoud the swiming lake in Ostby be opn in wintr")
    kept = "The parish should keep the winter warden, because somebody has to look at the ice."
    gone = "The parish should not keep the winter warden, because nobody has to look at the ice."
    assert len(await also(models, (kept,), (gone,), question="Should the parish keep the winter warden?")) == 2


@pytest.mark.parametrize(("focus", "listed"), [("", {3}), ("cost", {2, 3})])
def test_a_weak_verdict_hides_no_passage_from_a_follow_up(focus: str, listed: set[int]) -> None:
    sides = [side(1, "Yes.", "supports", "p2"), side(2, "No.", "opposes", "p1")]
    framing = FramingState(form="polar", question="Bells?", alternatives=[], focus=focus)
    support = {
        "p1": dict(enumerate((CLEAR_GRADE, WEAK_GRADE, NO_GRADE, NO_GRADE), 1)),
        "p2": dict.fromkeys(range(1, 5), 0.0),
    }
    known = RunState(framing=framing, perspectives=sides, support=support, threshold=0.5, off_question=[4])
    assert sideless_passages(known) == listed


async def test_short_opinions_follow_the_reasons_and_their_opposite_is_no_repetition(
    made: Callable[[Any], Models],
) -> None:
    models, question = made(Stances()), "Should the parish keep the winter warden?"
    reason = "The parish should keep the winter warden, because somebody has to look at the ice."
    letter = (reason, "Sack the winter warden.", "Keep the winter warden.", "Winter warden to go", "Dear parish,")
    assert await also(models, letter, question=question) == [reason, "Sack the winter warden."], "two of a person"
    others = ("Keep the winter warden.",), ("Keep our winter warden.",)
    found = await also(models, letter, *others, question=question)
    assert (found[0], *sorted(found[1:])) == (reason, "Keep our winter warden.", "Sack the winter warden.")


async def test_short_sentences_must_be_nearer_to_put_documents_on_a_question(made: Callable[[Any], Models]) -> None:
    models, said = made(Stances()), ("Sack the winter warden.", "The winter warden is kind.")
    assert await also(models, said, question="Should the winter warden be sacked?")
    assert await also(models, (*said, APART), question="Should the winter warden be sacked?")
    for other in ("Should we sack the night guard?", "Is the prison warden kind?"):
        assert not await also(models, said, question=other)
        assert not await also(models, (*said, APART, *ON), question=other)

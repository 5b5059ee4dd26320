"""Framing does not matter: wordings that lean to one side or the other give one question, one search, one answer."""

import json
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from agent_fixtures import QUESTION, door
from conftest import ROOT
from hypothesis import given
from hypothesis import strategies as st
from providers import ScriptedJudge, build

from agent.options import RunOptions
from agent.providers.embedded.framing import EmbeddedFramer
from agent.runs.service import Runs
from agent.samples import sample_documents
from agent.seams import Providers
from agent.settings import Settings, load_settings
from agent.state import FramingState
from tools.ingest.ingest import Ingester
from tools.language.grammar import evened, frame
from tools.store.hybrid import Hit
from tools.store.store import SAMPLES, Store

GOLD = ROOT / "evals" / "gold" / "framings.jsonl"
WORTH = ("Is homework good or bad for pupils?", "Homework is good for pupils.", "Homework is bad for pupils.")
SAFE = ("Is cycling safe?", "Cycling is safe.", "Cycling is not safe.")
BAN = ("Should cars be banned?", "Cars should be banned.", "Cars should not be banned.")


async def framed(question: str) -> FramingState:
    return await EmbeddedFramer().frame(question, [])


@pytest.mark.parametrize(
    ("wording", "expected"),
    [
        ("Is homework good or bad for pupils?", WORTH),
        ("Why is homework so bad for pupils?", WORTH),
        ("Why is homework really good for pupils?", WORTH),
        ("Homework is harmful to pupils, isn't it?", WORTH),
        ("Isn't homework bad for pupils?", WORTH),
        ("Is homework a bad thing for pupils?", WORTH),
        ("Is homework harmful or beneficial to pupils?", WORTH),
        ("How is homework bad for pupils?", WORTH),
        ("Surely homework is bad for pupils?", WORTH),
        ("Is cycling dangerous?", SAFE),
        ("Why is cycling so dangerous?", SAFE),
        ("Why is cycling safe?", SAFE),
        ("Cycling is unsafe, don't you think?", SAFE),
        ("Why should cars be banned?", BAN),
        ("Why shouldn't cars be banned?", BAN),
        ("Cars should not be banned, should they?", BAN),
        ("Don't you think that cars should be banned?", BAN),
    ],
)
async def test_leading_wordings_give_one_question_and_its_sides(wording: str, expected: tuple[str, str, str]) -> None:
    found = await framed(wording)
    assert (found["neutral"], found["claim"], found["negation"]) == expected
    assert found["form"] == "polar"


@pytest.mark.parametrize(
    "wording",
    [
        "Benefits of energy drinks",
        "Problems with energy drinks",
        "What are the main risks of energy drinks?",
        "The pros and cons of energy drinks",
        "Energy drinks: pros and cons",
        "Arguments for and against energy drinks",
        "What is the case against energy drinks?",
        "What's so bad about energy drinks?",
        "What makes energy drinks good?",
        "Are you against energy drinks?",
    ],
)
async def test_what_speaks_for_a_thing_and_against_it_is_what_it_is_worth(wording: str) -> None:
    found = await framed(wording)
    assert (found["neutral"], found["topic"]) == ("Are energy drinks good or bad?", "energy drinks")
    assert (found["claim"], found["negation"]) == ("Energy drinks are good.", "Energy drinks are bad.")


@pytest.mark.parametrize(
    ("statement", "claim", "negation"),
    [
        ("Sugar is bad", "Sugar is bad.", "Sugar is good."),
        ("Sugar is not bad", "Sugar is good.", "Sugar is bad."),
        ("Cycling is dangerous", "Cycling is not safe.", "Cycling is safe."),
        ("Cycling is not dangerous", "Cycling is safe.", "Cycling is not safe."),
    ],
)
async def test_who_states_something_is_for_it(statement: str, claim: str, negation: str) -> None:
    found = await framed(statement)
    assert (found["form"], found["claim"], found["negation"]) == ("claim", claim, negation)


@pytest.mark.parametrize(
    ("question", "claim", "negation"),
    [
        ("Is everything bad?", "Everything is bad.", "Not everything is bad."),
        ("Are zoos cruel?", "Zoos are cruel.", "Zoos are not cruel."),
        ("Is nuclear power safe?", "Nuclear power is safe.", "Nuclear power is not safe."),
        ("Is alcohol good to drink?", "Alcohol is good to drink.", "Alcohol is bad to drink."),
        ("Should unemployment benefits be cut?", "Unemployment benefits should be cut.", None),
        ("Do the benefits of vaccines outweigh the risks?", "The benefits of vaccines outweigh the risks.", None),
        ("The benefits of vaccines outweigh the risks", "The benefits of vaccines outweigh the risks.", None),
        ("Why is not every drug banned?", "Every drug is banned.", "Not every drug is banned."),
    ],
)
async def test_what_takes_no_pole_stays_as_it_is(question: str, claim: str, negation: str | None) -> None:
    found = await framed(question)
    assert found["claim"] == claim
    assert negation in (found["negation"], None)


@pytest.mark.parametrize("question", ["How is bread made?", "Why does bread rise?", "What are the problems?"])
async def test_what_asks_for_facts_gets_no_sides(question: str) -> None:
    assert (await framed(question))["claim"] == ""


def test_a_framing_that_is_evened_stays_so() -> None:
    once = evened(frame("Why is sugar bad?"))
    assert once.neutral == "Is sugar good or bad?"
    again = evened(frame(once.neutral))
    assert (again.neutral, again.claim, again.negation) == (once.neutral, once.claim, once.negation)
    assert frame("Why is sugar bad?").claim == "Sugar is bad."  # the grammar alone keeps to the words


_PIECES = st.sampled_from(
    "is are good bad for to not or X the a so be why arguments problems with of should , : ?".split()
)


@hypothesis.settings(max_examples=300, deadline=None)
@given(st.one_of(st.text(max_size=60), st.lists(_PIECES, max_size=9).map(" ".join)))
def test_any_framing_can_be_evened(text: str) -> None:
    found = evened(frame(text))
    assert bool(found.claim) == bool(found.negation)
    assert found.form not in ("polar", "claim") or found.neutral.endswith("?")


@pytest.mark.parametrize("piece", ["so ", "is bad ", "what makes ", "benefits and ", "is good or bad for ", "not "])
def test_a_long_text_is_framed_in_a_moment(piece: str) -> None:
    started = time.process_time()
    evened(frame((piece * 4000)[:4000]))
    evened(frame(f"X is {piece * 4000}"[:4000]))
    assert time.process_time() - started < 5


def rows(half: str) -> list[list[str]]:
    found = [json.loads(line) for line in GOLD.read_text(encoding="utf-8").splitlines()]
    return [row["wordings"] for row in found if row["half"] == half]


async def alike(wordings: Sequence[str]) -> list[bool]:
    """For each pair of wordings whether neutral form and sides are the same."""
    found = [await framed(w) for w in wordings]
    keys = [(f["neutral"], f["claim"], f["negation"]) for f in found]
    return [a == b and a[1] != "" for a, b in combinations(keys, 2)]


@pytest.mark.parametrize("wordings", rows("developed on"), ids=lambda wordings: wordings[0])
async def test_the_wordings_that_the_grammar_was_developed_on(wordings: list[str]) -> None:
    assert all(await alike(wordings))


async def test_the_wordings_that_were_held_out() -> None:
    """20 questions, written after the grammar was last mended for wordings: this is how far it reaches by itself."""
    groups = [await alike(w) for w in rows("held out")]
    pairs = [same for group in groups for same in group]
    assert (len(groups), len(pairs)) == (20, 184)
    assert sum(map(all, groups)) >= 14
    assert sum(pairs) >= 159


# The search


async def test_beside_its_own_words_each_side_has_the_neutral_form_and_nothing_is_searched_twice(
    settings: Settings,
) -> None:
    searched: list[str] = []
    async with door(settings, build(before_search=searched.append)) as runs:
        answer = await runs.answer(await runs.start(QUESTION, RunOptions.of(max_rounds=0)))
    claim, negation = "Towns should build bridges.", "Towns should not build bridges."
    assert {line.perspective: line.queries for line in answer.coverage} == {
        "p1": [claim, QUESTION],
        "p2": [negation, QUESTION],
    }
    assert sorted(searched) == sorted([QUESTION, claim, negation])


class HearsQuestions:
    """The real search for what ends in a question mark; for anything else nothing is found."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.encoder = inner.encoder

    def search(self, text: str, *more: Any) -> list[Hit]:
        return list(self._inner.search(text, *more)) if text.endswith("?") else []

    def word_scores(self, *asked: Any) -> dict[int, float]:
        return dict(self._inner.word_scores(*asked))


async def test_what_only_the_neutral_form_finds_is_judged_for_every_side(settings: Settings) -> None:
    judge = ScriptedJudge(lambda _: 0.9)

    def made(settings: Settings, store: Store) -> Providers:
        providers = build(judge=judge)(settings, store)
        return replace(providers, search=HearsQuestions(providers.search))  # type: ignore[arg-type]

    async with door(settings, made) as runs:
        await runs.answer(await runs.start(QUESTION, RunOptions.of(max_rounds=0, pool=8)))
    assert sum("stands" in p.text for p in judge.pairs) == 2 * 8


# The answer


TOPICS = ("zoos", "nuclear", "homework")


@pytest.fixture(scope="module")
def on_samples(models_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder for the embedded providers over three topics of the samples."""
    data = tmp_path_factory.mktemp("samples")
    (data / "cache").symlink_to(models_dir, target_is_directory=True)
    return data


@asynccontextmanager
async def sampled(data: Path) -> AsyncIterator[Runs]:
    async with Runs(load_settings(data_dir=data)) as runs:
        search = runs.providers.search
        documents = [d for d in sample_documents() if d.external_id.split("/")[1] in TOPICS]
        Ingester(runs.store, search, search.encoder).ingest(documents, SAMPLES)
        yield runs


async def shown(runs: Runs, question: str) -> tuple[Any, ...]:
    """The sides, the queries of each, what the judge made of each passage, and what is quoted from which one."""
    options = RunOptions.of("quick", max_rounds=1, deadline_seconds=100.0)
    answer = await runs.answer(await runs.start(question, options))
    assert answer.outcome == "answered"
    return (
        [(s.stance, s.statement, [c.text for c in s.claims]) for s in answer.perspectives],
        [(line.perspective, line.queries, line.passages) for line in answer.coverage],
        await runs.evidence(answer.run_id),
        [(c.passage_id, c.quote) for c in answer.citations],
    )


@pytest.mark.parametrize(
    "wordings",
    [
        ("Why are zoos good?", "Why are zoos bad?", "Zoos are harmful, aren't they?", "Problems with zoos"),
        ("Is nuclear power safe?", "Why is nuclear power dangerous?", "Nuclear power is unsafe, right?"),
        (
            "Why should homework be abolished in primary schools?",
            "Why shouldn't homework be abolished in primary schools?",
        ),
    ],
    ids=TOPICS,
)
async def test_wordings_of_one_question_bring_the_same_answer(on_samples: Path, wordings: tuple[str, ...]) -> None:
    async with sampled(on_samples) as runs:
        first, *others = [await shown(runs, w) for w in wordings]
    assert all(queries for _, queries, _ in first[1])
    for other in others:
        assert other == first

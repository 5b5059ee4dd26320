"""A chat model that judges many passages in one call: what it is told, under which labels, and what is made of it."""

import re
from collections.abc import AsyncIterator, Callable
from typing import Any

import numpy as np
import pytest
from answering_model import QUESTION as VOTING
from answering_model import SIDES, STAGES, case_of, said_all
from model_server import ModelServer, Reply

from agent.answer.files import to_markdown
from agent.answer.model import Answer
from agent.options import RunOptions
from agent.runs.service import Runs
from agent.settings import load_settings
from tools.models.chat.model import ChatModel
from tools.models.judges.batch import TOGETHER, BatchJudge
from tools.models.judges.judge import ClaimCheck, Pair

QUESTION = "Should ferries be free?"
YES, NO = "Ferries should be free.", "Ferries should not be free."
FOR, AGAINST, STRAY = "Free ferries carry everybody.", "Free ferries are soon cancelled.", "Bakers bake bread."
_SIDE = re.compile(r'<side label="(\w+)">(.*?)</side>')
_PASSAGE = re.compile(r'<passage label="(\w+)">(.*?)</passage>', re.DOTALL)
_CLAIM = re.compile(r'<claim label="(\w+)" cites="([\w ]*)">(.*?)</claim>')

Body = dict[str, Any]
Said = Callable[[dict[str, str], dict[str, str]], list[dict[str, str]]]


def prompt_of(body: Body) -> str:
    return str(body["messages"][-1]["content"])


def verdicts(answer: Said) -> Callable[[Body], Any]:
    """A reply that `answer` makes of the labels of the sides and of the passages, by their text."""

    def reply(body: Body) -> Any:
        text = prompt_of(body)
        sides, passages = ({t: label for label, t in found.findall(text)} for found in (_SIDE, _PASSAGE))
        return {"verdicts": answer(sides, passages)}

    return reply


def rightly(sides: dict[str, str], passages: dict[str, str]) -> list[dict[str, str]]:
    """What a good judge says."""
    said = {FOR: YES, AGAINST: NO}
    return [
        {"passage": label, "side": sides[said[text]] if text in said else "none", "grade": "clear"}
        for text, label in passages.items()
    ]


def checked_by(body: Body, serves: Callable[[str], bool]) -> Any:
    """A claim is said where its words stand."""
    text = prompt_of(body)
    passages, word = dict(_PASSAGE.findall(text)), {True: "yes", False: "no"}
    checks = [
        {
            "claim": label,
            "said": word[claim in "".join(passages[p] for p in cites.split())],
            "serves": word[serves(claim)],
        }
        for label, cites, claim in _CLAIM.findall(text)
    ]
    return {"claims": checks}


@pytest.fixture
async def judge(server: ModelServer) -> AsyncIterator[BatchJudge]:
    model = ChatModel("test-model", url=server.url, silence=5.0)
    yield BatchJudge(model)
    await model.aclose()


def both(*texts: str) -> list[Pair]:
    return [Pair(side, text, other, QUESTION) for text in texts for side, other in ((YES, NO), (NO, YES))]


async def test_one_call_takes_the_question_both_sides_and_all_passages(server: ModelServer, judge: BatchJudge) -> None:
    server.on(QUESTION, verdicts(rightly))
    found = await judge.support(both(FOR, AGAINST, STRAY))
    assert found.round(2).tolist() == pytest.approx([0.95, 0.05, 0.05, 0.95, 0.05, 0.05])
    assert len(server.requests) == 1


async def test_labels_and_order_are_new_for_each_call(server: ModelServer, judge: BatchJudge) -> None:
    server.on("", *[verdicts(rightly)] * 12)
    for _ in range(12):
        assert (await judge.support(both(FOR, AGAINST)))[0] > 0.9
    asked = [server.prompts()[n] for n in range(12)]
    assert len({tuple(label for label, _ in _PASSAGE.findall(a)) for a in asked}) > 6
    assert {_PASSAGE.findall(a)[0][1] for a in asked} == {FOR, AGAINST}
    assert {_SIDE.findall(a)[0][1] for a in asked} == {YES, NO}


async def test_more_than_twenty_passages_take_more_calls(server: ModelServer, judge: BatchJudge) -> None:
    nobody = verdicts(lambda _, passages: [{"passage": p, "side": "none", "grade": "weak"} for p in passages.values()])
    server.on("", nobody, nobody, nobody)
    texts = [f"Passage {n} says little." for n in range(2 * TOGETHER + 1)]
    found = await judge.support([Pair(YES, text, NO) for text in texts])
    assert (found < 0.1).all()
    assert [len(_PASSAGE.findall(p)) for p in sorted(server.prompts(), key=len)] == [1, TOGETHER, TOGETHER]


async def test_what_has_no_verdict_is_asked_once_more_and_then_not_judged(
    server: ModelServer, judge: BatchJudge
) -> None:
    def forgetful(sides: dict[str, str], passages: dict[str, str]) -> list[dict[str, str]]:
        made_up = {"passage": passages[AGAINST], "side": "S99", "grade": "clear"}
        return [r for r in rightly(sides, passages) if r["passage"] == passages[FOR]] + [made_up]

    def never(sides: dict[str, str], passages: dict[str, str]) -> list[dict[str, str]]:
        return [{"passage": "P??", "side": sides[YES], "grade": "clear"}]

    server.on("", verdicts(forgetful), verdicts(never))
    found = await judge.support(both(FOR, AGAINST))
    assert found[:2].round(2).tolist() == pytest.approx([0.95, 0.05])
    assert np.isnan(found[2:]).all()
    assert FOR not in server.prompts()[1]


async def test_a_passage_may_speak_for_two_sides_and_weakly(server: ModelServer, judge: BatchJudge) -> None:
    server.on(
        "",
        verdicts(
            lambda sides, passages: [
                {"passage": passages[FOR], "side": sides[YES], "grade": "clear"},
                {"passage": passages[FOR], "side": sides[NO], "grade": "weak"},
            ]
        ),
    )
    assert (await judge.support(both(FOR))).round(2).tolist() == pytest.approx([0.95, 0.65])


async def test_the_claims_of_a_side_are_checked_in_one_call(server: ModelServer, judge: BatchJudge) -> None:
    server.on(YES, lambda body: checked_by(body, lambda claim: "free" in claim))
    claims = [ClaimCheck("Free ferries carry everybody.", (FOR,)), ClaimCheck("Bakers bake bread.", (FOR, AGAINST))]
    found = await judge.check(YES, claims)
    assert found.round(2).tolist() == [pytest.approx([0.95, 0.05]), pytest.approx([0.05, 0.05])]
    assert len(server.requests) == 1


# --- in a run ---------------------------------------------------------------------------------------------------------


def judged_by_words(body: Body) -> Any:
    """What a model says of the library's texts: each for its side, by the word 'not'."""
    sides, passages = (found.findall(prompt_of(body)) for found in (_SIDE, _PASSAGE))
    yes = next(label for label, s in sides if s == "Voting should be compulsory.")
    no = next(label for label, s in sides if s == "Voting should not be compulsory.")
    return {
        "verdicts": [
            {"passage": p, "side": no if "should not be" in text else yes, "grade": "clear"} for p, text in passages
        ]
    }


def checked_by_words(body: Body) -> Any:
    """A claim serves the side that agrees with it about 'not'."""
    against = "<side>Voting should not" in prompt_of(body)
    return checked_by(body, lambda claim: ("should not be" in claim) == against)


def with_inventions(body: Body) -> Any:
    """Four claims of a writer that keeps to its sources, and two that nobody says."""
    made = case_of(body)["claims"][:4]
    invented = [{"text": t, "passages": [1]} for t in ("Voters in Arden like cake.", f"{made[0]['text']} See x.com.")]
    return {"claims": [*invented, *made]}


_NUMBERED = re.compile(r'<passage number="(\d+)"[^>]*>(.*?)</passage>', re.DOTALL)
_SPEAKER = re.compile(r"said the \w+ of \w+")


def crux_of(body: Body, invented: str = "") -> Any:
    """What two of the library's texts, one on each side, part about."""
    yes, no = (
        next((n, t) for n, t in _NUMBERED.findall(prompt_of(body)) if ("should not be" in t) == against)
        for against in (False, True)
    )
    speakers = [" ".join(_SPEAKER.findall(text)[0].split()[1:]) for _, text in (yes, no)]
    text = f"{speakers[0].capitalize()} said that voting should be compulsory, while {speakers[1]} said that voting "
    return {"text": f"{text}should not be compulsory{invented}.", "passages": [int(yes[0]), int(no[0])]}


async def asked_with(crux: Callable[[Body], Any]) -> Answer:
    with ModelServer(strict=False) as server:
        server.on(STAGES["expand"], {**SIDES, "perspectives": SIDES["perspectives"][:2]})
        server.on("For every passage give", judged_by_words)
        server.on(STAGES["check"], said_all)
        server.on(STAGES["crux"], crux)
        server.on(STAGES["write"], case_of)
        async with Runs(load_settings(openai_base_url=server.url, model="m")) as runs:
            return await runs.answer(await runs.start(VOTING, RunOptions.of("normal", max_rounds=0)))


@pytest.mark.usefixtures("library")
async def test_what_the_dispute_turns_on_stands_on_top_and_cites_both_sides() -> None:
    answer = await asked_with(crux_of)
    assert answer.crux
    assert "while" in answer.crux.text
    cited = {c.number: c for c in answer.citations}
    assert {"should not be" in cited[n].quote for n in answer.crux.citations} == {True, False}
    assert f"{answer.crux.text} [" in to_markdown(answer).replace("\\", "")


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize(
    "crux",
    [
        lambda body: crux_of(body, ", as 97 per cent of voters found"),
        lambda body: {**crux_of(body), "passages": crux_of(body)["passages"][:1]},
        lambda body: Reply("no", status=500),
    ],
    ids=["with a figure that nobody gives", "citing one side", "not at all"],
)
async def test_what_does_not_hold_does_not_stand_on_top(crux: Callable[[Body], Any]) -> None:
    answer = await asked_with(crux)
    assert answer.outcome == "answered"
    assert answer.crux is None or answer.crux.text.startswith("Both sides speak to ")


@pytest.mark.usefixtures("library")
async def test_a_run_is_judged_in_batches_its_claims_are_checked_a_call_a_side_and_quotes_fill_it() -> None:
    two = {**SIDES, "perspectives": SIDES["perspectives"][:2]}
    with ModelServer(strict=False) as server:
        server.on(STAGES["expand"], two)
        server.on("For every passage give", judged_by_words)
        server.on(STAGES["check"], checked_by_words)
        server.on(STAGES["write"], with_inventions)
        server.on(STAGES["crux"], crux_of)
        chosen = load_settings(openai_base_url=server.url, model="m", judge="batch")
        async with Runs(chosen) as runs:
            answer = await runs.answer(await runs.start(VOTING, RunOptions.of("normal", max_rounds=0)))
        kinds = [kind for p in server.prompts() for kind in ("For every passage give", "For every claim:") if kind in p]
    assert answer.providers["judge"].startswith("batch-judge-m-")
    assert kinds.count("For every passage give") == 1  # sixteen texts, both sides
    assert kinds.count("For every claim:") <= 6  # each side's claims, and the crux, twice
    for side in answer.perspectives:
        shown = [c.text for c in side.claims]
        assert len(shown) >= 3
        assert not any("cake" in t or "x.com" in t for t in shown)
        assert all(("should not be" in t) == (side.stance == "opposes") for t in shown if "Voting should" in t)
    assert not [n for n in answer.notes if n.kind == "degraded"]
    for side in answer.perspectives:  # every document that counts is listed with its side
        line = next(line for line in answer.coverage if line.perspective == side.id)
        listed = [d for d in answer.documents if any(s.perspective == side.id for s in d.stances)]
        assert len(listed) >= line.passages == 8

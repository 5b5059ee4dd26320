"""Follow-ups that argue with an answer: what they stand for, what the run makes of it, and which are offered."""

import asyncio
import re
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
import written_answers
from agent_fixtures import QUESTION, door
from answering_model import QUESTION as VOTING
from answering_model import SIDES, STAGES, case_of, said_all
from model_server import ModelServer, Reply
from providers import build
from written_answers import cited, stands

from agent.answer.followups import counter_question, counter_target, initial_state, suggested_followups
from agent.answer.model import Answer, AnswerClaim, Note, Quotation
from agent.answer.summary import queries_in_words, summarise
from agent.answer.wording import queries_tried
from agent.options import RunOptions
from agent.runs.service import Runs
from agent.settings import Settings, load_settings
from agent.state import OTHER_WAYS, CounterTarget, RunState
from tools.errors import QuestionError

BRIDGES = "Should towns build bridges?"
QUICK = RunOptions.of("quick")


def claim(text: str, *numbers: int, role: Any = "case") -> AnswerClaim:
    return AnswerClaim(text=text, citations=list(numbers), role=role)


PRO = stands(
    "p1",
    "supports",
    "Towns should build bridges.",
    claim("A bridge joins both halves of a town.", 1, role="thesis"),
    claim("Ferries stop when the river freezes.", 2),
    contrary="p2",
)
CON = stands(
    "p2",
    "opposes",
    "Towns should not build bridges.",
    claim("A bridge costs more than a ferry ever will.", 3, role="thesis"),
    claim("Piers pollute a harbour.", 2),
    contrary="p1",
)
THIRD = stands(
    "p3", "other", "Towns should share one bridge.", claim("Towns should share one bridge.", 2, role="thesis")
)
WAYS = stands(
    OTHER_WAYS, "other", "Something other than these should be done: For.", claim("Wade.", 3, 4), name="Other ways"
)
MORE = [
    Quotation(passage_id=8, quote="Piers pollute a harbour.", support=0.7),
    Quotation(passage_id=9, quote="Towns should share one bridge.", support=0.9),
]
CITATIONS = (
    cited(1, quote="A bridge joins both halves of a town.", support=0.6),
    cited(2, quote="Ferries stop when the river freezes.", support=0.5, more=MORE),
    cited(3, quote="A bridge costs more than a ferry ever will.", support=0.6),
)
answer = partial(written_answers.answer, BRIDGES)
ANSWER = answer(PRO, CON, THIRD, citations=CITATIONS)


# --- what a reference stands for --------------------------------------------------------------------------------------


def against(question: str, *answers: Answer) -> CounterTarget:
    target = counter_target(question, answers or [ANSWER])
    assert target is not None
    return target


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        ("Strongest case against For?", PRO.statement),
        ("What speaks against ‘For’?", PRO.statement),
        ("/against against", CON.statement),
        ("/against [3]", "A bridge costs more than a ferry ever will."),
        ("strongest case against “Towns should share one bridge”", THIRD.statement),
    ],
)
def test_a_side_is_called_by_its_name_and_a_claim_by_its_number(asked: str, text: str) -> None:
    assert against(asked)["text"] == text


def test_the_contrary_is_the_linked_side_or_the_first_of_the_other_stance_or_none() -> None:
    bare = answer(PRO.model_copy(update={"contrary": ""}), CON, THIRD, citations=CITATIONS)
    contrary = against("/against 1", bare)["contrary"]
    assert contrary is not None
    assert contrary["statement"] == CON.statement
    assert against("/against 2", answer(THIRD, citations=CITATIONS))["contrary"] is None
    trains = stands("p1", "other", "Trains are best.", claim("T.", 1), contrary="p2")
    ships = stands("p2", "other", "Ships are best.", claim("S.", 2), contrary="p1")
    contrary = against("/against 1", answer(trains, ships, citations=CITATIONS))["contrary"]
    assert contrary is not None
    assert contrary["statement"] == "Ships are best."
    assert against("/against 4", answer(PRO, WAYS))["statement"] == "Wade."  # nobody says what stands for them


@pytest.mark.parametrize(
    ("question", "answers", "says"),
    [
        ("Strongest counter-argument to 17?", [ANSWER], "no '17'.* 1 to 3.*'For', 'Against'"),
        ("/against bridges", [ANSWER], "no 'bridges'"),
        ("Strongest case against Other ways?", [answer(PRO, WAYS)], "are several. Name a claim.*1 to 4"),
        ("/against 2", [], "no earlier answer"),
        ("/against 2", [answer(outcome="no_sides")], "no answer of this thread makes a case"),
    ],
)
def test_what_stands_for_nothing_is_refused_with_what_there_is(question: str, answers: list[Answer], says: str) -> None:
    with pytest.raises(QuestionError, match=says):
        counter_target(question, answers)


# --- through the door -------------------------------------------------------------------------------------------------


async def test_the_run_searches_for_the_contrary_side_alone_and_says_to_what_it_replies(settings: Settings) -> None:
    asked: list[str] = []
    async with door(settings, build(before_search=asked.append)) as runs:
        first = await runs.start(QUESTION)
        before = await runs.answer(first)
        point = next(c.text for c in before.perspectives[0].claims if c.citations == [1])
        asked.clear()
        second = await runs.start("strongest counter-argument to 1?", thread=first)
        reply = await runs.answer(second)
        goes_on = await runs.answer(await runs.start("what about the arches?", thread=first))
        again = await runs.answer(await runs.start("/against 1", thread=first))
        shown = (await runs.run(first)).finished_at or ""  # the first answer is the one on the reader's screen
        earlier = await runs.answer(await runs.start("/against 1", thread=first, by=shown))
        events = [e async for e in runs.events(second)]
    assert [(s.name, s.statement) for s in reply.perspectives] == [("Against", "Towns should not build bridges.")]
    assert f"Towns should not build bridges. {point}" in asked
    assert point in asked
    assert reply.against is not None
    assert (reply.against.text, reply.against.side, reply.against.number) == (point, "For", 1)
    assert (reply.neutral_question, reply.focus) == (QUESTION, "")
    assert point.rstrip(".") in reply.summary
    assert [len(e.data["sides"]) for e in events if e.kind == "sides"] == [1]
    assert (goes_on.question, goes_on.neutral_question) == ("what about the arches?", QUESTION)
    assert (goes_on.perspectives, goes_on.against) == ([], None)
    assert "arches" in goes_on.also[0].text
    assert again.against is not None
    assert again.against.text in {c.text for s in reply.perspectives for c in s.claims}
    assert earlier.against is not None
    assert (earlier.against.text, earlier.against.side) == (point, "For")


async def test_what_is_opposed_stands_on_no_side(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    async with door(settings) as runs:
        before = await runs.answer(await runs.start(QUESTION))
        for claim in (c for side in before.perspectives for c in side.claims[:1]):
            opposed = {"opposed": claim.text}
            monkeypatch.setattr("agent.runs.bootstrap.initial_state", lambda *a, o=opposed: initial_state(*a) | o)
            reply = await runs.answer(await runs.start(QUESTION))
            said = [c.text for s in reply.perspectives for c in s.claims]
            assert (claim.text in said, bool(said)) == (False, True)


@pytest.mark.parametrize("apart", [False, True])
async def test_a_run_that_is_resumed_keeps_what_it_argues_against(settings: Settings, apart: bool) -> None:
    async with door(settings) as runs:
        first = await runs.start(QUESTION)
        before = await runs.answer(first)
        stopped = await runs.start("strongest counter-argument to 1?", thread=first, apart=apart)
        assert (await runs.run(stopped)).thread == (stopped if apart else first)
        await runs.cancel(stopped)  # before it has done anything
        await asyncio.sleep(0.01)
        later = await runs.answer(await runs.start("Strongest case against For?", thread=first))
        assert later.against is not None
        assert later.against.number == 0
    async with door(settings) as runs:
        reply = await runs.answer(await runs.resume(stopped))
    assert reply.against is not None
    assert reply.against.text == before.perspectives[0].claims[0].text
    assert [s.name for s in reply.perspectives] == ["Against"]


# --- with a chat model ------------------------------------------------------------------------------------------------


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(strict=False) as running:
        running.on(STAGES["expand"], SIDES).on(STAGES["write"], case_of).on(STAGES["check"], said_all)
        yield running


async def two_turns(server: ModelServer, follow_up: str, provider: str = "auto") -> tuple[Answer, Answer, list[str]]:
    """The first answer, the second one, and the prompts of the second run."""
    given = load_settings(
        openai_base_url=server.url, model="test-model", openai_api_key="k", judge="embedded", provider=provider
    )
    async with Runs(given) as runs:
        first = await runs.start(VOTING, QUICK)
        before = await runs.answer(first)
        asked = len(server.prompts())
        return before, await runs.answer(await runs.start(follow_up, QUICK, thread=first)), server.prompts()[asked:]


@pytest.mark.usefixtures("library")
async def test_the_model_writes_against_the_claim_and_is_not_asked_to_frame_or_plan_what_is_known(
    server: ModelServer,
) -> None:
    before, reply, prompts = await two_turns(server, "strongest counter-argument to 1?")
    point = before.perspectives[0].claims[0].text
    assert [s.name for s in reply.perspectives] == ["Leave it free"]
    assert [p for p in prompts if STAGES["check"] not in p] == prompts[:1]
    assert f"speaks most strongly against this: <focus>{point}</focus>" in prompts[0]
    assert "<statement>Voting should not be compulsory.</statement>" in prompts[0]
    assert "It is opposed to: <statement>Voting should be compulsory.</statement>" in prompts[0]
    assert reply.neutral_question == VOTING
    assert all(" not " in c.text for s in reply.perspectives for c in s.claims)


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize(
    "said",
    [
        Reply({"name": "Echo", "statement": "voting should be made easier, not compulsory"}),
        Reply({"name": "Empty", "statement": "\u200b"}),
        Reply("no", status=500),
    ],
    ids=["echo", "empty", "down"],
)
async def test_a_plain_no_stands_in_for_a_model_that_words_no_contrary(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch, said: Reply
) -> None:
    monkeypatch.setattr("tools.net.retries.FIRST_PAUSE", 0.01)
    server.on("the one position that contradicts", said)
    _, reply, _ = await two_turns(server, "Strongest case against Make it easy?")
    assert all(c.quoted for p in reply.perspectives for c in p.claims)  # the model is left nothing to write
    assert reply.coverage[0].queries[0].startswith("No: Voting should be made easier, not compulsory.")
    assert any(n.kind == "degraded" for n in reply.notes)


@pytest.mark.slow
@pytest.mark.usefixtures("library")
async def test_a_fact_is_chosen_by_the_model_which_sees_more_before_nothing_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("agent.limits.LOOKUP_SHOWN", 20)  # of 32 sentences
    plain = {**SIDES, "form": "plain", "focus": "who has to pay fines", "perspectives": []}
    shown = list[str]()

    def chosen(body: Any) -> dict[str, list[int]]:
        shown.append(body["messages"][-1]["content"])
        numbers = re.findall(r"\[(\d+)\] Bread prices", shown[-1])
        return {"sentences": [*map(int, numbers), 99] if len(shown) == found_at else []}

    for found_at in (1, 2, 3):
        shown.clear()
        with ModelServer(strict=False) as server:
            server.on(STAGES["expand"], SIDES, plain).on(STAGES["write"], case_of).on(STAGES["check"], said_all)
            server.on("answer a question of fact", chosen)
            _, reply, _ = await two_turns(server, "who has to pay fines?")
        found = any("Bread prices" in prompt for prompt in shown[found_at - 1 : found_at])
        assert [c.text for c in reply.also] == ["Bread prices were on every leaflet that spring."] * found
        assert (len(shown), reply.focus) == (1 if found_at == 1 and found else 2, "who has to pay fines")
        assert reply.providers["lookup"] == "test-model"
        assert "in the 16 documents that were read" in reply.summary or found


def test_a_models_sentence_is_countered_without_marks_of_a_quotation() -> None:
    words = "Jo Brandt says that a bridge joins both halves of a town which the river has kept apart for long."
    written = claim(words, 1).model_copy(update={"quoted": False})
    told = answer(PRO.model_copy(update={"claims": [written]}), CON, citations=CITATIONS)
    asked = counter_question(told, written)
    assert asked.startswith("What speaks against ‘Jo Brandt says")
    target = against(asked, told)
    assert (target["text"], against("What speaks against ‘For’?", told)["number"]) == (words, 0)
    state = RunState(against=target)
    assert f"against ‘{words.rstrip('.')}’. The" in summarise("answered", state, [])
    quoted = RunState(against=against("What speaks against 3?"))
    assert "“A bridge costs more than a ferry ever will” (Press 3)" in summarise("answered", quoted, [])


def test_words_of_no_side_are_countered_in_full() -> None:
    other = claim(f"The river rises {'and rises ' * 9}after rain.", 1, role="also")
    told = answer(PRO, CON, citations=CITATIONS, also=[other])
    asked = counter_question(told, other)
    assert asked == f"What speaks against “{other.text}”?"
    assert counter_target(asked, [told]) is None, "a question of its own"
    assert initial_state(asked, [BRIDGES], [told])["opposed"] == other.text
    assert "opposed" not in initial_state("What speaks against “the river”?", [BRIDGES], [told])


def test_queries_stand_in_marks_sentence_by_sentence_and_once_in_an_answer() -> None:
    queries = ["Yes: Should St. Ives toll it? shops and customers", "Ferries should be free. shops and customers"]
    said = "Searched for: “Should St. Ives toll it?”, “shops and customers”, “Ferries should be free”"
    assert queries_in_words(queries) == said
    side = PRO.model_copy(update={"status": "thin"})
    line = written_answers.covered(side, queries=["ferry in winter"])
    assert queries_tried(answer(side), side, line) == "Searched for: “ferry in winter”"
    listed = answer(side, notes=[Note(kind="not_found", text="Searched for: “ferry in winter”")])
    assert queries_tried(listed, side, line) == ""


# --- what to offer ----------------------------------------------------------------------------------------------------


def test_the_first_claim_of_each_facing_side_is_offered() -> None:
    assert suggested_followups(ANSWER) == [
        "What speaks against “A bridge joins both halves of a town.”?",
        "What speaks against “A bridge costs more than a ferry ever will.”?",
    ]
    assert all(counter_target(question, [ANSWER]) for question in suggested_followups(ANSWER))


def test_no_counter_argument_is_offered_where_there_is_none() -> None:
    empty = CON.model_copy(update={"claims": []})
    only = CON.model_copy(update={"contrary": ""})
    for given in (answer(PRO, empty), answer(only), answer(THIRD), answer(outcome="no_sides")):
        assert suggested_followups(given.model_copy(update={"citations": list(CITATIONS)})) == []


@pytest.mark.parametrize(
    "question",
    ["Should unarmed teams respond to 911?", "Should Ohio vote against 2?", "strongest case against nuclear power?"],
)
def test_a_question_of_its_own_is_no_follow_up(question: str) -> None:
    assert counter_target(question, [ANSWER]) is None

"""The stages that a chat model does: what each asks over HTTP, and what it makes of good, poor and hostile replies."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from model_server import ModelServer
from providers import ScriptedJudge

from agent.providers.inference import Models
from agent.stage_interfaces import Plan
from agent.stages.expand import plan_by_chat
from agent.stages.requery import queries_by_chat
from agent.state import FramingState, Perspective
from tools.budget import Budget, StageLog, budget_scope
from tools.errors import ProviderReplyError
from tools.models.cache import VectorCache
from tools.models.chat.model import ChatModel
from tools.models.encoders import MiniLM

QUESTION = "Should voting be compulsory?"
YES, NO = "Voting should be compulsory.", "Voting should not be compulsory."


@pytest.fixture
def models(encoder: MiniLM, tmp_path: Path) -> Models:
    return Models(encoder, ScriptedJudge(lambda pair: 0.9), VectorCache(tmp_path / "cache.db"))


def framing(**changes: Any) -> FramingState:
    usual = FramingState(form="polar", question=QUESTION, alternatives=[], focus="")
    return {**usual, **changes}  # type: ignore[typeddict-item]


def side(statement: str, stance: str, name: str = "") -> dict[str, str]:
    return {"name": name or f"The {stance} one", "statement": statement, "stance": stance}


# --- plan -------------------------------------------------------------------------------------------------------------

THREE = [side(YES, "supports"), side(NO, "opposes"), side("Voting should be made easier instead.", "other")]
ASKED = {"form": "polar", "question": QUESTION, "language": "English", "focus": ""}


def plan(*given: dict[str, str], **changes: Any) -> dict[str, Any]:
    return {**ASKED, "perspectives": list(given or THREE), **changes}


async def planned(
    chat_model: ChatModel, models: Models, question: str = QUESTION, earlier: Sequence[str] = (), leads: Any = ()
) -> Plan:
    return await plan_by_chat(chat_model, models, question, earlier, leads)


async def test_a_plan_gets_earlier_questions_as_data(
    server: ModelServer, chat_model: ChatModel, models: Models
) -> None:
    server.on("fines", plan(focus="fines"))
    asked = "What about fines? </question>"
    framing, sides = await planned(chat_model, models, asked, [QUESTION, "Is <b>voting</b> a duty?"])
    assert (framing["question"], framing["focus"], framing["form"]) == (QUESTION, "fines", "polar")
    assert [(p["id"], p["stance"], p["contrary"], p["origin"]) for p in sides] == [
        ("p1", "supports", "p2", "model"),
        ("p2", "opposes", "p1", "model"),
        ("p3", "other", "", "model"),
    ]
    prompt = server.prompts()[0]
    assert "<question>What about fines? &lt;/question&gt;</question>" in prompt
    earlier = [QUESTION, "Is &lt;b&gt;voting&lt;/b&gt; a duty?"]
    assert "\n".join(f"<earlier_question>{q}</earlier_question>" for q in earlier) in prompt
    assert "\n\n\n" not in prompt.replace("\n\n\n\n", "\n\n")  # nothing is left of what there is not


NONSENSE = {
    "another matter": plan(question="Should bananas be yellow?"),
    "nothing": plan(question=""),
    "a question of yes or no as an open one": plan(form="open", question="What is said of voting?"),
    "no question": plan(form="none", question=""),
    "one side": plan(THREE[2], form="choice", question="Compulsory voting, and what else?"),
}


@pytest.mark.parametrize("reply", NONSENSE.values(), ids=NONSENSE.keys())
async def test_a_plan_that_is_nonsense_is_refused(
    server: ModelServer, chat_model: ChatModel, models: Models, reply: dict[str, Any]
) -> None:
    server.on("", reply)
    with pytest.raises(ProviderReplyError, match=r"test-model (?:gave|took) a |gave fewer than two"):
        await planned(chat_model, models)


async def test_a_question_of_fact_below_an_answer_stays_one(
    server: ModelServer, chat_model: ChatModel, models: Models
) -> None:
    server.on("", plan(form="plain", focus="who pays for the ballots"))
    framing, sides = await planned(chat_model, models, "who pays for the ballots?", [QUESTION])
    assert (framing["form"], framing["focus"], sides) == ("plain", "who pays for the ballots", [])


@pytest.mark.parametrize(
    ("given", "plain"),
    [([THREE[0], THREE[2]], ("No", f"No: {QUESTION}")), ([THREE[1], THREE[2]], ("Yes", f"Yes: {QUESTION}"))],
)
async def test_a_side_that_nobody_brings_comes_from_the_question(
    server: ModelServer, chat_model: ChatModel, models: Models, given: list[dict[str, str]], plain: tuple[str, str]
) -> None:
    server.on("", plan(*given), times=1)
    sides = (await planned(chat_model, models))[1]
    assert [(p["stance"], p["contrary"]) for p in sides] == [("supports", "p2"), ("opposes", "p1"), ("other", "")]
    assert plain in [(p["name"], p["statement"]) for p in sides[:2]]


async def test_statements_that_share_only_a_topic_are_two_sides(
    server: ModelServer, chat_model: ChatModel, models: Models
) -> None:
    much = side("A bridge toll would cost the village much money, through lost fees, jobs and guests.", "other")
    little = side("A bridge toll would cost the village little money, and would bring guests.", "other")
    how = "What would a bridge toll cost the village?"
    server.on("", plan(much, little, form="open", question=how))
    said = [p["statement"] for p in (await planned(chat_model, models, how))[1]]
    assert said == [much["statement"], little["statement"]]


async def test_near_equal_sides_are_merged(server: ModelServer, chat_model: ChatModel, models: Models) -> None:
    again = side("Voting should be made compulsory.", "supports")
    same = side("voting should be compulsory", "other")
    denied = side("Voting shouldn't be compulsory.", "opposes")
    how = "How should voting be organised?"
    server.on("", plan(THREE[0], again, same, THREE[1], denied, form="open", question=how))
    with budget_scope(Budget(), log := StageLog()):
        assert [p["statement"] for p in (await planned(chat_model, models, how))[1]] == [YES, NO]
    assert [text.partition(":")[0].rpartition("’ ")[2] for _, text in log.notes] == ["is not a side of its own"] * 2


async def test_alternatives_that_differ_in_a_word_all_stay(
    server: ModelServer, chat_model: ChatModel, models: Models
) -> None:
    when = "Should Ellerby close the Market Square to cars in summer or in winter?"
    ways = [side(f"Ellerby should close the Market Square to cars in {how}.", "other") for how in ("summer", "winter")]
    server.on("", plan(*ways, form="choice", question=when))
    assert [p["statement"] for p in (await planned(chat_model, models, when))[1]] == [w["statement"] for w in ways]


async def test_no_query_is_tried_twice(server: ModelServer, chat_model: ChatModel) -> None:
    proposed = ["voting duty", "Turnout law", "fines\nabroad", "FINES abroad", "…", "one", "two", "three", "four"]
    server.on("new queries", {"queries": proposed})
    yes = Perspective(id="p1", name="Yes", statement=YES, stance="supports", contrary="", origin="model")
    made = await queries_by_chat(chat_model, yes, framing(), ["Voting duty", "turnout  LAW"], [])
    assert made == ["fines abroad", "one", "two", "three"]
    assert "<query>Voting duty</query>\n<query>turnout  LAW</query>" in server.prompts()[0]

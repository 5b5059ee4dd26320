"""Expand: a first search for the bare question, then the perspectives that it and the question's words suggest.

Without a model these are the answers to the question, and what the passages found propose beside them
(`agent.evidence.mined`). A chat model lists them: near-duplicates are merged, a missing yes or no is added.
"""

import re
from collections.abc import Sequence

from langgraph.runtime import Runtime
from pydantic import BaseModel, Field, field_validator

from agent.evidence.coverage import search_store
from agent.evidence.mined import mine_answers, mine_third_ways
from agent.models.inference import Models
from agent.models.providers import Providers
from agent.options import RunOptions, in_time, options_of
from agent.stages.stage import ask_model, report, stage
from agent.state import FramingState, Perspective, RunState, StageNote, Stance, asked_query
from prompts import as_data, one_line
from tools.errors import DeadlineError, ProviderDownError, ProviderReplyError
from tools.language.polarity import same_polarity
from tools.language.question import ANSWERS
from tools.language.sentences import split_sentences
from tools.models.chat.model import ChatModel
from tools.passages import Passage


@stage("expand")
async def expand(providers: Providers, state: RunState, runtime: Runtime[RunOptions]) -> RunState:
    framing, options = state["framing"], options_of(runtime)
    ids: list[int] = []
    perspectives: list[Perspective] = []
    failures: list[StageNote] = []
    try:
        found, passages = await in_time(options, "expand", search_store(providers, asked_query(framing), options))
        ids, ranked = found.ids, [passages[i] for i in found.ids]
        # Of what is to be argued against only the perspective that contradicts it, where there is one already.
        contrary = state["against"]["contrary"] if "against" in state else None
        expanding = providers.expand
        perspectives = [contrary] if contrary else await in_time(options, "expand", expanding(framing, ranked))
    except DeadlineError as exc:
        if not ids and (elsewhere := providers.searched_elsewhere()):
            raise ProviderDownError(f"{elsewhere} did not answer in time. Try again when it does.") from exc
        failures = [StageNote(stage="expand", message=f"The sides could not be planned: {exc}", kind="late")]
    planned = [{"id": p["id"], "name": p["name"], "statement": p["statement"]} for p in perspectives]
    report(runtime, "sides", sides=planned)
    return RunState(perspectives=perspectives, question_results=ids, notes=failures)


async def expand_by_rules(models: Models, framing: FramingState, passages: Sequence[Passage]) -> list[Perspective]:
    """The answers to the question, and what the passages propose beside them."""
    if framing["form"] == "counter":
        return [opposing_side(framing.get("claim", ""))]
    if framing["form"] == "open":
        return await mine_answers(models, framing["question"], passages)
    sides = sides_of_question(framing)
    return sides + (await mine_third_ways(models, framing["question"], sides, passages) if sides else [])


def opposing_side(statement: str) -> Perspective:
    """The side that contradicts a statement: 'No' to it."""
    name = ANSWERS["polar"][1]
    return Perspective(
        id="p1", name=name, statement=f"{name}: {statement}", stance="opposes", contrary="", origin="question"
    )


def sides_of_question(framing: FramingState) -> list[Perspective]:
    """The sides that the question itself has: the words that answer it, or the names of its alternatives."""
    question, named = framing["question"], framing["alternatives"]
    names: Sequence[str] = named or ANSWERS.get(framing["form"]) or ()
    pair = len(names) == 2  # of two alternatives, what speaks for one speaks against the other
    facing: list[Stance] = ["supports", "opposes"]
    stances: list[Stance] = ["other"] * len(names) if named else facing[: len(names)]
    return [
        Perspective(
            id=f"p{i}",
            name=name,
            statement=f"{name}: {question}",
            stance=stance,
            contrary=f"p{3 - i}" if pair else "",
            origin="question",
        )
        for i, (name, stance) in enumerate(zip(names, stances, strict=True), start=1)
    ]


MOST_SIDES = 6
_READ = 4  # passages that show the model what is talked about
_SAME = 0.9  # cosine at which two statements of one stance and polarity say the same
_ON_IT = 0.6  # cosine of the question and a yes or no to it, at least
_OPPOSITE = 0.8  # cosine of a statement and its denial, at least
_SHORT = 3  # words; of so few the first sentence is none
_LEADING = re.compile(r"^(?:yes|no)\s*[,.:;!–—-]+\s+(?!\d)", re.IGNORECASE)


class ContrarySide(BaseModel):
    """What the model is asked for where one statement is to be contradicted."""

    name: str = Field(max_length=80)
    statement: str = Field(min_length=1, max_length=400)


class PlannedSide(ContrarySide):
    """One perspective as the model is asked for it."""

    stance: Stance

    @field_validator("stance", mode="before")
    @classmethod
    def _other(cls, value: object) -> object:
        """Any word but the two is neither."""
        return value if value in ("supports", "opposes") else "other"


class PlannedSides(BaseModel):
    """What the model is asked for."""

    perspectives: list[PlannedSide] = Field(min_length=1, max_length=12)


async def expand_by_chat(
    model: ChatModel, models: Models, framing: FramingState, passages: Sequence[Passage]
) -> list[Perspective]:
    """Plans the perspectives by asking a model."""
    if framing["form"] == "counter":
        return [await _contrary(model, framing)]
    sides = await _planned_by(model, models, framing, passages)
    if len(sides) < (1 if framing["form"] == "open" else 2):
        raise ProviderReplyError(f"{model.name} gave fewer than two different perspectives.")
    return await _link_contraries(models, sides)


async def _contrary(model: ChatModel, framing: FramingState) -> Perspective:
    """The one side that contradicts what a follow-up argues with. Raises ProviderReplyError for its echo."""
    claim = framing.get("claim", "")
    reply = await ask_model(
        model,
        "counter",
        ContrarySide,
        question=as_data("question", framing["question"]),
        statement=as_data("statement", claim),
        claim=as_data("claim", framing["focus"]),
    )
    side = _tidy(PlannedSide(**dict(reply), stance="opposes"))
    if not side.statement or side.statement.rstrip(".").casefold() == claim.rstrip(".").casefold():
        raise ProviderReplyError(f"{model.name} gave no side that contradicts the claim.")
    return Perspective(
        id="p1",
        name=side.name or side.statement,
        statement=side.statement,
        stance="opposes",
        contrary="",
        origin="model",
    )


async def _planned_by(
    model: ChatModel, models: Models, framing: FramingState, passages: Sequence[Passage]
) -> list[PlannedSide]:
    shown = "\n".join(as_data("passage", p.text, speaker=p.speaker) for p in passages[:_READ])
    reply = await ask_model(
        model,
        "expand",
        PlannedSides,
        question=as_data("question", asked_query(framing)),
        known=_known(framing),
        passages=f"Some of what a first search found, to show what is talked about:\n{shown}" if shown else "",
        most=str(MOST_SIDES),
    )
    sides = [tidy for p in reply.perspectives if (tidy := _tidy(p)).statement]
    if sides and framing["form"] in ANSWERS:
        sides = await _with_plain_sides(models, framing, sides)
    return await _deduplicate(models, sides)


async def _with_plain_sides(models: Models, framing: FramingState, sides: list[PlannedSide]) -> list[PlannedSide]:
    """The sides of a question that asks for yes or no: of those that say yes, and of those that say no, the one
    nearest to the question, since the others are reasons; what the model did not bring is the bare answer."""
    vectors = await models.encode([framing["question"], *(s.statement for s in sides)])
    near = vectors[1:] @ vectors[0]
    own = list[PlannedSide]()
    for answer in sides_of_question(framing):
        mine = [i for i, s in enumerate(sides) if s.stance == answer["stance"] and near[i] >= _ON_IT]
        best = max(mine, key=lambda i: (float(near[i]), -i), default=None)
        own.append(PlannedSide.model_validate(answer) if best is None else sides[best])
    return [*own, *(s for s in sides if s.stance == "other")]


async def _deduplicate(models: Models, sides: list[PlannedSide]) -> list[PlannedSide]:
    """Without perspectives that say what an earlier one of the same stance says, or any in the same words."""
    worded: dict[str, PlannedSide] = {}
    for side in sides:
        worded.setdefault(side.statement.rstrip(".").casefold(), side)
    sides = list(worded.values())
    vectors = await models.encode([s.statement for s in sides])
    kept: list[int] = []
    for i, side in enumerate(sides):
        alike = (j for j in kept if float(vectors[i] @ vectors[j]) >= _SAME and sides[j].stance == side.stance)
        if not any(same_polarity(side.statement, sides[j].statement) for j in alike):
            kept.append(i)
    return [sides[i] for i in kept]


async def _link_contraries(models: Models, sides: list[PlannedSide]) -> list[Perspective]:
    """The sides with ids, each yes linked to the no that denies it."""
    sides = _limit_sides(sides)
    vectors = await models.encode([s.statement for s in sides])
    contrary: dict[int, int] = {}
    yes = [i for i, s in enumerate(sides) if s.stance == "supports"]
    no = [i for i, s in enumerate(sides) if s.stance == "opposes"]
    if yes and no:
        nearest, i, j = max((float(vectors[a] @ vectors[b]), -a, -b) for a in yes for b in no)
        if nearest >= _OPPOSITE or (len(yes) == len(no) == 1):
            contrary = {-i: -j, -j: -i}
    return [
        Perspective(
            id=f"p{i + 1}",
            name=side.name or side.statement,
            statement=side.statement,
            stance=side.stance,
            contrary=f"p{contrary[i] + 1}" if i in contrary else "",
            origin="model",
        )
        for i, side in enumerate(sides)
    ]


def _limit_sides(sides: list[PlannedSide]) -> list[PlannedSide]:
    """At most MOST_SIDES in their order, the first yes and the first no among them."""
    first = {s.stance: i for i, s in reversed(list(enumerate(sides))) if s.stance != "other"}
    ranked = sorted(range(len(sides)), key=lambda i: (i not in first.values(), i))
    return [sides[i] for i in sorted(ranked[:MOST_SIDES])]


def _known(framing: FramingState) -> str:
    if not framing["alternatives"]:
        return ""
    return "It names these alternatives:\n" + "\n".join(as_data("alternative", a) for a in framing["alternatives"])


def _tidy(side: PlannedSide) -> PlannedSide:
    statement = _LEADING.sub("", one_line(side.statement))
    first = next(iter(split_sentences(statement)), "")  # what follows it gives reasons
    statement = first if len(first.split()) > _SHORT else statement
    return PlannedSide.model_construct(
        name=one_line(side.name), statement=statement[:1].upper() + statement[1:], stance=side.stance
    )

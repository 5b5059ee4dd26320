"""Expand: the perspectives on the question, as a chat model planned them in `frame`; else the answers to it, and what a
first search finds proposed beside them (`agent.evidence.mined`)."""

from collections.abc import Sequence

from langgraph.runtime import Runtime

from agent.evidence.coverage import search_store
from agent.evidence.mined import mine_answers, mine_third_ways
from agent.models.inference import Models
from agent.models.providers import Providers
from agent.options import RunOptions, in_time, options_of
from agent.stages.stage import report, stage
from agent.state import FramingState, Perspective, RunState, StageNote, Stance, asked_query
from tools.errors import DeadlineError, ProviderDownError
from tools.language.question import ANSWERS
from tools.passages import Passage


@stage("expand")
async def expand(providers: Providers, state: RunState, runtime: Runtime[RunOptions]) -> RunState:
    framing, options = state["framing"], options_of(runtime)
    # Of what is to be argued against only the perspective that contradicts it, where there is one already.
    contrary = state["against"]["contrary"] if "against" in state else None
    perspectives = [contrary] if contrary else state.get("perspectives", [])
    ids = state.get("question_results", []) if perspectives else []
    failures: list[StageNote] = []
    try:
        if not ids:
            found, passages = await in_time(options, "expand", search_store(providers, asked_query(framing), options))
            ids = found.ids
        if not perspectives:
            expanding = providers.expand(framing, [passages[i] for i in ids])
            perspectives = await in_time(options, "expand", expanding)
    except DeadlineError as exc:
        if not ids and (elsewhere := providers.searched_elsewhere()):
            raise ProviderDownError(f"{elsewhere} did not answer in time. Try again when it does.") from exc
        what = "The question itself was not searched for" if perspectives else "The sides could not be planned"
        failures = [StageNote(stage="expand", message=f"{what}: {exc}", kind="late")]
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

"""Frame: what kind of question it is, and what a follow-up asks in its thread.

Rules tell this by the words alone. Where a chat model is set it plans the run here, its perspectives too.
"""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import replace

from langgraph.runtime import Runtime

from agent.evidence.coverage import search_store
from agent.models.providers import Planner, Providers
from agent.options import RunOptions, check_form, in_time, options_of
from agent.stages.plan import leads_of
from agent.stages.stage import report, stage
from agent.state import FramingState, RunState, StageNote, asked_query
from tools.budget import current_log
from tools.errors import DeadlineError
from tools.language.question import read_question
from tools.passages import Sentence

_WIDE = 150  # passages, to find leads in 25 documents


@stage("frame")
async def frame(providers: Providers, state: RunState, runtime: Runtime[RunOptions]) -> RunState:
    update = await _framed(providers, state, options_of(runtime))
    framing = update["framing"]
    check_form(framing["form"], state["question"])
    report(runtime, "framed", neutral=framing["question"], focus=framing["focus"])
    return update


async def _framed(providers: Providers, state: RunState, options: RunOptions) -> RunState:
    """The framing: what the run began with, or what frames it. A question that wants something argued against is the
    thread's question with that in its focus: there is nothing left to ask."""
    if "framing" in state:
        return RunState(framing=state["framing"])
    if against := state.get("against"):
        asked, focus, claim = against["question"], against["text"], against["statement"]
        counter = FramingState(form="counter", question=asked, alternatives=[], focus=focus, claim=claim)
        return RunState(framing=counter)
    if providers.plan:
        return await _planned(providers, providers.plan, state, options)
    return RunState(framing=await providers.frame(state["question"], state.get("earlier", [])))


async def _planned(providers: Providers, plan: Planner, state: RunState, options: RunOptions) -> RunState:
    """The framing and the perspectives that a chat model plans, and what the question found where it searched for the
    same words."""
    question, earlier = state["question"], state.get("earlier", [])
    query = asked_query(await providers.frame(question, earlier))
    leads, ids = list[Sentence](), list[int]()
    try:
        leads, ids = await in_time(options, "frame", _search_leads(providers, query, options))
    except DeadlineError as exc:
        current_log().note("scope", f"The sides were planned without a look at the documents: {exc}")
    planned = await in_time(options, "expand", plan(question, earlier, leads))
    update = RunState(framing=planned.framing)
    if planned.perspectives:
        same = asked_query(planned.framing) == query
        update |= RunState(perspectives=planned.perspectives, question_results=ids[: options.pool] if same else [])
    if planned.language:
        told = f"The question was read from {planned.language}, and is answered in English."
        update["notes"] = [StageNote(stage="frame", message=told, kind="skipped")]
    return update


async def _search_leads(providers: Providers, query: str, options: RunOptions) -> tuple[list[Sentence], list[int]]:
    """A lead for each document, and the passages found, best first."""
    found, passages = await search_store(providers, query, replace(options, pool=max(_WIDE, options.pool)))
    return await leads_of(providers.models, query, [passages[i] for i in found.ids]), found.ids


_FOLLOW_UP = re.compile(
    r"^(?:and |but |ok(?:ay)?,? |so )*(?:what|how) about (?P<focus>.+?)\??$|^(?:and|but)\s+(?P<rest>.+?)\??$",
    re.IGNORECASE,
)
_ASKS = re.compile(r"(?:is|are|should|does|do|will|can|would|has|have)\b", re.IGNORECASE)
_DOES = re.compile(r"^((?:what|how|which|when|where|why)\b.*?) (?:do|does|did) ", re.IGNORECASE)
_PRONOUN = re.compile(
    r"\b(?:it|its|they|them|their)\b|\b(?:this|that|these|those)\W*$|^\w+ (?:this|that|these|those)\b", re.IGNORECASE
)
_SHORT = 8  # words of a question that cannot do without the one that its pronoun points to


async def frame_by_rules(question: str, earlier: Sequence[str]) -> FramingState:
    """Tells the kind of a question by its words alone."""
    return await asyncio.to_thread(_frame, question, earlier)


def _frame(question: str, earlier: Sequence[str]) -> FramingState:
    asked, focus = resolve_follow_up(question, earlier[-1]) if earlier else (question, "")
    read = read_question(asked)
    return FramingState(
        form="plain" if read.kind == "fact" else read.kind,  # a fact is looked up, and has no sides
        question=read.text,
        alternatives=list(read.options),
        focus=focus,
    )


def resolve_follow_up(question: str, earlier: str) -> tuple[str, str]:
    """What a follow-up asks by itself, and the focus that it puts on the earlier question ('' where it puts none).

    'What about the cost?' is the earlier question with a focus on the cost; a short question with a pronoun ('Is it
    safe?') is asked with the earlier one before it.
    """
    asked = question.strip()
    if match := _FOLLOW_UP.match(asked):
        focus = _DOES.sub(r"\1 ", (match["focus"] or match["rest"]).strip())
        if not _ASKS.match(focus):
            return earlier, focus
        asked = focus[:1].upper() + focus[1:] + "?"
    if _PRONOUN.search(asked) and len(asked.split()) <= _SHORT:
        return f"{earlier} {asked}", ""
    return asked, ""

"""Frame: what kind of question it is, and what a follow-up asks in its thread."""

import asyncio

from langgraph.runtime import Runtime

from agent.deadlines import in_time
from agent.nodes.stage import Stage, report, timed
from agent.options import RunOptions, options_of
from agent.question import check_form, read_from
from agent.seams import Providers
from agent.state import Failure, FramingState, RunState, Target


def node(providers: Providers) -> Stage[RunState]:
    async def frame(state: RunState, runtime: Runtime[RunOptions]) -> RunState:
        framing = await in_time(options_of(runtime), "frame", _framed(providers, state))
        check_form(framing["form"], state["question"])
        report(runtime, "framed", neutral=framing["question"], focus=framing["focus"])
        language = "" if providers.english_only else await asyncio.to_thread(read_from, state["question"])
        told = f"The question was read from {language}: it is searched for and answered in English."
        failures = [Failure(stage="frame", message=told, kind="scope")] if language else []
        return RunState(framing=framing, failures=failures)

    return timed("frame", frame)


async def _framed(providers: Providers, state: RunState) -> FramingState:
    if "against" in state:
        return _countering(state["against"])
    return await providers.framer.frame(state["question"], state.get("earlier", []))


def _countering(against: Target) -> FramingState:
    """The thread's question goes on, with what is to be argued against in its focus: there is nothing left to ask."""
    return FramingState(
        form="counter",
        question=against["question"],
        alternatives=[],
        focus=against["text"],
        claim=against["statement"],
    )

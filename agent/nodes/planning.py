"""The stages that say what is looked for.

Frame: what kind of question it is, and what a follow-up asks in its thread. Expand: a first search for the bare
question, then the perspectives that it and the question's words suggest. Review: where a caller asked for it, the run
waits here until a person has edited, added or dropped perspectives.
"""

import asyncio
from collections.abc import Sequence
from itertools import count
from typing import cast, get_args

from langgraph.runtime import Runtime
from langgraph.types import interrupt

from agent.evidence.coverage import searched
from agent.nodes.stage import Stage, report, timed
from agent.options import RunOptions, in_time, options_of
from agent.question import check_form, read_from
from agent.seams import Providers
from agent.state import Failure, FramingState, Perspective, RunState, Stance, asked_query
from tools.errors import DeadlineError, InputError, ProviderDownError


def frame_node(providers: Providers) -> Stage[RunState]:
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
    """What is asked; where the question wants something argued against, the thread's question with that in its focus:
    there is nothing left to ask."""
    if (against := state.get("against")) is None:
        return await providers.framer.frame(state["question"], state.get("earlier", []))
    asked, focus, claim = against["question"], against["text"], against["statement"]
    return FramingState(form="counter", question=asked, alternatives=[], focus=focus, claim=claim)


def expand_node(providers: Providers) -> Stage[RunState]:
    async def expand(state: RunState, runtime: Runtime[RunOptions]) -> RunState:
        framing, options = state["framing"], options_of(runtime)
        ids: list[int] = []
        perspectives: list[Perspective] = []
        failures: list[Failure] = []
        try:
            found, passages = await in_time(options, "expand", searched(providers, asked_query(framing), options))
            ids, ranked = found.ids, [passages[i] for i in found.ids]
            # Of what is to be argued against only the perspective that contradicts it, where there is one already.
            contrary = state["against"]["contrary"] if "against" in state else None
            expanding = providers.expander.expand
            perspectives = [contrary] if contrary else await in_time(options, "expand", expanding(framing, ranked))
        except DeadlineError as exc:
            if not ids and (elsewhere := providers.searched_elsewhere()):
                raise ProviderDownError(f"{elsewhere} did not answer in time. Try again when it does.") from exc
            failures = [Failure(stage="expand", message=f"The sides could not be planned: {exc}", kind="late")]
        planned = [{"id": p["id"], "name": p["name"], "statement": p["statement"]} for p in perspectives]
        report(runtime, "sides", sides=planned)
        return RunState(perspectives=perspectives, first_pass=ids, failures=failures)

    return timed("expand", expand)


_MOST = 12


def review_node(_: Providers) -> Stage[RunState]:
    async def review(state: RunState, runtime: Runtime[RunOptions]) -> RunState:
        if not options_of(runtime).review:
            return RunState()
        asked: dict[str, object] = {"sides": [dict(p) for p in state["perspectives"]]}
        while True:  # each wait is answered once and for all; what cannot be searched for is asked for again
            try:
                return RunState(perspectives=reviewed(interrupt(asked), state["perspectives"]))
            except InputError as exc:
                asked["error"] = str(exc)

    return review


def reviewed(edited: object, planned: Sequence[Perspective] = ()) -> list[Perspective]:
    """Perspectives as a person left them; raises InputError for a list that cannot be searched for.

    planned: those that the person was shown; one that says something else now is the person's own."""
    if not isinstance(edited, list) or not edited:
        raise InputError("at least one side is needed to search for. Send a list of sides, each with a statement.")
    if len(edited) > _MOST:
        raise InputError(f"at most {_MOST} sides can be searched for at once, not {len(edited)}. Drop some.")
    named = {str(given.get("id")) for given in edited if isinstance(given, dict)}
    perspectives = [_perspective(i, given, named) for i, given in enumerate(edited, start=1)]
    said = {p["id"]: (p["name"], p["statement"]) for p in planned}
    for s in perspectives:
        if s["id"] in said and said[s["id"]] != (s["name"], s["statement"]):
            s["origin"] = "person"
    known = [s["id"] for s in perspectives]
    if twice := [i for i in known if known.count(i) > 1]:
        raise InputError(f"two sides have the id '{twice[0]}'. Give each its own, or leave the ids out.")
    return [Perspective(**{**s, "contrary": s["contrary"] if s["contrary"] in known else ""}) for s in perspectives]


def _perspective(number: int, edited: object, named: set[str]) -> Perspective:
    """The side of that number, from 1; one without an id gets an id that is not `named`."""
    given = edited if isinstance(edited, dict) else {}
    statement = " ".join(str(given.get("statement") or "").split())
    if not statement:
        raise InputError(f"side {number} has no statement. Give it a sentence that could be true or false.")
    stance, origin = given.get("stance", "other"), given.get("origin")
    if stance not in get_args(Stance):
        raise InputError(f"side {number} has the stance '{stance}'. It can be {', '.join(get_args(Stance))}.")
    return Perspective(
        id=str(given.get("id") or _free(number, named)),
        name=str(given.get("name") or statement),
        statement=statement,
        stance=cast(Stance, stance),
        contrary=str(given.get("contrary") or ""),
        origin=origin if origin in ("question", "sources", "model") else "person",
    )


def _free(number: int, named: set[str]) -> str:
    name = next(name for n in count(number) if (name := f"u{n}") not in named)
    named.add(name)
    return name

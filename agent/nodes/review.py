"""Review: where a caller asked for it, the run waits here until a person has edited, added or dropped sides."""

from typing import cast

from langgraph.runtime import Runtime
from langgraph.types import interrupt

from agent.nodes.reporting import Stage
from agent.options import RunOptions
from agent.providers import Providers
from agent.state import Perspective, RunState, Stance
from tools.errors import InputError

_MOST_SIDES = 12


def node(_: Providers) -> Stage[RunState]:
    async def review(state: RunState, runtime: Runtime[RunOptions]) -> RunState:
        if not runtime.context.review:
            return RunState()
        edited = interrupt({"sides": [dict(p) for p in state["perspectives"]]})
        return RunState(perspectives=reviewed(edited))

    return review


def reviewed(edited: object) -> list[Perspective]:
    """Sides as a person left them; raises InputError for a list that cannot be searched for."""
    if not isinstance(edited, list) or not edited:
        raise InputError("at least one side is needed to search for. Send a list of sides, each with a statement.")
    if len(edited) > _MOST_SIDES:
        raise InputError(f"at most {_MOST_SIDES} sides can be searched for at once, not {len(edited)}. Drop some.")
    sides: list[Perspective] = []
    for i, side in enumerate(edited, start=1):
        statement = str(side.get("statement", "")).strip() if isinstance(side, dict) else ""
        if not statement:
            raise InputError(f"side {i} has no statement. Give it a sentence that could be true or false.")
        stance = side.get("stance", "other")
        sides.append(
            Perspective(
                id=str(side.get("id") or f"u{i}"),
                name=str(side.get("name") or statement),
                statement=statement,
                stance=cast(Stance, stance if stance in ("supports", "opposes") else "other"),
                contrary=str(side.get("contrary", "")),
                origin="person" if not side.get("origin") else side["origin"],
            )
        )
    known = {s["id"] for s in sides}
    return [Perspective(**{**s, "contrary": s["contrary"] if s["contrary"] in known else ""}) for s in sides]

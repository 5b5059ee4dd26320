"""Review: where a caller asked for it, the run waits until a person has edited, added or dropped perspectives."""

import re
from collections.abc import Sequence
from itertools import count
from typing import cast, get_args

from langgraph.runtime import Runtime
from langgraph.types import interrupt

from agent.models.providers import Providers
from agent.options import RunOptions, run_options
from agent.state import OTHER_WAYS, Perspective, RunState, Stance
from tools.errors import InputError

_MOST = 12
SIDE_ID = re.compile(r"[A-Za-z0-9_-]{1,20}")
"""The ids of sides: they become part of addresses and of names on the page."""
SIDE_ID_RULE = "The id of a side has up to 20 letters, digits, - and _; 'rest' is taken."


async def review(_: Providers, state: RunState, runtime: Runtime[RunOptions]) -> RunState:
    if not run_options(runtime).review:
        return RunState()
    asked: dict[str, object] = {"sides": [dict(p) for p in state["perspectives"]]}
    while True:  # each wait is answered once and for all; what cannot be searched for is asked for again
        try:
            return RunState(perspectives=reviewed_perspectives(interrupt(asked), state["perspectives"]))
        except InputError as exc:
            asked["error"] = str(exc)


def reviewed_perspectives(edited: object, planned: Sequence[Perspective] = ()) -> list[Perspective]:
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
    perspectives.sort(key=lambda side: get_args(Stance).index(side["stance"]))  # Yes stands before No
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
    own = str(given.get("id") or next(name for n in count(number) if (name := f"u{n}") not in named))
    named.add(own)
    if not SIDE_ID.fullmatch(own) or own == OTHER_WAYS:
        raise InputError(f"side {number} has an id that cannot be. {SIDE_ID_RULE} Send one, or leave it out.")
    return Perspective(
        id=own,
        name=str(given.get("name") or statement),
        statement=statement,
        stance=cast(Stance, stance),
        contrary=str(given.get("contrary") or ""),
        origin=origin if origin in ("question", "sources", "model") else "person",
    )

"""Where the graph goes next: pure functions of the state."""

import math
import time
from typing import Literal

from langgraph.runtime import Runtime
from langgraph.types import Send

from agent.options import RunOptions, options_of
from agent.state import BranchState, RunState

KEPT_FOR_WRITING = 0.25
"""The share of a run's time that searching may not use, so that a slow search still ends in an answer."""
_KEPT = {"search": KEPT_FOR_WRITING, "judge": 0.15, "write": 0.05, "verify": 0.0}


def after_frame(state: RunState) -> Literal["expand", "lookup"]:
    """A question without sides is looked up; any other is expanded."""
    return "lookup" if state["framing"]["form"] == "plain" else "expand"


def to_branches(state: RunState) -> list[Send]:
    """One retrieve branch for each perspective, or, after a requery, for each side with new queries."""
    planned, focus = state.get("planned"), state.get("framing", {}).get("focus", "")
    return [
        Send("retrieve", BranchState(perspective=p, queries=queries))
        for p in state["perspectives"]
        if (queries := [_opening(p["statement"], focus)] if planned is None else planned.get(p["id"], []))
    ]


def _opening(statement: str, focus: str) -> str:
    return f"{statement} {focus}".strip()


def after_expand(state: RunState) -> list[Send] | Literal["write"]:
    """Without a single perspective there is nothing to search for: the answer says so."""
    return to_branches(state) or "write"


def after_judge(state: RunState, runtime: Runtime[RunOptions]) -> Literal["requery", "select"]:
    """Searches again while a side is uncovered, rounds are left and the time for searching is not used up."""
    uncovered = [p for p in state["perspectives"] if state["coverage"][p["id"]]["status"] != "supported"]
    options = options_of(runtime)
    late = searching_time_left(options, time.time()) <= 0
    return "requery" if uncovered and state.get("round", 0) < options.max_rounds and not late else "select"


def after_requery(state: RunState) -> list[Send] | Literal["select"]:
    """Nothing new to look for means that the search is over."""
    return to_branches(state) or "select"


def searching_time_left(options: RunOptions, now: float) -> float:
    """Seconds until searching has to end, so that what follows keeps its share; infinite without a deadline."""
    return time_left(options, "search", now)


def time_left(options: RunOptions, stage: Literal["search", "judge", "write", "verify"], now: float) -> float:
    """Seconds until the stage has to end; each one ends before the next, so that what was found is still written up."""
    if not options.deadline_at:
        return math.inf
    return options.deadline_at - _KEPT[stage] * options.deadline_seconds - now

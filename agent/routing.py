"""Where the graph goes next: pure functions of the state."""

from typing import Literal

from langgraph.runtime import Runtime
from langgraph.types import Send

from agent.deadlines import time_left
from agent.options import RunOptions, options_of
from agent.state import BranchState, RunState, asked_query


def after_frame(state: RunState) -> Literal["expand", "lookup"]:
    """A question without perspectives is looked up; any other is expanded."""
    return "lookup" if state["framing"]["form"] == "plain" else "expand"


def to_branches(state: RunState) -> list[Send]:
    """One retrieve branch for each perspective, or, after a requery, for each perspective with new queries.

    Beside its own statement a perspective has the question, which was searched before there were perspectives; what the
    other perspectives find is judged for it too.
    """
    planned = state.get("planned")
    branches = [
        (p, queries)
        for p in state["perspectives"]
        if (queries := _opening(p["statement"], state) if planned is None else planned.get(p["id"], []))
    ]
    known = _searched(state) if planned is None else {}
    counts, down = state.get("counts", {}), state.get("down", [])
    return [
        Send(
            "retrieve",
            BranchState(
                perspective=p,
                queries=[*queries, *(q for q in known if q not in queries)],
                known=known,
                share=len(branches),
                counts=counts,
                down=down,
            ),
        )
        for p, queries in branches
    ]


def _searched(state: RunState) -> dict[str, list[int]]:
    """What the question found; nothing where a claim is argued against, whose point the question does not make."""
    if "against" in state or not state.get("first_pass"):
        return {}
    return {asked_query(state["framing"]): state["first_pass"]}


def _opening(statement: str, state: RunState) -> list[str]:
    """A perspective's first queries. What answers a claim best speaks of the same point, and is near to its words."""
    focus = state.get("framing", {}).get("focus", "")
    first = f"{statement} {focus}".strip()
    against = state.get("against")
    if against and against["text"] == against["statement"]:  # a whole perspective has no point of its own
        return [statement]
    return [first, focus] if against else [first]


def after_expand(state: RunState) -> list[Send] | Literal["write"]:
    """Without a single perspective there is nothing to search for: the answer says so."""
    return to_branches(state) or "write"


def after_judge(state: RunState, runtime: Runtime[RunOptions]) -> Literal["requery", "select"]:
    """Searches again while a perspective is uncovered, rounds are left and the time for searching is not used up."""
    uncovered = [p for p in state["perspectives"] if state["coverage"][p["id"]]["status"] != "supported"]
    options = options_of(runtime)
    late = time_left(options, "search") <= 0
    return "requery" if uncovered and state.get("round", 0) < options.max_rounds and not late else "select"


def after_select(state: RunState, runtime: Runtime[RunOptions]) -> Literal["write", "__end__"]:
    """Who wants the passages only has them now."""
    return "write" if options_of(runtime).writing else "__end__"


def after_write(state: RunState) -> Literal["judge", "verify"]:
    """A judge that failed on the way has everything scored again by its replacement."""
    return "judge" if _judge_changed(state) else "verify"


def after_verify(state: RunState) -> Literal["judge", "__end__"]:
    """The same while checking."""
    return "judge" if _judge_changed(state) else "__end__"


def _judge_changed(state: RunState) -> bool:
    return state.get("judge", "") != state.get("scored_by", "")


def after_requery(state: RunState) -> list[Send] | Literal["select"]:
    """Nothing new to look for means that the search is over."""
    return to_branches(state) or "select"

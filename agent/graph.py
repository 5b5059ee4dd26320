"""The agent as a LangGraph graph.

    frame ──(without sides)──▶ lookup ──────────────────────────────────┐
      │                                                                 │
    expand ─▶ review                                                    │
                │  one Send a perspective                               │
                ▼                                                       │
             retrieve ─▶ judge ──(all covered, or no rounds left)──▶ select ─▶ write ─▶ verify ─▶ end
                ▲          │
                │          ▼
                └────── requery   (uncovered perspectives only)

    A run of which nothing is to be written goes from select to verify, which counts what it found. One without a
    perspective goes from review to lookup, and a follow-up for whose sides write has nothing from write to lookup.
    write and verify go back to judge when the run's judge failed on them: its replacement scores everything again.

This module only wires. Stages are in `agent/stages/`, the conditions below, the state in
`agent/state.py`. Clients are bound by `build_graph`; a run's options are the graph's context.
"""

import time
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Send

from agent.models.providers import Providers
from agent.options import RunOptions, run_options, stage_deadline
from agent.stages.expand import expand, review
from agent.stages.frame import frame
from agent.stages.judge import judge
from agent.stages.lookup import lookup
from agent.stages.requery import requery
from agent.stages.retrieve import retrieve
from agent.stages.select import select
from agent.stages.stage import Stage
from agent.stages.verify import verify
from agent.stages.write import write
from agent.state import BranchState, RunState, asked_query, uncovered_perspectives, with_focus

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver
    from langgraph.graph.state import CompiledStateGraph


def after_frame(state: RunState) -> Literal["expand", "lookup"]:
    """Looks up a question without perspectives; expands any other."""
    return "lookup" if state["framing"]["form"] == "plain" else "expand"


def to_branches(state: RunState) -> list[Send]:
    """Returns a retrieve branch for each perspective, or after a requery for each perspective with new queries.

    Beside its statement each perspective gets the results of the question's own search. Passages of all perspectives
    are judged for each.
    """
    planned = state.get("next_queries")
    branches = [
        (p, queries)
        for p in state["perspectives"]
        if (queries := _opening(p["statement"], state) if planned is None else planned.get(p["id"], []))
    ]
    known = _searched(state) if planned is None else {}
    counts, down = state.get("counts", {}), state.get("failed_providers", [])
    return [
        Send(
            "retrieve",
            BranchState(
                perspective=p,
                queries=[*queries, *(q for q in known if q not in queries)],
                known=known,
                share=len(branches),
                counts=counts,
                failed_providers=down,
                web_only=state.get("to_search") == "web",
            ),
        )
        for p, queries in branches
    ]


def _searched(state: RunState) -> dict[str, list[int]]:
    """Returns the question's query with its results; nothing for a counter-argument, whose point the question lacks."""
    if "against" in state or not state.get("question_results"):
        return {}
    return {asked_query(state["framing"]): state["question_results"]}


def _opening(statement: str, state: RunState) -> list[str]:
    """Returns a perspective's first queries. The best answers to a claim make the same point in similar words."""
    focus = state.get("framing", {}).get("focus", "")
    first = with_focus(statement, focus)
    against = state.get("against")
    if against and against["text"] == against["statement"]:  # a whole perspective makes no single point
        return [statement]
    return [first, focus] if against else [first]


def after_judge(state: RunState, runtime: Runtime[RunOptions]) -> Literal["requery", "select"]:
    """Searches again if a perspective is uncovered, another search can find something, and rounds and time are left."""
    if state.get("to_search") == "nothing":
        return "select"
    uncovered = uncovered_perspectives(state)
    options = run_options(runtime)
    late = stage_deadline(options, "retrieve") <= time.time()
    return "requery" if uncovered and state.get("round", 0) < options.max_rounds and not late else "select"


def after_select(_: RunState, runtime: Runtime[RunOptions]) -> Literal["write", "verify"]:
    """Skips `write` if the caller wants only the passages."""
    return "write" if run_options(runtime).writing else "verify"


def after_write(state: RunState) -> Literal["judge", "lookup", "verify"]:
    """Returns to `judge` if the judge failed, so that its replacement scores everything; looks up a follow-up
    without drafts."""
    if _judge_changed(state):
        return "judge"
    return "lookup" if state.get("earlier") and not state["drafts"] and "against" not in state else "verify"


def after_verify(state: RunState) -> Literal["judge", "__end__"]:
    """Returns to `judge` if the judge failed."""
    return "judge" if _judge_changed(state) else "__end__"


def _judge_changed(state: RunState) -> bool:
    return state.get("judge", "") != state.get("scored_by", "")


_STAGES: dict[str, Stage[Any]] = {
    "frame": frame,
    "lookup": lookup,
    "expand": expand,
    "review": review,
    "retrieve": retrieve,
    "judge": judge,
    "requery": requery,
    "select": select,
    "write": write,
    "verify": verify,
}


def build_graph(
    providers: Providers, checkpointer: "BaseCheckpointSaver[Any] | None" = None
) -> "CompiledStateGraph[RunState, RunOptions, RunState, RunState]":
    """Returns the compiled graph. Without a checkpointer it stores nothing."""
    graph = StateGraph(RunState, context_schema=RunOptions)
    for name, node in _STAGES.items():
        graph.add_node(name, partial(node, providers))
    graph.add_edge(START, "frame")
    graph.add_conditional_edges("frame", after_frame)
    graph.add_edge("expand", "review")
    graph.add_conditional_edges("review", lambda state: to_branches(state) or "lookup", ["retrieve", "lookup"])
    graph.add_edge("retrieve", "judge")
    graph.add_conditional_edges("judge", after_judge)
    graph.add_conditional_edges("requery", lambda state: to_branches(state) or "select", ["retrieve", "select"])
    graph.add_conditional_edges("select", after_select)
    graph.add_conditional_edges("write", after_write)
    graph.add_edge("lookup", "verify")
    graph.add_conditional_edges("verify", after_verify)
    return graph.compile(checkpointer=checkpointer)

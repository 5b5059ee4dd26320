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

    A run that only retrieves goes from select to verify, which counts the passages found. A run without perspectives
    goes from review to lookup. A follow-up goes from write to lookup if write has no claims for its sides. If the run's
    judge fails in write or verify, the run goes back to judge, and the replacement judge scores everything again.

This module only connects the nodes. The stages are in `agent/stages/`, the conditions below, the state in
`agent/state.py`. `build_graph` binds the providers; a run's options are the graph's context.
"""

import time
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Send

from agent.options import RunOptions, run_options, stage_deadline
from agent.stage_interfaces import Providers
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
from agent.state import (
    BranchState,
    Perspective,
    RunState,
    asked_query,
    local_statement,
    uncovered_perspectives,
    with_focus,
)

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver
    from langgraph.graph.state import CompiledStateGraph


def after_frame(state: RunState) -> Literal["expand", "lookup"]:
    """Chooses lookup for a question without perspectives, otherwise expand."""
    return "lookup" if state["framing"]["form"] == "plain" else "expand"


def to_branches(state: RunState) -> list[Send]:
    """Returns a retrieve branch for each perspective. After a requery only perspectives with new queries get a branch.

    In the first round each branch also gets the results of the search for the question itself.
    """
    planned = state.get("next_queries")
    branches = [
        (p, queries)
        for p in state["perspectives"]
        if (queries := _opening(p, state) if planned is None else planned.get(p["id"], []))
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
                framing=state["framing"],
            ),
        )
        for p, queries in branches
    ]


def _searched(state: RunState) -> dict[str, list[int]]:
    """Returns the question's query with its results. Returns nothing if the run looks for arguments against a claim,
    because that run's question does not say what the claim says."""
    if "against" in state or not state.get("question_results"):
        return {}
    return {asked_query(state["framing"]): state["question_results"]}


def _opening(perspective: Perspective, state: RunState) -> list[str]:
    """Returns a perspective's first queries, in English and in the question's language. A counter-argument also
    searches for the claim itself, because the best replies to a claim use similar words."""
    statement, focus = perspective["statement"], state.get("framing", {}).get("focus", "")
    first = with_focus(statement, focus)
    against = state.get("against")
    if against and against["text"] == against["statement"]:  # the target is a whole perspective
        return [statement]
    if against:
        return [first, focus]
    return list(dict.fromkeys([first, with_focus(local_statement(perspective), focus)]))


def after_judge(state: RunState, runtime: Runtime[RunOptions]) -> Literal["requery", "select"]:
    """Chooses requery if a perspective is uncovered, a search can find something new, and rounds and time are left."""
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
    """Goes back to `judge` if the judge failed. Chooses lookup for a follow-up without drafts."""
    if _judge_changed(state):
        return "judge"
    return "lookup" if state.get("earlier") and not state["drafts"] and "against" not in state else "verify"


def after_verify(state: RunState) -> Literal["judge", "__end__"]:
    """Goes back to `judge` if the judge failed, otherwise ends the run."""
    return "judge" if _judge_changed(state) else "__end__"


def _judge_changed(state: RunState) -> bool:
    return state.get("judge", "") != state.get("scored_by", "")


_STAGES: tuple[Stage[Any], ...] = (frame, lookup, expand, review, retrieve, judge, requery, select, write, verify)


def build_graph(
    providers: Providers, checkpointer: "BaseCheckpointSaver[Any] | None" = None
) -> "CompiledStateGraph[RunState, RunOptions, RunState, RunState]":
    """Returns the compiled graph. Without a checkpointer the graph stores nothing."""
    graph = StateGraph(RunState, context_schema=RunOptions)
    for node in _STAGES:
        graph.add_node(node.__name__, partial(node, providers))
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

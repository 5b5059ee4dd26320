"""The agent as a LangGraph graph.

    frame ──(a question of fact)──▶ lookup ─────────────────────────────┐
      │                                                                 │
    expand ─▶ review                                                    │
                │  one Send a perspective                               │
                ▼                                                       │
             retrieve ─▶ judge ──(all covered, or no rounds left)──▶ select ─▶ write ─▶ verify ─▶ end
                ▲          │
                │          ▼
                └────── requery   (uncovered perspectives only)

    A run of which nothing is to be written ends after select.
    write and verify go back to judge when the run's judge failed on them: its replacement scores everything again.

This module only wires. Stages are in `agent/nodes/`, the conditions in `agent/routing.py`, the state in
`agent/state.py`. Clients are bound by `build_graph`; a run's options are the graph's context.
"""

from typing import TYPE_CHECKING, Any

from langgraph.graph import START, StateGraph

from agent import routing
from agent.nodes import expand, frame, judge, lookup, requery, retrieve, review, select, verify, write
from agent.options import RunOptions
from agent.seams import Providers
from agent.state import RunState

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver
    from langgraph.graph.state import CompiledStateGraph


def build_graph(
    providers: Providers, checkpointer: "BaseCheckpointSaver[Any] | None" = None
) -> "CompiledStateGraph[RunState, RunOptions, RunState, RunState]":
    """The compiled graph; without a checkpointer it keeps nothing of a run."""
    graph = StateGraph(RunState, context_schema=RunOptions)
    for stage in (frame, lookup, expand, review, retrieve, judge, requery, select, write, verify):
        graph.add_node(stage.__name__.rpartition(".")[2], stage.node(providers))
    graph.add_edge(START, "frame")
    graph.add_conditional_edges("frame", routing.after_frame)
    graph.add_edge("expand", "review")
    graph.add_conditional_edges("review", routing.after_expand, ["retrieve", "write"])
    graph.add_edge("retrieve", "judge")
    graph.add_conditional_edges("judge", routing.after_judge)
    graph.add_conditional_edges("requery", routing.after_requery, ["retrieve", "select"])
    graph.add_conditional_edges("select", routing.after_select)
    graph.add_conditional_edges("write", routing.after_write)
    graph.add_edge("lookup", "verify")
    graph.add_conditional_edges("verify", routing.after_verify)
    return graph.compile(checkpointer=checkpointer)

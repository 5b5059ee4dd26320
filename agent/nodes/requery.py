"""Requery: new queries for the sides that are not covered, and for no other."""

from langgraph.runtime import Runtime

from agent.nodes.reporting import Stage, report, timed
from agent.options import RunOptions
from agent.providers import Providers
from agent.state import RunState


def node(providers: Providers) -> Stage[RunState]:
    async def requery(state: RunState, runtime: Runtime[RunOptions]) -> RunState:
        uncovered = [p for p in state["perspectives"] if state["coverage"][p["id"]]["status"] != "supported"]
        planned: dict[str, list[str]] = {}
        for side in uncovered:
            tried = state["queries"].get(side["id"], [])
            planned[side["id"]] = await providers.requerier.queries(side, state["framing"], tried)
        report(runtime, "again", sides={k: len(v) for k, v in planned.items()})
        return RunState(planned=planned, round=state.get("round", 0) + 1)

    return timed("again", requery)

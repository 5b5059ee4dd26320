"""Requery: new queries for the sides that are not covered, and for no other."""

from langgraph.runtime import Runtime

from agent.nodes.reporting import Stage, in_time, report, timed
from agent.options import RunOptions, options_of
from agent.providers import Providers
from agent.state import Failure, RunState
from tools.errors import DeadlineError


def node(providers: Providers) -> Stage[RunState]:
    async def requery(state: RunState, runtime: Runtime[RunOptions]) -> RunState:
        uncovered = [p for p in state["perspectives"] if state["coverage"][p["id"]]["status"] != "supported"]
        planned: dict[str, list[str]] = {}
        failures: list[Failure] = []
        for side in uncovered:
            queries = providers.requerier.queries(side, state["framing"], state["queries"].get(side["id"], []))
            try:
                planned[side["id"]] = await in_time(options_of(runtime), "search", queries)
            except DeadlineError as exc:
                failures.append(Failure(stage="again", message=f"No second search for '{side['name']}': {exc}"))
        report(runtime, "again", sides={k: len(v) for k, v in planned.items()})
        return RunState(planned=planned, round=state.get("round", 0) + 1, failures=failures)

    return timed("again", requery)

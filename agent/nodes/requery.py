"""Requery: new queries for the perspectives that are not covered, and for no other."""

import asyncio

from langgraph.runtime import Runtime

from agent.deadlines import in_time
from agent.evidence.coverage import not_outweighed
from agent.nodes.stage import Stage, report, timed
from agent.options import RunOptions, options_of
from agent.seams import Providers
from agent.state import Failure, RunState
from tools.errors import DeadlineError

_READ = 3  # passages whose words make a query


def node(providers: Providers) -> Stage[RunState]:
    async def requery(state: RunState, runtime: Runtime[RunOptions]) -> RunState:
        uncovered = [p for p in state["perspectives"] if state["coverage"][p["id"]]["status"] != "supported"]
        planned: dict[str, list[str]] = {}
        failures: list[Failure] = []
        best = {p["id"]: _best(state, p["id"]) for p in uncovered}
        passages = await asyncio.to_thread(providers.passages, {i for ids in best.values() for i in ids})
        asked = (
            providers.requerier.queries(
                perspective,
                state["framing"],
                state["queries"].get(perspective["id"], []),
                [passages[i].text for i in best[perspective["id"]] if i in passages],
            )
            for perspective in uncovered
        )
        answers = await asyncio.gather(
            *(in_time(options_of(runtime), "search", queries) for queries in asked), return_exceptions=True
        )
        for perspective, answer in zip(uncovered, answers, strict=True):
            if isinstance(answer, DeadlineError):
                message = f"No second search for '{perspective['name']}': {answer}"
                brief = "Some sides were not searched a second time."
                failures.append(Failure(stage="again", message=message, kind="late", brief=brief))
            elif isinstance(answer, BaseException):
                raise answer
            else:
                planned[perspective["id"]] = answer
        report(runtime, "again", sides={k: len(v) for k, v in planned.items()})
        return RunState(planned=planned, round=state.get("round", 0) + 1, failures=failures)

    return timed("again", requery)


def _best(state: RunState, perspective: str) -> list[int]:
    """The passages that support the perspective best, and better than its contrary."""
    contrary = next((p["contrary"] for p in state["perspectives"] if p["id"] == perspective), "")
    support = state.get("support", {})
    own = not_outweighed(support.get(perspective, {}), support.get(contrary, {}))
    return sorted(own, key=lambda i: (-own[i], i))[:_READ]

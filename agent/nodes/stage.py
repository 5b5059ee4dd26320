"""What the stages share: progress reported as events, time recorded as an interval, a budget and a log put in force."""

import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar, cast

from langgraph.config import get_config
from langgraph.runtime import Runtime

from agent.options import Part, RunOptions, ends_at, options_of
from agent.state import Failure, RunState, StageName
from agent.tracing import stage_span
from tools.budget import Budget, StageLog, using

S = TypeVar("S", bound=Mapping[str, Any])
Stage = Callable[[S, Runtime[RunOptions]], Awaitable[RunState]]
_PARTS: dict[StageName, Part] = {"lookup": "write", "again": "search", "select": "write"}
"""The part of a run's time that a stage belongs to, where it has another name."""
_REPORT_SECONDS = 0.5


def report(runtime: Runtime[RunOptions], kind: str, **data: Any) -> None:
    """Sends one event to whoever follows the run."""
    runtime.stream_writer({"kind": kind, **data})


def run_key() -> str:
    """What the run's own passages are kept under."""
    return str(get_config().get("configurable", {}).get("thread_id", ""))


def timed(name: StageName, stage: Stage[S]) -> Stage[S]:
    """The stage with its start reported, its interval recorded under `name`, and its budget and log put in force.

    What was spent of the budget, and what the log has to tell, becomes part of the stage's update.
    """

    async def run(state: S, runtime: Runtime[RunOptions]) -> RunState:
        started = time.time()
        report(runtime, "stage", stage=name)
        budget = budget_of(state, options_of(runtime), cast(Part, _PARTS.get(name, name)))
        log = StageLog(down=set(state.get("down") or ()), on_reply=_reply_reporter(runtime, name))
        with stage_span(name) as traced, using(budget, log):
            update = cast(RunState, dict(await stage(state, runtime)))
            update["intervals"] = {name: [(started, time.time())]}
            update = with_log(update, name, budget, log)
            spent = {k: v for k, v in update["counts"].items() if v}
            traced.note(provider=update["served"].get(name), failures=len(update["failures"]), **spent)
        return update

    return run


def budget_of(state: Mapping[str, Any], options: RunOptions, part: Part) -> Budget:
    """What the stage may use: until its part of the run ends, and its share of what is left of the run's budget."""
    spent, share = state.get("counts") or {}, state.get("share", 1)
    return Budget(
        deadline_at=ends_at(options, part),
        offline=not options.web,
        max_calls=(options.max_calls - spent.get("calls", 0)) / share,
        max_tokens=(options.max_tokens - spent.get("input_tokens", 0) - spent.get("output_tokens", 0)) / share,
        max_cost=(options.max_cost - spent.get("cost", 0.0)) / share,
    )


def with_log(update: RunState, name: StageName, budget: Budget, log: StageLog) -> RunState:
    """The stage's update with what was spent, who served it, who is down, and what the answer has to tell."""
    update["counts"] = update.get("counts", {}) | budget.spent()
    update["served"] = update.get("served", {}) | log.served
    update["down"] = sorted(log.down)
    noted = [Failure(stage=name, message=m, kind=kind, brief=log.briefs.get(m, "")) for kind, m in log.notes]
    update["failures"] = [*update.get("failures", []), *noted]
    return update


def _reply_reporter(runtime: Runtime[RunOptions], name: StageName) -> Callable[[int], None]:
    """Reports now and then how much of a reply has come."""
    reported = time.monotonic()

    def on_reply(characters: int) -> None:
        nonlocal reported
        if time.monotonic() - reported >= _REPORT_SECONDS:
            reported = time.monotonic()
            report(runtime, "reading", stage=name, characters=characters)

    return on_reply

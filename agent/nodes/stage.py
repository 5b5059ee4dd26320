"""What the stages share: progress told as events, time recorded as an interval, the deadline and the budget kept."""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar, cast

from langgraph.runtime import Runtime

from agent.options import RunOptions, options_of
from agent.routing import Part, ends_at, time_left
from agent.state import Failure, RunState
from agent.tracing import Traced, stage_span
from tools.allowance import SECOND_REQUESTS, Allowance, using
from tools.errors import DeadlineError

S = TypeVar("S", bound=Mapping[str, Any])
T = TypeVar("T")
Stage = Callable[[S, Runtime[RunOptions]], Awaitable[RunState]]
_PARTS: dict[str, Part] = {
    "frame": "frame",
    "expand": "expand",
    "lookup": "write",
    "search": "search",
    "again": "search",
    "judge": "judge",
    "select": "write",
    "write": "write",
    "verify": "verify",
}
_TELL_SECONDS = 0.5


def report(runtime: Runtime[RunOptions], kind: str, **data: Any) -> None:
    """Sends one event to whoever follows the run."""
    runtime.stream_writer({"kind": kind, **data})


def timed(name: str, stage: Stage[S]) -> Stage[S]:
    """The stage with its start reported, its interval recorded under `name`, and its allowance put in force.

    What the allowance was spent on, and what the providers have to say, becomes part of the stage's update.
    """

    async def run(state: S, runtime: Runtime[RunOptions]) -> RunState:
        started = time.time()
        report(runtime, "stage", stage=name)
        allowance = allowance_of(state, options_of(runtime), _PARTS[name])
        allowance.tell = _teller(runtime, name)
        with stage_span(name) as traced, using(allowance):
            update = cast(RunState, dict(await stage(state, runtime)))
            update["intervals"] = {name: [(started, time.time())]}
            update = _with_spending(update, name, allowance)
            _note(traced, name, update)
        return update

    return run


def allowance_of(state: Mapping[str, Any], options: RunOptions, part: Part) -> Allowance:
    """What the stage may use: until its part of the run ends, and its share of what is left of the budget."""
    spent, share = state.get("counts") or {}, state.get("share", 1)
    return Allowance(
        deadline_at=ends_at(options, part),
        offline=not options.web,
        max_calls=(options.max_calls - spent.get("calls", 0)) / share,
        max_tokens=(options.max_tokens - spent.get("input_tokens", 0) - spent.get("output_tokens", 0)) / share,
        max_cost=(options.max_cost - spent.get("cost", 0.0)) / share,
        max_second_requests=(SECOND_REQUESTS - spent.get("second_requests", 0)) // share,
        down=set(state.get("down") or ()),
    )


def _with_spending(update: RunState, name: str, allowance: Allowance) -> RunState:
    counts = {
        "calls": allowance.calls,
        "second_requests": allowance.second_requests,
        "input_tokens": allowance.input_tokens,
        "output_tokens": allowance.output_tokens,
        "cost": allowance.cost,
        "unpriced": allowance.unpriced,
    }
    update["counts"] = update.get("counts", {}) | {k: v for k, v in counts.items() if v}
    update["served"] = update.get("served", {}) | allowance.served
    update["down"] = sorted(allowance.down)
    told = [Failure(stage=name, message=message, kind=kind) for kind, message in allowance.notes]
    update["failures"] = [*update.get("failures", []), *told]
    return update


def _note(traced: Traced, name: str, update: RunState) -> None:
    """Tells the stage's span who served it, what it spent, and how much went wrong."""
    spent = {k: v for k, v in update["counts"].items() if v}
    traced.note(provider=update["served"].get(name), failures=len(update["failures"]), **spent)


def _teller(runtime: Runtime[RunOptions], name: str) -> Callable[[int], None]:
    """Tells now and then how much of a reply has come."""
    told = time.monotonic()

    def tell(characters: int) -> None:
        nonlocal told
        if time.monotonic() - told >= _TELL_SECONDS:
            told = time.monotonic()
            report(runtime, "reading", stage=name, characters=characters)

    return tell


async def in_time(options: RunOptions, part: Part, work: Awaitable[T]) -> T:
    """The work's result; raises DeadlineError when it does not come before the part has to end."""
    left = time_left(options, part, time.time())
    try:
        async with asyncio.timeout(None if math.isinf(left) else max(0.0, left)):
            return await work
    except TimeoutError as exc:
        raise DeadlineError("the time for it was used up.") from exc

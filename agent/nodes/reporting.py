"""What the stages share: progress told as events, time recorded as an interval, and the deadline kept."""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from typing import Any, Literal, TypeVar, cast

from langgraph.runtime import Runtime

from agent.options import RunOptions
from agent.routing import time_left
from agent.state import RunState
from tools.errors import DeadlineError

S = TypeVar("S")
T = TypeVar("T")
Stage = Callable[[S, Runtime[RunOptions]], Awaitable[RunState]]


def report(runtime: Runtime[RunOptions], kind: str, **data: Any) -> None:
    """Sends one event to whoever follows the run."""
    runtime.stream_writer({"kind": kind, **data})


def timed(name: str, stage: Stage[S]) -> Stage[S]:
    """The stage with its start reported and its interval recorded under `name`."""

    async def run(state: S, runtime: Runtime[RunOptions]) -> RunState:
        started = time.time()
        report(runtime, "stage", stage=name)
        update = cast(RunState, dict(await stage(state, runtime)))
        update["intervals"] = {name: [(started, time.time())]}
        return update

    return run


async def in_time(options: RunOptions, stage: Literal["search", "judge", "write", "verify"], work: Awaitable[T]) -> T:
    """The work's result; raises DeadlineError when it does not come before the stage has to end."""
    left = time_left(options, stage, time.time())
    try:
        async with asyncio.timeout(None if math.isinf(left) else max(0.0, left)):
            return await work
    except TimeoutError as exc:
        raise DeadlineError("the time for it was used up.") from exc

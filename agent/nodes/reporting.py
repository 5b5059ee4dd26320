"""What every stage tells while it works: its progress as events, its time as an interval."""

import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, cast

from langgraph.runtime import Runtime

from agent.options import RunOptions
from agent.state import RunState

S = TypeVar("S")
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

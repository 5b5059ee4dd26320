"""Limits a stage's external calls (time, calls, tokens, cost), keeps the stage's log, and runs calls concurrently.

A stage enters `budget_scope`. Every call inside this scope spends from `current_budget()` and reports to
`current_log()`, even in other tasks and threads. Outside a stage nothing is limited or logged.
"""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from tools.errors import BudgetError, DeadlineError
from tools.translation import mark, tr

T = TypeVar("T")

NoteKind = Literal["failed", "degraded", "scope", "late", "skipped", "unjudged"]
"""'degraded': another provider replaced the failed one. 'late': the time ran out. 'skipped': a source was not read, or
a provider was not asked. 'unjudged': passages were retrieved, but not judged or checked. 'scope': the stage worked in
an unusual way, with little effect on the answer."""
NOT_ALL_JUDGED = mark("Not everything that was found was read.")


@dataclass
class Budget:
    """Limits and spending of a stage, shared by all its calls.

    deadline_at: seconds since the epoch. offline: no call may leave this machine. built_in: only the built-in models
    are used. max_calls, max_tokens, max_cost: what remains of the run's budget. unpriced: number of calls to models
    without a known price. cost: US dollars.
    """

    deadline_at: float = math.inf
    offline: bool = False
    built_in: bool = False
    max_calls: float = math.inf
    max_tokens: float = math.inf
    max_cost: float = math.inf
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    unpriced: int = 0

    def seconds_left(self) -> float:
        """Seconds until the earliest deadline in force; infinite without one."""
        return min(self.deadline_at, _EARLIER.get()) - time.time()

    def begin_call(self) -> None:
        """Counts a call. Raises BudgetError if the budget is used up."""
        spent = (
            ("calls", self.calls, self.max_calls),
            ("tokens", self.input_tokens + self.output_tokens, self.max_tokens),
            ("cost", self.cost, self.max_cost),
        )
        for what, used, limit in spent:
            if used >= limit:
                raise BudgetError(f"the run's budget of {what} is used up.")
        self.calls += 1

    def add_tokens(self, given: int, made: int, cost: float | None) -> None:
        """Counts a call's tokens and its cost in US dollars; None for an unknown price."""
        self.input_tokens += given
        self.output_tokens += made
        self.cost += cost or 0.0
        self.unpriced += cost is None

    def spent(self) -> dict[str, float]:
        """The non-zero totals by name."""
        names = ("calls", "input_tokens", "output_tokens", "cost", "unpriced")
        return {name: value for name in names if (value := getattr(self, name))}


@dataclass
class StageLog:
    """A stage's notes and providers.

    notes: notes for the answer, without duplicates. briefs: note → short form. served: stage → its provider. down:
    failed providers; the run does not ask them again.
    """

    notes: list[tuple[NoteKind, str]] = field(default_factory=list)
    briefs: dict[str, str] = field(default_factory=dict)
    served: dict[str, str] = field(default_factory=dict)
    down: set[str] = field(default_factory=set)

    def note(self, kind: NoteKind, text: str, brief: str = "") -> None:
        """Adds a note. `brief`: one short sentence that replaces a long text, or a text with many variants."""
        if (kind, text) not in self.notes:
            self.notes.append((kind, text))
        if brief:
            self.briefs[text] = brief


_BUDGET: ContextVar[Budget] = ContextVar("budget")
_LOG: ContextVar[StageLog] = ContextVar("stage_log")
_EARLIER: ContextVar[float] = ContextVar("earlier_deadline", default=math.inf)


def current_budget() -> Budget:
    """The budget in force. Outside a stage: a budget without limits."""
    return _BUDGET.get(None) or Budget()


def current_log() -> StageLog:
    """The running stage's log. Outside a stage: a new log."""
    return _LOG.get(None) or StageLog()


@contextmanager
def budget_scope(budget: Budget, log: StageLog | None = None) -> Iterator[Budget]:
    """Puts a budget and a log in force, also in tasks and `asyncio.to_thread`."""
    tokens = _BUDGET.set(budget), _LOG.set(log or StageLog())
    try:
        yield budget
    finally:
        _BUDGET.reset(tokens[0])
        _LOG.reset(tokens[1])


def langsmith_scope(*, web: bool) -> AbstractContextManager[Any]:
    """Disables LangSmith for a run without web, whatever the environment says."""
    if web:
        return nullcontext()
    from langsmith import tracing_context

    return tracing_context(enabled=False)


@contextmanager
def deadline(earlier: float) -> Iterator[None]:
    """Sets an earlier deadline, in seconds since the epoch. At this deadline a judge returns the scores that it has."""
    token = _EARLIER.set(min(_EARLIER.get(), earlier))
    try:
        yield
    finally:
        _EARLIER.reset(token)


def share_of_time(share: float) -> AbstractContextManager[None]:
    """A deadline after this share of the remaining time."""
    return deadline(time.time() + share * current_budget().seconds_left())


async def in_time(work: Awaitable[T]) -> T:
    """The awaited result. Raises DeadlineError at the deadline in force."""
    try:
        async with asyncio.timeout(current_budget().seconds_left()):
            return await work
    except TimeoutError as exc:
        raise DeadlineError(tr("the time for it was used up.")) from exc


def batches(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Consecutive slices of at most `size` items."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


async def run_within(calls: Iterable[Callable[[], Awaitable[None]]], concurrency: int) -> None:
    """Runs the calls concurrently until the deadline in force. The first failure cancels the others."""
    turn = asyncio.Semaphore(concurrency)

    async def one(call: Callable[[], Awaitable[None]]) -> None:
        async with turn:
            await call()

    try:
        async with asyncio.timeout(current_budget().seconds_left()), asyncio.TaskGroup() as group:
            for call in calls:
                group.create_task(one(call))
    except TimeoutError:
        pass
    except ExceptionGroup as failed:
        first = failed.exceptions[0]
        if not isinstance(first, DeadlineError):  # the calls see the same deadline
            raise first from first.__cause__

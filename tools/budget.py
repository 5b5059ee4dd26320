"""What the outside calls of one stage may use (time, calls, tokens, money), and the log of what came of them.

A stage puts a `Budget` and a `StageLog` in force with `budget_scope`; whoever makes a call spends from
`current_budget()` and tells `current_log()`, however deep in the libraries' tasks and threads the call is made. Outside
any stage there is no limit, and nothing is logged.
"""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from tools.errors import BudgetError, DeadlineError

T = TypeVar("T")

NoteKind = Literal["failed", "degraded", "scope", "late", "skipped", "unjudged"]
"""'degraded': another provider stood in; 'late': time ran out first; 'skipped': not looked at or asked; 'unjudged':
found, and not judged or checked; 'scope': done in another way than usual, which changes little."""
NOT_ALL_JUDGED = "Not everything that was found was read."


@dataclass
class Budget:
    """Limits of a stage and what it has spent; one object is shared by all the calls that the stage makes.

    deadline_at: seconds since the epoch by which every call has to be over. offline: nothing may leave this machine.
    max_calls, max_tokens, max_cost: what is left of the run's budget. unpriced: calls to models without a known price.
    cost: US dollars.
    """

    deadline_at: float = math.inf
    offline: bool = False
    max_calls: float = math.inf
    max_tokens: float = math.inf
    max_cost: float = math.inf
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    unpriced: int = 0

    def seconds_left(self) -> float:
        """Until the innermost `deadline`, the stage's at the latest; infinite without one."""
        return min(self.deadline_at, _EARLIER.get()) - time.time()

    def begin_call(self) -> None:
        """Counts one call; raises BudgetError when the run may not make another."""
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
        """Counts the tokens of a call and its price in US dollars; None where the price is not known."""
        self.input_tokens += given
        self.output_tokens += made
        self.cost += cost or 0.0
        self.unpriced += cost is None

    def spent(self) -> dict[str, float]:
        """What was spent, by name; without what nothing was spent of."""
        names = ("calls", "input_tokens", "output_tokens", "cost", "unpriced")
        return {name: value for name in names if (value := getattr(self, name))}


@dataclass
class StageLog:
    """The notes of a stage, and who served it. notes: for the answer, each once. briefs: a note's text → a short form.
    served: stage → the provider that did it. down: providers that failed and are not asked again in this run. on_reply:
    called with the characters that a reply has so far, for whoever watches."""

    notes: list[tuple[NoteKind, str]] = field(default_factory=list)
    briefs: dict[str, str] = field(default_factory=dict)
    served: dict[str, str] = field(default_factory=dict)
    down: set[str] = field(default_factory=set)
    on_reply: Callable[[int], None] = lambda _: None

    def note(self, kind: NoteKind, text: str, brief: str = "") -> None:
        """`brief`: a short sentence for a text that is long, or that comes in many variants: the same for all."""
        if (kind, text) not in self.notes:
            self.notes.append((kind, text))
        if brief:
            self.briefs[text] = brief


_BUDGET: ContextVar[Budget] = ContextVar("budget")
_LOG: ContextVar[StageLog] = ContextVar("stage_log")
_EARLIER: ContextVar[float] = ContextVar("earlier_deadline", default=math.inf)


def current_budget() -> Budget:
    """The budget in force; one without limits where no stage has set any."""
    return _BUDGET.get(None) or Budget()


def current_log() -> StageLog:
    """The log of the stage that is running; outside any stage one that nobody reads."""
    return _LOG.get(None) or StageLog()


@contextmanager
def budget_scope(budget: Budget, log: StageLog | None = None) -> Iterator[Budget]:
    """Puts a budget and a log in force for what is called inside, tasks and `asyncio.to_thread` included."""
    tokens = _BUDGET.set(budget), _LOG.set(log or StageLog())
    try:
        yield budget
    finally:
        _BUDGET.reset(tokens[0])
        _LOG.reset(tokens[1])


@contextmanager
def deadline(earlier: float) -> Iterator[None]:
    """Sets the calls inside an earlier deadline, in seconds since the epoch: what comes after them needs the rest. A
    judge keeps what it has by then."""
    token = _EARLIER.set(min(_EARLIER.get(), earlier))
    try:
        yield
    finally:
        _EARLIER.reset(token)


def share_of_time(share: float) -> AbstractContextManager[None]:
    """The same for this share of the time that is left."""
    return deadline(time.time() + share * current_budget().seconds_left())


async def in_time(work: Awaitable[T], earlier: float = math.inf) -> T:
    """The work's result; raises DeadlineError when it does not come by the deadline in force. `earlier`: as in
    `deadline`."""
    with deadline(earlier):
        left = current_budget().seconds_left()
        try:
            async with asyncio.timeout(None if math.isinf(left) else max(0.0, left)):
                return await work
        except TimeoutError as exc:
            raise DeadlineError("the time for it was used up.") from exc


def batches(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Consecutive slices of at most `size` items."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


async def run_within(calls: Iterable[Callable[[], Awaitable[None]]], concurrency: int) -> None:
    """All the calls, some at a time, until the deadline in force; the first failure ends them all."""
    turn, seconds = asyncio.Semaphore(concurrency), current_budget().seconds_left()

    async def one(call: Callable[[], Awaitable[None]]) -> None:
        async with turn:
            await call()

    try:
        async with asyncio.timeout(None if math.isinf(seconds) else max(0.0, seconds)), asyncio.TaskGroup() as group:
            for call in calls:
                group.create_task(one(call))
    except TimeoutError:
        pass
    except ExceptionGroup as failed:
        first = failed.exceptions[0]
        if not isinstance(first, DeadlineError):  # the calls see the same deadline
            raise first from first.__cause__

"""What the outside calls of one stage may use (time, calls, tokens, money), and what came of them.

A stage puts an `Allowance` in force with `using`; whoever makes a call finds it with `current()`, however deep in the
libraries' tasks and threads the call is made. Outside any stage there is no limit.
"""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Literal

from tools.errors import BudgetError

SECOND_REQUESTS = 2
"""Of a run at most, to servers that are silent."""
Kind = Literal["failed", "degraded", "scope"]


@dataclass
class Allowance:
    """Limits of a stage and what it has spent; one object is shared by all the calls that the stage makes.

    deadline_at: seconds since the epoch by which every call has to be over. offline: nothing may leave this machine.
    max_calls, max_tokens, max_cost: what is left of the run's budget. unpriced: calls to models without a known price.
    second_requests: those made to a server that was silent (`tools.net.hedging`), each of them one of the calls as
    well. tell: called with the characters that a reply has so far, for whoever watches.
    """

    deadline_at: float = math.inf
    offline: bool = False
    max_calls: float = math.inf
    max_tokens: float = math.inf
    max_cost: float = math.inf
    max_second_requests: float = SECOND_REQUESTS
    tell: Callable[[int], None] = lambda _: None
    calls: int = 0
    second_requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    unpriced: int = 0
    served: dict[str, str] = field(default_factory=dict)  # stage → the provider that did it
    notes: list[tuple[Kind, str]] = field(default_factory=list)  # what the answer has to say about it
    down: set[str] = field(default_factory=set)  # providers that failed and are not asked again in this run

    def seconds_left(self) -> float:
        return min(self.deadline_at, _SOONER.get()) - time.time()

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

    def begin_second_request(self) -> bool:
        """Counts one more request for a call whose first is silent; False, and nothing is counted, where the run has
        none left, of these or of calls at all."""
        if self.second_requests >= self.max_second_requests:
            return False
        try:
            self.begin_call()
        except BudgetError:
            return False
        self.second_requests += 1
        return True

    def add_tokens(self, given: int, made: int, cost: float | None) -> None:
        """Counts the tokens of a call and its price in US dollars; None where the price is not known."""
        self.input_tokens += given
        self.output_tokens += made
        self.cost += cost or 0.0
        self.unpriced += cost is None

    def note(self, kind: Kind, text: str) -> None:
        """Something for the answer's notes, once: 'failed', 'degraded' (another provider stood in) or 'scope'."""
        if (kind, text) not in self.notes:
            self.notes.append((kind, text))


_CURRENT: ContextVar[Allowance] = ContextVar("allowance")
_SOONER: ContextVar[float] = ContextVar("sooner", default=math.inf)


def current() -> Allowance:
    """The allowance in force; one without limits where no stage has set any."""
    return _CURRENT.get(None) or Allowance()


@contextmanager
def using(allowance: Allowance) -> Iterator[Allowance]:
    """Puts an allowance in force for what is called inside, tasks and `asyncio.to_thread` included."""
    token = _CURRENT.set(allowance)
    try:
        yield allowance
    finally:
        _CURRENT.reset(token)


@contextmanager
def sooner(seconds: float) -> Iterator[None]:
    """Has the calls made inside be over within so many seconds, where what comes after them needs the rest."""
    token = _SOONER.set(min(_SOONER.get(), time.time() + seconds))
    try:
        yield
    finally:
        _SOONER.reset(token)

"""Simulates questions that wait for processes, processors and model slots, event by event.

Each process takes `runs` questions at once (turns) and has one processor, because one thread runs its embedded models.
All processes share the slots of the model server. Every queue is first come, first served. A question goes to the
process with the fewest open questions. `tests/test_scale.py` compares the results with theory (Erlang C, Little's law).
"""

import heapq
import math
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Literal

Act = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage of a question: simultaneous calls of these seconds. The stage ends with its last call."""

    at: Literal["processor", "model"]
    seconds: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """A question that arrives at the second `at`."""

    at: float
    stages: tuple[Stage, ...]


@dataclass(frozen=True, slots=True)
class Answered:
    """A question with the seconds of its turn and of its end."""

    question: Question
    began: float
    ended: float

    @property
    def took(self) -> float:
        return self.ended - self.question.at

    @property
    def waited(self) -> float:
        """Returns the seconds in queues: for a turn, for the processor and for model slots."""
        alone = sum(max(stage.seconds, default=0.0) for stage in self.question.stages)
        return max(0.0, self.took - alone)  # never below 0 by rounding


@dataclass(frozen=True, slots=True)
class Load:
    """used: share of the servers that are at work, over the whole time. waiting: mean number of waiting calls or
    questions of all processes. most: the most that waited at once, at one process."""

    used: float
    waiting: float
    most: int


@dataclass(frozen=True, slots=True)
class Simulated:
    """answered: in order of the answers. seconds: until the last answer."""

    answered: list[Answered]
    seconds: float
    turns: Load
    processors: Load
    model: Load


class Clock:
    """The agenda. Acts of one moment are done in the order in which they were planned."""

    def __init__(self) -> None:
        self.now = 0.0
        self._agenda: list[tuple[float, int, Act]] = []
        self._number = count()

    def plan(self, when: float, act: Act) -> None:
        heapq.heappush(self._agenda, (when, next(self._number), act))

    def run(self) -> None:
        while self._agenda:
            self.now, _, act = heapq.heappop(self._agenda)
            act()


class Pool:
    """Servers with one queue. Sums up server-seconds at work and seconds of waiting."""

    def __init__(self, clock: Clock, servers: int) -> None:
        self.servers, self.busy_seconds, self.waiting_seconds, self.most = servers, 0.0, 0.0, 0
        self._clock, self._busy, self._since = clock, 0, 0.0
        self._queue: deque[Act] = deque()

    @property
    def load(self) -> int:
        """Returns how many have a server or wait for one."""
        return self._busy + len(self._queue)

    def take(self, act: Act) -> None:
        """Calls `act` as soon as a server is free. The server is taken until `give`."""
        self._count()
        if self._busy < self.servers:
            self._busy += 1
            act()
        else:
            self._queue.append(act)
            self.most = max(self.most, len(self._queue))

    def give(self) -> None:
        """Frees a server, which goes to the first in the queue."""
        self._count()
        if self._queue:
            self._queue.popleft()()
        else:
            self._busy -= 1

    def serve(self, seconds: float, done: Act) -> None:
        """Takes a server for these seconds, then calls `done`."""

        def end() -> None:
            self.give()
            done()

        self.take(lambda: self._clock.plan(self._clock.now + seconds, end))

    def _count(self) -> None:
        passed, self._since = self._clock.now - self._since, self._clock.now
        self.busy_seconds += passed * self._busy
        self.waiting_seconds += passed * len(self._queue)


def simulate(questions: Sequence[Question], processes: int, runs: int, slots: int) -> Simulated:
    """Simulates until every question is answered. slots: calls that the model server answers at once."""
    clock, answered = Clock(), list[Answered]()
    model, every = Pool(clock, slots), [(Pool(clock, runs), Pool(clock, 1)) for _ in range(processes)]

    def arrive(question: Question) -> None:
        turns, processor = min(every, key=lambda process: process[0].load)

        def end(began: float) -> None:
            answered.append(Answered(question, began, clock.now))
            turns.give()

        turns.take(partial(_work, question.stages, clock, {"processor": processor, "model": model}, end))

    for question in questions:
        clock.plan(question.at, partial(arrive, question))
    clock.run()
    turns, processors = zip(*every, strict=True)
    return Simulated(answered, clock.now, *(_load(pools, clock.now) for pools in (turns, processors, [model])))


def _work(stages: Iterable[Stage], clock: Clock, pools: Mapping[str, Pool], end: Callable[[float], None]) -> None:
    """Goes through a question's stages, then calls `end` with the second of the start."""
    began, waiting, left = clock.now, iter([stage for stage in stages if stage.seconds]), 1

    def call_ended() -> None:
        nonlocal left
        left -= 1
        if left:
            return
        if (stage := next(waiting, None)) is None:
            end(began)
            return
        left = len(stage.seconds)
        for seconds in stage.seconds:
            pools[stage.at].serve(seconds, call_ended)

    call_ended()  # starts the first stage


def _load(pools: Sequence[Pool], seconds: float) -> Load:
    servers, over = sum(pool.servers for pool in pools), seconds or math.inf
    busy, waiting = sum(pool.busy_seconds for pool in pools), sum(pool.waiting_seconds for pool in pools)
    return Load(busy / (servers * over), waiting / over, max(pool.most for pool in pools))

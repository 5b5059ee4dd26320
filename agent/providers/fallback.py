"""A stage's provider with what stands in for it, and the rule by which the one replaces the other.

Under `auto` a model that fails is replaced by the embedded provider, and the answer says so. A model that the user
named explicitly has no stand-in: its failure is the run's error. A server that is down is not asked again in the run.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from agent.question import check_question
from agent.seams import Brief, CruxWriter, Expander, Framer, Requerier, Writer
from agent.state import Claim, FramingState, Perspective
from tools.allowance import current, sooner
from tools.errors import DeadlineError, JudgeError, ProviderDownError, ProviderError
from tools.passages import Passage

_PATIENCE = 0.7
"""The share of a stage's time that a model may take while something could still stand in for it."""
_ALL_BUT = 0.95
"""The share where nothing could: its failure is told before the stage itself runs out of time."""
EMBEDDED = "embedded"

P = TypeVar("P")
T = TypeVar("T")


@dataclass(frozen=True)
class Served(Generic[P]):
    """`stage` is what the answer calls it, `name` the model, `local` whether it is on this machine."""

    stage: str
    name: str
    local: bool
    first: P
    stand_in: P | None

    async def call(self, work: Callable[[P], Awaitable[T]]) -> T:
        """The work done by the first provider, or by its stand-in with a note in the answer."""
        allowance = current()
        if allowance.offline and not self.local:
            allowance.note("scope", f"{self.name} was not asked, since nothing was to leave this machine.")
        elif self.name not in allowance.down:
            try:
                result = await self._in_time(work(self.first))
            except JudgeError:
                raise
            except ProviderError as exc:
                if self.stand_in is None:
                    raise type(exc)(f"{exc} Mend it, or let the embedded provider stand in (auto).") from exc
                if isinstance(exc, ProviderDownError):
                    allowance.down.add(self.name)
                allowance.note("degraded", f"{exc} The embedded provider stood in for it ({self.stage}).")
            else:
                self._record(self.name)
                return result
        if self.stand_in is None:
            raise ProviderDownError(f"{self.name} has failed in this run already, or may not be asked ({self.stage}).")
        result = await work(self.stand_in)
        self._record(EMBEDDED)
        return result

    def _record(self, name: str) -> None:
        """A stage that does its sides one by one may be served by both."""
        served = current().served
        both = {*filter(None, served.get(self.stage, "").split(" and ")), name}
        served[self.stage] = " and ".join(sorted(both, key=lambda n: (n == EMBEDDED, n)))

    async def _in_time(self, work: Awaitable[T]) -> T:
        left = current().seconds_left() * (_PATIENCE if self.stand_in is not None else _ALL_BUT)
        try:
            async with asyncio.timeout(None if math.isinf(left) else max(0.0, left)):
                with sooner(left):
                    return await work
        except (TimeoutError, DeadlineError) as exc:
            raise ProviderDownError(f"{self.name} did not answer in time.") from exc


class ServedFramer(Served[Framer]):
    async def frame(self, question: str, earlier: Sequence[str]) -> FramingState:
        def work(framer: Framer) -> Awaitable[FramingState]:
            if framer is self.stand_in:
                check_question(question)  # it reads English only
            return framer.frame(question, earlier)

        return await self.call(work)


class ServedExpander(Served[Expander]):
    async def expand(self, framing: FramingState, passages: Sequence[Passage]) -> list[Perspective]:
        return await self.call(lambda p: p.expand(framing, passages))


class ServedRequerier(Served[Requerier]):
    async def queries(self, perspective: Perspective, framing: FramingState, tried: Sequence[str]) -> list[str]:
        return await self.call(lambda p: p.queries(perspective, framing, tried))


class ServedWriter(Served[Writer]):
    async def write(self, brief: Brief) -> tuple[list[Claim], list[Claim]]:
        return await self.call(lambda p: p.write(brief))


@dataclass(frozen=True)
class ServedCrux:
    """What a dispute turns on, where the model says it: the answer is whole without, so nothing is degraded if not."""

    name: str
    local: bool
    first: CruxWriter

    async def crux(self, one: Brief, other: Brief) -> Claim | None:
        allowance = current()
        if (allowance.offline and not self.local) or self.name in allowance.down:
            return None
        try:
            return await self.first.crux(one, other)
        except ProviderError as exc:
            allowance.note("scope", f"What the dispute turns on was not written: {exc}")
            return None

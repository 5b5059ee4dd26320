"""A stage served by a chat model, with the embedded provider as its fallback.

Under `auto` a model that fails is replaced by the embedded provider, and the answer says so. A model that the user
named explicitly has no fallback: its failure is the run's error. A server that is down is asked once a run.
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
from tools.inference.chat.model import ChatModel
from tools.passages import Passage

_PATIENCE = 0.7
"""The share of a stage's time that a model may take while there is a fallback."""
_ALL_BUT = 0.95
"""The share without one: the failure is reported before the stage itself runs out of time."""
EMBEDDED = "embedded"

P = TypeVar("P")
T = TypeVar("T")


@dataclass(frozen=True)
class WithFallback(Generic[P]):
    """A provider that asks `model`, and what replaces it where it fails. `stage` is what the answer calls the stage."""

    stage: str
    model: ChatModel
    primary: P
    fallback: P | None

    async def call(self, work: Callable[[P], Awaitable[T]]) -> T:
        """The work done by the primary provider, or by its fallback with a note in the answer. Raises ProviderError
        where there is no fallback, and JudgeError as it is."""
        allowance, name = current(), self.model.name
        if allowance.offline and not self.model.local:
            allowance.note("scope", f"{name} was not asked, since nothing was to leave this machine.")
        elif name not in allowance.down:
            try:
                result = await self._in_time(work(self.primary))
            except JudgeError:
                raise
            except ProviderError as exc:
                if self.fallback is None:
                    raise type(exc)(f"{exc} Mend it, or let the embedded provider stand in (auto).") from exc
                if isinstance(exc, ProviderDownError):
                    allowance.down.add(name)
                allowance.note("degraded", f"{exc} The embedded provider stood in for it ({self.stage}).")
            else:
                self._record(name)
                return result
        if self.fallback is None:
            raise ProviderDownError(f"{name} has failed in this run already, or may not be asked ({self.stage}).")
        result = await work(self.fallback)
        self._record(EMBEDDED)
        return result

    def _record(self, name: str) -> None:
        """Adds the name to those that served the stage; one that is called for each perspective may have two."""
        served = current().served
        names = {*filter(None, served.get(self.stage, "").split(" and ")), name}
        served[self.stage] = " and ".join(sorted(names, key=lambda n: (n == EMBEDDED, n)))

    async def _in_time(self, work: Awaitable[T]) -> T:
        left = current().seconds_left() * (_ALL_BUT if self.fallback is None else _PATIENCE)
        try:
            async with asyncio.timeout(None if math.isinf(left) else max(0.0, left)):
                with sooner(left):
                    return await work
        except (TimeoutError, DeadlineError) as exc:
            raise ProviderDownError(f"{self.model.name} did not answer in time.") from exc


class FramerWithFallback(WithFallback[Framer]):
    async def frame(self, question: str, earlier: Sequence[str]) -> FramingState:
        def work(framer: Framer) -> Awaitable[FramingState]:
            if framer is self.fallback:
                check_question(question)  # it reads English only
            return framer.frame(question, earlier)

        return await self.call(work)


class ExpanderWithFallback(WithFallback[Expander]):
    async def expand(self, framing: FramingState, passages: Sequence[Passage]) -> list[Perspective]:
        return await self.call(lambda p: p.expand(framing, passages))


class RequerierWithFallback(WithFallback[Requerier]):
    async def queries(self, perspective: Perspective, framing: FramingState, tried: Sequence[str]) -> list[str]:
        return await self.call(lambda p: p.queries(perspective, framing, tried))


class WriterWithFallback(WithFallback[Writer]):
    async def write(self, brief: Brief) -> tuple[list[Claim], list[Claim]]:
        return await self.call(lambda p: p.write(brief))


@dataclass(frozen=True)
class OptionalCruxWriter:
    """Writes what a dispute turns on where the model can be asked: the answer is complete without, so that a failure
    is noted and degrades nothing."""

    model: ChatModel
    primary: CruxWriter

    async def crux(self, one: Brief, other: Brief) -> Claim | None:
        allowance = current()
        if (allowance.offline and not self.model.local) or self.model.name in allowance.down:
            return None
        try:
            return await self.primary.crux(one, other)
        except ProviderError as exc:
            allowance.note("scope", f"What the dispute turns on was not written: {exc}")
            return None

"""A stage served by a chat model, with the embedded provider as its fallback.

Under `auto` a model that fails is replaced by the embedded provider, and the answer says so. A model that the user
named explicitly has no fallback: its failure is the run's error. A server that is down is asked once a run.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from agent.providers.chat.writing import ChatWriter
from agent.question import check_question, reads_as_english
from agent.seams import Brief, Expander, Framer, Providers, Requerier, Writer
from agent.state import Claim, Failure, FramingState, Perspective, RunState
from tools.budget import current_budget, current_log, sooner
from tools.errors import DeadlineError, JudgeError, ProviderDownError, ProviderError, ProviderReplyError, ended
from tools.inference.chat.model import ChatModel
from tools.passages import Passage

_STANDING_IN = 0.3, 5.0
"""The share of a stage's time, and the seconds at most, that are kept for the fallback."""
_REPORTING = 0.05, 1.0
"""The same without one: the failure is reported before the stage itself runs out of time."""
EMBEDDED = "embedded"
RULES = "rules"
"""Where no model was asked, since none is needed."""
_SIDED, _NOT_SIDED = ("polar", "choice"), ("open", "plain", "none")  # kinds of questions

P = TypeVar("P")
T = TypeVar("T")


@dataclass(frozen=True)
class WithFallback(Generic[P]):
    """A provider that asks `model`, and what replaces it where it fails. `stage` is what the answer calls the stage."""

    stage: str
    model: ChatModel
    primary: P
    fallback: P | None

    async def call(self, work: Callable[[P], Awaitable[T]]) -> tuple[T, str]:
        """The work done by the primary provider, or by its fallback with a note in the answer; and how the primary
        failed at it, empty where it did not or was not asked. Raises ProviderError where there is no fallback, and
        JudgeError as it is."""
        failure, name, log = "", self.model.name, current_log()
        if current_budget().offline and not self.model.local:
            log.note("skipped", f"{name} was not asked, since nothing was to leave this machine.")
        elif name not in log.down:
            try:
                result = await self._in_time(work(self.primary))
            except JudgeError:
                raise
            except ProviderError as exc:
                if self.fallback is None:
                    text = f"{ended(str(exc))} Mend it, or let the embedded provider stand in (auto)."
                    raise type(exc)(text, hint=exc.hint) from exc
                if isinstance(exc, ProviderDownError):
                    log.down.add(name)
                failure = f"{ended(str(exc))} The embedded provider stood in for it ({self.stage})."
                log.note("degraded", failure, f"The model {name} failed, and embedded providers stood in.")
            else:
                self._record(name)
                return result, failure
        if self.fallback is None:
            raise ProviderDownError(f"{name} has failed in this run already, or may not be asked ({self.stage}).")
        result = await work(self.fallback)
        self._record(EMBEDDED)
        return result, failure

    def _record(self, name: str) -> None:
        """Adds the name to those that served the stage; one that is called for each perspective may have two."""
        served = current_log().served
        names = {*filter(None, served.get(self.stage, "").split(" and ")), name}
        served[self.stage] = " and ".join(sorted(names, key=lambda n: (n == EMBEDDED, n)))

    async def _in_time(self, work: Awaitable[T]) -> T:
        left, (share, most) = current_budget().seconds_left(), _STANDING_IN if self.fallback else _REPORTING
        left -= max(0.0, min(share * left, most))
        try:
            async with asyncio.timeout(None if math.isinf(left) else max(0.0, left)):
                with sooner(left):
                    return await work
        except (TimeoutError, DeadlineError) as exc:
            raise ProviderDownError(f"{self.model.name} did not answer in time.") from exc


@dataclass(frozen=True)
class FramerWithFallback(WithFallback[Framer]):
    """Asks the model only what `rules` do not tell: follow-ups, other languages, and what is no question to them."""

    rules: Framer

    async def frame(self, question: str, earlier: Sequence[str]) -> FramingState:
        english = await asyncio.to_thread(reads_as_english, question)  # its first call may load a model
        plain = await self.rules.frame(question, ()) if english else None
        if plain and not earlier and plain["form"] != "none":
            self._record(RULES)
            return plain

        async def work(framer: Framer) -> FramingState:
            if framer is self.fallback:
                check_question(question)  # it reads English only
            framing = await framer.frame(question, earlier)
            if plain and plain["form"] in _SIDED and framing["form"] in _NOT_SIDED and framer is self.primary:
                raise ProviderReplyError(f"{self.model.name} took a question that asks for a side for another kind.")
            return framing

        framing, failure = await self.call(work)
        if framing["form"] == "none" and failure:  # the rules read English, and not every wording
            raise ProviderDownError(f"{failure} It could not read the question.")
        return framing


class ExpanderWithFallback(WithFallback[Expander]):
    async def expand(self, framing: FramingState, passages: Sequence[Passage]) -> list[Perspective]:
        return (await self.call(lambda p: p.expand(framing, passages)))[0]


class RequerierWithFallback(WithFallback[Requerier]):
    async def queries(
        self, perspective: Perspective, framing: FramingState, tried: Sequence[str], found: Sequence[str] = ()
    ) -> list[str]:
        return (await self.call(lambda p: p.queries(perspective, framing, tried, found)))[0]


class WriterWithFallback(WithFallback[Writer]):
    async def write(self, brief: Brief) -> tuple[list[Claim], list[Claim]]:
        return (await self.call(lambda p: p.write(brief)))[0]


@dataclass(frozen=True)
class OptionalCruxWriter:
    """Writes what a dispute turns on where the model can be asked: the answer is complete without, so that a failure
    is noted and degrades nothing."""

    model: ChatModel
    primary: ChatWriter

    async def crux(self, one: Brief, other: Brief) -> Claim | None:
        """What the dispute of two contrary perspectives turns on, citing passages of both; None where they share no
        point."""
        if (current_budget().offline and not self.model.local) or self.model.name in current_log().down:
            return None
        try:
            return await self.primary.crux(one, other)
        except ProviderError as exc:
            current_log().note("scope", f"What the dispute turns on was not written: {ended(str(exc))}")
            return None


def judge_replaced(providers: Providers, failure: JudgeError) -> RunState:
    """The run goes on with the embedded judge, and says so; raises the failure where nothing may stand in."""
    if providers.models.judge_required:
        raise failure
    stood_in = "embedded judge scored everything again."
    what = f"{ended(str(failure))} The {stood_in}"
    degraded = Failure(
        stage="judge",
        message=what[0].upper() + what[1:],
        hint=failure.hint,
        kind="degraded",
        brief=f"The judge failed, and the {stood_in}",
    )
    return RunState(judge=providers.models.own_judge.name, failures=[degraded])

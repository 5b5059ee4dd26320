"""What the stages share: progress reported as events, time recorded as an interval, a budget and a log put in force;
and how a stage asks a chat model, with the embedded provider as its fallback.

Under `auto` a model that fails is replaced by the embedded provider, and the answer says so. A model that the user
named explicitly has no fallback: its failure is the run's error. A server that is down is asked once a run.
"""

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar, cast

from langgraph.config import get_config
from langgraph.runtime import Runtime
from pydantic import BaseModel

from agent.limits import FALLBACK_SECONDS, FALLBACK_SHARE, REPORT_SECONDS, REPORT_SHARE
from agent.models.providers import Providers
from agent.options import RunOptions, run_options, stage_deadline
from agent.state import RunState, StageName, StageNote
from prompts import load_prompt
from tools.budget import Budget, StageLog, budget_scope, current_budget, current_log, in_time
from tools.errors import DeadlineError, JudgeError, ProviderDownError, ProviderError, as_sentence
from tools.models.chat.model import ChatModel
from tools.net.tracing import stage_span

P = ParamSpec("P")
T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)
S = TypeVar("S", bound=Mapping[str, Any])
Stage = Callable[[Providers, S, Runtime[RunOptions]], Awaitable[RunState]]
"""A node of the graph: from the providers, the state and the run's options to what it adds to the state."""
_REPORT_SECONDS = 0.5


def report(runtime: Runtime[RunOptions], kind: str, **data: Any) -> None:
    """Sends one event to whoever follows the run."""
    runtime.stream_writer({"kind": kind, **data})


def run_id() -> str:
    """What the run's own passages are kept under."""
    return str(get_config().get("configurable", {}).get("thread_id", ""))


def stage(name: StageName) -> Callable[[Stage[S]], Stage[S]]:
    """Decorates a node: its start is reported, its interval recorded under `name`, its budget and log put in force.

    What was spent of the budget, and what the log has to tell, becomes part of the node's update.
    """

    def decorate(node: Stage[S]) -> Stage[S]:
        async def run(providers: Providers, state: S, runtime: Runtime[RunOptions]) -> RunState:
            started = time.time()
            report(runtime, "stage", stage=name)
            budget = budget_of(state, run_options(runtime), name)
            log = StageLog(down=set(state.get("failed_providers") or ()), on_reply=_reply_reporter(runtime, name))
            with stage_span(name) as traced, budget_scope(budget, log):
                update = cast(RunState, dict(await node(providers, state, runtime)))
                update["intervals"] = {name: [(started, time.time())]}
                update["counts"] = update.get("counts", {}) | budget.spent()
                update["served_by"] = update.get("served_by", {}) | log.served
                update["failed_providers"] = sorted(log.down)
                noted = (StageNote(stage=name, message=m, kind=k, brief=log.briefs.get(m, "")) for k, m in log.notes)
                update["notes"] = [*update.get("notes", []), *noted]
                spent = {k: v for k, v in update["counts"].items() if v}
                traced.note(provider=update["served_by"].get(name), failures=len(update["notes"]), **spent)
            return update

        return run

    return decorate


def budget_of(state: Mapping[str, Any], options: RunOptions, name: StageName) -> Budget:
    """The stage's budget: its deadline, and its share of the remaining calls, tokens and money of the run."""
    spent, share = state.get("counts") or {}, state.get("share", 1)
    return Budget(
        deadline_at=stage_deadline(options, name),
        offline=not options.web,
        max_calls=(options.max_calls - spent.get("calls", 0)) / share,
        max_tokens=(options.max_tokens - spent.get("input_tokens", 0) - spent.get("output_tokens", 0)) / share,
        max_cost=(options.max_cost - spent.get("cost", 0.0)) / share,
    )


def _reply_reporter(runtime: Runtime[RunOptions], name: StageName) -> Callable[[int], None]:
    """Reports now and then how much of a reply has come."""
    reported = time.monotonic()

    def on_reply(characters: int) -> None:
        nonlocal reported
        if time.monotonic() - reported >= _REPORT_SECONDS:
            reported = time.monotonic()
            report(runtime, "reading", stage=name, characters=characters)

    return on_reply


async def ask_model(model: ChatModel, prompt: str, shape: type[M], **values: str) -> M:
    """The reply to a prompt of `prompts/` with its variables filled in. Raises ProviderError, PromptError."""
    system, user = load_prompt(prompt).render(**values)
    return await model.ask(system, user, shape)


EMBEDDED = "embedded"


@dataclass(frozen=True)
class ModelFallback:
    """A chat model that serves a stage, and whether the embedded provider `stands_in` for it where it fails. `stage` is
    what the answer calls the stage."""

    stage: str
    model: ChatModel
    stands_in: bool = True

    async def call(self, primary: Callable[[], Awaitable[T]], embedded: Callable[[], Awaitable[T]]) -> tuple[T, str]:
        """What the model made, or the embedded provider, with a note in the answer; and how the model failed, empty
        where it did not or was not asked. Raises ProviderError where nothing stands in, and JudgeError as it is."""
        failure, name, log = "", self.model.name, current_log()
        if current_budget().offline and not self.model.local:
            log.note("skipped", f"{name} was not asked, since nothing was to leave this machine.")
        elif name not in log.down:
            try:
                result = await self._in_time(primary())
            except JudgeError:
                raise
            except ProviderError as exc:
                if not self.stands_in:
                    text = f"{as_sentence(str(exc))} Mend it, or let Steelman's built-in models stand in (auto)."
                    raise type(exc)(text, hint=exc.hint) from exc
                if isinstance(exc, ProviderDownError):
                    log.down.add(name)
                failure = f"{as_sentence(str(exc))} Steelman's built-in models stood in for it ({self.stage})."
                log.note("degraded", failure, f"The model {name} failed, and Steelman's built-in models stood in.")
            else:
                self.record(name)
                return result, failure
        if not self.stands_in:
            raise ProviderDownError(f"{name} has failed in this run already, or may not be asked ({self.stage}).")
        result = await embedded()
        self.record(EMBEDDED)
        return result, failure

    def record(self, name: str) -> None:
        """Adds the name to those that served the stage; one that is called for each perspective may have two."""
        served = current_log().served
        names = {*filter(None, served.get(self.stage, "").split(" and ")), name}
        served[self.stage] = " and ".join(sorted(names, key=lambda n: (n == EMBEDDED, n)))

    async def _in_time(self, work: Awaitable[T]) -> T:
        left = current_budget().seconds_left()
        fallback, report = (FALLBACK_SHARE, FALLBACK_SECONDS), (REPORT_SHARE, REPORT_SECONDS)
        share, most = fallback if self.stands_in else report
        try:
            return await in_time(work, time.time() + left - max(0.0, min(share * left, most)))
        except DeadlineError as exc:
            raise ProviderDownError(f"{self.model.name} did not answer in time.") from exc


def with_fallback(
    fallback: ModelFallback, primary: Callable[P, Awaitable[T]], embedded: Callable[P, Awaitable[T]]
) -> Callable[P, Awaitable[T]]:
    """The way of a stage that asks the model first."""

    async def served(*args: P.args, **kwargs: P.kwargs) -> T:
        return (await fallback.call(lambda: primary(*args, **kwargs), lambda: embedded(*args, **kwargs)))[0]

    return served


def fall_back_to_own_judge(providers: Providers, failure: JudgeError) -> RunState:
    """The run goes on with the embedded judge, and says so; raises the failure where nothing may stand in."""
    if providers.models.judge_required:
        raise failure
    stood_in = "the one that is built in read everything again."
    what = f"{as_sentence(str(failure))} Instead {stood_in}"
    degraded = StageNote(
        stage="judge",
        message=what[0].upper() + what[1:],
        hint=failure.hint,
        kind="degraded",
        brief=f"The model that tells the sides failed, and {stood_in}",
    )
    return RunState(judge=providers.models.own_judge.name, notes=[degraded])

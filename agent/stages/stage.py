"""Code that all stages share: events, time and budget of a node, and requests to a chat model with a fallback.

Under `auto` the embedded provider replaces a model that fails, and the answer reports it. A model that the user
requires has no fallback: its failure ends the run. A server that is down is asked once per run.
"""

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast

from langgraph.config import get_config
from langgraph.runtime import Runtime
from pydantic import BaseModel

from agent.limits import FALLBACK_SECONDS, FALLBACK_SHARE
from agent.options import RunOptions, run_options, stage_deadline
from agent.stage_interfaces import Providers
from agent.state import FramingState, RunState, StageName, StageNote
from prompts import load_prompt
from tools.budget import Budget, StageLog, budget_scope, current_budget, current_log, deadline, in_time
from tools.errors import DeadlineError, JudgeError, ProviderDownError, ProviderError, as_sentence
from tools.language.identification import name_of_language
from tools.models.chat.model import ChatModel
from tools.store.database import outlast
from tools.translation import mark, speaking, tr, translated

P = ParamSpec("P")
T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)
S = TypeVar("S", bound=Mapping[str, Any])
Stage = Callable[[Providers, S, Runtime[RunOptions]], Awaitable[RunState]]
"""A node of the graph. Inputs: providers, state, the run's options. Returns the update."""


def report(runtime: Runtime[RunOptions], kind: str, **data: Any) -> None:
    runtime.stream_writer({"kind": kind, **data})


def run_id() -> str:
    """Returns the id under which the run stores its passages."""
    return str(get_config().get("configurable", {}).get("thread_id", ""))


def stage(name: StageName) -> Callable[[Stage[S]], Stage[S]]:
    """Decorates a node: reports its start, records its time under `name`, and sets its budget and log.

    The node's update includes the spent budget and the notes of the log. Notes are in the question's language.
    """

    def decorate(node: Stage[S]) -> Stage[S]:
        async def once(providers: Providers, state: S, runtime: Runtime[RunOptions]) -> RunState:
            started = time.time()
            report(runtime, "stage", stage=name)
            budget = budget_of(state, run_options(runtime), name)
            log = StageLog(down=set(state.get("failed_providers") or ()))
            with budget_scope(budget, log), speaking((state.get("framing") or {}).get("language", "")):
                update = cast(RunState, dict(await node(providers, state, runtime)))
                update["intervals"] = {name: [(started, time.time())]}
                update["counts"] = update.get("counts", {}) | budget.spent()
                update["served_by"] = update.get("served_by", {}) | log.served
                update["failed_providers"] = sorted(log.down)
                noted = (StageNote(stage=name, message=m, kind=k, brief=log.briefs.get(m, "")) for k, m in log.notes)
                update["notes"] = [*update.get("notes", []), *noted]
            with speaking((update.get("framing") or state.get("framing") or {}).get("language", "")):
                update["notes"] = [_translated(note) for note in update["notes"]]
            return update

        @wraps(node)
        async def run(providers: Providers, state: S, runtime: Runtime[RunOptions]) -> RunState:
            return await outlast(lambda: once(providers, state, runtime))

        return run

    return decorate


def _translated(note: StageNote) -> StageNote:
    message, hint = translated(note["message"]), translated(note.get("hint", ""))
    return (
        StageNote(**{**note, "message": message, "hint": hint}) if hint in message else note
    )  # `without_hint` needs it


def budget_of(state: Mapping[str, Any], options: RunOptions, name: StageName) -> Budget:
    """Returns the stage's budget: its deadline, and its share of the run's remaining calls, tokens and dollars."""
    spent, share = state.get("counts") or {}, state.get("share", 1)
    return Budget(
        deadline_at=stage_deadline(options, name),
        offline=not options.web,
        built_in=options.built_in,
        max_calls=(options.max_calls - spent.get("calls", 0)) / share,
        max_tokens=(options.max_tokens - spent.get("input_tokens", 0) - spent.get("output_tokens", 0)) / share,
        max_cost=(options.max_cost - spent.get("cost", 0.0)) / share,
    )


def language_name(framing: FramingState) -> str:
    """Returns the English name of the question's language; empty for English."""
    return name_of_language(framing["language"], "en") if framing.get("language") else ""


IN_ENGLISH = "The same in English, only if it is in another language; else empty."


async def ask_model(model: ChatModel, prompt: str, shape: type[M], **values: str) -> M:
    """Returns a model's reply. prompt: of `prompts/`. values: its variables. Raises ProviderError, PromptError."""
    system, user = load_prompt(prompt).render(**values)
    return await model.ask(system, user, shape)


EMBEDDED = "embedded"
_WORK = {
    "frame": mark("reading the question"),
    "expand": mark("planning the sides"),
    "requery": mark("searching again"),
    "write": mark("writing"),
    "lookup": mark("choosing sentences"),
}
"""Names in messages for the stages that use a chat model."""


@dataclass(frozen=True)
class ModelFallback:
    """A chat model that serves a stage. stands_in: whether the embedded provider replaces a model that fails."""

    stage: str
    model: ChatModel
    stands_in: bool = True

    async def call(self, primary: Callable[[], Awaitable[T]], embedded: Callable[[], Awaitable[T]]) -> tuple[T, str]:
        """Returns (result, failure). The result comes from the model, or from the embedded provider if the model failed
        or was not asked. failure: a message; empty if the model did not fail.

        Adds a note if the embedded provider replaces the model. Raises ProviderError if no replacement is allowed.
        JudgeError is passed on unchanged.
        """
        failure, name, log = "", self.model.name, current_log()
        if current_budget().built_in:
            log.note(
                "skipped", tr("{model} was not asked, since the question was for the built-in models.", model=name)
            )
        elif current_budget().offline and not self.model.local:
            log.note("skipped", tr("{model} was not asked, since nothing was to leave this machine.", model=name))
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
                stood_in = tr("Steelman's built-in models stood in for it in {work}.", work=tr(_WORK[self.stage]))
                failure = f"{as_sentence(str(exc))} {stood_in}"
                brief = tr("The model {model} failed, and Steelman's built-in models stood in.", model=name)
                log.note("degraded", failure, brief)
            else:
                self.record(name)
                return result, failure
        if not self.stands_in:
            raise ProviderDownError(f"{name} may not be asked, or failed already, in {_WORK[self.stage]}.")
        result = await embedded()
        self.record(EMBEDDED)
        return result, failure

    def record(self, name: str) -> None:
        """Adds the provider to the stage's providers. A stage that is called per perspective may have two."""
        served = current_log().served
        names = {*filter(None, served.get(self.stage, "").split(" and ")), name}
        served[self.stage] = " and ".join(sorted(names, key=lambda n: (n == EMBEDDED, n)))

    async def _in_time(self, work: Awaitable[T]) -> T:
        left = current_budget().seconds_left()
        try:
            with deadline(time.time() + left - max(0.0, min(FALLBACK_SHARE * left, FALLBACK_SECONDS))):
                return await in_time(work)
        except DeadlineError as exc:
            raise ProviderDownError(f"{self.model.name} did not answer in time.") from exc


def with_fallback(
    fallback: ModelFallback, primary: Callable[P, Awaitable[T]], embedded: Callable[P, Awaitable[T]]
) -> Callable[P, Awaitable[T]]:

    async def served(*args: P.args, **kwargs: P.kwargs) -> T:
        return (await fallback.call(lambda: primary(*args, **kwargs), lambda: embedded(*args, **kwargs)))[0]

    return served


def fall_back_to_own_judge(providers: Providers, failure: JudgeError) -> RunState:
    """Returns a state update with the embedded judge's name and a note. Raises the failure of a required judge."""
    if providers.models.judge_required:
        raise failure
    what = f"{as_sentence(str(failure))} {tr('Instead the one that is built in read everything again.')}"
    degraded = StageNote(
        stage="judge",
        message=what[0].upper() + what[1:],
        hint=failure.hint,
        kind="degraded",
        brief=tr("The model that tells the sides failed, and the one that is built in read everything again."),
    )
    return RunState(judge=providers.models.own_judge.name, notes=[degraded])

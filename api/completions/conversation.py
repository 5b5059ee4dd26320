"""Reads the question of a conversation, the run that it follows up on, and the earlier questions.

A client sends the whole conversation each time. The last line of a reply names its run, which identifies the thread.
Members without an effect (temperature, seed, …) are accepted. Steelman's own options are in the member `steelman`
(`extra_body` of OpenAI's client), so that misspelt ones can be refused.
"""

import asyncio
import contextlib
import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from pydantic import ConfigDict, Field

from agent.answer.followups import suggested_followups
from agent.options import LONGEST_QUESTION, Depth, RunOptions
from agent.runs.bootstrap import default_options
from agent.runs.store import RunRow
from api.callers import Caller
from api.completions.tasks import CONTEXT, Message, OpenAIObject, question_in, tagged_texts
from api.field_types import WholeNumber
from api.problems import FieldProblem, ProblemError
from api.schemas import SearchOptions
from api.service import ApiService
from tools.errors import UnknownRunError

MODELS: dict[str, Depth] = {"steelman": "normal", "steelman-quick": "quick", "steelman-deep": "deep"}
_RUN = re.compile(r"\bRun ([0-9a-f]{12})\b")
_MOST_EARLIER = 20
_CHOICES = (None, "none", "auto")


class StreamOptions(OpenAIObject):
    include_usage: bool | None = Field(default=None, description="Add a last chunk with the number of tokens.")


class ResponseFormat(OpenAIObject):
    type: str = Field(json_schema_extra={"enum": ["text"]})


class CompletionRequest(OpenAIObject):
    """A conversation with the question as its last message.

    The answer consists of verified claims, so options for a model's text have no effect. Options that an answer cannot
    satisfy (several answers, tool calls, JSON by a schema, log-probabilities, sound) are refused.
    """

    model_config = ConfigDict(extra="allow")  # to find options in the wrong place

    model: str = Field(json_schema_extra={"enum": list(MODELS)})
    messages: list[Message] = Field(
        min_length=1, examples=[[{"role": "user", "content": "Should schools ban smartphones?"}]]
    )
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: WholeNumber | None = Field(default=None, json_schema_extra={"enum": [1, None]})
    tool_choice: str | dict[str, Any] | None = Field(default=None, json_schema_extra={"enum": ["none", "auto", None]})
    function_call: str | dict[str, Any] | None = Field(default=None, json_schema_extra={"enum": ["none", "auto", None]})
    response_format: ResponseFormat | None = None
    logprobs: bool | None = Field(default=None, json_schema_extra={"enum": [False, None]})
    top_logprobs: WholeNumber | None = Field(default=None, json_schema_extra={"enum": [0, None]})
    modalities: list[str] | None = Field(default=None, json_schema_extra={"enum": [["text"], None]})
    audio: dict[str, Any] | None = Field(default=None, json_schema_extra={"enum": [None]})
    steelman: SearchOptions | None = Field(
        default=None,
        description="Where and how to search, as in `/v1/ask`. The model's name sets the depth.",
    )


class AskedQuestion(NamedTuple):
    """`thread`: from the request or the last reply; without it the options contain the user's earlier messages.
    `aside`: the app sent passages, which are not read."""

    question: str
    options: RunOptions
    thread: str | None
    aside: bool


async def question_of(service: ApiService, caller: Caller, request: CompletionRequest) -> AskedQuestion:
    """Raises ProblemError for a request without a question or with an impossible option."""
    depth = check(request)
    from_user = [i for i, m in enumerate(request.messages) if m.role == "user"]
    if not from_user:
        raise impossible("messages", "the last message with the role 'user' is the question, and there is none")
    last = request.messages[from_user[-1]]
    _check_text(last, from_user[-1])
    before = request.messages[: from_user[-1]]
    search = request.steelman or SearchOptions()
    run = await (service.run(caller, search.thread) if search.thread else _last_run(service, caller, before))
    question, aside = question_in(last.text)
    aside = aside or any(m.role in ("system", "developer") and _carries_passages(m.text) for m in request.messages)
    usual = partial(default_options, service.runs, depth, before=run, earlier=() if run else _earlier(before))
    options = await asyncio.to_thread(usual, **search.changes)
    return AskedQuestion(question, options, run.thread if run else None, aside)


def check(request: CompletionRequest, *, task: bool = False) -> Depth:
    """Returns the model's depth. Raises ProblemError for options that an answer cannot satisfy; a task may be JSON."""
    depth = depth_of(request.model)
    for member, wrong in _refused(request):
        if not (task and member == "response_format"):
            raise impossible(member, wrong)
    return depth


async def follow_ups(service: ApiService, caller: Caller, messages: Sequence[Message]) -> list[str]:
    """Suggests follow-up questions on the last reply of a conversation or of a task's prompt."""
    for run_id in reversed(_RUN.findall("\n".join(m.text for m in messages))[-_MOST_EARLIER:]):
        with contextlib.suppress(UnknownRunError):
            if (await service.run(caller, run_id)).status == "done":
                return suggested_followups(await service.answer(run_id))
    return []


def depth_of(model: str) -> Depth:
    """Raises ProblemError (404) for an unknown model."""
    if depth := MODELS.get(model):
        return depth
    detail = f"There is no model '{model[:100]}'. Models: {', '.join(MODELS)}. GET /v1/models lists them."
    wrong = FieldProblem(field="model", message=detail)
    raise ProblemError(404, "unknown-model", detail, fields=[wrong])


def impossible(member: str, wrong: str) -> ProblemError:
    return ProblemError(
        400, "impossible-request", f"{member}: {wrong}.", fields=[FieldProblem(field=member, message=wrong)]
    )


def _refused(request: CompletionRequest) -> Iterator[tuple[str, str]]:
    """Options for anything but one text, and Steelman's own options in the wrong place."""
    for member in sorted(SearchOptions.model_fields.keys() & (request.model_extra or {}).keys()):
        yield member, f'put it within \'steelman\', as in {{"steelman": {{"{member}": …}}}}'
    if "depth" in (request.model_extra or {}):
        yield "depth", f"the model sets the depth: {', '.join(MODELS)}"
    if request.n not in (None, 1):
        yield "n", "a question gets one answer; send 1, or omit it"
    for member in ("tool_choice", "function_call"):
        if getattr(request, member) not in _CHOICES:
            yield member, "Steelman calls no tools; send 'auto' or 'none', or omit it"
    if request.response_format and request.response_format.type != "text":
        yield "response_format", "the answer is Markdown; POST /v1/ask returns it as JSON"
    if request.logprobs or request.top_logprobs:
        yield "logprobs", "the answer quotes its sources, so it has no log-probabilities; omit it"
    if request.audio is not None or request.modalities not in (None, ["text"]):
        yield "modalities" if request.audio is None else "audio", "the answer is text; omit it"


def _check_text(message: Message, at: int) -> None:
    parts: Sequence[Any] = message.content if isinstance(message.content, list) else ()
    for number, part in enumerate(parts):
        if part.type != "text":
            place = f"messages.{at}.content.{number}"
            raise impossible(place, f"a question is text, not '{part.type[:40]}'; omit it")


async def _last_run(service: ApiService, caller: Caller, before: Sequence[Message]) -> RunRow | None:
    """The caller's latest run that a reply of the conversation names."""
    for message in reversed(before):
        named = _RUN.findall(message.text) if message.role == "assistant" else []
        if named:
            try:
                return await service.run(caller, named[-1])
            except UnknownRunError:  # another server's or caller's, or deleted
                continue
    return None


def _carries_passages(text: str) -> bool:
    return "[CONTEXT 0]" in text or any(CONTEXT.search(block.name) for block in tagged_texts(text))


def _earlier(before: Sequence[Message]) -> tuple[str, ...]:
    texts = [" ".join(question_in(m.text)[0].split()) for m in before if m.role == "user"]
    return tuple(t for t in texts if 0 < len(t) <= LONGEST_QUESTION)[-_MOST_EARLIER:]

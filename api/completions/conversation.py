"""The question of a conversation, the run that it follows up on, and earlier questions.

A client sends the whole conversation each time. The last line of a reply names its run, so that a follow-up finds
the thread. Members without an effect (temperature, seed, …) are accepted. Steelman's own options stand in one member,
`steelman` (`extra_body` of OpenAI's client), since a misspelt one would be lost among OpenAI's many names.
"""

import asyncio
import contextlib
import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from pydantic import ConfigDict, Field

from agent.answer.followups import suggestions
from agent.options import LONGEST_QUESTION, Depth, RunOptions
from agent.runs.parts import usual_options
from agent.runs.store import RunRow
from api.callers import Caller
from api.completions.tasks import CONTEXT, Message, Sent, blocks, unframed
from api.field_types import WholeNumber
from api.problems import FieldProblem, ProblemError
from api.schemas import SearchOptions
from api.service import Service
from tools.errors import UnknownRunError

MODELS: dict[str, Depth] = {"steelman": "normal", "steelman-quick": "quick", "steelman-deep": "deep"}
_RUN = re.compile(r"\bRun ([0-9a-f]{12})\b")
_MOST_EARLIER = 20
_CHOICES = (None, "none", "auto")


class StreamOptions(Sent):
    include_usage: bool | None = Field(default=None, description="Whether a last chunk tells the tokens.")


class ResponseFormat(Sent):
    type: str = Field(json_schema_extra={"enum": ["text"]})


class CompletionRequest(Sent):
    """A conversation whose last question is to be answered.

    The answer is a document made of verified claims, so nothing that shapes a model's text has an effect; what an
    answer cannot be (several at once, a call of a tool, JSON by a schema, log-probabilities, sound) is refused.
    """

    model_config = ConfigDict(extra="allow")  # to see what stands in the wrong place

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
        description="Where and how to look, as `/v1/ask` takes it. How much is searched is the model's to say.",
    )


class AskedQuestion(NamedTuple):
    """`thread`: the one in the request, or of the last reply; without one the options have the user's earlier messages.
    `aside`: passages were sent along, which are not read."""

    question: str
    options: RunOptions
    thread: str | None
    aside: bool


async def question_of(service: Service, caller: Caller, request: CompletionRequest) -> AskedQuestion:
    """Raises ProblemError for a request that cannot be answered, or not as wanted."""
    depth = check(request)
    from_user = [i for i, m in enumerate(request.messages) if m.role == "user"]
    if not from_user:
        raise impossible("messages", "no message has the role 'user', and the last of those is the question")
    last = request.messages[from_user[-1]]
    _check_text(last, from_user[-1])
    before = request.messages[: from_user[-1]]
    looking = request.steelman or SearchOptions()
    run = await (service.run(caller, looking.thread) if looking.thread else _last_run(service, caller, before))
    question, aside = unframed(last.text)
    aside = aside or any(m.role in ("system", "developer") and _carries_passages(m.text) for m in request.messages)
    usual = partial(usual_options, service.runs, depth, before=run, earlier=() if run else _earlier(before))
    options = await asyncio.to_thread(usual, **looking.changes)
    return AskedQuestion(question, options, run.thread if run else None, aside)


def check(request: CompletionRequest, *, task: bool = False) -> Depth:
    """The depth of the model. Raises ProblemError for members that an answer cannot honour; a task's may be JSON."""
    depth = depth_of(request.model)
    for member, wrong in _refused(request):
        if not (task and member == "response_format"):
            raise impossible(member, wrong)
    return depth


async def follow_ups(service: Service, caller: Caller, messages: Sequence[Message]) -> list[str]:
    """Follow-up questions of the last reply in a conversation, or in the prompt of a task."""
    for run_id in reversed(_RUN.findall("\n".join(m.text for m in messages))[-_MOST_EARLIER:]):
        with contextlib.suppress(UnknownRunError):
            if (await service.run(caller, run_id)).status == "done":
                return suggestions(await service.answer(run_id))
    return []


def depth_of(model: str) -> Depth:
    """Raises ProblemError (404) for an unknown model."""
    if depth := MODELS.get(model):
        return depth
    detail = f"There is no model '{model[:100]}'. There are {', '.join(MODELS)}; GET /v1/models lists them."
    wrong = FieldProblem(field="model", message=detail)
    raise ProblemError(404, "unknown-model", detail, fields=[wrong])


def impossible(member: str, wrong: str) -> ProblemError:
    return ProblemError(
        400, "impossible-request", f"{member}: {wrong}.", fields=[FieldProblem(field=member, message=wrong)]
    )


def _refused(request: CompletionRequest) -> Iterator[tuple[str, str]]:
    """Members that ask for anything but one text, and Steelman's own options in the wrong place."""
    for member in sorted(SearchOptions.model_fields.keys() & (request.model_extra or {}).keys()):
        yield member, f'this stands within \'steelman\', as in {{"steelman": {{"{member}": …}}}}'
    if "depth" in (request.model_extra or {}):
        yield "depth", f"the model says how much is searched: {', '.join(MODELS)}"
    if request.n not in (None, 1):
        yield "n", "a question gets one answer here; send 1, or leave it out"
    for member in ("tool_choice", "function_call"):
        if getattr(request, member) not in _CHOICES:
            yield member, "Steelman calls no tools: it answers; send 'auto' or 'none', or leave it out"
    if request.response_format and request.response_format.type != "text":
        yield "response_format", "the answer is Markdown; POST /v1/ask gives the same answer as JSON"
    if request.logprobs or request.top_logprobs:
        yield "logprobs", "the answer quotes its sources, so that its words have no log-probabilities; leave it out"
    if request.audio is not None or request.modalities not in (None, ["text"]):
        yield "modalities" if request.audio is None else "audio", "the answer is text; leave it out"


def _check_text(message: Message, at: int) -> None:
    parts: Sequence[Any] = message.content if isinstance(message.content, list) else ()
    for number, part in enumerate(parts):
        if part.type != "text":
            place = f"messages.{at}.content.{number}"
            raise impossible(place, f"a question is text, and this is of the type '{part.type[:40]}'; leave it out")


async def _last_run(service: Service, caller: Caller, before: Sequence[Message]) -> RunRow | None:
    """The caller's run that the last reply names."""
    for message in reversed(before):
        named = _RUN.findall(message.text) if message.role == "assistant" else []
        if named:
            try:
                return await service.run(caller, named[-1])
            except UnknownRunError:  # another server's, deleted since, or somebody else's
                continue
    return None


def _carries_passages(text: str) -> bool:
    return "[CONTEXT 0]" in text or any(CONTEXT.search(block.name) for block in blocks(text))


def _earlier(before: Sequence[Message]) -> tuple[str, ...]:
    texts = [" ".join(unframed(m.text)[0].split()) for m in before if m.role == "user"]
    return tuple(t for t in texts if 0 < len(t) <= LONGEST_QUESTION)[-_MOST_EARLIER:]

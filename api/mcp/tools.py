"""The tools: ask, retrieve, judge. Each says to the model when to use it and what to make of what comes back."""

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from mcp_types import CallToolResult, TextContent, Tool, ToolAnnotations
from pydantic import BaseModel, ValidationError

from agent.answer.model import Answer
from agent.answer.retrieved import Retrieved
from api.callers import Caller
from api.mcp.texts import answer_text, judged_text, retrieved_text
from api.problems import ProblemError, problem_of
from api.progress import WHOLE, Progress
from api.schemas import Judged, JudgeRequest, Question
from api.service import Service
from tools.errors import RunCancelledError, RunError, SteelmanError, UnknownCollectionError, UnknownRunError

_Input = TypeVar("_Input", bound=BaseModel)
_LISTS = ("collections", "domains", "pairs")

_ASK = """\
Answers a contentious question with every side's strongest case from the sources, each sentence with its citation. \
Use it when people reasonably disagree (policy, ethics, plans, 'should we …', 'is X good for …'), when the user wants \
both sides or counter-arguments, or before you argue for one side yourself. Not for plain facts, sums or code. \
Sentences in quotation marks stand in their source word for word and [n] is the source's number: keep both. A side \
that is 'not found' was looked for without success; say so rather than fill it in from memory. 'The sources found \
agree' counts evidence and does not say what is true. Takes seconds to minutes."""
_RETRIEVE = """\
Finds passages for every side of a contentious question, without writing an answer: sides with their best passages, \
each with its source and the probability that it supports its side. Use it when you want to write the answer \
yourself from evidence, or want more passages than `ask` quotes. Otherwise use `ask`."""
_JUDGE = """\
Gives for each pair of a statement and a passage the probability that the passage supports the statement. Use it to \
check a citation or a claim of your own against a text that you have. It searches nothing: bring the passages. Give \
`contrary`, the opposing statement, where there is one: passages that support it count against."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool: whose it is, how to tell its progress, whether its run stops where it is cancelled."""

    caller: Caller
    progress: Callable[[float, float, str], Awaitable[None]]
    stops: bool


Run = Callable[[Service, Call, Mapping[str, Any]], Awaitable[CallToolResult]]


async def call_tool(service: Service, name: str, call: Call, arguments: Mapping[str, Any]) -> CallToolResult:
    """What the tool gives. Raises SteelmanError, ProblemError."""
    return await _RUNS[name](service, call, arguments)


def failure_text(exc: SteelmanError | ProblemError) -> str:
    """A failure as a model is told it: what is wrong, and what to do next with these tools."""
    if isinstance(exc, ProblemError):
        return exc.problem.detail
    if isinstance(exc, UnknownRunError):
        return "There is no such run of yours. The id of a run stands at the end of the answer that it gave."
    if isinstance(exc, UnknownCollectionError):
        return exc.remote_text
    if isinstance(exc, RunCancelledError):
        return "The run was cancelled before it had an answer. Ask again if it is still wanted."
    return f"{exc.remote_text} Ask again." if isinstance(exc, RunError) else problem_of(exc).problem.detail


def failure(text: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)


async def _ask(service: Service, call: Call, arguments: Mapping[str, Any]) -> CallToolResult:
    answer = await service.answer(await _ended(service, call, arguments, writing=True))
    return _result(answer, answer_text(answer))


async def _retrieve(service: Service, call: Call, arguments: Mapping[str, Any]) -> CallToolResult:
    found = await service.retrieved(await _ended(service, call, arguments, writing=False))
    return _result(found, retrieved_text(found))


async def _judge(service: Service, call: Call, arguments: Mapping[str, Any]) -> CallToolResult:
    request = _read(JudgeRequest, arguments)
    verdicts = await service.judge(call.caller, request)
    return _result(verdicts, judged_text(verdicts, request.pairs))


async def _ended(service: Service, call: Call, arguments: Mapping[str, Any], *, writing: bool) -> str:
    """Begins the run and tells its progress until it ends; returns its id."""
    run_id = await service.start(call.caller, _read(Question, arguments), writing=writing)
    progress = Progress()
    try:
        async for event in service.events(run_id):
            if now := progress.step(event):
                await call.progress(now[0], WHOLE, now[1])
    except asyncio.CancelledError:
        if call.stops:  # over HTTP it may be a lost connection as well, which costs a run nothing
            await asyncio.shield(service.runs.cancel(run_id))
        raise
    return run_id


def _read(model: type[_Input], arguments: Mapping[str, Any]) -> _Input:
    """The arguments as the model has them. Some models send a list as the JSON of a list, and null or nothing for what
    they leave out. Raises ProblemError that names the fields."""
    given = {name: value for name, value in arguments.items() if value not in (None, "", [])}
    for name in _LISTS:
        with contextlib.suppress(ValueError, RecursionError):
            given |= {name: json.loads(given[name])} if isinstance(given.get(name), str) else {}
    try:
        return model.model_validate(given)
    except ValidationError as exc:
        wrong = [f"{'.'.join(map(str, e['loc']))}: {str(e['msg']).removeprefix('Value error, ')}" for e in exc.errors()]
        detail = f"{'; '.join(wrong[:5])}. The arguments are: {', '.join(model.model_fields)}."
        raise ProblemError(422, "invalid-request", "The arguments are not as they should be", detail) from exc


def _result(made: BaseModel, text: str) -> CallToolResult:
    content = TextContent(type="text", text=text)
    return CallToolResult(content=[content], structured_content=made.model_dump(mode="json"))


def _tool(name: str, title: str, description: str, takes: type[BaseModel], gives: type[BaseModel], web: bool) -> Tool:
    return Tool(
        name=name,
        title=title,
        description=description,
        input_schema=takes.model_json_schema(mode="validation"),
        output_schema=gives.model_json_schema(mode="serialization"),
        annotations=ToolAnnotations(
            read_only_hint=True, destructive_hint=False, idempotent_hint=not web, open_world_hint=web
        ),
    )


TOOLS = [
    _tool("ask", "Every side's strongest case", _ASK, Question, Answer, True),
    _tool("retrieve", "Evidence for every side", _RETRIEVE, Question, Retrieved, True),
    _tool("judge", "Does the passage support it?", _JUDGE, JudgeRequest, Judged, False),
]
_RUNS: dict[str, Run] = {"ask": _ask, "retrieve": _retrieve, "judge": _judge}

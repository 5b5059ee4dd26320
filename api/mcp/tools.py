"""The tools: ask, retrieve, judge. Each says to the model when to use it and what to make of what comes back."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mcp_types import CallToolResult, TextContent, Tool, ToolAnnotations
from pydantic import BaseModel

from agent.answer.model import Answer
from agent.answer.retrieved import Retrieved
from agent.runs.store import Event
from api.callers import Caller
from api.mcp.failures import unknown_collection
from api.mcp.inputs import QuestionInput, read
from api.mcp.progress import WHOLE, Steps
from api.mcp.texts import answer_text, judged_text, retrieved_text
from api.routes.judging import judged
from api.schemas import Judged, JudgeRequest
from api.service import Service
from tools.errors import UnknownCollectionError

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


def failure(text: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)


async def _ask(service: Service, call: Call, arguments: Mapping[str, Any]) -> CallToolResult:
    answer = await service.answer(await _ended(service, call, arguments, writing=True))
    return _result(answer, answer_text(answer))


async def _retrieve(service: Service, call: Call, arguments: Mapping[str, Any]) -> CallToolResult:
    found = await service.retrieved(await _ended(service, call, arguments, writing=False))
    return _result(found, retrieved_text(found))


async def _judge(service: Service, call: Call, arguments: Mapping[str, Any]) -> CallToolResult:
    request = read(JudgeRequest, arguments)
    verdicts = await judged(request, service, call.caller)
    return _result(verdicts, judged_text(verdicts, request.pairs))


async def _ended(service: Service, call: Call, arguments: Mapping[str, Any], *, writing: bool) -> str:
    """Begins the run and tells its progress until it ends; returns its id."""
    question = read(QuestionInput, arguments)
    try:
        run_id = await service.start(call.caller, question.request(), writing=writing)
    except UnknownCollectionError as exc:
        if not question.collections:
            raise
        raise await asyncio.to_thread(unknown_collection, question.collections, service) from exc
    steps = Steps()
    event: Event
    try:
        async for event in service.events(run_id):
            if now := steps.step(event):
                await call.progress(now[0], WHOLE, now[1])
    except asyncio.CancelledError:
        if call.stops:  # over HTTP it may be a lost connection as well, which costs a run nothing
            await asyncio.shield(service.runs.cancel(run_id))
        raise
    return run_id


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
    _tool("ask", "Every side's strongest case", _ASK, QuestionInput, Answer, True),
    _tool("retrieve", "Evidence for every side", _RETRIEVE, QuestionInput, Retrieved, True),
    _tool("judge", "Does the passage support it?", _JUDGE, JudgeRequest, Judged, False),
]
_RUNS: dict[str, Run] = {"ask": _ask, "retrieve": _retrieve, "judge": _judge}

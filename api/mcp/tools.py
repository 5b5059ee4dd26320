"""Describes the tools ask, retrieve and judge for models, and returns their results as Markdown with citations."""

import asyncio
import contextlib
import json
from collections.abc import Mapping
from typing import Any, TypeVar

from mcp.server.context import ServerRequestContext
from mcp_types import CallToolResult, TextContent, Tool, ToolAnnotations
from pydantic import BaseModel, ValidationError

from agent.answer.files import escape_markdown, to_markdown
from agent.answer.model import Answer
from agent.answer.retrieved import Retrieved, RetrievedPassage, RetrievedPerspective
from agent.answer.summary import search_completed
from agent.answer.wording import problem_line, stance_labels, strip_control_characters
from agent.runs.progress import COMPLETE, RunProgress
from agent.state import is_answer
from api.problems import ProblemError
from api.schemas import Judged, JudgeRequest, QuestionRequest
from api.service import ApiService, service_of
from tools.errors import RunError, SteelmanError
from tools.language.lexicon import count

_Input = TypeVar("_Input", bound=BaseModel)
_LISTS = ("collections", "domains", "sources", "urls", "pairs")
SCHEME = "steelman://answers/"
_SHOWN = 5
"""The largest number of passages of a side in the text. The structured result has all passages."""
_USE = (
    "Keep the numbers in square brackets and the list of sources when you pass this on. A side without quotations may "
    "still have good arguments."
)
_NOTHING = "There is nothing to cite. Say that nothing was found; do not answer from memory."
_UNDONE = (
    "There is nothing to cite: say that not all could be searched, read or judged. Do not say that nothing was found, "
    "and do not answer from memory."
)
_ON = f"Follow up: call `ask` with thread={{run}}. Kept as {SCHEME}{{run}}"

_ASK = """\
Answers a contentious question with every side's strongest case from the sources, each sentence with its citation. \
Use it when people reasonably disagree (policy, ethics, plans, 'should we …', 'is X good for …'), when the user wants \
both sides or counter-arguments, or before you argue for one side yourself. Not for plain facts, sums or code. \
Sentences in quotation marks are verbatim from their source and [n] is the source's number: keep both. If a side has \
no quotation, say so; do not fill it in from memory. Sentences under 'On this question' belong to no side. The counts \
of documents do not say what is true. Takes seconds to minutes."""
_RETRIEVE = """\
Retrieves passages for every side of a contentious question without writing an answer: each passage with its source \
and the probability that it supports its side. Use it to write the answer yourself from evidence, or to get more \
passages than `ask` quotes. Otherwise use `ask`."""
_JUDGE = """\
Returns for each pair of a statement and a passage the probability that the passage supports the statement. Use it to \
check a citation or your own claim against a text that you have. It does not search: send the passages. Send also \
`contrary`, the opposing statement, if there is one: passages that support it count against."""


Context = ServerRequestContext[ApiService | None, Any]


def service_in(ctx: Context) -> ApiService:
    service = service_of(ctx.request) if ctx.request else ctx.lifespan_context
    assert service
    return service


def failure(exc: Exception) -> CallToolResult:
    """Tells a model about a failure, without advice on HTTP calls or the command line."""
    text = "Steelman failed. The server's log has the reason. Try once more."
    if isinstance(exc, ProblemError):
        text = exc.detail
    elif isinstance(exc, SteelmanError):
        text = f"{exc.remote_text} Ask again." if isinstance(exc, RunError) else exc.remote_text
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)


async def _ask(ctx: Context, arguments: Mapping[str, Any]) -> CallToolResult:
    answer = await service_in(ctx).answer(await _run(ctx, arguments, writing=True))
    return _result(answer, answer_text(answer))


async def _retrieve(ctx: Context, arguments: Mapping[str, Any]) -> CallToolResult:
    found = await service_in(ctx).retrieved(await _run(ctx, arguments, writing=False))
    return _result(found, retrieved_text(found))


async def _judge(ctx: Context, arguments: Mapping[str, Any]) -> CallToolResult:
    judged = await service_in(ctx).judge(_read(JudgeRequest, arguments))
    return _result(judged, judged.model_dump_json())


async def _run(ctx: Context, arguments: Mapping[str, Any], *, writing: bool) -> str:
    """Starts a run and sends progress until the run ends. Returns the run's id."""
    service = service_in(ctx)
    run_id = await service.start(_read(QuestionRequest, arguments), writing=writing)
    progress = RunProgress()
    try:
        async for event in service.events(run_id):
            if now := progress.step(event):
                await ctx.session.report_progress(now[0], COMPLETE, now[1])
    except asyncio.CancelledError:
        if ctx.request is None:  # over HTTP the connection may be lost, and the run continues
            await asyncio.shield(service.runs.cancel(run_id))
        raise
    return run_id


def _read(model: type[_Input], arguments: Mapping[str, Any]) -> _Input:
    """Parses the arguments. Some assistants send a list as JSON text, one entry instead of a list, or null for a field
    that they could omit. Raises ProblemError that names the invalid fields."""
    given = {name: value for name, value in arguments.items() if value not in (None, "null", "", "[]", [])}
    for name in given.keys() & _LISTS:
        sent = given[name]
        with contextlib.suppress(ValueError, TypeError, RecursionError):
            sent = json.loads(sent)
        given[name] = sent if isinstance(sent, list) else [sent if isinstance(sent, dict | str) else given[name]]
    try:
        return model.model_validate(given, strict=False)
    except ValidationError as exc:
        wrong = [f"{'.'.join(map(str, e['loc']))}: {str(e['msg']).removeprefix('Value error, ')}" for e in exc.errors()]
        detail = f"{'; '.join(wrong[:5])}. The arguments are: {', '.join(model.model_fields)}."
        raise ProblemError(422, "invalid-request", detail) from exc


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
    _tool("ask", "Every side's strongest case", _ASK, QuestionRequest, Answer, True),
    _tool("retrieve", "Evidence for every side", _RETRIEVE, QuestionRequest, Retrieved, True),
    _tool("judge", "Does the passage support it?", _JUDGE, JudgeRequest, Judged, False),
]
TOOL_FUNCTIONS = {"ask": _ask, "retrieve": _retrieve, "judge": _judge}


# The results as text


def answer_text(answer: Answer) -> str:
    """Returns the answer, with instructions on how to cite the answer and how to follow up."""
    nothing = _NOTHING if search_completed({note.kind for note in answer.notes}) else _UNDONE
    use = _USE if answer.citations else nothing
    return f"{to_markdown(answer, remote=True)}\n{use} {_ON.format(run=answer.run_id)}\n"


def retrieved_text(found: Retrieved) -> str:
    lines = [f"# {_escaped(found.question)}", ""]
    for side in found.perspectives:
        lines += _side(side, stance_labels(found.question)[side.stance])
    lines += [f"> {_escaped(line)}\n" for line in [problem_line(found.notes)] if line]
    if not found.perspectives:
        lines += ["No sides were found for this question.", ""]
    lines.append("Quote passages word for word and name their sources. A number in front is the support, from 0 to 1.")
    lines.append(f"Follow up: call `ask` or `retrieve` with thread={found.run_id}.")
    return "\n".join(lines) + "\n"


def _side(side: RetrievedPerspective, label: str) -> list[str]:
    head = side.name if is_answer(side.name, side.statement) else f"{label}: {side.statement}"
    lines = [f"## {_escaped(head)}", ""]
    if side.status == "not_found":
        tried = " · ".join(_escaped(q) for q in side.queries)
        lines += [f"No passage supports this side clearly enough. Queries: {tried}", ""]
    else:
        lines += [f"*{side.strength}: {count(side.sources, 'source')}*", ""]
    best = [p for p in side.passages if p.counts] or side.passages
    lines += [_passage(p) for p in best[:_SHOWN]]
    if more := len(side.passages) - len(best[:_SHOWN]):
        lines.append(f"- {more} more in the structured result")
    return [*lines, ""]


def _passage(passage: RetrievedPassage) -> str:
    support = "not judged" if passage.support is None else f"{passage.support:.2f}"
    said_by = passage.speaker or (passage.author and f"by {passage.author}")
    source = [said_by, passage.title, passage.publisher, passage.date, passage.url or passage.document_id]
    return f"- ({support}) “{_escaped(passage.text)}” {_escaped(', '.join(filter(None, source)))}"


def _escaped(text: str) -> str:
    """Returns untrusted text on one line, without invisible characters and Markdown."""
    return escape_markdown(strip_control_characters(text))

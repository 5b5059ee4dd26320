"""The agent as an MCP server: one definition, over standard input and output and over HTTP.

transport (a process of its own, or streamable HTTP at /mcp) ─▶ tools.py, answers as resources ─▶ service

The package's low-level server is used, since resources differ by caller.
"""

import asyncio
import contextlib
import logging
import re
import sys
from typing import Any

from fastapi import FastAPI
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListResourcesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    TextResourceContents,
)
from starlette.routing import Route

from agent.answer.files import to_markdown
from agent.settings import Settings
from api.callers import Caller, caller_of
from api.mcp.tools import RUNS, SCHEME, TOOLS, Call, failure
from api.problems import ProblemError
from api.service import Service, open_service, service_of, stored_answer
from tools.errors import SteelmanError, UnknownRunError

logger = logging.getLogger(__name__)
PATH = "/mcp"
_LISTED = 50
_ADDRESS = re.compile(rf"{re.escape(SCHEME)}([0-9a-f]{{12}})")
_MARKDOWN = "text/markdown"
_INSTRUCTIONS = """\
Steelman finds the strongest sourced case for every side of a contentious question. `ask` gives a finished answer with \
citations, `retrieve` the passages alone, `judge` checks whether a passage supports a statement. It does not say who \
is right. Keep quotations word for word and their numbers with the list of sources, and report what was not found. \
Follow up with `thread`. Earlier answers are resources under steelman://answers/."""

Context = ServerRequestContext[Service | None, Any]


async def list_tools(_: Context, __: PaginatedRequestParams | None) -> ListToolsResult:
    return ListToolsResult(tools=TOOLS)


async def call_tool(ctx: Context, params: CallToolRequestParams) -> CallToolResult:
    if params.name not in RUNS:
        raise MCPError(code=INVALID_PARAMS, message=f"There is no such tool. The tools are: {', '.join(RUNS)}.")
    try:
        call = Call(_caller_of(ctx), ctx.session.report_progress, stops=ctx.request is None)
        return await RUNS[params.name](_service(ctx), call, params.arguments or {})
    except Exception as exc:  # told to the model
        if not isinstance(exc, SteelmanError | ProblemError):
            logger.exception("%s failed", params.name)
        return failure(exc)


async def list_resources(ctx: Context, _: PaginatedRequestParams | None) -> ListResourcesResult:
    """The caller's last answers, newest first."""
    service = _service(ctx)
    resources = [
        Resource(
            uri=f"{SCHEME}{run.id}",
            name=run.id,
            title=run.question,
            description=f"Answered {run.finished_at}",
            mime_type=_MARKDOWN,
        )
        for run in await service.answered(_caller_of(ctx), _LISTED)
    ]
    return ListResourcesResult(resources=resources)


async def read_resource(ctx: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
    """Raises MCPError for an address that is wrong or of no answer of the caller's."""
    service, uri = _service(ctx), str(params.uri)
    address = _ADDRESS.fullmatch(uri)
    if address is None:
        what = f"There is no such resource. Resources are {SCHEME} and the twelve characters of a run's id."
        raise MCPError(code=INVALID_PARAMS, message=what, data={"uri": uri})
    try:
        row = await service.run(_caller_of(ctx), address[1])
        answer = stored_answer(row)
        why = "" if answer else f"Run {row.id} has no answer: it is {row.status}. Read it again, or ask again."
    except UnknownRunError:
        answer, why = None, f"There is no answer of run {address[1]}. List the resources to see your last ones."
    if answer is None:
        raise MCPError(code=INVALID_PARAMS, message=why, data={"uri": uri})
    shown = TextResourceContents(uri=uri, text=to_markdown(answer, remote=True), mime_type=_MARKDOWN)
    return ReadResourceResult(contents=[shown])


def _caller_of(ctx: Context) -> Caller:
    """The guard's caller of a request over HTTP; the owner of the process otherwise."""
    return caller_of(ctx.request) if ctx.request else Caller()


def build_server(service: Service | None = None) -> Server[Service | None]:
    """The server over this service, or over that of the application that a request came through."""
    return Server(
        "steelman",
        version="1.0",
        title="Steelman",
        description="Every side's strongest sourced case for a contentious question.",
        instructions=_INSTRUCTIONS,
        lifespan=lambda _: contextlib.nullcontext(service),
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_read_resource=read_resource,
    )


def _service(ctx: Context) -> Service:
    service = service_of(ctx.request) if ctx.request else ctx.lifespan_context
    assert service
    return service


def mount(app: FastAPI, settings: Settings) -> StreamableHTTPSessionManager:
    """Adds the routes of MCP over HTTP; the manager has to run meanwhile.

    No session is kept, so that a restart loses none. Both paths are routes, since some clients follow no redirect.
    """
    logging.getLogger("mcp").setLevel(logging.WARNING)  # two lines for every request otherwise
    server = build_server()
    mounted = server.streamable_http_app(
        stateless_http=True,
        max_request_body_size=settings.api_upload * 1_000_000,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),  # the guard's work
    )
    [route] = mounted.routes
    assert isinstance(route, Route)
    app.router.routes.extend(
        Route(path, route.endpoint, methods=["POST"], include_in_schema=False) for path in (PATH, f"{PATH}/")
    )
    return server.session_manager


def serve_stdio(settings: Settings) -> int:
    """Speaks MCP until standard input ends: the process that an assistant starts for itself.

    Standard output carries the protocol alone; messages for people go to standard error.
    """
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="steelman: %(message)s")
    if sys.stdin.isatty():
        print("This command speaks MCP to an assistant, which starts it: see --help. Ctrl-C ends it.", file=sys.stderr)
    try:
        asyncio.run(_serve(settings))
    except BaseExceptionGroup as group:
        _, rest = group.split(BrokenPipeError)  # the assistant went away without a word
        if rest is not None:
            raise rest from None
    return 0


async def _serve(settings: Settings) -> None:
    async with contextlib.AsyncExitStack() as stack:
        with contextlib.redirect_stdout(sys.stderr):  # of what a library prints
            server = build_server(await stack.enter_async_context(open_service(settings)))
        reading, writing = await stack.enter_async_context(stdio_server())
        with contextlib.redirect_stdout(sys.stderr):
            await server.run(reading, writing, server.create_initialization_options())

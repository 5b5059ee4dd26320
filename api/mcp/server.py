"""The MCP server, over standard input and output and over HTTP.

transport (its own process, or streamable HTTP at /mcp) ─▶ tools.py, answers as resources ─▶ service

This module uses the package's low-level server, because resources differ by caller.
"""

import asyncio
import contextlib
import logging
import re
import sys

import mcp_types as types
from fastapi import FastAPI
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from starlette.routing import Route

from agent.answer.files import to_markdown
from agent.settings import Settings
from api.mcp.tools import SCHEME, TOOL_FUNCTIONS, TOOLS, Context, failure, service_in
from api.problems import ProblemError
from api.service import ApiService, open_service, stored_answer
from tools.errors import SteelmanError, UnknownRunError

logger = logging.getLogger(__name__)
PATH = "/mcp"
_LISTED = 50
_ADDRESS = re.compile(rf"{re.escape(SCHEME)}([0-9a-f]{{12}})")
_MARKDOWN = "text/markdown"
_INSTRUCTIONS = """\
Steelman retrieves the strongest sourced case for every side of a contentious question. `ask` returns an answer with \
citations, `retrieve` only passages; `judge` checks whether a passage supports a statement. It does not say who is \
right. Keep quotations word for word and their numbers with the list of sources, and report sides without sources. \
Follow up with `thread`. Earlier answers are resources under steelman://answers/."""


async def list_tools(_: Context, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    return types.ListToolsResult(tools=TOOLS)


async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    if params.name not in TOOL_FUNCTIONS:
        raise MCPError(code=types.INVALID_PARAMS, message=f"There is no such tool. Tools: {', '.join(TOOL_FUNCTIONS)}.")
    try:
        return await TOOL_FUNCTIONS[params.name](ctx, params.arguments or {})
    except Exception as exc:  # the model gets the reason
        if not isinstance(exc, SteelmanError | ProblemError):
            logger.exception("%s failed", params.name)
        return failure(exc)


async def list_resources(ctx: Context, _: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
    """Lists the caller's latest answers, newest first."""
    resources = [
        types.Resource(uri=SCHEME + run.id, name=run.id, title=run.question, mime_type=_MARKDOWN)
        for run in await service_in(ctx).answered(_LISTED)
    ]
    return types.ListResourcesResult(resources=resources)


async def read_resource(ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    """Returns an answer. Raises MCPError if the address is invalid, or the caller has no such answer."""
    uri = str(params.uri)
    address = _ADDRESS.fullmatch(uri)
    with contextlib.suppress(UnknownRunError):
        if address and (answer := stored_answer(await service_in(ctx).run(address[1]))):
            shown = types.TextResourceContents(uri=uri, text=to_markdown(answer, remote=True), mime_type=_MARKDOWN)
            return types.ReadResourceResult(contents=[shown])
    cause = f"There is no answer at this address. It is {SCHEME} and a run's id. List the resources to see your latest."
    raise MCPError(code=types.INVALID_PARAMS, message=cause, data={"uri": uri})


def build_server(service: ApiService | None = None) -> Server[ApiService | None]:
    """Builds the server. Without a service, the server uses the HTTP application's service."""
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


def mount(app: FastAPI, settings: Settings) -> StreamableHTTPSessionManager:
    """Adds the routes of MCP over HTTP. The returned manager must run while the application does.

    The server has no sessions, so a restart loses none. Both paths are routes, because some clients follow no redirect.
    """
    logging.getLogger("mcp").setLevel(logging.WARNING)  # its INFO level logs two lines a request
    server = build_server()
    mounted = server.streamable_http_app(
        stateless_http=True,
        max_request_body_size=settings.api_upload * 1_000_000,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),  # the guard checks hosts
    )
    [route] = mounted.routes
    assert isinstance(route, Route)
    app.router.routes.extend(
        Route(path, route.endpoint, methods=["POST"], include_in_schema=False) for path in (PATH, f"{PATH}/")
    )
    return server.session_manager


def serve_stdio(settings: Settings) -> int:
    """Speaks MCP until standard input ends. An assistant starts this process.

    Standard output contains only the protocol; messages for people go to standard error.
    """
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="steelman: %(message)s")
    if sys.stdin.isatty():
        print("This command speaks MCP to an assistant that starts it (see --help). Ctrl-C ends it.", file=sys.stderr)
    try:
        asyncio.run(_serve(settings))
    except BaseExceptionGroup as group:
        _, rest = group.split(BrokenPipeError)  # the assistant closed the pipe
        if rest is not None:
            raise rest from None
    return 0


async def _serve(settings: Settings) -> None:
    async with contextlib.AsyncExitStack() as stack:
        with contextlib.redirect_stdout(sys.stderr):  # libraries may print
            server = build_server(await stack.enter_async_context(open_service(settings)))
        reading, writing = await stack.enter_async_context(stdio_server())
        with contextlib.redirect_stdout(sys.stderr):
            await server.run(reading, writing, server.create_initialization_options())

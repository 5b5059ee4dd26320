"""The MCP server: what it offers, whoever carries the messages.

transport (stdio.py, mounted.py) ─▶ Handlers ─▶ tools.py, resources.py ─▶ service ─▶ the agent's service

The package's low-level server is used, since resources differ by caller.
"""

import asyncio
import itertools
import logging
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
)

from api.callers import Caller
from api.mcp import resources
from api.mcp.failures import INSIDE, failure_text
from api.mcp.progress import FIRST_STEP, WHOLE
from api.mcp.tools import TOOLS, Call, call_tool, failure
from api.problems import ProblemError
from api.service import Service
from tools.errors import SteelmanError

logger = logging.getLogger(__name__)
VERSION = "1.0"
_OPENING_SECONDS = 2.0
_INSTRUCTIONS = """\
Steelman finds the strongest sourced case for every side of a contentious question. `ask` gives a finished answer with \
citations, `retrieve` the passages alone, `judge` checks whether a passage supports a statement. It does not say who \
is right. Keep quotations word for word and their numbers with the list of sources, and report what was not found. \
Follow up with `thread`. Earlier answers are resources under steelman://answers/."""

Opened = Callable[[], Awaitable[Service]]
"""The service, once it is open."""
Opening = Callable[[], AbstractAsyncContextManager[Opened]]
Context = ServerRequestContext[Opened, Any]


class Handlers:
    """Answers what the package hands on. A cancelled request ends here, and its run where the process is its own."""

    def __init__(self, caller: Caller) -> None:
        """caller: whose the requests are that came by no guard."""
        self._caller = caller

    async def list_tools(self, _: Context, __: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=TOOLS)

    async def call_tool(self, ctx: Context, params: CallToolRequestParams) -> CallToolResult:
        if params.name not in (names := [tool.name for tool in TOOLS]):
            raise MCPError(code=INVALID_PARAMS, message=f"There is no such tool. The tools are: {', '.join(names)}.")
        try:
            call = Call(self._caller_of(ctx), ctx.session.report_progress, stops=ctx.request is None)
            return await call_tool(await _opened(ctx), params.name, call, params.arguments or {})
        except (SteelmanError, ProblemError) as exc:
            return failure(failure_text(exc))
        except Exception:
            logger.exception("%s failed", params.name)
            return failure(INSIDE)

    async def list_resources(self, ctx: Context, _: PaginatedRequestParams | None) -> ListResourcesResult:
        return await resources.listed(await ctx.lifespan_context(), self._caller_of(ctx))

    async def list_templates(self, _: Context, __: PaginatedRequestParams | None) -> ListResourceTemplatesResult:
        return resources.templates()

    async def read_resource(self, ctx: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        return await resources.read(await ctx.lifespan_context(), self._caller_of(ctx), str(params.uri))

    def _caller_of(self, ctx: Context) -> Caller:
        """As the guard found out, where a request came through it."""
        caller: Caller = self._caller if ctx.request is None else ctx.request.scope["state"]["caller"]
        return caller


def build_server(opening: Opening, caller: Caller) -> Server[Opened]:
    """The server over a service that `opening` opens; `caller` is whose the requests are that came by no guard."""
    handlers = Handlers(caller)
    return Server(
        "steelman",
        version=VERSION,
        title="Steelman",
        description="Every side's strongest sourced case for a contentious question.",
        instructions=_INSTRUCTIONS,
        lifespan=lambda _: opening(),
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_templates,
        on_read_resource=handlers.read_resource,
    )


async def _opened(ctx: Context) -> Service:
    """The service; a caller that has to wait until it is open is told so, lest its patience end."""
    opening = asyncio.ensure_future(ctx.lifespan_context())
    try:
        for turn in itertools.count(1):
            await asyncio.wait([opening], timeout=_OPENING_SECONDS)
            if opening.done():
                break
            done = FIRST_STEP * turn / (turn + 1)
            await ctx.session.report_progress(done, WHOLE, "opening the store; the first time takes a minute or two")
        return opening.result()
    finally:
        opening.cancel()

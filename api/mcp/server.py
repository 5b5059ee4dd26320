"""The MCP server: what it offers, whoever carries the messages.

transport (stdio.py, mounted.py) ─▶ Handlers ─▶ tools.py, resources.py ─▶ service ─▶ the agent's service

The package's low-level server is used, since resources differ by caller and every refusal is worded here.
"""

import asyncio
import itertools
import logging
import re
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
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
from pydantic import ValidationError

from api.callers import Caller
from api.mcp import resources
from api.mcp.failures import INSIDE, failure_text
from api.mcp.progress import FIRST_STEP, WHOLE
from api.mcp.tools import TOOLS, Call, call_tool, failure
from api.mcp.waits import Wait, Waits
from api.problems import ProblemError
from api.service import Service
from tools.errors import SteelmanError

logger = logging.getLogger(__name__)
VERSION = "1.0"
_OPENING_SECONDS = 2.0
SESSION_HEADER = "mcp-session-id"
_SESSION = re.compile(r"[0-9a-f]{32}")
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
    """Answers what the package hands on."""

    def __init__(self, caller_of: Callable[[Context], Caller]) -> None:
        self._caller_of = caller_of
        self._waits = Waits()

    async def list_tools(self, _: Context, __: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=TOOLS)

    async def call_tool(self, ctx: Context, params: CallToolRequestParams) -> CallToolResult:
        if params.name not in (names := [tool.name for tool in TOOLS]):
            raise MCPError(code=INVALID_PARAMS, message=f"There is no such tool. The tools are: {', '.join(names)}.")
        try:
            service = await _opened(ctx)
        except SteelmanError as exc:
            return failure(failure_text(exc))
        caller = self._caller_of(ctx)
        call = Call(caller, ctx.session.report_progress, _wait(ctx, caller, ctx.request_id), self._waits)
        return await call_tool(service, params.name, call, params.arguments or {})

    async def list_resources(self, ctx: Context, _: PaginatedRequestParams | None) -> ListResourcesResult:
        return await resources.listed(await ctx.lifespan_context(), self._caller_of(ctx))

    async def list_templates(self, _: Context, __: PaginatedRequestParams | None) -> ListResourceTemplatesResult:
        return resources.templates()

    async def read_resource(self, ctx: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        return await resources.read(await ctx.lifespan_context(), self._caller_of(ctx), str(params.uri))

    async def around(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Around every message: a cancelled request stops its run, and no failure shows the inside of the server."""
        if ctx.method == "notifications/cancelled":
            await self._cancel(ctx)
        try:
            return await call_next(ctx)
        except (SteelmanError, ProblemError) as exc:
            raise MCPError(code=INTERNAL_ERROR, message=failure_text(exc)) from exc
        except (MCPError, ValidationError):  # the latter: no parameters of the method's, which the package words
            raise
        except Exception as exc:
            logger.exception("%s failed", ctx.method)
            raise MCPError(code=INTERNAL_ERROR, message=INSIDE) from exc

    async def _cancel(self, ctx: Context) -> None:
        # Nothing may be awaited that waits: the message's own task is cut off once it is acknowledged.
        caller = self._caller_of(ctx)
        if wait := _wait(ctx, caller, (ctx.params or {}).get("requestId")):
            self._waits.cancel(await ctx.lifespan_context(), wait)


def build_server(opening: Opening, caller_of: Callable[[Context], Caller]) -> Server[Opened]:
    """The server over a service that `opening` opens; `caller_of` says whose a request is."""
    handlers = Handlers(caller_of)
    server: Server[Opened] = Server(
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
    server.middleware.append(handlers.around)
    return server


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


def _wait(ctx: Context, caller: Caller, request_id: object) -> Wait | None:
    """How a request that may be cancelled is told from others; None where it cannot be."""
    if ctx.request is None:
        return caller.key_id, "", str(request_id)
    session = ctx.request.headers.get(SESSION_HEADER, "")
    return (caller.key_id, session, str(request_id)) if _SESSION.fullmatch(session) else None

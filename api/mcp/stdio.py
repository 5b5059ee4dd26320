"""MCP over standard input and output: the process that an assistant starts for itself.

Standard output carries the protocol alone; what there is to say to people goes to standard error. The first messages
are answered before the store is open, which takes a minute where the samples have still to be indexed.
"""

import asyncio
import contextlib
import logging
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from mcp.server.stdio import stdio_server

from agent.settings import Settings
from api.callers import Caller
from api.mcp.server import Opened, build_server
from api.service import Service, open_service
from tools.errors import SteelmanError

logger = logging.getLogger(__name__)


def serve_stdio(settings: Settings) -> int:
    """Speaks MCP until standard input ends."""
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
    server = build_server(partial(_opening, settings), Caller())
    async with stdio_server() as (reading, writing):
        with contextlib.redirect_stdout(sys.stderr):  # what a library prints
            await server.run(reading, writing, server.create_initialization_options())


@asynccontextmanager
async def _opening(settings: Settings) -> AsyncIterator[Opened]:
    """Opens the service beside the first messages; whoever needs it waits for it, or hears why it cannot be opened."""
    async with contextlib.AsyncExitStack() as stack:
        opening = asyncio.create_task(stack.enter_async_context(open_service(settings)))
        opening.add_done_callback(_tell)
        try:
            yield lambda: asyncio.shield(opening)
        finally:
            opening.cancel()
            await asyncio.wait([opening])


def _tell(opening: "asyncio.Task[Service]") -> None:
    if not opening.cancelled() and (exc := opening.exception()):
        logger.error("%s", exc, exc_info=None if isinstance(exc, SteelmanError) else exc)

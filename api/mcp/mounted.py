"""MCP over streamable HTTP at /mcp, as the package serves it, behind the same guard as every other call.

Nothing is kept between requests: a restart loses no session, and memory holds the requests that are being answered, no
more.
"""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

from fastapi import FastAPI
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.routing import Route

from agent.settings import Settings
from api.callers import Caller
from api.mcp.server import Opened, build_server
from api.service import Service

PATH = "/mcp"


def mount(app: FastAPI, settings: Settings) -> StreamableHTTPSessionManager:
    """Adds what answers the messages; the manager has to run meanwhile. They come by POST, with or without the slash at
    the end: a redirect would lose a client that follows none."""

    @asynccontextmanager
    async def opening() -> AsyncIterator[Opened]:
        async def opened() -> Service:
            return cast(Service, app.state.service)

        yield opened

    logging.getLogger("mcp").setLevel(logging.WARNING)  # two lines for every request otherwise
    server = build_server(opening, Caller())
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

"""MCP over streamable HTTP, mounted in the application at /mcp, behind the same guard as every other call.

Nothing is kept between requests: a restart loses no session, and memory holds the requests that are being answered, no
more. A client that begins gets a session id all the same. It is stored nowhere and only tells one client's request ids
from another's, so that a cancelled request stops the run that belongs to it.
"""

import logging
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from api.callers import Caller
from api.mcp.messages import read_body, refusal, replayed
from api.mcp.server import SESSION_HEADER, Context, Opened, build_server
from api.problems import ProblemError
from api.service import Service

PATH = "/mcp"
_BEGUN_WITH = (SESSION_HEADER.encode(), b"mcp-protocol-version")


@asynccontextmanager
async def mcp_over(service: Service) -> AsyncIterator[StreamableHTTPSessionManager]:
    """What answers the requests at /mcp while the application runs."""

    @asynccontextmanager
    async def opening() -> AsyncIterator[Opened]:
        async def opened() -> Service:
            return service

        yield opened

    manager = StreamableHTTPSessionManager(
        build_server(opening, _caller_of),
        stateless=True,
        max_request_body_size=service.settings.api_upload * 1_000_000,
    )
    logging.getLogger("mcp").setLevel(logging.WARNING)  # two lines for every request otherwise
    async with manager.run():
        yield manager


class _Endpoint:
    """Takes messages by POST. There is no stream without a request to follow, and no session to end: both are 405."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            detail = "Messages come by POST. This server opens no stream of its own and keeps no session to delete."
            refused = ProblemError(405, "method-not-allowed", "Not by this method", detail, headers={"Allow": "POST"})
            await refused.response()(scope, receive, send)
            return
        if (body := await read_body(receive)) is None:
            return
        if wrong := refusal(body):
            await wrong(scope, receive, send)
            return
        manager: StreamableHTTPSessionManager = scope["app"].state.mcp
        begins = not any(name in _BEGUN_WITH for name, _ in scope["headers"])
        await manager.handle_request(scope, replayed(body, receive), _naming(send) if begins else send)


def routes() -> list[Route]:
    """With and without the slash at the end: a redirect would lose a client that follows none."""
    endpoint = _Endpoint()
    return [Route(path, endpoint, include_in_schema=False) for path in (PATH, f"{PATH}/")]


def _caller_of(ctx: Context) -> Caller:
    """As the guard found out; a request that did not come through it is not answered."""
    assert isinstance(ctx.request, Request)
    caller: Caller = ctx.request.scope["state"]["caller"]
    return caller


def _naming(send: Send) -> Send:
    """Gives a client that begins its session id."""

    async def named(message: Message) -> None:
        if message["type"] == "http.response.start" and message["status"] < 300:
            session = (SESSION_HEADER.encode(), uuid.uuid4().hex.encode())
            message = {**message, "headers": [*message.get("headers", []), session]}
        await send(message)

    return named

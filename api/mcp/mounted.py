"""MCP over streamable HTTP at /mcp, as the package serves it, behind the same guard as every other call.

Nothing is kept between requests: a restart loses no session, and memory holds the requests that are being answered, no
more.
"""

import logging

from mcp.server.lowlevel.server import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.routing import Route

from agent.settings import Settings
from api.mcp.server import Opened

PATH = "/mcp"


def routes(server: Server[Opened], settings: Settings) -> list[Route]:
    """Messages come by POST, with or without the slash at the end: a redirect would lose a client that follows none.

    The server's `session_manager` has to run while they are answered.
    """
    logging.getLogger("mcp").setLevel(logging.WARNING)  # two lines for every request otherwise
    mounted = server.streamable_http_app(
        stateless_http=True,
        max_request_body_size=settings.api_upload * 1_000_000,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),  # the guard's work
    )
    [route] = mounted.routes
    assert isinstance(route, Route)
    return [Route(path, route.endpoint, methods=["POST"], include_in_schema=False) for path in (PATH, f"{PATH}/")]

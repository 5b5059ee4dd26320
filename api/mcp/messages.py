"""The message that a request carries, read before the package does: what is none is refused in plain words."""

from mcp_types import INVALID_REQUEST, ErrorData, JSONRPCError, JSONRPCNotification, jsonrpc_message_adapter
from pydantic import ValidationError
from pydantic_core import from_json
from starlette.responses import Response
from starlette.types import Message, Receive

_WANTED = (
    'Send one JSON-RPC 2.0 message as JSON in UTF-8: an object with "jsonrpc": "2.0", a "method", and for a request '
    'an "id" that is a number or a text. Lists of messages are not taken.'
)


async def read_body(receive: Receive) -> bytes | None:
    """The whole body, as large as the application lets it be; None where the caller goes away meanwhile."""
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        body += message.get("body", b"")
        if not message.get("more_body", False):
            return bytes(body)


def replayed(body: bytes, receive: Receive) -> Receive:
    """Gives the body that was read once more, and then what comes."""
    coming: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return coming.pop() if coming else await receive()

    return again


def refusal(body: bytes) -> Response | None:
    """The answer to a body that is no message."""
    if _is_message(body):
        return None
    error = JSONRPCError(jsonrpc="2.0", id=None, error=ErrorData(code=INVALID_REQUEST, message=_WANTED))
    return Response(error.model_dump_json(by_alias=True, exclude_unset=True), 400, media_type="application/json")


def _is_message(body: bytes) -> bool:
    try:
        message = jsonrpc_message_adapter.validate_json(body, by_name=False)
    except ValidationError:
        return False
    # With an id that is none, what was meant as a request reads as a notification, to which nobody would reply.
    return not (isinstance(message, JSONRPCNotification) and "id" in from_json(body))

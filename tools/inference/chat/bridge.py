"""Has a vendor's own client send through the project's: its retries, limits and headers are then the only ones."""

from collections.abc import AsyncIterator
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import httpx

_OWN_HEADERS = (b"accept-encoding", b"user-agent", b"host", b"content-length", b"transfer-encoding")


def client_transport(client: "httpx.AsyncClient", library: ModuleType) -> Any:
    """A transport for clients of `library` (httpx, or httpx2 which is its fork) that hands each request to `client`.

    What fails on the way is raised as `client` raises it. Closing the transport leaves `client` open.
    """

    class Body(library.AsyncByteStream):  # type: ignore[misc, name-defined]  # the library is only known here
        def __init__(self, response: "httpx.Response") -> None:
            self._response = response

        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for part in self._response.aiter_raw():
                yield part

        async def aclose(self) -> None:
            await self._response.aclose()

    class Through(library.AsyncBaseTransport):  # type: ignore[misc, name-defined]
        async def handle_async_request(self, request: Any) -> Any:
            headers = [(name, value) for name, value in request.headers.raw if name.lower() not in _OWN_HEADERS]
            sent = client.build_request(
                request.method, str(request.url), headers=headers, content=await request.aread() or None
            )
            sent.extensions = request.extensions  # one and the same: what is marked on one request is on both
            response = await client.send(sent, stream=True)
            return library.Response(response.status_code, headers=response.headers.raw, stream=Body(response))

    return Through()

"""Chroma's client for a server, with an end to each request: by itself it waits for ever, from byte to byte."""

import asyncio
import threading
from collections.abc import Mapping
from functools import cache
from typing import Any

import httpx
from chromadb.api.client import Client
from chromadb.auth import UserIdentity
from chromadb.config import Settings

from tools.budget import current_budget
from tools.net.http import CONNECT_SECONDS
from tools.net.route import proxy_transport

_WHOLE = 6  # times the longest silence: a whole request, with thousands of vectors in it


class ServerClient(Client):
    """Chroma's client whose requests end, those of its own beginning among them; it keeps one session."""

    def __init__(self, address: str, headers: Mapping[str, str], seconds: float) -> None:
        self._seconds = seconds
        ours = Settings(
            anonymized_telemetry=False,
            chroma_api_impl="chromadb.api.fastapi.FastAPI",
            chroma_server_host=address,
            chroma_server_http_port=8000,  # asked for, and used only where the address had no scheme
            chroma_server_ssl_enabled=address.startswith("https:"),
            chroma_server_ssl_verify=False,  # of a transport that is replaced before the first request
            chroma_server_headers=dict(headers),
        )
        super().__init__(settings=ours)

    @property
    def session(self) -> httpx.Client:
        """What it sends its requests with."""
        session: httpx.Client = self._server._session  # type: ignore[attr-defined]
        return session

    def get_user_identity(self) -> UserIdentity:
        """The first request that Chroma's client makes."""
        limit_request_time(self.session, self._seconds)
        return super().get_user_identity()

    def _validate_tenant_database(self, tenant: str, database: str) -> None:
        admin: Any = self._admin_client
        admin._server._session.close()  # one of its own, which only this needs
        admin._server = self._server
        super()._validate_tenant_database(tenant, database)

    def close(self) -> None:
        """Releases the connections too, which Chroma's leaves open."""
        self.session.close()
        super().close()


def limit_request_time(client: httpx.Client, seconds: float) -> httpx.Client:
    """The client, no request of which takes longer than a few times the longest silence, or than the run has time."""
    client.timeout = httpx.Timeout(seconds, connect=CONNECT_SECONDS)
    client._transport, client._mounts = _InTime(_WHOLE * seconds), {}
    return client


class _InTime(httpx.BaseTransport):
    """The project's own way to a server for a client that waits, but no longer than these seconds for a whole reply."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._way, self._loop = proxy_transport(), _loop()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        asked = asyncio.run_coroutine_threadsafe(self._ask(request), self._loop)
        try:
            return asked.result(max(0.0, min(self._seconds, current_budget().seconds_left())))
        except TimeoutError as exc:
            asked.cancel()
            raise httpx.ReadTimeout("the time for the whole request was used up", request=request) from exc

    async def _ask(self, request: httpx.Request) -> httpx.Response:
        sent = httpx.Request(request.method, request.url, headers=request.headers, content=request.read())
        sent.extensions = request.extensions  # one and the same: what is marked on one request is on both
        response = await self._way.handle_async_request(sent)
        try:
            data = b"".join([part async for part in response.stream])  # type: ignore[union-attr]  # it is asynchronous
        finally:
            await response.aclose()
        return httpx.Response(response.status_code, headers=response.headers, stream=httpx.ByteStream(data))

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self._way.aclose(), self._loop).result()


@cache
def _loop() -> asyncio.AbstractEventLoop:
    """The event loop in which the connections live, in a thread of its own until the process ends."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="steelman-chroma", daemon=True).start()
    return loop

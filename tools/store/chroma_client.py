"""Chroma's client for a server, with an end to each request: by itself it waits for ever, from byte to byte."""

import time
from collections.abc import Iterator, Mapping
from typing import Any

import httpx
from chromadb.api.client import Client
from chromadb.auth import UserIdentity
from chromadb.config import Settings

from tools.budget import current_budget
from tools.net.http import CONNECT_SECONDS
from tools.net.route import PROXY, proxy_for, refused_by, way_options

_WHOLE = 6  # times the longest silence: a whole request, with thousands of vectors in it


class ServerClient(Client):
    """Chroma's client whose requests end, those of its own beginning among them; it keeps one session."""

    def __init__(self, address: str, headers: Mapping[str, str], seconds: float) -> None:
        self._seconds, self._address = seconds, address
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
        bound(self.session, self._seconds, self._address)
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


def bound(client: httpx.Client, seconds: float, address: str) -> httpx.Client:
    """The client, no request of which takes longer than a few times the longest silence, or than the run has time.

    It goes the way of all clients to the address. Raises ProviderDownError; httpx.TimeoutException from its requests.
    """
    client._transport, client._mounts = _Within(seconds, address), {}
    return client


class _Within(httpx.BaseTransport):
    """The way to the address, with an end to every request."""

    def __init__(self, seconds: float, address: str) -> None:
        self._seconds, self._address, self._proxy = seconds, address, proxy_for(address)
        self._inner: Any = httpx.HTTPTransport(**way_options(address, self._proxy))

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        left = current_budget().seconds_left()
        silence, end = min(self._seconds, left), time.monotonic() + min(_WHOLE * self._seconds, left)
        request.extensions["timeout"] = httpx.Timeout(silence, connect=min(CONNECT_SECONDS, silence)).as_dict()
        request.extensions[PROXY] = self._proxy
        response: httpx.Response = self._inner.handle_request(request)
        if (said := refused_by(self._proxy, self._address, response.status_code)) is not None:
            raise httpx.ProxyError(said, request=request)
        response.stream = _Until(response.stream, end)
        return response

    def close(self) -> None:
        self._inner.close()


class _Until(httpx.SyncByteStream):
    """A reply that is read until a time."""

    def __init__(self, stream: Any, end: float) -> None:
        self._stream, self._end = stream, end

    def __iter__(self) -> Iterator[bytes]:
        for part in self._stream:
            if time.monotonic() > self._end:
                raise httpx.ReadTimeout("the time for the whole request was used up")
            yield part

    def close(self) -> None:
        self._stream.close()

"""Chroma's client for a server, with an end to each request: by itself it waits for ever, from byte to byte."""

import threading
import time
from collections.abc import Mapping
from inspect import signature
from typing import Any

import httpcore
import httpx
from chromadb.api.client import Client
from chromadb.auth import UserIdentity
from chromadb.config import Settings

from tools.budget import current_budget
from tools.net.http import CONNECT_SECONDS
from tools.net.route import PROXY, proxy_for, proxy_refusal, transport_options

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
        limit_request_time(self.session, self._seconds, self._address)
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


def limit_request_time(client: httpx.Client, seconds: float, address: str) -> httpx.Client:
    """The client, no request of which takes longer than a few times the longest silence, or than the run has time.

    It goes the way of all clients to the address. Raises ProviderDownError; httpx.TimeoutException from its requests.
    """
    proxy = proxy_for(address)
    client.timeout = httpx.Timeout(seconds, connect=CONNECT_SECONDS)
    clock = _Clock(_WHOLE * seconds)
    transport: Any = httpx.HTTPTransport(**transport_options(address, proxy))
    transport._pool._network_backend = _Timed(transport._pool._network_backend, clock)
    client._transport, client._mounts = transport, {}

    def mark(request: httpx.Request) -> None:
        request.extensions[PROXY] = proxy

    def check(response: httpx.Response) -> None:
        if (said := proxy_refusal(proxy, address, response.status_code)) is not None:
            raise httpx.ProxyError(said, request=response.request)

    client.event_hooks = {"request": [clock.start, mark], "response": [check]}
    return client


class _Clock(threading.local):
    """When the request that this thread waits for has to be over."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._end = 0.0

    def start(self, _: httpx.Request) -> None:
        self._end = time.monotonic() + min(self._seconds, current_budget().seconds_left())

    def left(self, timeout: float | None) -> float:
        left = self._end - time.monotonic()
        if left <= 0:
            raise httpcore.ReadTimeout("the time for the whole request was used up")
        return left if timeout is None else min(timeout, left)


class _Timed:
    """A connection of httpcore, or what opens one, that looks at the clock whenever it waits."""

    def __init__(self, inner: Any, clock: _Clock) -> None:
        self._inner, self._clock = inner, clock

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if name not in ("connect_tcp", "start_tls", "read", "write"):
            return found

        def in_time(*given: Any, **named: Any) -> Any:
            asked = signature(found).bind(*given, **named)
            asked.arguments["timeout"] = self._clock.left(asked.arguments.get("timeout"))
            made = found(*asked.args, **asked.kwargs)
            return _Timed(made, self._clock) if name in ("connect_tcp", "start_tls") else made

        return in_time

"""The HTTP client of all providers: sends requests, parses JSON replies and writes error messages.

The settings check keys and addresses."""

import contextlib
import ipaddress
import json
import re
from collections.abc import Callable, Mapping, Set
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx

from tools.errors import ProviderDownError, ProviderReplyError
from tools.limits import CONNECT_SECONDS
from tools.net.pool import PoolTransport, ServerPool, failed_server, split_addresses
from tools.net.retries import RetryTransport
from tools.net.route import ProxyTransport, cause


def open_client(
    headers: Mapping[str, str] | None = None,
    seconds: float = 60.0,
    around: Callable[[httpx.AsyncBaseTransport], httpx.AsyncBaseTransport] = lambda transport: transport,
    pool: ServerPool | None = None,
    least_pause: float = 0.0,
) -> httpx.AsyncClient:
    """A client with retries and the environment's proxies. The client follows no redirects and reads no credentials
    from the environment.

    seconds: longest silence of a server. The stage's deadline may end a call earlier. around: wraps the transport and
    its retries. pool: chooses the server of each attempt. least_pause: seconds before a request is repeated.
    """
    sending = PoolTransport(pool, ProxyTransport()) if pool else ProxyTransport()
    return httpx.AsyncClient(
        transport=around(RetryTransport(sending, least_pause)),
        headers={"accept-encoding": "identity", **(headers or {})},
        timeout=httpx.Timeout(seconds, connect=min(seconds, CONNECT_SECONDS)),
        trust_env=False,
    )


async def fetch_json(
    client: httpx.AsyncClient,
    method: str,
    url: str,
    *,
    name: str,
    body: Any = None,
    headers: Mapping[str, str] | None = None,
    key: str = "",
    parse: Callable[[httpx.Response], Any] = lambda response: response.json(),
) -> Any:
    """The JSON reply of the server called `name`. `key`: the environment variable of the server's key, for error
    messages. `parse`: reads a reply that is not plain JSON; it may raise ValueError.

    Raises ProviderDownError (invalid address, unreachable, refused, or failed after the retries) or ProviderReplyError
    (no JSON, or too large). No message contains a key that was sent.
    """
    sent = client.headers, headers
    try:
        response = await client.request(method, url, json=body, headers=headers)
        if response.status_code < 300:
            return parse(response)
    except (httpx.HTTPError, httpx.InvalidURL) as exc:
        name = failed_server(name, exc)
        if isinstance(exc, httpx.TimeoutException):
            raise ProviderDownError(f"{name} did not answer in time.") from exc
        raise ProviderDownError(f"{name} cannot be reached ({without_key(cause(exc, url), *sent)}).") from exc
    except (ValueError, RecursionError) as exc:
        raise ProviderReplyError(f"{name} answered with no JSON.") from exc
    except ProviderReplyError as exc:  # the transport does not know the server's name
        raise ProviderReplyError(str(exc).replace("the server", name, 1)) from exc
    said = without_key(response.content.decode("utf-8", "replace"), *sent)
    refusal = status_error(failed_server(name, response), response.status_code, said, key)
    refusal.status, refusal.said = response.status_code, " ".join(said.split())[:200]
    raise refusal


_USUAL = frozenset("host accept accept-encoding connection content-type content-length transfer-encoding".split())


def strip_headers(request: httpx.Request, kept: Set[str]) -> None:
    """Removes a vendor client's own headers. Only the usual headers and `kept` remain."""
    for name in [n for n in request.headers if n.lower() not in _USUAL | kept]:
        del request.headers[name]


def status_error(name: str, status: int, body: bytes | str = b"", key: str = "") -> ProviderDownError:
    """The error for an HTTP refusal, with advice. `key`: the environment variable of the key."""
    text = body.decode("utf-8", "replace") if isinstance(body, bytes) else body
    said = refusal_text(text)
    if status < 400:
        return ProviderDownError(f"{name} redirects to another address (status {status}). Set that address.")
    because = f": {said}" if said and status != 401 else ""  # with 401 some servers repeat part of the key
    if status in (401, 403):
        return ProviderDownError(f"{name} refused the key (status {status}{because}). Check {key or 'it'} in .env.")
    if status == 404:
        return ProviderDownError(f"{name} does not know the address or the model (status {status}{because}).")
    if status == 429:
        return ProviderDownError(f"{name} allows no more requests now (status {status}{because}).")
    return ProviderDownError(f"{name} failed (status {status}{because}).")


def refusal_text(text: str) -> str:
    """The message inside a refusal's JSON."""
    with contextlib.suppress(ValueError, RecursionError):
        body = json.loads(text)
        while isinstance(body, dict):
            body = next((body[k] for k in ("error", "message", "detail", "error_message") if body.get(k)), "")
        text = body if isinstance(body, str) else text
    return " ".join(text.split())[:200].rstrip(".")


_KEYS = ("authorization", "x-api-key", "x-goog-api-key", "api-key", "x-chroma-token")


def without_key(text: str, *headers: Mapping[str, str] | None) -> str:
    """The text without the keys in these headers, because some servers repeat keys."""
    for name, value in (item for given in headers for item in (given or {}).items()):
        key = value.removeprefix("Bearer ").strip()
        if name.lower() in _KEYS and key:
            text = text.replace(key, "…")
    return text


def is_address(address: str) -> bool:
    """Whether the address has a host, and a valid port if any."""
    try:
        place = urlsplit(address)
        return bool(place.hostname) and place.port != 0 and address.isprintable() and " " not in address
    except ValueError:
        return False


def without_login(address: str) -> str:
    """The address without name, password and query, for display."""
    scheme, rest = re.fullmatch(r"([a-z][a-z0-9+.-]*://)?(.*)", address, re.I | re.S).groups("")  # type: ignore[union-attr]
    if re.search(r"[?#].*@", rest, re.S):  # the '?' may be part of a password, or the '@' of a key
        return f"{scheme}…"
    return scheme + re.split(r"[?#]", rest.rpartition("@")[2])[0]


def is_local(addresses: str) -> bool:
    """Whether the address, or each of a list, is on this machine, so that a request does not leave it."""
    return all(map(_is_local, split_addresses(addresses)))


def _is_local(address: str) -> bool:
    try:
        parts = urlsplit(address if "//" in address else f"//{address}")
    except ValueError:
        return False
    named = parse_qs(parts.query).get("host", [""])[0]  # as Postgres does; a path is a socket of this machine
    return is_loopback(named if named and not named.startswith("/") else parts.hostname or "localhost")


def is_loopback(host: str) -> bool:
    """Whether a name or an address belongs to this machine alone."""
    try:
        return host.lower() == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False

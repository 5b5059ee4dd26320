"""The one way to a server over HTTP: retries in the transport, within the run's deadline; replies of bounded size.

A request that may be made again is made again where the server was busy or the connection failed (408, 409, 425, 429,
500, 502, 503, 504, 529), up to twice, after the time that its Retry-After names or else a growing pause. Where that
would not fit into what is left of the stage, the failure is given back at once.
"""

import asyncio
import contextlib
import ipaddress
import json
import random
import re
import time
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Set
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from tools.budget import current_budget
from tools.errors import ProviderDownError, ProviderReplyError
from tools.net.causes import SPEAKS_TLS, WANTS_TLS, cause
from tools.net.pasted import fault_of_header
from tools.net.route import routed

if TYPE_CHECKING:
    import httpx

RETRYABLE = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
"""Statuses after which the same request may succeed."""
LARGEST_REPLY = 20_000_000
"""Bytes of one reply at most."""
CONNECT_SECONDS = 5.0
"""The longest wait for a connection."""
_ANSWERED = "steelman.answered"  # marks a request of which the head of a reply has come
_SPENT = "steelman.spent"  # marks a 429 of an account that is empty, which no waiting helps
_PIECE = 1 << 16
# What servers name as an encoding and pack nothing by: alphabets above all.
_PLAIN = re.compile(r"|identity|none|binary|[78]bit|aws-chunked|utf-?(?:8|16)|(?:us-)?ascii|iso-8859-\d+|windows-125\d")
_TRIES = 3
_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 30.0


def open_client(
    headers: Mapping[str, str] | None = None,
    seconds: float = 60.0,
    around: "Callable[[httpx.AsyncBaseTransport], httpx.AsyncBaseTransport]" = lambda transport: transport,
) -> "httpx.AsyncClient":
    """A client that retries, follows no redirect and takes no credentials from the environment; a proxy it does.

    seconds: the longest silence of a server; the stage's deadline ends a call earlier. around: what is put around the
    transport and its retries.
    Raises ProviderDownError for headers that cannot be sent, which is what a key copied with too much around it makes.
    """
    import httpx

    for value in (headers or {}).values():
        check_key(value)
    return httpx.AsyncClient(
        transport=around(retrying(routed())),
        headers={"accept-encoding": "identity", **(headers or {})},
        timeout=httpx.Timeout(seconds, connect=min(seconds, CONNECT_SECONDS)),
        trust_env=False,
    )


def retrying(inner: "httpx.AsyncBaseTransport") -> "httpx.AsyncBaseTransport":
    """The transport with retries around it, and its replies bounded."""
    import httpx

    class Retrying(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            for again in range(_TRIES):
                pause = _pause(again)
                request.extensions.pop(_ANSWERED, None)
                try:
                    response = await inner.handle_async_request(request)
                    response = await _readable(response, request)
                    request.extensions[_ANSWERED] = True
                    if response.status_code not in RETRYABLE or _SPENT in response.extensions:
                        return response
                    pause = _retry_after(response.headers.get("retry-after", ""), pause)
                    if not _worth_waiting(pause, again):
                        return response
                    await response.aclose()
                except httpx.TransportError as exc:
                    if isinstance(exc, httpx.UnsupportedProtocol) or not _worth_waiting(pause, again):
                        raise
                await asyncio.sleep(pause)
            raise AssertionError("the last try returns or raises")

        async def aclose(self) -> None:
            await inner.aclose()

    return Retrying()


async def _readable(response: "httpx.Response", request: "httpx.Request") -> "httpx.Response":
    """The response, decompressed by whoever compresses though nobody asked for it, and never read beyond a limit."""
    import httpx

    try:
        unpack = unpacker(response.headers.pop("content-encoding", ""))
    except ValueError as exc:
        await response.aclose()
        raise httpx.DecodingError(f"what it sent {exc}", request=request) from exc
    response.stream = _bounded(response.stream, unpack)
    if response.status_code not in (400, 429):
        return response
    said, found = await response.aread(), dict(response.extensions)
    if response.status_code == 400 and request.url.scheme == "http" and WANTS_TLS.search(said):
        raise httpx.UnsupportedProtocol(SPEAKS_TLS, request=request)
    if response.status_code == 429 and b"insufficient_quota" in said:
        found[_SPENT] = True
    body = httpx.ByteStream(said)
    return httpx.Response(response.status_code, headers=response.headers, stream=body, extensions=found)


def _bounded(stream: Any, unpack: Callable[[bytes], Iterator[bytes]]) -> "httpx.AsyncByteStream":
    """The reply as it comes, up to a limit that also holds where a client reads whole lines or whole refusals."""
    import httpx

    class Bounded(httpx.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            size = 0
            try:
                async for part in stream:
                    for piece in unpack(part):
                        yield piece
                        if (size := size + len(piece)) > LARGEST_REPLY:
                            raise ProviderReplyError(f"the server sent more than {LARGEST_REPLY // 1_000_000} MB.")
            except (httpx.ReadError, httpx.RemoteProtocolError) as exc:
                raise httpx.ReadError("the connection was cut in the middle of the reply") from exc
            except ValueError as exc:
                raise httpx.DecodingError(f"what it sent {exc}") from exc

        async def aclose(self) -> None:
            await stream.aclose()

    return Bounded()


def unpacker(encoding: str) -> Callable[[bytes], Iterator[bytes]]:
    """What turns parts of a body into decompressed pieces of bounded size: a few bytes may hold gigabytes.

    Raises ValueError for an encoding that is not known, and from the pieces for data that is not packed so.
    """
    encodings = [name for name in re.split(r"[\s,]+", encoding.lower()) if not _PLAIN.fullmatch(name)]
    if not encodings:
        return lambda part: iter((part,))
    if encodings not in (["gzip"], ["x-gzip"], ["deflate"]):
        raise ValueError(f"is packed in a way that cannot be read ({ascii(encoding[:30])[1:-1]})")
    unpack = zlib.decompressobj(zlib.MAX_WBITS | 32)  # gzip's header or zlib's

    def pieces(part: bytes) -> Iterator[bytes]:
        try:
            while part and not unpack.eof:
                yield unpack.decompress(part, _PIECE)
                part = unpack.unconsumed_tail
        except zlib.error as exc:
            raise ValueError("is packed in a way that cannot be read") from exc

    return pieces


def cut_short(exc: BaseException | None) -> bool:
    """Whether a failure, or what it came from, is a connection that ended in the middle of a reply."""
    import httpx

    while exc is not None:
        if isinstance(exc, httpx.ReadError | httpx.RemoteProtocolError):
            return answered(exc)
        exc = exc.__cause__
    return False


def answered(exc: Exception) -> bool:
    """Whether the head of a reply had come to the request that failed so."""
    import httpx

    return isinstance(exc, httpx.RequestError) and _ANSWERED in exc.request.extensions


def _pause(again: int) -> float:
    return _FIRST_PAUSE * float(2**again) * (0.75 + random.random() / 2)


def _worth_waiting(pause: float, again: int) -> bool:
    return again < _TRIES - 1 and pause <= _LONGEST_PAUSE and pause < current_budget().seconds_left()


def _retry_after(value: str, otherwise: float) -> float:
    """Seconds that a Retry-After header asks for, which is a number or a date."""
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, float(parsedate_to_datetime(value).timestamp()) - time.time())
    except (ValueError, OverflowError):
        return otherwise


async def fetch_json(
    client: "httpx.AsyncClient",
    method: str,
    url: str,
    *,
    name: str,
    body: Any = None,
    headers: Any = None,
    key: str = "",
) -> Any:
    """The JSON of one call to the server called `name`. `key`: the variable that holds its key, for what to do next.

    Raises as `reply_json`, and ProviderDownError for what is no address.
    """
    check_address(url)
    call = client.request(method, url, json=body, headers=headers)
    return await reply_json(call, url, name=name, sent=(client.headers, headers), key=key)


async def reply_json(
    call: "Awaitable[httpx.Response]",
    url: str,
    *,
    name: str,
    sent: Iterable[Mapping[str, str] | None],
    key: str = "",
) -> Any:
    """The JSON that a call is answered with. sent: headers whose keys may not be said again.

    Raises ProviderDownError (unreachable, refused, still failing after the retries), ProviderReplyError (no JSON, or
    too much of it).
    """
    import httpx

    try:
        response = await call
        if response.status_code < 300:
            return response.json()
    except httpx.TimeoutException as exc:
        raise ProviderDownError(f"{name} did not answer in time.") from exc
    except (httpx.HTTPError, httpx.InvalidURL) as exc:
        raise ProviderDownError(f"{name} cannot be reached ({without_key(cause(exc, url), *sent)}).") from exc
    except (ValueError, RecursionError) as exc:
        raise ProviderReplyError(f"{name} answered with something that is no JSON.") from exc
    except ProviderReplyError as exc:  # of the transport, which knows no names
        raise ProviderReplyError(str(exc).replace("the server", name, 1)) from exc
    said = without_key(response.content.decode("utf-8", "replace"), *sent)
    refusal = status_error(name, response.status_code, said, key)
    refusal.status, refusal.said = response.status_code, " ".join(said.split())[:200]
    raise refusal


_USUAL = frozenset("host accept accept-encoding connection content-type content-length transfer-encoding".split())


def strip_headers(request: "httpx.Request", kept: Set[str]) -> None:
    """Takes out the headers that a vendor's client adds of itself: all but the usual ones and those that are kept."""
    for name in [n for n in request.headers if n.lower() not in _USUAL | kept]:
        del request.headers[name]


def status_error(name: str, status: int, body: bytes | str = b"", key: str = "") -> ProviderDownError:
    """A refusal in words that say what to do about it. `key`: the variable that holds the key."""
    text = body.decode("utf-8", "replace") if isinstance(body, bytes) else body
    said = words_of(text)
    if status < 400:
        return ProviderDownError(f"{name} is at another address now (status {status}). Set the address that it names.")
    if status == 401:  # some say back part of the key
        return ProviderDownError(f"{name} refused the key (status 401). Check {key or 'it'} in .env.")
    because = f": {said}" if said else ""
    if status == 403:
        return ProviderDownError(f"{name} refused the key (status 403{because}). Check {key or 'it'} in .env.")
    if status == 404:
        return ProviderDownError(f"{name} does not know the address or the model (status 404{because}).")
    if status == 429:
        return ProviderDownError(f"{name} allows no more requests now (status 429{because}).")
    return ProviderDownError(f"{name} failed (status {status}{because}).")


def words_of(text: str) -> str:
    """What a refusal says, taken out of the JSON in which most servers put it."""
    with contextlib.suppress(ValueError, RecursionError):
        body = json.loads(text)
        while isinstance(body, dict):
            body = next((body[k] for k in ("error", "message", "detail") if body.get(k)), "")
        text = body if isinstance(body, str) else text
    return " ".join(text.split())[:200].rstrip(".")


_KEYS = ("authorization", "x-api-key", "x-goog-api-key", "api-key", "x-chroma-token")


def without_key(text: str, *headers: Mapping[str, str] | None) -> str:
    """The text without the keys that were sent in these headers, for servers that say back what they were sent."""
    for name, value in (item for given in headers for item in (given or {}).items()):
        key = value.removeprefix("Bearer ").strip()
        if name.lower() in _KEYS and key:
            text = text.replace(key, "…")
    return text


def check_key(key: str) -> None:
    """Raises ProviderDownError for a key, or what stands around it in a header, that no header can hold."""
    if fault := fault_of_header(key):
        raise ProviderDownError(f"a key {fault}.")


def is_address(address: str) -> bool:
    """Whether it has a host, and a port if any, that can be asked."""
    try:
        place = urlsplit(address)
        return bool(place.hostname) and place.port != 0 and address.isprintable() and " " not in address
    except ValueError:
        return False


def check_address(address: str) -> None:
    """Raises ProviderDownError for what is no address of a server."""
    if not is_address(address):
        shown = without_login(address)
        raise ProviderDownError(f"'{shown}' is no address of a server. Write it as http://HOST:PORT/v1.")


def without_login(address: str) -> str:
    """The address as it may be shown: without name and password, whatever signs they hold, and without its query."""
    scheme, rest = re.fullmatch(r"([a-z][a-z0-9+.-]*://)?(.*)", address, re.I | re.S).groups("")  # type: ignore[union-attr]
    if re.search(r"[?#].*@", rest, re.S):  # part of a password, or of a key in the query: nobody can tell
        return f"{scheme}…"
    return scheme + re.split(r"[?#]", rest.rpartition("@")[2])[0]


def is_local(address: str) -> bool:
    """Whether the address is on this machine, so that asking it lets nothing leave it."""
    host = ""
    try:
        parts = urlsplit(address if "//" in address else f"//{address}")
        named = parse_qs(parts.query).get("host", [""])[0]  # as Postgres takes it; a path is a socket of this machine
        host = named if named and not named.startswith("/") else parts.hostname or "localhost"
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"

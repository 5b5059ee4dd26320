"""A transport that asks again, within the run's deadline, and whose replies are of bounded size.

A request that may be made again is made again where the server was busy or the connection failed (408, 409, 425, 429,
500, 502, 503, 504, 529), up to twice, after the time that its Retry-After names or else a growing pause. Where that
would not fit into what is left of the stage, the failure is given back at once.
"""

import asyncio
import random
import re
import time
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from tools.budget import current_budget
from tools.errors import ProviderReplyError
from tools.net.route import SPEAKS_TLS, WANTS_TLS

if TYPE_CHECKING:
    import httpx

RETRYABLE = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
"""Statuses after which the same request may succeed."""
LARGEST_REPLY = 20_000_000
"""Bytes of one reply at most."""
_ANSWERED = "steelman.answered"  # marks a request of which the head of a reply has come
_SPENT = "steelman.spent"  # marks a 429 of an account that is empty, which no waiting helps
_PIECE = 1 << 16
# What servers name as an encoding and pack nothing by: alphabets above all.
_PLAIN = re.compile(r"|identity|none|binary|[78]bit|aws-chunked|utf-?(?:8|16)|(?:us-)?ascii|iso-8859-\d+|windows-125\d")
_TRIES = 3
_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 30.0


def retry_transport(inner: "httpx.AsyncBaseTransport") -> "httpx.AsyncBaseTransport":
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


def is_cut_short(exc: BaseException | None) -> bool:
    """Whether a failure, or what it came from, is a connection that ended in the middle of a reply."""
    import httpx

    while exc is not None:
        if isinstance(exc, httpx.ReadError | httpx.RemoteProtocolError):
            return had_response(exc)
        exc = exc.__cause__
    return False


def had_response(exc: Exception) -> bool:
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

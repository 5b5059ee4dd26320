"""A transport that retries requests within the run's deadline, and limits the size of replies.

The transport retries failed connections and the statuses 408, 409, 425, 429, 500, 502, 503, 504 and 529 up to twice.
The reply's Retry-After sets the pause; without this header, the pause grows with each retry. If the pause exceeds the
stage's remaining time, the transport returns the failure at once.
"""

import asyncio
import random
import re
import time
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from email.utils import parsedate_to_datetime
from typing import Any

import httpx

from tools.budget import current_budget
from tools.errors import ProviderReplyError
from tools.limits import ATTEMPTS, FIRST_PAUSE, LARGEST_REPLY, LONGEST_PAUSE

RETRYABLE = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
"""Statuses after which the same request may succeed."""
_ANSWERED = "steelman.answered"  # request extension: the head of a reply has arrived
_PIECE = 1 << 16
# Values of Content-Encoding that mean no compression, mostly names of character sets.
_PLAIN = re.compile(r"|identity|none|binary|[78]bit|aws-chunked|utf-?(?:8|16)|(?:us-)?ascii|iso-8859-\d+|windows-125\d")


class RetryTransport(httpx.AsyncBaseTransport):
    """The inner transport with retries and bounded replies. least_pause: seconds before a request is repeated."""

    def __init__(self, inner: httpx.AsyncBaseTransport, least_pause: float = 0.0) -> None:
        self._inner, self._least_pause = inner, least_pause

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        for again in range(ATTEMPTS):
            pause = max(pause_before(again), self._least_pause)
            request.extensions.pop(_ANSWERED, None)
            try:
                response = await self._inner.handle_async_request(request)
                await _limit_reply(response, request)
                request.extensions[_ANSWERED] = True
                if response.status_code not in RETRYABLE:
                    return response
                pause = retry_after(response.headers.get("retry-after", ""), pause)
                if not _may_retry(pause, again):
                    return response
                await response.aclose()
            except httpx.TransportError as exc:
                if isinstance(exc, httpx.UnsupportedProtocol) or not _may_retry(pause, again):
                    raise
            await asyncio.sleep(pause)
        raise AssertionError("the last attempt returns or raises")

    async def aclose(self) -> None:
        await self._inner.aclose()


async def _limit_reply(response: httpx.Response, request: httpx.Request) -> None:
    """Decompresses the reply if needed, and limits its size."""
    try:
        unpack = decompressor(response.headers.pop("content-encoding", ""))
    except ValueError as exc:
        await response.aclose()
        raise httpx.DecodingError(f"what it sent {exc}", request=request) from exc
    response.stream = _LimitedStream(response.stream, unpack)


class _LimitedStream(httpx.AsyncByteStream):
    """A reply up to a size limit. The limit also holds for clients that read a whole line or a whole error reply at
    once."""

    def __init__(self, stream: Any, unpack: Callable[[bytes], Iterator[bytes]]) -> None:
        self._stream, self._unpack = stream, unpack

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        try:
            async for part in self._stream:
                for piece in self._unpack(part):
                    yield piece
                    if (size := size + len(piece)) > LARGEST_REPLY:
                        await self.aclose()
                        raise ProviderReplyError(f"the server sent more than {LARGEST_REPLY // 1_000_000} MB.")
        except (httpx.ReadError, httpx.RemoteProtocolError) as exc:
            raise httpx.ReadError("the connection was cut in the middle of the reply") from exc
        except ValueError as exc:
            raise httpx.DecodingError(f"what it sent {exc}") from exc

    async def aclose(self) -> None:
        await self._stream.aclose()


def decompressor(encoding: str) -> Callable[[bytes], Iterator[bytes]]:
    """A function that decompresses the parts of a body into pieces of bounded size, because a few bytes may hold
    gigabytes.

    Raises ValueError for an unknown encoding. Iterating over the pieces raises ValueError for corrupt data.
    """
    encodings = [name for name in re.split(r"[\s,]+", encoding.lower()) if not _PLAIN.fullmatch(name)]
    if not encodings:
        return lambda part: iter((part,))
    if encodings not in (["gzip"], ["x-gzip"], ["deflate"]):
        raise ValueError(f"is packed in a way that cannot be read ({ascii(encoding[:30])[1:-1]})")
    unpack = zlib.decompressobj(zlib.MAX_WBITS | 32)  # accepts gzip's and zlib's headers

    def pieces(part: bytes) -> Iterator[bytes]:
        try:
            while part and not unpack.eof:
                yield unpack.decompress(part, _PIECE)
                part = unpack.unconsumed_tail
        except zlib.error as exc:
            raise ValueError("is packed in a way that cannot be read") from exc

    return pieces


def is_cut_short(exc: BaseException | None) -> bool:
    """Whether the error, or one of its causes, is a connection that ended in the middle of a reply."""
    cuts = (e for e in causes_of(exc) if isinstance(e, httpx.ReadError | httpx.RemoteProtocolError))
    return any(map(had_response, cuts))


def causes_of(exc: BaseException | None) -> Iterator[BaseException]:
    """The exception and its causes."""
    while exc is not None:
        yield exc
        exc = exc.__cause__


def had_response(exc: Exception) -> bool:
    """Whether the head of a reply had arrived when the request failed."""
    return isinstance(exc, httpx.RequestError) and _ANSWERED in exc.request.extensions


def pause_before(again: int) -> float:
    """The seconds before a further attempt; they grow with each one."""
    return FIRST_PAUSE * float(2**again) * (0.75 + random.random() / 2)


def _may_retry(pause: float, again: int) -> bool:
    return again < ATTEMPTS - 1 and pause <= LONGEST_PAUSE and pause < current_budget().seconds_left()


def retry_after(value: str, otherwise: float) -> float:
    """The seconds of a Retry-After header. The header is a number or a date."""
    with suppress(ValueError):
        return max(0.0, float(value))
    try:
        return max(0.0, float(parsedate_to_datetime(value).timestamp()) - time.time())
    except (ValueError, OverflowError):
        return otherwise

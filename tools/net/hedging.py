"""One silent call does not hold the answer: a chat model is sent the same request again, and what comes first is taken.

Of many calls to a busy server a few hang for a minute that would be answered at once if they were made anew. So where
nothing was received for a while, a second request is sent, the first one goes on, and the one whose reply begins first
wins: 'hedged requests' (Dean and Barroso, The Tail at Scale, Communications of the ACM 56(2), 2013). A reply begins
with the first byte of its body, since a streamed one sends its head at once and may be silent then. The other request
is cancelled, its connection closed and its prompt counted, since the server may bill it. One that fails leaves the word
to the other; only where both fail is there a failure.

A run sends few second requests (`tools.budget`), and none to a server on this machine, whose one GPU would only do
the same work twice: whoever opens a client leaves the `Patience` out then.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tools.budget import current_budget, current_log

if TYPE_CHECKING:
    import httpx

LEAST_SILENCE = 15.0
"""Seconds without a byte that are always waited."""
TIMES_SLOWEST = 3.0
"""So many times as long as for the model's slowest first byte so far is waited, where that is longer."""


@dataclass
class Patience:
    """How long the silence of one model is borne, and what a second request to it costs.

    name: of the model, for the note. cost: US dollars of so many tokens given and made, None where the price is not
    known. slowest: seconds from a request to the first byte of the
    slowest reply that came so far; kept by whoever owns the model, longer than any connection.
    """

    name: str
    cost: Callable[[int, int], float | None] = lambda given, made: None
    slowest: float = 0.0

    def seconds(self) -> float:
        return max(LEAST_SILENCE, TIMES_SLOWEST * self.slowest)

    def may_send_second(self, waited: float) -> bool:
        """Whether a second request is sent after so many seconds of silence; it is counted and noted then.

        Not where the stage ends before even a reply as slow as the slowest so far would have begun.
        """
        budget = current_budget()
        if budget.seconds_left() <= self.slowest or not budget.begin_second_request():
            return False
        said = f"{self.name} had sent nothing for {waited:.3g} seconds, so a second request was sent to it."
        current_log().note("scope", said)
        return True

    def count_cancelled(self, request: "httpx.Request") -> None:
        """Counts the tokens of a request that was cancelled: about four characters of the prompt each, and no reply."""
        given = _characters(json.loads(request.content)) // 4
        current_budget().add_tokens(given, 0, self.cost(given, 0))


_NO_PROMPT = frozenset(("response_format", "output_config", "format", "generationConfig", "tools", "model", "role"))


def _characters(body: Any) -> int:
    """The characters of a request's texts, wherever its vendor puts them; the shape that is asked for is none."""
    if isinstance(body, str):
        return len(body)
    if isinstance(body, list):
        return sum(map(_characters, body))
    return sum(_characters(v) for k, v in body.items() if k not in _NO_PROMPT) if isinstance(body, dict) else 0


def hedged(inner: "httpx.AsyncBaseTransport", patience: Patience) -> "httpx.AsyncBaseTransport":
    """The transport with a second request for one that is silent. A reply is given on when its body begins.

    The requests have bodies of JSON, as those to a chat model have, which can be sent twice.
    """
    import httpx

    class Hedged(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            return await _race(inner, request, patience)

        async def aclose(self) -> None:
            await inner.aclose()

    return Hedged()


async def _race(inner: "httpx.AsyncBaseTransport", request: "httpx.Request", patience: Patience) -> "httpx.Response":
    waited = patience.seconds()
    kept: asyncio.Task[httpx.Response] | None = None
    racers = [asyncio.create_task(_begun(inner, request, patience))]
    try:
        done, _ = await asyncio.wait(racers, timeout=waited)
        if not done and patience.may_send_second(waited):
            racers.append(asyncio.create_task(_begun(inner, request, patience)))
        kept = await _first_to_come(racers)
    finally:
        # The caller counts one of the two. The other one is counted here, unless it failed: failures cost nothing.
        if len(racers) > 1 and not any(map(_failed, racers)):
            patience.count_cancelled(request)
        await _end(racers, kept)
    return kept.result()


async def _begun(inner: "httpx.AsyncBaseTransport", request: "httpx.Request", patience: Patience) -> "httpx.Response":
    """The reply as soon as its body begins; one that is no success as soon as its head is there."""
    began = time.monotonic()
    response = await inner.handle_async_request(request)
    if response.is_success:
        try:
            response.stream = await _with_first_part(response.stream)
        except BaseException:
            await response.aclose()
            raise
        patience.slowest = max(patience.slowest, time.monotonic() - began)
    return response


async def _with_first_part(stream: Any) -> "httpx.AsyncByteStream":
    """The same stream, with its first part received already. A body may be empty; its end is its beginning then."""
    import httpx

    parts = aiter(stream)
    first = await anext(parts, b"")

    class Begun(httpx.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            yield first
            async for part in parts:
                yield part

        async def aclose(self) -> None:
            await stream.aclose()

    return Begun()


async def _first_to_come(racers: Sequence["asyncio.Task[httpx.Response]"]) -> "asyncio.Task[httpx.Response]":
    """The first that did not fail; where all did, the one that failed last."""
    under_way = set(racers)
    while True:
        done, under_way = await asyncio.wait(under_way, return_when=asyncio.FIRST_COMPLETED)
        came = [racer for racer in racers if racer in done and not _failed(racer)]
        if came or not under_way:
            return (came or list(done))[0]


def _failed(racer: "asyncio.Task[httpx.Response]") -> bool:
    """Whether it ended with no reply, or with a refusal."""
    return racer.done() and (racer.cancelled() or racer.exception() is not None or not racer.result().is_success)


async def _end(racers: Sequence["asyncio.Task[httpx.Response]"], kept: "asyncio.Task[httpx.Response] | None") -> None:
    """Cancels all but the one that is kept and closes what they opened; all of it where the caller is cancelled."""
    lost = [racer for racer in racers if racer is not kept]
    for racer in lost:
        racer.cancel()
    try:
        await _close(lost)
    except BaseException:
        await _close(racers)
        raise


async def _close(racers: Sequence["asyncio.Task[httpx.Response]"]) -> None:
    if racers:
        await asyncio.wait(racers)
    for racer in racers:
        if not racer.cancelled() and racer.exception() is None:
            await racer.result().aclose()

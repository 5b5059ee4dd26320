"""A server on this machine that is silent before its head or before its body, and notices who leaves.

It runs in a thread and an event loop of its own, so that the tasks of a test's loop are the client's alone.
"""

import asyncio
import json
import math
import threading
import time
from dataclasses import dataclass
from types import TracebackType
from typing import Any

NEVER = math.inf
_HEARD = 0.15  # seconds in which a client on this machine notices the end of a connection
ANOTHER_CAME = -1.0
"""A wait until one more request has come."""
OTHERS_ENDED = -2.0
"""A wait until a second request has come, and of the connections only this one is left; the client has heard so."""


@dataclass(frozen=True)
class Turn:
    """What happens to one request. head, body: the waits before each, in seconds or by name. cut: instead of the body
    the connection ends; with status 0 instead of the head. stays: the reply goes on for ever."""

    text: str = ""
    head: float = 0.0
    body: float = 0.0
    status: int = 200
    cut: bool = False
    stays: bool = False
    headers: str = ""


@dataclass
class Asked:
    """A request as it came. left: whether the client closed the connection before its reply was whole."""

    at: float
    body: Any
    left: bool = False


class SilentServer:
    """Takes the next turn for each request, and closes its connection afterwards. `url` has no path."""

    def __init__(self, *turns: Turn) -> None:
        self.asked: list[Asked] = []
        self.open = 0
        self.url = ""
        self._turns = list(turns)
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._listen(),), daemon=True)

    def __enter__(self) -> "SilentServer":
        self._thread.start()
        assert self._ready.wait(5)
        return self

    def __exit__(self, kind: type[BaseException] | None, _e: BaseException | None, _t: TracebackType | None) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(5)
        self._loop.close()
        assert kind or not self._turns, f"unused: {self._turns}"

    async def came(self, requests: int) -> None:
        """Returns once so many requests have come."""
        async with asyncio.timeout(5):
            while len(self.asked) < requests:
                await asyncio.sleep(0.005)

    async def settled(self) -> None:
        """Returns once no connection is open; TimeoutError where one stays so."""
        async with asyncio.timeout(2):
            while self.open:
                await asyncio.sleep(0.005)

    async def _listen(self) -> None:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        self._ready.set()
        await self._stop.wait()
        server.close()
        while left := asyncio.all_tasks() - {asyncio.current_task()}:
            for task in left:
                task.cancel()
            await asyncio.wait(left)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open += 1
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            size = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            asked = Asked(time.monotonic(), json.loads(await reader.readexactly(int(size.split(b":")[1]))))
            self.asked.append(asked)
            waits = [asyncio.create_task(self._answer(self._turns.pop(0), writer)), asyncio.create_task(reader.read())]
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            asked.left = not waits[0].done()
            for wait in waits:
                wait.cancel()
            await asyncio.wait(waits)
        except (asyncio.CancelledError, asyncio.IncompleteReadError, ConnectionError):
            pass  # the server was closed, or the client left before it had asked
        finally:
            writer.close()
            self.open -= 1

    async def _answer(self, turn: Turn, writer: asyncio.StreamWriter) -> None:
        await self._wait(turn.head)
        if turn.status == 0:
            return
        body = turn.text.encode()
        size = f"Connection: close\r\nContent-Length: {len(body) + turn.stays}"
        writer.write(f"HTTP/1.1 {turn.status} Said\r\n{size}\r\n{turn.headers}\r\n".encode())
        await writer.drain()
        await self._wait(turn.body)
        if not turn.cut:
            writer.write(body)
            await writer.drain()
        await self._wait(NEVER if turn.stays else 0)

    async def _wait(self, wait: float) -> None:
        known = len(self.asked)
        if wait == ANOTHER_CAME:
            while len(self.asked) == known:
                await asyncio.sleep(0.005)
        elif wait == OTHERS_ENDED:
            while len(self.asked) < 2 or self.open > 1:
                await asyncio.sleep(0.005)
            await asyncio.sleep(_HEARD)
        else:
            await (asyncio.Event().wait() if wait == NEVER else asyncio.sleep(wait))

"""A request whose client may leave before the reply: its work is stopped then."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import Any, ParamSpec, TypeVar

from starlette.requests import Request

from tools.inference.worker import lower_priority

P = ParamSpec("P")
T = TypeVar("T")
GONE = 499
"""The status of a reply that nobody is there to get, as other servers note it."""
_AT_ONCE = 8
_THREADS = ThreadPoolExecutor(_AT_ONCE, "steelman-requests", lower_priority)
"""Of their own: work that waits for a slow file must not hold a thread that everybody else needs."""


async def while_there(
    request: Request, stop: threading.Event, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> T:
    """What the work returns or raises, which runs in a thread; `stop` is set once the client has left, or the
    server stops and cuts the request off. The request's body has been read."""
    working = asyncio.get_running_loop().run_in_executor(_THREADS, partial(copy_context().run, work, *args, **kwargs))
    working.add_done_callback(lambda done: done.cancelled() or done.exception())  # nobody may be there to ask
    leaving = asyncio.ensure_future(_left(request))
    either: list[asyncio.Future[Any]] = [working, leaving]
    try:
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            stop.set()
        return await asyncio.shield(working)
    except asyncio.CancelledError:
        stop.set()
        raise
    finally:
        leaving.cancel()


async def _left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass

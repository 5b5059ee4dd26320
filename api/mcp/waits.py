"""Which request waits for which run, so that a request that the client cancels stops its run.

A client that only goes away stops nothing: its runs end, and their answers are kept. Requests are told apart by their
caller, their session and their id; a client without a session cannot cancel, since its ids are those of others too.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any

from api.problems import ProblemError
from api.service import Service
from tools.errors import SteelmanError

Wait = tuple[str, str, str]
"""The caller's key, its session, the request's id."""


class Waits:
    """The requests of all clients."""

    def __init__(self) -> None:
        self._begun: dict[Wait, asyncio.Task[str]] = {}
        self._tasks: set[asyncio.Task[Any]] = set()

    async def begin(self, service: Service, wait: Wait | None, start: Coroutine[Any, Any, str]) -> str:
        """The id of the run that `start` begins. A caller that is cut off meanwhile leaves no half-begun run behind."""
        begun = self._keep_running(start)
        if wait is not None:
            at_work = service.runs.at_work
            self._begun = {w: t for w, t in self._begun.items() if not t.done() or _run_of(t) in at_work}
            self._begun[wait] = begun
        return await asyncio.shield(begun)

    def cancel(self, service: Service, wait: Wait) -> None:
        """Stops the run that the request waits for, in a task of its own; nothing where there is none."""
        if begun := self._begun.pop(wait, None):
            self._keep_running(_stop(service, begun))

    def _keep_running(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._over)
        return task

    def _over(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # whoever waits for it is told; where nobody waits any more nobody asks


def _run_of(begun: asyncio.Task[str]) -> str:
    return "" if begun.cancelled() or begun.exception() else begun.result()


async def _stop(service: Service, begun: asyncio.Task[str]) -> None:
    try:
        run_id = await begun
    except (SteelmanError, ProblemError):
        return  # it never began
    await service.runs.cancel(run_id)

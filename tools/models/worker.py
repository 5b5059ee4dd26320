"""One worker thread for the models that run inside this process.

Two models on the same cores only slow each other down, so all of a process's encoding and judging goes through one
thread, in the order in which it was asked for. Requests are not merged: what a model computes for one caller hangs on
nobody else's texts, and the embedded models divide a request's texts among the cores themselves.
"""

import asyncio
import os
import queue
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tools.budget import batches
from tools.errors import ModelError

Model = Callable[[Sequence[Any]], NDArray[np.float32]]

_NICENESS = 10
_TOGETHER = 64  # items of one model run; short, so that a new request never waits long


def lower_priority() -> None:
    """Lets this thread, and those that it starts from now on, work after all others of the process: whoever waits for
    something small, such as a page to be drawn or a run to be begun, is served first."""
    if sys.platform == "linux":  # where a thread has a niceness of its own
        thread = threading.get_native_id()
        # A process that was started nicer stays so; to take that back is not allowed to all.
        os.setpriority(os.PRIO_PROCESS, thread, max(_NICENESS, os.getpriority(os.PRIO_PROCESS, thread)))


class Worker:
    """Runs models in one thread, up to 64 items at a time, so that a large request lets others in between.

    The thread is a daemon, so that a process ends without waiting for a computation that it has given up. It begins
    with the first request and takes the priority of the thread that asks: in a service that of the executor's threads.
    """

    def __init__(self) -> None:
        self._requests: queue.SimpleQueue[tuple[Future[NDArray[np.float32]], Model, Sequence[Any]]] = (
            queue.SimpleQueue()
        )
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None

    def run(self, model: Model, items: Sequence[Any]) -> NDArray[np.float32]:
        """The model's output for the items, a row an item.

        Raises what the model raises, and ModelError where it returns another number of rows.
        """
        return np.concatenate([self._submit(model, part).result() for part in _parts(items)])

    async def arun(self, model: Model, items: Sequence[Any]) -> NDArray[np.float32]:
        """The same for the event loop; a cancelled request that has not begun is never computed."""
        outputs = []
        for part in _parts(items):
            result = await asyncio.to_thread(self._submit, model, part)
            outputs.append(await asyncio.wrap_future(result))
        return np.concatenate(outputs)

    def _submit(self, model: Model, items: Sequence[Any]) -> "Future[NDArray[np.float32]]":
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="steelman-models", daemon=True)
                self._thread.start()
        result: Future[NDArray[np.float32]] = Future()
        self._requests.put((result, model, items))
        return result

    def _work(self) -> None:
        while True:
            result, model, items = self._requests.get()
            if result.set_running_or_notify_cancel():
                try:
                    output = model(items)
                    if len(output) != len(items):
                        raise ModelError(f"a model returned {len(output)} rows for {len(items)} items.")
                    result.set_result(output)
                except BaseException as exc:  # noqa: BLE001  # handed to the caller, who raises it
                    result.set_exception(exc)


WORKER = Worker()
"""The one of this process."""


def _parts(items: Sequence[Any]) -> Sequence[Sequence[Any]]:
    """One without items where there are none, so that the model says how wide its rows are."""
    return list(batches(items, _TOGETHER)) or [items]

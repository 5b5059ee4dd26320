"""One worker thread for the embedded models of this process.

Two models on the same cores slow each other down, so encoding and judging share one queue. Requests are not merged:
each result depends on its own request only, and the models already divide its texts among the cores.
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
_BATCH = 64  # items of one model run; few, so that new requests do not wait long


def lower_priority() -> None:
    """Lowers the priority of this thread and of the threads that it starts, so that short tasks such as page loads run
    first."""
    if sys.platform == "linux":  # threads have their own niceness
        thread = threading.get_native_id()
        # Raising the priority of a nicer process may not be permitted.
        os.setpriority(os.PRIO_PROCESS, thread, max(_NICENESS, os.getpriority(os.PRIO_PROCESS, thread)))


class Worker:
    """Runs models in one daemon thread, up to 64 items at a time, so that large requests do not block others.

    The thread starts with the first request, with the calling thread's priority. The process can end while it computes.
    """

    def __init__(self) -> None:
        self._requests: queue.SimpleQueue[tuple[Future[NDArray[np.float32]], Model, Sequence[Any]]] = (
            queue.SimpleQueue()
        )
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None

    def run(self, model: Model, items: Sequence[Any]) -> NDArray[np.float32]:
        """The model's output, a row for each item.

        Raises the model's errors, and ModelError for a wrong number of rows.
        """
        return np.concatenate([self._submit(model, part).result() for part in _batches_of(items)])

    async def arun(self, model: Model, items: Sequence[Any]) -> NDArray[np.float32]:
        """As `run`, for an event loop. A cancelled request that has not started is never computed."""
        outputs = []
        for part in _batches_of(items):
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
"""The worker of this process."""


def _batches_of(items: Sequence[Any]) -> Sequence[Sequence[Any]]:
    """At least one batch: the model also reports its width for no items."""
    return list(batches(items, _BATCH)) or [items]

"""One thread for the embedded models of this process.

Two models on the same cores slow each other down, so encoding and judging share one queue. Requests are not merged: a
result must depend only on its own request, and the models already divide a request's texts among the cores.
"""

import asyncio
import os
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tools.budget import batches

Model = Callable[[Sequence[Any]], NDArray[np.float32]]

_NICENESS = 10
_BATCH = 64  # items of one model run; few, so that new requests do not wait long


def lower_priority() -> None:
    """Lowers the priority of this thread and of the threads that it starts, so that short tasks run first."""
    if sys.platform == "linux":  # threads have their own niceness
        thread = threading.get_native_id()
        # Raising the priority of a nicer process may not be permitted.
        os.setpriority(os.PRIO_PROCESS, thread, max(_NICENESS, os.getpriority(os.PRIO_PROCESS, thread)))


class Worker:
    """Runs models in one thread, up to 64 items at a time, so that large requests do not block others.

    `run` and `arun` return the model's output, a row for each item, and raise the model's errors. There must be items.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "steelman-models", lower_priority)

    def run(self, model: Model, items: Sequence[Any]) -> NDArray[np.float32]:
        return np.concatenate([self._thread.submit(model, part).result() for part in batches(items, _BATCH)])

    async def arun(self, model: Model, items: Sequence[Any]) -> NDArray[np.float32]:
        """Runs the model for an event loop. A cancelled request that has not started is never computed."""
        return np.concatenate(
            [await asyncio.wrap_future(self._thread.submit(model, part)) for part in batches(items, _BATCH)]
        )


WORKER = Worker()
"""The worker of this process."""

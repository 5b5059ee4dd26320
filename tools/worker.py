"""One worker thread for the models that run inside this process: it merges what waits into batches.

Two models on the same cores only slow each other down, and every caller's small request is cheaper inside a larger
batch, so all of a process's encoding and judging goes through one thread with one bounded queue.
"""

import asyncio
import queue
import threading
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tools.batching import parts

Model = Callable[[Sequence[Any]], NDArray[np.float32]]

_WAITING = 256  # requests; past that, callers wait before they may queue
_TOGETHER = 128  # items of one model run; short, so that a new request never waits long


@dataclass
class _Job:
    key: Hashable
    model: Model
    items: Sequence[Any]
    result: "Future[NDArray[np.float32]]"


class Worker:
    """Runs models in one thread. Start-up is lazy; the thread ends with the process."""

    def __init__(self) -> None:
        self._queue: queue.Queue[_Job] = queue.Queue(_WAITING)
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()

    def run(self, key: Hashable, model: Model, items: Sequence[Any]) -> NDArray[np.float32]:
        """The model's output for the items, a row an item; requests of one key may run as one batch."""
        return self._submit(key, model, items).result()

    async def arun(self, key: Hashable, model: Model, items: Sequence[Any]) -> NDArray[np.float32]:
        """The same for the event loop; a cancelled request that has not begun is never computed."""
        outputs: list[NDArray[np.float32]] = []
        for part in parts(items, _TOGETHER):
            future = await asyncio.to_thread(self._submit, key, model, part)
            outputs.append(await asyncio.wrap_future(future))
        return np.concatenate(outputs) if outputs else self.run(key, model, [])

    def _submit(self, key: Hashable, model: Model, items: Sequence[Any]) -> "Future[NDArray[np.float32]]":
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="steelman-models", daemon=True)
                self._thread.start()
        job = _Job(key, model, items, Future())
        self._queue.put(job)
        return job.result

    def _work(self) -> None:
        held: _Job | None = None
        while True:
            batch = [held or self._queue.get()]
            held = None
            while sum(len(j.items) for j in batch) < _TOGETHER:
                try:
                    following = self._queue.get_nowait()
                except queue.Empty:
                    break
                if following.key != batch[0].key:
                    held = following
                    break
                batch.append(following)
            _run_batch([j for j in batch if j.result.set_running_or_notify_cancel()])


def _run_batch(jobs: Sequence[_Job]) -> None:
    if not jobs:
        return
    try:
        output = jobs[0].model([item for job in jobs for item in job.items])
    except BaseException as exc:  # noqa: BLE001  # handed to the callers, each of whom raises it
        for job in jobs:
            job.result.set_exception(exc)
        return
    start = 0
    for job in jobs:
        job.result.set_result(output[start : start + len(job.items)])
        start += len(job.items)

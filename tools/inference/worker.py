"""One worker thread for the models that run inside this process: it merges what waits into batches.

Two models on the same cores only slow each other down, and a caller's small request would leave most cores idle, so all
of a process's encoding and judging goes through one thread with one bounded queue.
"""

import asyncio
import os
import queue
import sys
import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tools.errors import ModelError
from tools.inference.batching import parts

Model = Callable[[Sequence[Any]], NDArray[np.float32]]

_NICENESS = 10
_WAITING = 256  # requests; past that, callers wait before they may queue
_TOGETHER = 64  # items of one model run; short, so that a new request never waits long


def give_way() -> None:
    """Lets this thread, and those that it starts from now on, work after all others of the process: whoever waits for
    something small, such as a page to be drawn or a run to be begun, is served first."""
    if sys.platform == "linux":  # where a thread has a niceness of its own
        thread = threading.get_native_id()
        # A process that was started nicer stays so; to take that back is not allowed to all.
        os.setpriority(os.PRIO_PROCESS, thread, max(_NICENESS, os.getpriority(os.PRIO_PROCESS, thread)))


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
        outputs: list[NDArray[np.float32]] = []
        for job in _jobs(key, model, items):
            self._enqueue(job)
            outputs.append(job.result.result())
        return np.concatenate(outputs)

    async def arun(self, key: Hashable, model: Model, items: Sequence[Any]) -> NDArray[np.float32]:
        """The same for the event loop; a cancelled request that has not begun is never computed."""
        outputs: list[NDArray[np.float32]] = []
        for job in _jobs(key, model, items):
            try:
                await asyncio.to_thread(self._enqueue, job)
                outputs.append(await asyncio.wrap_future(job.result))
            except asyncio.CancelledError:
                job.result.cancel()
                raise
        return np.concatenate(outputs)

    def _enqueue(self, job: _Job) -> None:
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="steelman-models", daemon=True)
                self._thread.start()
        self._queue.put(job)

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


def _jobs(key: Hashable, model: Model, items: Sequence[Any]) -> Iterator[_Job]:
    """A job for each part; one without items where there are none, so that the model says how wide its rows are."""
    for part in parts(items, _TOGETHER) if items else [items]:
        yield _Job(key, model, part, Future())


def _run_batch(jobs: Sequence[_Job]) -> None:
    if not jobs:
        return
    items = [item for job in jobs for item in job.items]
    try:
        output = jobs[0].model(items)
        if len(output) != len(items):
            raise ModelError(f"a model returned {len(output)} rows for {len(items)} items.")
    except BaseException as exc:  # noqa: BLE001  # handed to the caller, who raises it
        if len(jobs) == 1:
            jobs[0].result.set_exception(exc)
            return
        for job in jobs:  # whose item it was shows when each runs alone
            _run_batch([job])
        return
    start = 0
    for job in jobs:
        job.result.set_result(output[start : start + len(job.items)])
        start += len(job.items)

"""The worker: order, parts, errors and cancelling."""

import asyncio
import threading
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tools.models.worker import Worker


class Doubles:
    """A model that doubles numbers, refuses negative ones, and can be held up."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.go = threading.Event()
        self.go.set()
        self.begun = threading.Event()

    def __call__(self, items: Sequence[Any]) -> NDArray[np.float32]:
        self.begun.set()
        assert self.go.wait(10)
        self.batches.append(list(items))
        if any(i < 0 for i in items):
            raise ValueError(f"negative: {[i for i in items if i < 0]}")
        return np.array([[2 * i, i] for i in items], np.float32).reshape(-1, 2)

    def hold(self, worker: Worker) -> threading.Thread:
        """Occupies the worker until `go` is set."""
        self.go.clear()
        self.begun.clear()
        thread = threading.Thread(target=worker.run, args=(self, [0]))
        thread.start()
        assert self.begun.wait(10)
        return thread


def waiting(worker: Worker, number: int) -> None:
    """Returns once so many requests are queued."""
    until = time.monotonic() + 10
    while worker._thread._work_queue.qsize() < number:
        assert time.monotonic() < until
        time.sleep(0.005)


async def test_a_cancelled_request_is_never_computed() -> None:
    worker, model = Worker(), Doubles()
    held = model.hold(worker)
    kept = asyncio.create_task(worker.arun(model, [1]))
    dropped = asyncio.create_task(worker.arun(model, [7]))
    await asyncio.to_thread(waiting, worker, 2)
    dropped.cancel()
    with pytest.raises(asyncio.CancelledError):
        await dropped
    model.go.set()
    assert (await kept).tolist() == [[2, 1]]
    await asyncio.to_thread(held.join)
    assert 7 not in [i for batch in model.batches for i in batch]

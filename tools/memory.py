"""Memory that a process has freed goes back to the machine: glibc keeps it otherwise.

glibc gives threads heaps of their own, eight for each processor, and a block that is freed in one of them serves no
thread of another. A service works with thirty threads and more, so that after some hundred requests most of what its
process held was free and could not be used: of 729 MB 424. Few heaps, large blocks outside them, and a word to glibc
now and then keep that from growing. Other C libraries do without; there nothing is done.
"""

import asyncio
import contextlib
import ctypes
import functools
import os
from collections.abc import AsyncIterator
from typing import Any

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8  # malloc.h's names of what mallopt sets
_HEAPS = 2
_LARGE = 1 << 20  # bytes from which a block is a mapping of its own, which goes back when it is freed
_SPARE = 16 << 20  # bytes that may stay free at the end of a heap
_SECONDS = 30.0


def use_few_heaps() -> None:
    """Sets glibc's allocator up for many threads; called before they are started. What the environment says of it
    (MALLOC_ARENA_MAX and the like) stays."""
    libc = _glibc()
    wanted = {"ARENA_MAX": (_ARENA_MAX, _HEAPS), "MMAP_THRESHOLD_": (_MMAP_THRESHOLD, _LARGE)}
    wanted["TRIM_THRESHOLD_"] = _TRIM_THRESHOLD, _SPARE
    for name, (parameter, value) in wanted.items():
        if libc is not None and f"MALLOC_{name}" not in os.environ:
            libc.mallopt(parameter, value)


def trim_heaps() -> None:
    """Returns to the machine whatever memory is free in the heaps; takes milliseconds."""
    if (libc := _glibc()) is not None:
        libc.malloc_trim(0)


@contextlib.asynccontextmanager
async def regular_trims() -> AsyncIterator[None]:
    """While the context is open, free memory is returned every half a minute."""

    async def now_and_then() -> None:
        while True:
            await asyncio.sleep(_SECONDS)
            await asyncio.to_thread(trim_heaps)

    task = asyncio.create_task(now_and_then())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


@functools.cache
def _glibc() -> Any:
    """The C library where it is glibc; None elsewhere."""
    try:
        os.confstr("CS_GNU_LIBC_VERSION")
        libc = ctypes.CDLL(None)
        libc.mallopt.argtypes = [ctypes.c_int, ctypes.c_int]
        libc.malloc_trim.argtypes = [ctypes.c_size_t]
    except (ValueError, OSError, AttributeError):
        return None
    return libc

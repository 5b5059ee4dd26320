"""Returns freed memory of a server process to the system.

glibc keeps separate heaps for threads, and only the same heap can reuse a freed block. After some hundred requests 424
of 729 MB were free but unusable. Fewer heaps, separate mappings for large blocks and regular trims prevent this waste.
Other C libraries need none of these measures.
"""

import asyncio
import contextlib
import ctypes
import functools
import os
from collections.abc import AsyncIterator
from typing import Any

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8  # parameters of mallopt in malloc.h
_HEAPS = 2
_LARGE = 1 << 20  # bytes above which a block has its own mapping
_SPARE = 16 << 20  # free bytes at the end of a heap at most
_SECONDS = 30.0


def use_few_heaps() -> None:
    """Configures glibc's allocator for many threads; call it before they start. MALLOC_* variables take precedence."""
    libc = _glibc()
    wanted = {"ARENA_MAX": (_ARENA_MAX, _HEAPS), "MMAP_THRESHOLD_": (_MMAP_THRESHOLD, _LARGE)}
    wanted["TRIM_THRESHOLD_"] = _TRIM_THRESHOLD, _SPARE
    for name, (parameter, value) in wanted.items():
        if libc is not None and f"MALLOC_{name}" not in os.environ:
            libc.mallopt(parameter, value)


def trim_heaps() -> None:
    """Returns free heap memory to the system; takes milliseconds."""
    if (libc := _glibc()) is not None:
        libc.malloc_trim(0)


@contextlib.asynccontextmanager
async def regular_trims() -> AsyncIterator[None]:
    """Trims the heaps every 30 seconds while the context is open."""

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
    """The C library if it is glibc, else None."""
    try:
        os.confstr("CS_GNU_LIBC_VERSION")
        libc = ctypes.CDLL(None)
        libc.mallopt.argtypes = [ctypes.c_int, ctypes.c_int]
        libc.malloc_trim.argtypes = [ctypes.c_size_t]
    except (ValueError, OSError, AttributeError):
        return None
    return libc

"""The process that reads foreign files, one after the other, within the limits that each comes with.

`python -m tools.documents.child` is run by `tools.documents.apart`; `tools.web.child` does it for pages.
A request is a line of JSON on its input. The answers are lines of JSON on its output: what was found, and
`{"end": …}` or what ended the reading.
"""

import json
import math
import os
import queue
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from tools.documents.document import Columns, Found, found_to_json, unforeseen
from tools.documents.readers import read_file
from tools.errors import ReaderFailedError, SourceError

_MOST_HELD = 200 << 20
"""Bytes after which a fresh process is better than one that holds so much of an earlier file."""


def serve(read: Callable[[dict[str, Any]], Iterator[Found]]) -> None:
    """Answers requests until the input ends."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print goes nowhere
    requests: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(sys.stdin.buffer, requests), daemon=True).start()
    while True:
        request = requests.get()
        _limit(request["seconds"], request["megabytes"])
        end = _answered(out, read, request)
        _limit(math.inf, math.inf)
        _say(out, {"end": True, **end, "again": _held() < _MOST_HELD})


def _answered(out: IO[bytes], read: Callable[[dict[str, Any]], Iterator[Found]], request: dict[str, Any]) -> Any:
    """Says what is found; returns what the last line says of how it ended."""
    try:
        for each in read(request):
            _say(out, found_to_json(each))
    except SourceError as exc:
        return _failed(exc)
    except MemoryError:
        return {"memory": True}
    except Exception as exc:  # noqa: BLE001  # whatever it is, it is told, and the next file is read
        told = unforeseen(request["name"], exc)
        told.__cause__ = exc
        return _failed(told)
    return {}


def _failed(exc: SourceError) -> dict[str, Any]:
    trace = "" if exc.__cause__ is None else "".join(traceback.format_exception(exc.__cause__))
    return {"error": str(exc), "hint": exc.hint, "foreseen": not isinstance(exc, ReaderFailedError), "trace": trace}


def _say(out: IO[bytes], told: dict[str, Any]) -> None:
    out.write(json.dumps(told, ensure_ascii=False).encode(errors="replace") + b"\n")
    out.flush()


def _listen(requests: IO[bytes], taken: "queue.SimpleQueue[dict[str, Any]]") -> None:
    """Takes requests; when the parent is gone, so is this process, with what it has started."""
    for line in requests:
        taken.put(json.loads(line))
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(0)


def _held() -> int:
    """The bytes that this process holds and that count for its limit, which the next file would have to do without."""
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[5]
    except OSError:  # another system than Linux, which does not tell
        return 0
    return int(pages) * os.sysconf("SC_PAGESIZE")


def _limit(seconds: float, megabytes: float) -> None:
    """Bounds the work and the memory of this process from now on; infinite: not any more."""
    from resource import RLIM_INFINITY, RLIMIT_CPU, RLIMIT_DATA, getrlimit, setrlimit

    # What is reserved and not written to, as by threads, counts for RLIMIT_AS and hardly for RLIMIT_DATA.
    for limit, most in ((RLIMIT_CPU, time.process_time() + seconds), (RLIMIT_DATA, megabytes * 2**20)):
        _, hard = getrlimit(limit)
        finite = [math.ceil(each) for each in (most, hard) if each not in (math.inf, RLIM_INFINITY)]
        setrlimit(limit, (min(finite, default=RLIM_INFINITY), hard))  # which can be raised again


def found_in(request: dict[str, Any]) -> Iterator[Found]:
    """What `read_file` finds, in the order of the file."""
    columns = Columns(**{**request["columns"], "text": tuple(request["columns"]["text"])})
    return read_file(Path(request["path"]), request["name"], columns)


if __name__ == "__main__":
    serve(found_in)

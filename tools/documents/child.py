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

from tools.documents.document import Columns, ReaderOutput, output_to_json, unforeseen_failure
from tools.documents.readers import read_file
from tools.errors import ReaderFailedError, SourceError

_MOST_HELD = 200 << 20
"""Bytes after which a fresh process is better than one that holds so much of an earlier file."""


def serve(read: Callable[[dict[str, Any]], Iterator[ReaderOutput]]) -> None:
    """Answers requests until the input ends."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print goes nowhere
    requests: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    threading.Thread(target=_read_requests, args=(sys.stdin.buffer, requests), daemon=True).start()
    while True:
        request = requests.get()
        _limit(request["seconds"], request["megabytes"])
        end = _answer(out, read, request)
        _limit(math.inf, math.inf)
        _write_line(out, {"end": True, **end, "again": _memory_held() < _MOST_HELD})


def _answer(out: IO[bytes], read: Callable[[dict[str, Any]], Iterator[ReaderOutput]], request: dict[str, Any]) -> Any:
    """Writes each output of a reader as a line; returns the fields of the last line, which say how it ended."""
    try:
        for each in read(request):
            _write_line(out, output_to_json(each))
    except SourceError as exc:
        return _error_to_json(exc)
    except MemoryError:
        return {"memory": True}
    except Exception as exc:  # noqa: BLE001  # whatever it is, it is told, and the next file is read
        told = unforeseen_failure(request["name"], exc)
        told.__cause__ = exc
        return _error_to_json(told)
    return {}


def _error_to_json(exc: SourceError) -> dict[str, Any]:
    trace = "" if exc.__cause__ is None else "".join(traceback.format_exception(exc.__cause__))
    foreseen, columns = not isinstance(exc, ReaderFailedError), exc.columns
    return {"error": str(exc), "hint": exc.hint, "foreseen": foreseen, "trace": trace, "columns": columns}


def _write_line(out: IO[bytes], told: dict[str, Any]) -> None:
    out.write(json.dumps(told, ensure_ascii=False).encode(errors="replace") + b"\n")
    out.flush()


def _read_requests(requests: IO[bytes], taken: "queue.SimpleQueue[dict[str, Any]]") -> None:
    """Queues the requests of the input; at its end, when the parent is gone, kills this process and its children."""
    for line in requests:
        taken.put(json.loads(line))
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(0)


def _memory_held() -> int:
    """The bytes that this process holds and that count for its limit, which the next file would have to do without."""
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[5]
    except OSError:  # another system than Linux, which does not tell
        return 0
    return int(pages) * os.sysconf("SC_PAGESIZE")


def _limit(seconds: float, megabytes: float) -> None:
    """Sets this process's limits of processor time and memory from now on; infinite lifts them."""
    from resource import RLIM_INFINITY, RLIMIT_CPU, RLIMIT_DATA, getrlimit, setrlimit

    # What is reserved and not written to, as by threads, counts for RLIMIT_AS and hardly for RLIMIT_DATA.
    for limit, most in ((RLIMIT_CPU, time.process_time() + seconds), (RLIMIT_DATA, megabytes * 2**20)):
        _, hard = getrlimit(limit)
        finite = [math.ceil(each) for each in (most, hard) if each not in (math.inf, RLIM_INFINITY)]
        setrlimit(limit, (min(finite, default=RLIM_INFINITY), hard))  # which can be raised again


def read_request(request: dict[str, Any]) -> Iterator[ReaderOutput]:
    """The outputs of `read_file` for a request, in the order of the file."""
    columns = Columns(**{**request["columns"], "text": tuple(request["columns"]["text"])})
    return read_file(Path(request["path"]), request["name"], columns)


if __name__ == "__main__":
    serve(read_request)

"""The reader process: parses files one after the other, each within its own limits. `tools.documents.sandbox` runs
`python -m tools.documents.reader_process`. `tools.web.pages` does the same for pages. A request is one line of JSON on
stdin. Outputs are lines of JSON on stdout. The last line has the key `end`."""

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

from tools.documents.document import ColumnNames, ReaderOutput, output_to_json
from tools.documents.readers import read_file
from tools.errors import ReaderFailedError, SourceError

_MOST_REUSABLE_BYTES = 200 << 20  # a process that uses more memory after a file is not reused


def serve(read: Callable[[dict[str, Any]], Iterator[ReaderOutput]]) -> None:
    """Answers requests until stdin ends."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # discards the output of libraries
    requests: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    threading.Thread(target=_read_requests, args=(sys.stdin.buffer, requests), daemon=True).start()
    while True:
        request = requests.get()
        _set_limits(request["seconds"], request["megabytes"])
        end = _answer(out, read, request)
        _set_limits(math.inf, math.inf)
        _write_line(out, {"end": True, **end, "again": _memory_in_use() < _MOST_REUSABLE_BYTES})


def _answer(out: IO[bytes], read: Callable[[dict[str, Any]], Iterator[ReaderOutput]], request: dict[str, Any]) -> Any:
    """Writes each output as a line. Returns the fields of the last line, which say how the reading ended."""
    try:
        for each in read(request):
            _write_line(out, output_to_json(each))
    except SourceError as exc:
        return _error_to_json(exc)
    except MemoryError:
        return {"memory": True}
    except Exception as exc:  # noqa: BLE001  # reported; the next file is read
        told = f"{request['name']}: its reader failed unexpectedly ({type(exc).__name__}). Please report this, "
        failed = ReaderFailedError(f"{told}with the file if possible. Saving it in another format may help.")
        failed.__cause__ = exc
        return _error_to_json(failed)
    return {}


def _error_to_json(exc: SourceError) -> dict[str, Any]:
    trace = "" if exc.__cause__ is None else "".join(traceback.format_exception(exc.__cause__))
    foreseen, columns = not isinstance(exc, ReaderFailedError), exc.columns
    return {"error": str(exc), "hint": exc.hint, "foreseen": foreseen, "trace": trace, "columns": columns}


def _write_line(out: IO[bytes], told: dict[str, Any]) -> None:
    out.write(json.dumps(told, ensure_ascii=False).encode(errors="replace") + b"\n")
    out.flush()


def _read_requests(requests: IO[bytes], taken: "queue.SimpleQueue[dict[str, Any]]") -> None:
    """Queues requests. When stdin ends, the parent has ended: kills this process and its children."""
    for line in requests:
        taken.put(json.loads(line))
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(0)


def _memory_in_use() -> int:
    """Returns the bytes of this process's data, which the next file cannot use; 0 without /proc."""
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[5]
    except OSError:  # not Linux
        return 0
    return int(pages) * os.sysconf("SC_PAGESIZE")


def _set_limits(seconds: float, megabytes: float) -> None:
    """Sets this process's limits of processor time and memory. Infinite values remove the limits."""
    from resource import RLIM_INFINITY, RLIMIT_CPU, RLIMIT_DATA, getrlimit, setrlimit

    # RLIMIT_AS would count memory that threads reserve and never use.
    for limit, most in ((RLIMIT_CPU, time.process_time() + seconds), (RLIMIT_DATA, megabytes * 2**20)):
        _, hard = getrlimit(limit)
        finite = [math.ceil(each) for each in (most, hard) if each not in (math.inf, RLIM_INFINITY)]
        setrlimit(limit, (min(finite, default=RLIM_INFINITY), hard))  # the soft limit, to raise it later


def read_request(request: dict[str, Any]) -> Iterator[ReaderOutput]:
    columns = ColumnNames(**{**request["columns"], "text": tuple(request["columns"]["text"])})
    return read_file(Path(request["path"]), request["name"], columns)


if __name__ == "__main__":
    serve(read_request)

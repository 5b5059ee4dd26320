"""A process that reads files whose words are what happens to their reader, as a flaw in a library would let it."""

import ctypes
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tools.documents import reader_process
from tools.documents.document import ReaderOutput
from tools.documents.readers import READERS
from tools.passages import SourceDocument


def _endless() -> None:
    while True:
        pass


def _deeper(depth: int) -> int:
    return _deeper(depth + 1)


def _forged() -> None:
    os.write(_pipe(), b'{"document": {"text": 7, "blocks": []}}\n')
    time.sleep(60)


def _garbage() -> None:
    os.write(_pipe(), b"[" * 100_000 + b"\n")
    time.sleep(60)


def _flood() -> None:
    while True:
        os.write(_pipe(), b"x" * 65_536)


def _pipe() -> int:
    """The pipe to the parent, which is the last that was opened."""
    return next(n for n in range(20, 2, -1) if Path(f"/proc/self/fd/{n}").exists() and _is_pipe(n))


def _is_pipe(number: int) -> bool:
    return str(Path(f"/proc/self/fd/{number}").readlink()).startswith("pipe:")


KEPT: list[bytearray] = []
HARM: dict[str, Callable[[], object]] = {
    "segfault": lambda: ctypes.string_at(0),
    "exit": lambda: os._exit(3),
    "spin": _endless,
    "sleep": lambda: time.sleep(600),
    "allocate": lambda: [bytearray(1 << 26) for _ in range(1000)],
    "keep": lambda: KEPT.append(bytearray(300 << 20)),
    "recurse": lambda: _deeper(0),
    "print": lambda: os.write(1, b'{"end": true}\n'),
    "forge": _forged,
    "garbage": _garbage,
    "flood": _flood,
    "odd": lambda: SourceDocument("odd", 7),  # type: ignore[arg-type]  # which cannot be told
}


def planted(path: Path, name: str) -> Iterator[ReaderOutput]:
    text = path.read_text()
    yield SourceDocument(name, text)
    if text in HARM:
        harmed = HARM[text]()
        if isinstance(harmed, SourceDocument):
            yield harmed
    yield SourceDocument(f"{name} again", f"{text} {os.getpid()}")


if __name__ == "__main__":
    READERS[".txt"] = planted
    reader_process.serve(reader_process.read_request)

"""Reads the PDF of a stranger in a process of its own, which may be ended when it takes too long or too much memory.

PDFium cannot be stopped while it unpacks a page, and a page of a few kilobytes may unpack to gigabytes.
"""

import io
import json
import subprocess
import sys
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tools.errors import SourceError
from tools.ingest.pdf import pdf_document
from tools.passages import Block, SourceDocument

_ROOT = Path(__file__).parents[2]
_MOST_MEMORY = 1 << 30  # bytes
_START = 2.0  # seconds until the process has loaded what it needs


def pdf_apart(
    data: bytes,
    name: str,
    most_pages: int | None,
    seconds: float,
    title: str = "",
    recognising: float = 0.0,
    memory: int = _MOST_MEMORY,
) -> SourceDocument:
    """What `pdf_document` makes of the data, or its SourceError; it is one, too, when the process had to be ended.

    recognising: the seconds that text recognition may take besides; without any, there is none. memory: in bytes.
    """
    reading = {"title": title, "most_pages": most_pages, "seconds": seconds, "recognise": recognising > 0}
    command = [sys.executable, "-m", "tools.ingest.pdf_apart", name, str(memory), json.dumps(reading)]
    most = seconds + recognising + _START
    try:
        done = subprocess.run(command, input=data, capture_output=True, timeout=most, cwd=_ROOT)
    except subprocess.TimeoutExpired as exc:
        raise SourceError(f"{name}: this PDF takes too long to read.") from exc
    told: dict[str, Any] = {}
    with suppress(ValueError):
        told = json.loads(done.stdout)
    if "document" in told:
        fields = told["document"]
        return SourceDocument(**{**fields, "blocks": tuple(Block(**block) for block in fields["blocks"])})
    raise SourceError(told.get("error", f"{name}: this PDF is damaged, or unpacks to more than is read of a page."))


def _main(name: str, memory: str, reading: str) -> None:
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (int(memory), int(memory)))
    try:
        data = io.BytesIO(sys.stdin.buffer.read())
        found = {"document": asdict(pdf_document(data, name, **json.loads(reading)))}
    except SourceError as exc:
        print(json.dumps({"error": str(exc)}))
    else:
        print(json.dumps(found))


if __name__ == "__main__":
    _main(*sys.argv[1:])

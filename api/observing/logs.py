"""Logs: a JSON line each on standard error, or short lines on a terminal. No question and no key stands in them.

A failure is logged by its type and where it happened. Its message is left out, since it may quote what somebody asked,
unless the settings let questions stand in the logs.
"""

import asyncio
import logging
import os
import sys
import traceback
from types import TracebackType
from typing import Any, TextIO

from pythonjsonlogger.json import JsonFormatter

from agent.settings import Settings

REQUESTS = logging.getLogger("steelman.requests")
SERVER = logging.getLogger("steelman.server")
_ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
_COLOURS = {2: "32", 3: "36", 4: "33", 5: "31"}


def configure(settings: Settings, stream: TextIO | None = None) -> None:
    """Sends every log record of this process to the stream (standard error), warnings and worse of other packages."""
    stream = stream or sys.stderr
    terminal = stream.isatty()
    handler = logging.StreamHandler(stream)
    open_ = settings.api_log_questions
    handler.setFormatter(_Short(open_, "NO_COLOR" not in os.environ) if terminal else _Json(open_))
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.getLogger("steelman").setLevel(logging.INFO)
    logging.captureWarnings(True)


def told_by_loop(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """An event loop's exception handler. Its own would quote the exception's message inside the record's."""
    exc = context.get("exception")
    message = str(context.get("message", "something went wrong in the event loop")).splitlines()[0]
    SERVER.error(message, exc_info=exc if isinstance(exc, BaseException) else None)


def _where(exc: BaseException, open_: bool) -> str:
    """The traceback of an exception and of what it was raised from, without messages unless they may be told."""
    if open_:
        return "".join(traceback.format_exception(exc)).rstrip()
    parts: list[str] = []
    seen: set[int] = set()
    while exc is not None and id(exc) not in seen:
        seen.add(id(exc))
        frames = "".join(traceback.format_tb(exc.__traceback__))
        parts.insert(0, f"{frames}{type(exc).__module__}.{type(exc).__qualname__}")
        exc = exc.__cause__ or exc.__context__  # type: ignore[assignment]  # ends the loop
    return "\nthen\n".join(parts)


class _Json(JsonFormatter):
    """Time first, then level, logger, message and whatever else a record carries."""

    def __init__(self, open_: bool) -> None:
        super().__init__(
            ["levelname", "name", "message"],
            rename_fields={"levelname": "level", "name": "logger", "exc_info": "failure"},
            reserved_attrs=[*_STANDARD, "color_message"],
            timestamp="time",
            json_ensure_ascii=False,
        )
        self._open = open_

    def process_log_record(self, log_data: dict[str, Any]) -> dict[str, Any]:
        return {"time": log_data.pop("time").isoformat(timespec="milliseconds"), **log_data}

    def formatException(self, ei: _ExcInfo) -> str:  # noqa: N802  # logging's name
        return _where(ei[1], self._open) if ei[1] else ""


class _Short(logging.Formatter):
    """What a person at a terminal wants to see."""

    def __init__(self, open_: bool, colours: bool) -> None:
        super().__init__("%(asctime)s %(message)s", "%H:%M:%S")
        self._open = open_
        self._colours = colours

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  # logging's name
        if record.name == REQUESTS.name:
            record.message = self._request(vars(record))
        elif record.levelno >= logging.WARNING:
            record.message = f"{record.levelname.lower()}: {record.message}"
        return super().formatMessage(record)

    def _request(self, fields: dict[str, Any]) -> str:
        status = str(fields["status"])
        if self._colours:
            status = f"\033[{_COLOURS.get(fields['status'] // 100, '0')}m{status}\033[0m"
        more = [fields[name] for name in ("problem", "question") if fields.get(name)]
        more += [f"{name} {fields[name]}" for name in ("run", "job", "key") if fields.get(name)]
        return "  ".join([f"{fields['method']} {fields['route']}", status, f"{fields['ms']:.0f} ms", *more])

    def formatException(self, ei: _ExcInfo) -> str:  # noqa: N802  # logging's name
        return _where(ei[1], self._open) if ei[1] else ""


_STANDARD = [*vars(logging.LogRecord("", 0, "", 0, "", (), None)), "message", "asctime"]

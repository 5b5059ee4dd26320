"""What a process says of one file: documents, notes and wrong rows, or why the reading ended."""

import json
import logging
import signal
import time
from collections.abc import Callable, Iterator
from typing import Any, get_args

from tools.errors import SourceError
from tools.ingest.documents import Note
from tools.ingest.limits import Limits
from tools.ingest.process import EndedError, Process, TooLongError
from tools.passages import SOURCE_KINDS, Block, BlockForm, SourceDocument

Found = SourceDocument | SourceError | Note
_CLOCK = 3.0  # seconds by the clock for each of work, since machines are shared
_TEXTS = ("external_id", "text", "title", "url", "publisher", "date", "key", "origin", "language")
_FORMS = get_args(BlockForm)
_LOG = logging.getLogger(__name__)


class Reading:
    """The answers to one request. Bytes and seconds are counted here, whatever the process does."""

    def __init__(self, process: Process, name: str, limits: Limits, given_up: Callable[[], bool]) -> None:
        self._process, self._name, self._limits, self._given_up = process, name, limits, given_up
        self._seconds = _CLOCK * limits.seconds + limits.recognising
        self._bytes = limits.output
        self.is_over = False

    def found(self) -> Iterator[Found]:
        """What is found, as it comes. Raises SourceError where the reading failed or had to be ended, GivenUpError;
        `is_over` tells whether the process waits for the next request."""
        while not self.is_over:
            told = self._told()
            if "document" in told:
                yield self._document(told["document"])
            elif "note" in told:
                yield Note(str(told["note"]))
            elif "problem" in told:
                yield SourceError(str(told["problem"]), hint=str(told.get("hint", "")))
            elif "memory" in told:
                raise self._too_large()
            elif "error" in told:
                self.is_over = True
                _LOG.debug("%s: its reader failed\n%s", self._name, told.get("trace"))
                raise SourceError(str(told["error"]), hint=str(told.get("hint", "")))
            else:
                self.is_over = True

    def _told(self) -> dict[str, Any]:
        began = time.monotonic()
        try:
            line = self._process.line(self._seconds, self._bytes, self._given_up)
            told = json.loads(line)
        except TimeoutError as exc:
            raise self._too_slow() from exc
        except TooLongError as exc:
            raise self._problem("holds, or unpacks to, more text than is taken of one file.") from exc
        except EndedError as exc:
            raise self._ended(self._process.status()) from exc
        except (ValueError, RecursionError) as exc:
            raise self._ended(0) from exc
        self._seconds -= time.monotonic() - began  # what passes here between two answers is not the reader's
        self._bytes -= len(line)
        if not isinstance(told, dict):
            raise self._ended(0)
        return told

    def _document(self, told: dict[str, Any]) -> SourceDocument:
        """The document, if it is one."""
        try:
            blocks = tuple(Block(*fields) for fields in told["blocks"])
            document = SourceDocument(**{**told, "blocks": blocks})
            texts = [getattr(document, each) for each in _TEXTS] + [b.text for b in blocks] + [*document.left_out]
            numbers = [n for b in blocks for n in (b.level, b.page, b.last_page)] + [*document.left_out.values()]
        except (TypeError, KeyError, AttributeError) as exc:
            raise self._ended(0) from exc
        known = document.kind in SOURCE_KINDS and all(b.form in _FORMS for b in blocks)
        if not (known and all(type(t) is str for t in texts) and all(type(n) is int for n in numbers)):
            raise self._ended(0)
        return document

    def _too_slow(self) -> SourceError:
        told = f"takes too long to read (over {self._limits.seconds:g} seconds)."
        return self._problem(told, self._limits.more_time)

    def _too_large(self) -> SourceError:
        told = f"unpacks to more than the {self._limits.megabytes:,} MB of memory that reading it may take."
        return self._problem(told, self._limits.more_memory)

    def _ended(self, status: int) -> SourceError:
        """Why a process that is gone has ended; a status of 0 is none."""
        if status == -signal.SIGXCPU:
            return self._too_slow()
        how = signal.Signals(-status).name if status < 0 else f"status {status}"
        told = f"damaged, or unpacks to more than {self._limits.megabytes:,} MB of memory: it ended its reader ({how})."
        return self._problem(f"is {told}", self._limits.more_memory)

    def _problem(self, told: str, more: str = "") -> SourceError:
        return SourceError(" ".join(filter(None, (f"{self._name}: {told}", self._limits.advice))), hint=more)

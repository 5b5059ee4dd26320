"""Standard input, output and error of the command line, whatever they are: closed, full, or of another encoding."""

import contextlib
import logging
import os
import sys
from typing import TextIO


def prepare_streams() -> None:
    """Has all three open, with '?' printed for what an encoding cannot say.

    A closed one is opened on nothing: the next file that is opened would take its number, and what a library prints
    would be written into that file.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free, which is this one
    sys.stdin = sys.stdin or open(0, encoding="utf-8", closefd=False)  # noqa: SIM115  # as long as the process
    sys.stdout = sys.stdout or open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    _reads_with(sys.stdin, "surrogateescape")  # a question that is no text is refused in so many words
    _reads_with(sys.stdout, "replace")
    _reads_with(sys.stderr, "backslashreplace")


def _reads_with(stream: TextIO, errors: str) -> None:
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors=errors)


def drop_output() -> None:
    """Forgets what could not be written, of which the interpreter would complain on its way out."""
    with contextlib.suppress(OSError, ValueError):  # no file, as in a test
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def tell_warnings() -> None:
    """Has Steelman's own warnings told in a line each on standard error, and no traceback."""
    logger = logging.getLogger("steelman")
    if not any(isinstance(handler, _Telling) for handler in logger.handlers):
        logger.addHandler(_Telling(logging.WARNING))


class _Telling(logging.Handler):
    """Errors of a run are told by whoever waits for it."""

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno == logging.WARNING:
            from agent.answer.render.words import plain

            print(f"steelman: {plain(record.getMessage())}", file=sys.stderr)

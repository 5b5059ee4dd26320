"""What is learned about a request on its way, for its log line and the figures: its run, why it was refused."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_notes: ContextVar[dict[str, str] | None] = ContextVar("steelman_request_notes", default=None)


@contextmanager
def noting() -> Iterator[dict[str, str]]:
    """Collects what is passed to `note` inside."""
    notes: dict[str, str] = {}
    token = _notes.set(notes)
    try:
        yield notes
    finally:
        _notes.reset(token)


def note(**facts: str) -> None:
    """Notes facts about the request that is being answered; outside of one nothing happens.

    `run`, `job`, `question` (logged only where the settings ask for it) and `problem` are known names.
    """
    notes = _notes.get()
    if notes is not None:
        notes.update(facts)

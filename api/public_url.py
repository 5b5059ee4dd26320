"""The address at which callers reach this server behind a proxy (`STEELMAN_PUBLIC_URL`)."""

from contextvars import ContextVar

BASE: ContextVar[str] = ContextVar("base", default="")
"""Set for each request, which is a task of its own."""


def link(path: str) -> str:
    """The path on this server as a link; absolute if a public address is set."""
    return BASE.get() + path

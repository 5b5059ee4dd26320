"""The server's address behind a proxy (`STEELMAN_PUBLIC_URL`)."""

from contextvars import ContextVar

BASE: ContextVar[str] = ContextVar("base", default="")
"""The public address. The guard sets it for each request."""


def link(path: str) -> str:
    """Returns the path with the public address before it, or the path alone if none is set."""
    return BASE.get() + path

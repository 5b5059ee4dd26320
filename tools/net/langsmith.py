"""Prevents LangSmith traces of private runs."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any


def langsmith_scope(*, web: bool) -> AbstractContextManager[Any]:
    """Disables LangSmith for a run without web, whatever the environment says."""
    if web:
        return nullcontext()
    from langsmith import tracing_context

    return tracing_context(enabled=False)

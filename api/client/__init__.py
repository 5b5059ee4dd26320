"""A client of the calls over HTTP, for programs in Python.

    from api.client import Steelman

    with Steelman() as steelman:
        answer = steelman.ask("Should schools ban smartphones?")

It loads nothing of the agent's machinery: httpx, and the shapes that the server itself checks with.
"""

from agent.answer.model import Answer
from agent.answer.retrieved import Retrieved
from agent.runs.store import Event
from api.client.client import Steelman
from api.client.connection import CallError, ClientError, JobEndedError, RunEndedError, UnreachableError
from api.schemas import (
    Collection,
    Document,
    JobDetails,
    Judged,
    JudgePair,
    NewDocument,
    RunDetails,
    RunSummary,
    Side,
    Stored,
)

__all__ = [
    "Answer",
    "CallError",
    "ClientError",
    "Collection",
    "Document",
    "Event",
    "JobDetails",
    "JobEndedError",
    "JudgePair",
    "Judged",
    "NewDocument",
    "Retrieved",
    "RunDetails",
    "RunEndedError",
    "RunSummary",
    "Side",
    "Steelman",
    "Stored",
    "UnreachableError",
]

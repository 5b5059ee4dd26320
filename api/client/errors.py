"""What a call can end in besides its result.

ClientError
├── CallError          the server answered with a problem document
├── RunEndedError      the run was cancelled, or waits for its sides: it has no answer
├── JobEndedError      the job has failed, was cancelled or interrupted: not all of its upload is stored
└── UnreachableError   no reply, for longer than the client is patient
"""

from collections.abc import Mapping
from typing import Any

import httpx


class ClientError(Exception):
    """Base of the client's errors; its text says what is wrong and, where the server knows it, what to do next."""


class CallError(ClientError):
    """The problem that the server answered with; its text is the problem's detail.

    `status` is the HTTP status, `name` the kind of problem ('unknown-collection'), `fields` what is wrong with each
    field of the request, `run_id` the run that it is about ('' where it is about none), `retry_after` the seconds until
    it is worth asking again.
    """

    def __init__(self, problem: Mapping[str, Any], retry_after: float | None = None) -> None:
        super().__init__(str(problem.get("detail") or problem.get("title") or "The call failed."))
        self.status = int(problem.get("status", 500))
        self.name = str(problem.get("type", "")).rpartition(":")[2]
        self.fields: dict[str, str] = {wrong["field"]: wrong["message"] for wrong in problem.get("errors") or ()}
        self.run_id = str(problem.get("instance") or "").rpartition("/")[2]
        self.retry_after = retry_after


class RunEndedError(ClientError):
    """The run has no answer: its `status` is 'cancelled', or 'waiting' with the planned `sides`. `resume` goes on."""

    def __init__(self, run_id: str, status: str, sides: list[dict[str, Any]]) -> None:
        state = "waits for its sides" if status == "waiting" else f"is {status}"
        super().__init__(f"Run {run_id} {state}. resume('{run_id}') goes on with it.")
        self.run_id, self.status, self.sides = run_id, status, sides


class JobEndedError(ClientError):
    """The job has not stored all that was uploaded: its `status` is 'failed', 'cancelled' or 'interrupted'. What it
    stored stays, and is not stored twice where the upload is sent again."""

    def __init__(self, job_id: str, status: str, error: str) -> None:
        super().__init__(f"Job {job_id} is {status}. {error or 'Send the upload again for the rest.'}")
        self.job_id, self.status = job_id, status


class UnreachableError(ClientError):
    """The server gave no reply; the cause is what went wrong last."""


def error_in(reply: httpx.Response) -> CallError:
    """The error that a reply is, whose body has been read; also one that is not Steelman's own, as a proxy's."""
    after = reply.headers.get("retry-after", "")
    try:
        problem = reply.json()
    except ValueError:
        problem = None
    if not isinstance(problem, dict):
        problem = {"detail": f"{reply.url} answered {reply.status_code} {reply.reason_phrase}."}
    return CallError({"status": reply.status_code, **problem}, float(after) if after.isdigit() else None)

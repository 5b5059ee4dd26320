"""Sends a run's events as server-sent events. Each id is the event's number, so that a client can reconnect."""

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.background import BackgroundTask

from agent.runs.executor import RunFailure
from agent.runs.store import RunEvent
from api.problems import failed_run, link, problem_of
from api.service import ApiService, stored_answer
from tools.errors import SteelmanError

EVENT_STREAM = "text/event-stream"
KINDS = (
    *("started", "queued", "stage", "framed", "sides", "searching", "found", "judged", "again", "written"),
    *("claim", "verified", "resumed", "waiting", "done", "failed", "cancelled"),
)
"""Kinds of events. The last four end the stream."""
EVENTS: dict[str, Any] = {
    EVENT_STREAM: {
        "schema": {
            "type": "object",
            "description": "A server-sent event. `data` is a JSON object: 'done' has the `answer`, 'failed' the "
            "`problem`, 'waiting' the planned `sides`. docs/api.md lists the others. An event 'problem' without an "
            "id is a problem document and ends the stream.",
            "properties": {
                "id": {"type": "string", "pattern": "^[0-9]+$", "description": "The event's number, from 1."},
                "event": {"enum": [*KINDS, "problem"]},
                "data": {"type": "string", "contentMediaType": "application/json"},
            },
            "required": ["event", "data"],
        }
    }
}
"""The response for OpenAPI."""
QUIET_SECONDS = 10.0
"""Seconds between two comments. The comments keep proxies from closing the connection."""


def event_stream(service: ApiService, run_id: str, after: int = 0) -> EventSourceResponse:
    """Sends the events with numbers above `after` until the run ends or waits for the caller to send its sides. `done`
    has the answer, `failed` the problem document. The run continues if the client disconnects."""
    return sse_response(_events(service, run_id, after), run_id, lambda: ServerSentEvent(comment="waiting", sep="\n"))


def sse_response(
    events: AsyncIterator[dict[str, str]],
    run_id: str,
    quiet: Callable[[], ServerSentEvent],
    after: BackgroundTask | None = None,
) -> EventSourceResponse:
    """Sends the events, and every QUIET_SECONDS an event `quiet`, which keeps the connection open. `run_id`: the run
    of the events, or empty. `after`: what to do at the end, also if the client disconnects."""
    headers = {"Content-Location": link(f"/v1/runs/{run_id}")} if run_id else {}
    return EventSourceResponse(
        events, headers=headers, background=after, ping=QUIET_SECONDS, ping_message_factory=quiet, sep="\n"
    )


async def _events(service: ApiService, run_id: str, after: int) -> AsyncIterator[dict[str, str]]:
    yield {"comment": "following"}
    try:
        async for event in service.events(run_id, after):
            yield await _message(service, run_id, event)
    except SteelmanError as exc:
        yield {"event": "problem", "data": json.dumps(problem_of(exc).document())}


async def _message(service: ApiService, run_id: str, event: RunEvent) -> dict[str, str]:
    data = {"at": event.at, **event.data}
    if event.kind == "done":
        answer = stored_answer(await service.runs.run(run_id))
        data["answer"] = answer and answer.model_dump(mode="json")
    elif event.kind == "failed":
        failure = RunFailure(**event.data)
        problem = failed_run(run_id, failure).document()
        data = {"at": event.at, "error": failure.cause().remote_text, "problem": problem}
    return {"id": str(event.number), "event": event.kind, "data": json.dumps(data, ensure_ascii=False)}

"""A run's events as server-sent events, whose ids are the events' numbers: a client that reconnects misses nothing."""

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any

from starlette.responses import StreamingResponse

from agent.runs.failure import RunFailure
from agent.runs.store import Event
from api.hints import stored_answer
from api.problems import failed_run, problem_of
from api.service import Service
from tools.errors import SteelmanError

EVENT_STREAM = "text/event-stream"
KINDS = (
    *("started", "queued", "stage", "framed", "sides", "searching", "found", "judged", "again", "reading", "written"),
    *("claim", "verified", "resumed", "waiting", "done", "failed", "cancelled"),
)
"""What happens in a run. The last four end the stream."""
EVENTS: dict[str, Any] = {
    EVENT_STREAM: {
        "schema": {
            "type": "object",
            "description": "Each of the server-sent events. `data` is a JSON object; that of 'done' has the `answer`, "
            "that of 'failed' the `problem`, that of 'waiting' the planned `sides`; docs/api.md lists "
            "the others. An event 'problem', without an id, is a problem document: the run cannot be followed any "
            "further.",
            "properties": {
                "id": {"type": "string", "pattern": "^[0-9]+$", "description": "The event's number, from 1."},
                "event": {"enum": [*KINDS, "problem"]},
                "data": {"type": "string", "contentMediaType": "application/json"},
            },
            "required": ["event", "data"],
        }
    }
}
"""For OpenAPI."""
_JSON_RANGES = ("application/json", "application/*", "*/*")
QUIET_SECONDS = 10.0
"""After so long without an event a comment is sent, so that nobody between takes the connection for dead."""

STREAM_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
"""A stream is kept by nobody, and sent on as it comes."""


def wants_events(accept: str) -> bool:
    """Whether a request's Accept header would rather have events than JSON."""
    ranges = [_weighed(part) for part in accept.split(",") if part.strip()]
    events = max((q for media, q in ranges if media == EVENT_STREAM), default=0.0)
    others = max((q for media, q in ranges if media in _JSON_RANGES), default=0.0)
    return events > others


def _weighed(media_range: str) -> tuple[str, float]:
    media, *parameters = (part.strip().lower() for part in media_range.split(";"))
    weights = [p.partition("=")[2] for p in parameters if p.startswith("q=")]
    with contextlib.suppress(ValueError):
        return media, float(weights[0]) if weights else 1.0
    return media, 0.0


def event_stream(service: Service, run_id: str, after: int = 0) -> StreamingResponse:
    """The events with numbers above `after`, as they come, until the run ends or waits for its sides.

    The last event of a run that is done carries the whole answer, that of one that failed the problem document. A
    client that goes away costs the run nothing.
    """
    headers = STREAM_HEADERS | {"Content-Location": f"/v1/runs/{run_id}"}
    return StreamingResponse(_lines(service, run_id, after), headers=headers, media_type=EVENT_STREAM)


async def followed(service: Service, run_id: str, after: int = 0) -> AsyncGenerator[Event | None]:
    """The run's events as they come, and None each time that nothing happened for QUIET_SECONDS."""
    events = aiter(service.events(run_id, after))
    coming = asyncio.ensure_future(anext(events, None))
    try:
        while True:
            done, _ = await asyncio.wait([coming], timeout=QUIET_SECONDS)
            if not done:
                yield None
                continue
            if (event := coming.result()) is None:
                return
            yield event
            coming = asyncio.ensure_future(anext(events, None))
    finally:
        coming.cancel()
        with contextlib.suppress(asyncio.CancelledError, SteelmanError):
            await coming


async def _lines(service: Service, run_id: str, after: int) -> AsyncIterator[str]:
    yield ": following\n\n"
    try:
        async with aclosing(followed(service, run_id, after)) as events:
            async for event in events:
                yield await _message(service, run_id, event) if event else ": waiting\n\n"
    except SteelmanError as exc:
        yield f"event: problem\ndata: {problem_of(exc).json()}\n\n"


async def _message(service: Service, run_id: str, event: Event) -> str:
    """The event for a caller: the last one brings the answer, or what failed as its request would have got it."""
    data = {"at": event.at, **event.data}
    if event.kind == "done":
        answer = stored_answer(await service.runs.run(run_id))
        data["answer"] = answer and answer.model_dump(mode="json")
    elif event.kind == "failed":
        failure = RunFailure.read(event.data)
        problem = failed_run(run_id, failure).problem.model_dump(exclude_none=True)
        data = {"at": event.at, "error": failure.remote_text, "problem": problem}
    return f"id: {event.number}\nevent: {event.kind}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"

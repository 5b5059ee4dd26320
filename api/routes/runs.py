"""Questions, runs and the judge."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from fastapi import APIRouter, Body, Header, Path, Query, Request
from pydantic import WithJsonSchema
from starlette.responses import Response

from agent.answer.corrections import Corrections
from agent.answer.model import Answer, Citation
from agent.answer.retrieved import Retrieved
from agent.runs.store import RunStatus
from api import schemas
from api.events import EVENT_STREAM, EVENTS, event_stream
from api.problems import LOCATED, ProblemError, link
from api.service import ApiService, TheService
from tools.errors import InputError, as_sentence

questions = APIRouter()
router = APIRouter(prefix="/v1/runs", tags=["runs"])
IdempotencyKey = Annotated[
    str | None,
    Header(
        pattern=schemas.IDEMPOTENCY_KEY,
        description="Your own name for this request. A repeated request with it returns the same run.",
    ),
    WithJsonSchema({"type": "string", "pattern": schemas.IDEMPOTENCY_KEY}),
]
LastEventId = Annotated[
    int | None,
    Header(ge=0, le=2**31, description="The last received event, as EventSource sends it."),
    WithJsonSchema({"type": "integer", "minimum": 0, "maximum": 2**31}),
]
_HERE = {"Content-Location": {"description": "The run's address.", "schema": {"type": "string"}}}
_LATER: dict[int | str, dict[str, Any]] = {202: {"model": schemas.RunDetails, **LOCATED}}


@questions.post(
    "/v1/ask",
    tags=["questions"],
    response_model=Answer,
    response_description="The answer, or its events",
    responses={200: {"content": EVENTS, "headers": _HERE}, **_LATER},
)
async def ask(
    request: Request, question: schemas.AskRequest, service: TheService, idempotency_key: IdempotencyKey = None
) -> Response:
    """Answers a question with every side's strongest sourced case.

    The reply is the whole answer, or with `stream` or `Accept: text/event-stream` the run's events. If the caller
    disconnects, the run continues, and its answer is at `/v1/runs/{id}`.
    """
    run_id = await service.start(question, idempotency_key=idempotency_key)
    preferred = request.headers.get("accept", "").partition(",")[0].partition(";")[0].strip().lower()
    if question.stream or preferred == EVENT_STREAM:
        return event_stream(service, run_id)
    return await _result_or_state(service, run_id, question, service.answer)


@questions.post(
    "/v1/retrieve",
    tags=["questions"],
    response_model=Retrieved,
    response_description="The sides with their passages",
    responses={200: {"headers": _HERE}, **_LATER},
)
async def retrieve(
    question: schemas.RetrieveRequest, service: TheService, idempotency_key: IdempotencyKey = None
) -> Response:
    """Retrieves, judges and selects passages for the sides of a question, without writing an answer.

    After a reply 202 the passages are at `/v1/runs/{id}/passages`.
    """
    run_id = await service.start(question, writing=False, idempotency_key=idempotency_key)
    return await _result_or_state(service, run_id, question, service.retrieved)


@questions.post("/v1/judge", tags=["judge"])
async def judge(request: schemas.JudgeRequest, service: TheService) -> schemas.Judged:
    """Judges how likely each passage supports its statement."""
    return await service.judge(request)


async def _result_or_state(
    service: ApiService,
    run_id: str,
    question: schemas.RetrieveRequest,
    result: Callable[[str], Awaitable[Answer | Retrieved]],
) -> Response:
    """Replies with the result of the run, or its state if it has not ended within `wait_seconds`."""
    place = link(f"/v1/runs/{run_id}")
    if not await service.wait(run_id, question.wait_seconds):
        state = await service.state(run_id)
        return Response(state.model_dump_json(), 202, {"Location": place}, "application/json")
    body = (await result(run_id)).model_dump_json()
    return Response(body, headers={"Content-Location": place}, media_type="application/json")


@router.get("")
async def list_runs(
    service: TheService,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    after: Annotated[schemas.Cursor | None, Query(description="The `next` of the previous page.")] = None,
    status: Annotated[
        RunStatus | None, Query(description="Only with this status; an abandoned run is running.")
    ] = None,
    thread: Annotated[schemas.RunId | None, Query(description="Only runs of this thread.")] = None,
) -> schemas.RunList:
    """Lists the caller's own runs, newest first. A server without keys lists all runs, except runs of people who log in
    to the page.

    Runs that start or are deleted meanwhile do not shift the pages.
    """
    return await service.listed(limit, status, thread, after)


@router.get("/{run_id}")
async def read_run(run_id: schemas.RunId, service: TheService) -> schemas.RunDetails:
    """Returns the run's progress, and its answer when it is done."""
    return await service.state(run_id)


@router.get(
    "/{run_id}/events",
    response_model=None,
    responses={
        200: {"description": "The events", "content": EVENTS},
        204: {"description": "The run has ended and no event follows: do not reconnect"},
    },
)
async def run_events(
    run_id: schemas.RunId,
    service: TheService,
    last_event_id: LastEventId = None,
    after: Annotated[int, Query(ge=0, le=2**31, description="Like Last-Event-ID, for clients without headers.")] = 0,
) -> Response:
    """Sends the run's events after the last received event, until the run ends or waits for the caller to send its
    sides."""
    row = await service.run(run_id)
    seen = after if last_event_id is None else last_event_id
    if row.status != "running" and not await service.runs.recent_events(run_id, seen):
        return Response(status_code=204)
    return event_stream(service, run_id, seen)


@router.get("/{run_id}/passages")
async def run_passages(run_id: schemas.RunId, service: TheService) -> Retrieved:
    """Returns the selected passages of each side of a finished run."""
    await _check_done(service, run_id)
    return await service.retrieved(run_id)


@router.get("/{run_id}/citations/{number}")
async def run_citation(
    run_id: schemas.RunId, number: Annotated[int, Path(ge=1, le=2**31)], service: TheService
) -> Citation:
    """Returns a source that the run's answer cites, with its quotation."""
    await _check_done(service, run_id)
    for citation in (await service.answer(run_id)).citations:
        if citation.number == number:
            return citation
    raise ProblemError(404, "unknown-citation", f"The answer has no citation {number}.")


@router.post("/{run_id}/cancel")
async def cancel_run(run_id: schemas.RunId, service: TheService) -> schemas.Cancelled:
    """Stops the run. `resume` continues after the run's last finished stage."""
    await service.run(run_id)
    return schemas.Cancelled(id=run_id, stopped=await service.runs.cancel(run_id))


@router.post("/{run_id}/resume", status_code=202, responses={202: LOCATED})
async def resume_run(
    run_id: schemas.RunId, service: TheService, response: Response, request: schemas.ResumeRequest | None = None
) -> schemas.RunDetails:
    """Continues a cancelled, failed or abandoned run. With `sides`, continues a run that waits for sides."""
    await service.resume(run_id, request.sides if request else None)
    response.headers["Location"] = link(f"/v1/runs/{run_id}")
    return await service.state(run_id)


@router.delete("/{run_id}", status_code=204)
async def delete_run(run_id: schemas.RunId, service: TheService) -> None:
    """Deletes the run, its answer and its web pages."""
    await service.run(run_id)
    await service.runs.delete(run_id)


@router.post("/{run_id}/corrections")
async def correct_answer(
    run_id: schemas.RunId,
    citation: Annotated[int, Body(ge=1, le=2**31, description="The number of the quotation.")],
    to: Annotated[
        str, Body(pattern=schemas.ONE_LINE, max_length=40, description="A side's `id`, `also`, or `off` the question.")
    ],
    service: TheService,
    text: Annotated[str, Body(description="The text of one claim. Default: all claims that cite the number.")] = "",
) -> Answer:
    """Moves quotations that are on the wrong side. Steelman applies the correction whenever it loads the answer."""
    await _check_done(service, run_id)
    try:
        await asyncio.to_thread(Corrections(service.runs.database).add, run_id, to, text=text, number=citation)
    except InputError as exc:
        raise ProblemError(404, "unknown-quotation", as_sentence(str(exc))) from exc
    return await service.answer(run_id)


@router.delete("/{run_id}/corrections")
async def undo_correction(run_id: schemas.RunId, service: TheService) -> Answer:
    """Undoes the last correction of the answer, if any."""
    await _check_done(service, run_id)
    await asyncio.to_thread(Corrections(service.runs.database).undo, run_id)
    return await service.answer(run_id)


async def _check_done(service: TheService, run_id: str) -> None:
    row = await service.run(run_id)
    if row.status != "done":
        advice = "Follow its events" if row.status == "running" else f"POST /v1/runs/{run_id}/resume continues it"
        raise ProblemError(409, "run-not-done", f"Run {run_id} is {row.status}. {advice}.")

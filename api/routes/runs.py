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
from api.callers import Caller, TheCaller
from api.events import EVENT_STREAM, EVENTS, event_stream
from api.field_types import IDEMPOTENCY_KEY, ONE_LINE, Cursor, RunId
from api.problems import LOCATED, ProblemError
from api.schemas import AskRequest, Cancelled, Judged, JudgeRequest, ResumeRequest, RetrieveRequest, RunDetails, RunList
from api.service import Service, TheService
from tools.errors import InputError, as_sentence

questions = APIRouter()
router = APIRouter(prefix="/v1/runs", tags=["runs"])
IdempotencyKey = Annotated[
    str | None,
    Header(
        pattern=IDEMPOTENCY_KEY,
        description="A name of your own for this request: sent again with it, the same run is found and none begun.",
    ),
    WithJsonSchema({"type": "string", "pattern": IDEMPOTENCY_KEY}),
]
LastEventId = Annotated[
    int | None,
    Header(ge=0, le=2**31, description="As EventSource sends it."),
    WithJsonSchema({"type": "integer", "minimum": 0, "maximum": 2**31}),
]
_HERE = {"Content-Location": {"description": "The run's address.", "schema": {"type": "string"}}}
_LATER: dict[int | str, dict[str, Any]] = {202: {"model": RunDetails, **LOCATED}}


@questions.post(
    "/v1/ask",
    tags=["questions"],
    response_model=Answer,
    response_description="The answer, or its events",
    responses={200: {"content": EVENTS, "headers": _HERE}, **_LATER},
)
async def ask(
    request: Request,
    question: AskRequest,
    service: TheService,
    caller: TheCaller,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Answers a question with every side's strongest sourced case.

    The reply is the whole answer. With `stream`, or where the caller would rather accept `text/event-stream`, it is the
    run's events as they come. A caller that goes away costs the run nothing: its answer is at `/v1/runs/{id}`.
    """
    run_id = await service.start(caller, question, idempotency_key=idempotency_key)
    preferred = request.headers.get("accept", "").partition(",")[0].partition(";")[0].strip().lower()
    if question.stream or preferred == EVENT_STREAM:
        return event_stream(service, run_id)
    return await _whole(service, caller, run_id, question, service.answer)


@questions.post(
    "/v1/retrieve",
    tags=["questions"],
    response_model=Retrieved,
    response_description="The sides and what was found for each",
    responses={200: {"headers": _HERE}, **_LATER},
)
async def retrieve(
    question: RetrieveRequest, service: TheService, caller: TheCaller, idempotency_key: IdempotencyKey = None
) -> Response:
    """The sides of a question with the passages found for each, judged and chosen; nothing is written.

    A run whose reply was 202 gives its passages at `/v1/runs/{id}/passages`.
    """
    run_id = await service.start(caller, question, writing=False, idempotency_key=idempotency_key)
    return await _whole(service, caller, run_id, question, service.retrieved)


@questions.post("/v1/judge", tags=["judge"])
async def judge(request: JudgeRequest, service: TheService, caller: TheCaller) -> Judged:
    """How likely each passage supports its statement, by the judge in force; the embedded one stands in if it fails."""
    return await service.judge(caller, request)


async def _whole(
    service: Service,
    caller: Caller,
    run_id: str,
    question: RetrieveRequest,
    result: Callable[[str], Awaitable[Answer | Retrieved]],
) -> Response:
    """The result of the run, or its state if it has not ended in `wait_seconds`."""
    place = f"/v1/runs/{run_id}"
    if not await service.ended(run_id, question.wait_seconds):
        state = await service.state(caller, run_id)
        return Response(state.model_dump_json(), 202, {"Location": place}, "application/json")
    told = (await result(run_id)).model_dump_json()
    return Response(told, headers={"Content-Location": place}, media_type="application/json")


@router.get("")
async def list_runs(
    service: TheService,
    caller: TheCaller,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    after: Annotated[Cursor | None, Query(description="The `next` of the page before.")] = None,
    status: Annotated[RunStatus | None, Query(description="Only those; one that is abandoned is running.")] = None,
    thread: Annotated[RunId | None, Query(description="Only those of this thread.")] = None,
) -> RunList:
    """The caller's own runs, newest first; where no key is needed, all but those of people who log in to the page.

    What is begun meanwhile is on no later page, and what is deleted meanwhile moves nothing.
    """
    return await service.listed(caller, limit, status, thread, after)


@router.get("/{run_id}")
async def read_run(run_id: RunId, service: TheService, caller: TheCaller) -> RunDetails:
    """How far the run is, and its answer once it has one."""
    return await service.state(caller, run_id)


@router.get(
    "/{run_id}/events",
    response_model=None,
    responses={
        200: {"description": "Events as they come", "content": EVENTS},
        204: {"description": "The run has ended, and there is nothing after that event: do not come again"},
    },
)
async def run_events(
    run_id: RunId,
    service: TheService,
    caller: TheCaller,
    last_event_id: LastEventId = None,
    after: Annotated[int, Query(ge=0, le=2**31, description="The same, for clients that cannot set headers.")] = 0,
) -> Response:
    """The run's events after the last one that the caller has seen, until the run ends or waits for its sides."""
    row = await service.run(caller, run_id)
    seen = after if last_event_id is None else last_event_id
    if row.status != "running" and not await service.runs.recent_events(run_id, seen):
        return Response(status_code=204)
    return event_stream(service, run_id, seen)


@router.get("/{run_id}/passages")
async def run_passages(run_id: RunId, service: TheService, caller: TheCaller) -> Retrieved:
    """What a run that has ended found for each side."""
    await _ended(service, caller, run_id)
    return await service.retrieved(run_id)


@router.get("/{run_id}/citations/{number}")
async def run_citation(
    run_id: RunId, number: Annotated[int, Path(ge=1, le=2**31)], service: TheService, caller: TheCaller
) -> Citation:
    """A source that the run's answer cites, with the words it stands on."""
    await _ended(service, caller, run_id)
    for found in (await service.answer(run_id)).citations:
        if found.number == number:
            return found
    raise ProblemError(404, "unknown-citation", f"The answer has no citation {number}.")


@router.post("/{run_id}/cancel")
async def cancel_run(run_id: RunId, service: TheService, caller: TheCaller) -> Cancelled:
    """Stops the run; `resume` goes on from its last finished stage."""
    await service.run(caller, run_id)
    return Cancelled(id=run_id, stopped=await service.runs.cancel(run_id))


@router.post("/{run_id}/resume", status_code=202, responses={202: LOCATED})
async def resume_run(
    run_id: RunId, service: TheService, caller: TheCaller, response: Response, request: ResumeRequest | None = None
) -> RunDetails:
    """Goes on with a run that was stopped or has failed; `sides` answer one that waits for its sides."""
    await service.resume(caller, run_id, request.sides if request else None)
    response.headers["Location"] = f"/v1/runs/{run_id}"
    return await service.state(caller, run_id)


@router.delete("/{run_id}", status_code=204)
async def delete_run(run_id: RunId, service: TheService, caller: TheCaller) -> None:
    """Removes the run, its answer and the pages that it read."""
    await service.run(caller, run_id)
    await service.runs.delete(run_id)


@router.post("/{run_id}/corrections")
async def correct_answer(
    run_id: RunId,
    citation: Annotated[int, Body(ge=1, le=2**31, description="The number of a source.")],
    to: Annotated[
        str, Body(pattern=ONE_LINE, max_length=40, description="A side's `id`, `also`, or `off` the question.")
    ],
    service: TheService,
    caller: TheCaller,
    text: Annotated[str, Body(description="The one claim of these words; left out, all that cite the number.")] = "",
) -> Answer:
    """Moves quotations of the answer that stand on the wrong side. The answer is read so from then on."""
    await _ended(service, caller, run_id)
    try:
        await asyncio.to_thread(Corrections(service.runs.database).add, run_id, to, text=text, number=citation)
    except InputError as exc:
        raise ProblemError(404, "unknown-quotation", as_sentence(str(exc))) from exc
    return await service.answer(run_id)


@router.delete("/{run_id}/corrections")
async def undo_correction(run_id: RunId, service: TheService, caller: TheCaller) -> Answer:
    """Takes the last correction of the answer back, if there is one."""
    await _ended(service, caller, run_id)
    await asyncio.to_thread(Corrections(service.runs.database).undo, run_id)
    return await service.answer(run_id)


async def _ended(service: TheService, caller: TheCaller, run_id: str) -> None:
    """Raises ProblemError for a run without an answer."""
    row = await service.run(caller, run_id)
    advice = {
        "running": f"Follow GET /v1/runs/{run_id}/events until it is done.",
        "waiting": f"Send its sides to POST /v1/runs/{run_id}/resume.",
    }.get(row.status, f"POST /v1/runs/{run_id}/resume goes on with it.")
    if row.status != "done":
        detail = f"Run {run_id} is {row.status}. {advice}"
        raise ProblemError(409, "run-not-done", detail)

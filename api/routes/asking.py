"""Questions: the whole answer, its events as it grows, or the passages alone; and the judge by itself."""

import time
from typing import Annotated, Any

from fastapi import APIRouter, Header, Request
from pydantic import WithJsonSchema
from starlette.responses import Response

from agent.answer.model import Answer
from agent.answer.retrieved import Retrieved
from api.callers import Caller, TheCaller
from api.events import EVENTS, event_stream, wants_events
from api.problems import LOCATED, responses
from api.schemas import IDEMPOTENCY_KEY, AskRequest, Judged, JudgeRequest, RetrieveRequest, RunDetails
from api.service import Service, TheService

router = APIRouter()
IdempotencyKey = Annotated[
    str | None,
    Header(
        pattern=IDEMPOTENCY_KEY,
        description="A name of your own for this request: sent again with it, the same run is found and none begun.",
    ),
    WithJsonSchema({"type": "string", "pattern": IDEMPOTENCY_KEY}),
]
_HERE = {"Content-Location": {"description": "The run's address.", "schema": {"type": "string"}}}
_LATER: dict[int | str, dict[str, Any]] = {202: {"model": RunDetails, **LOCATED}}
_FAILURES = responses(400, 404, 409, 413, 415, 422, 502, 503, 504, 507)


@router.post(
    "/v1/ask",
    tags=["questions"],
    response_model=Answer,
    response_description="The answer, or its events",
    responses={
        200: {"content": EVENTS, "headers": _HERE},
        **_LATER,
        **_FAILURES,
    },
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
    began = time.perf_counter()
    run_id = await service.start(caller, question, idempotency_key=idempotency_key)
    if question.stream or wants_events(request.headers.get("accept", "")):
        return event_stream(service, run_id)
    if not await service.ended(run_id, question.wait_seconds):
        return await _later(service, caller, run_id)
    return _json(await service.answer(run_id), run_id, began)


@router.post(
    "/v1/retrieve",
    tags=["questions"],
    response_model=Retrieved,
    response_description="The sides and what was found for each",
    responses={200: {"headers": _HERE}, **_LATER, **_FAILURES},
)
async def retrieve(
    question: RetrieveRequest, service: TheService, caller: TheCaller, idempotency_key: IdempotencyKey = None
) -> Response:
    """The sides of a question with the passages found for each, judged and chosen; nothing is written.

    A run whose reply was 202 gives its passages at `/v1/runs/{id}/passages`.
    """
    began = time.perf_counter()
    run_id = await service.start(caller, question, writing=False, idempotency_key=idempotency_key)
    if not await service.ended(run_id, question.wait_seconds):
        return await _later(service, caller, run_id)
    return _json(await service.retrieved(run_id), run_id, began)


@router.post("/v1/judge", tags=["judge"], response_model=Judged, responses=responses(400, 413, 415, 422, 502, 503, 504))
async def judge(request: JudgeRequest, service: TheService, caller: TheCaller) -> Judged:
    """How likely each passage supports its statement, by the judge in force; the embedded one stands in if it fails."""
    return await service.judge(caller, request)


async def _later(service: Service, caller: Caller, run_id: str) -> Response:
    state = await service.state(caller, run_id)
    location = {"Location": f"/v1/runs/{run_id}"}
    return Response(state.model_dump_json(), 202, headers=location, media_type="application/json")


def _json(result: Answer | Retrieved, run_id: str, began: float) -> Response:
    took = 1000 * (time.perf_counter() - began)
    headers = {"Content-Location": f"/v1/runs/{run_id}", "Server-Timing": f"run;dur={took:.1f}"}
    return Response(result.model_dump_json(), headers=headers, media_type="application/json")

"""OpenAI-compatible calls: chat completions, responses and models."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.background import BackgroundTask
from starlette.responses import JSONResponse, Response

from agent.runs.store import RunRow
from api.completions.conversation import MODELS, CompletionRequest, ResponseRequest, begin_run, check_model, impossible
from api.completions.replies import Completion, ModelResponse, previous_id, run_of
from api.events import EVENT_STREAM
from api.problems import link
from api.routes.runs import IdempotencyKey
from api.service import TheService

router = APIRouter(prefix="/v1", tags=["OpenAI-compatible"])
_FORMS = {"application/json": {"schema": {"type": "object"}}, EVENT_STREAM: {"schema": {"type": "object"}}}
_ABOUT = "whose member `steelman` has the run, its thread and the outcome, or null for a reply without a run."
_COMPLETION: dict[int | str, dict[str, Any]] = {
    200: {"description": f"OpenAI's chat.completion, or its chunks, {_ABOUT}", "content": _FORMS}
}
_RESPONSE: dict[int | str, dict[str, Any]] = {
    200: {"description": f"OpenAI's response, or its events, {_ABOUT}", "content": _FORMS}
}
_OFFERED = 1_793_491_200  # 1 November 2026; clients sort by it


@router.post("/chat/completions", responses=_COMPLETION)
async def chat_completion(
    request: Request, conversation: CompletionRequest, service: TheService, idempotency_key: IdempotencyKey = None
) -> Response:
    """Answers the last question of a conversation with every side's strongest sourced case, as Markdown.

    `[n]` in the text cites source n; the message's annotations have the sources. Earlier messages are the context. If
    they contain a reply of Steelman, the question follows up on that reply ('What about the cost?', '/against 2'). With
    `stream` the reply is server-sent chunks, ended by `data: [DONE]`. The server starts no run for an app's own tasks
    (a title, tags, follow-ups, search queries), which get an empty reply, or for a greeting, which gets a greeting. The
    member `steelman` says where and how to search. System messages, temperature and other options for a model's text
    have no effect.
    """
    include_usage = bool(conversation.stream_options and conversation.stream_options.include_usage)
    run, text, aside = await begin_run(service, conversation, idempotency_key)
    reply = Completion(conversation.model, run, text, aside, base=_base(request))
    if conversation.stream:
        return reply.streamed(service, include_usage)
    return JSONResponse(await reply.whole(service), headers=_place(run))


@router.post("/responses", responses=_RESPONSE)
async def create_response(
    request: Request, asked: ResponseRequest, service: TheService, idempotency_key: IdempotencyKey = None
) -> Response:
    """Answers the question of `input` as `/v1/chat/completions` does.

    The question follows up on the response that `previous_response_id` names. With `stream` the reply is OpenAI's
    events. With `store: false` the run is deleted after the reply.
    """
    named, stored = asked.previous_response_id, asked.store is not False
    previous = await run_of(service, named, previous=True) if named else None
    run, text, aside = await begin_run(service, asked, idempotency_key, previous)
    named = named or await previous_id(service, run)
    reply = ModelResponse(asked.model, run, text, aside, base=_base(request), stored=stored, previous=named)
    forget = None if stored or not run else BackgroundTask(service.forget, run.id)
    if asked.stream:
        return reply.streamed(service, forget)
    whole = await reply.whole(service)
    done = reply.problem.response(request.scope) if reply.problem else JSONResponse(whole, headers=_place(run))
    done.background = forget
    return done


@router.get("/responses/{response_id}")
async def read_response(
    request: Request,
    response_id: str,
    service: TheService,
    stream: Annotated[bool, Query(json_schema_extra={"enum": [False]})] = False,
) -> JSONResponse:
    """Returns a response of the caller, whole or in its present state."""
    if stream:
        raise impossible("stream", "a stored response comes whole; /v1/runs/{run_id}/events streams its run")
    run = await run_of(service, response_id)
    model = next(name for name, depth in MODELS.items() if run and depth == run.options["depth"])
    reply = ModelResponse(model, run, base=_base(request), previous=await previous_id(service, run))
    active = run and run.status in ("running", "waiting") and not run.abandoned
    return JSONResponse(reply.state("in_progress") if active else await reply.whole(service), headers=_place(run))


def _place(run: RunRow | None) -> dict[str, str]:
    return {"Content-Location": link(f"/v1/runs/{run.id}")} if run else {}


def _base(request: Request) -> str:
    return link("") or str(request.base_url).rstrip("/")


@router.get("/models")
async def models() -> dict[str, Any]:
    """Lists the models: Steelman by depth."""
    return {"object": "list", "data": [_model(name) for name in MODELS]}


@router.get("/models/{model}")
async def model(model: str) -> dict[str, Any]:
    """Describes a model."""
    check_model(model)
    return _model(model)


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": _OFFERED, "owned_by": "steelman"}

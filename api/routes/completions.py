"""OpenAI-compatible calls: chat completions and models."""

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from api.callers import TheCaller
from api.completions.conversation import MODELS, CompletionRequest, begin_run, check_model, task_reply
from api.completions.replies import Completion
from api.events import EVENT_STREAM
from api.problems import link
from api.routes.runs import IdempotencyKey
from api.service import TheService
from tools.errors import GreetingError

router = APIRouter(prefix="/v1", tags=["OpenAI-compatible"])
_CHUNK = {
    "type": "object",
    "description": "A server-sent event: `data` is a chunk in JSON, or `[DONE]` at the end.",
    "properties": {"data": {"type": "string"}},
    "required": ["data"],
}
_REPLY = {
    "type": "object",
    "description": "OpenAI's chat.completion. Its member `steelman` has the run, its thread and the outcome. It is "
    "null after an app's task, such as a title, or a greeting: these have no run.",
    "required": ["id", "object", "created", "model", "choices", "usage", "steelman"],
}
_REPLIES: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/json": {"schema": _REPLY}, EVENT_STREAM: {"schema": _CHUNK}}}
}
_OFFERED = 1_793_491_200  # 1 November 2026; clients sort by it


@router.post("/chat/completions", responses=_REPLIES)
async def chat_completion(
    request: Request,
    conversation: CompletionRequest,
    service: TheService,
    caller: TheCaller,
    idempotency_key: IdempotencyKey = None,
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
    check_model(conversation.model)
    if (empty := task_reply(conversation.messages)) is not None:
        reply, headers = Completion(conversation.model, None, empty), {}
    else:
        try:
            run_id, aside = await begin_run(service, caller, conversation, idempotency_key)
            run, headers = await service.run(caller, run_id), {"Content-Location": link(f"/v1/runs/{run_id}")}
            base = link("") or str(request.base_url).rstrip("/")
            reply = Completion(conversation.model, run, base=base, aside=aside)
        except GreetingError as exc:
            reply, headers = Completion(conversation.model, None, str(exc)), {}
    if conversation.stream:
        return reply.streamed(service, include_usage)
    return JSONResponse(await reply.whole(service), headers=headers)


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

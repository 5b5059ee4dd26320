"""OpenAI-compatible calls: chat completions and models."""

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from api.callers import TheCaller
from api.completions.conversation import MODELS, CompletionRequest, check, depth_of, follow_ups, question_of
from api.completions.replies import Reply
from api.completions.tasks import task_of
from api.events import EVENT_STREAM
from api.public_url import link
from api.routes.runs import IdempotencyKey
from api.service import TheService
from tools.errors import GreetingError

router = APIRouter(prefix="/v1", tags=["OpenAI-compatible"])
_CHUNK = {
    "type": "object",
    "description": "Each of the server-sent events: `data` is a chunk in JSON, or `[DONE]` at the end.",
    "properties": {"data": {"type": "string"}},
    "required": ["data"],
}
_REPLY = {
    "type": "object",
    "description": "OpenAI's chat.completion. `steelman` beside its members tells the run, its thread and the outcome; "
    "it is null where an app's task, such as a title, or a greeting was answered: that is no run.",
    "required": ["id", "object", "created", "model", "choices", "usage", "steelman"],
}
_REPLIES: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/json": {"schema": _REPLY}, EVENT_STREAM: {"schema": _CHUNK}}}
}
_OFFERED = 1_793_491_200  # 1 November 2026, when these models were first offered; clients sort by it


@router.post("/chat/completions", responses=_REPLIES)
async def chat_completion(
    request: Request,
    conversation: CompletionRequest,
    service: TheService,
    caller: TheCaller,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Answers the last question of a conversation with every side's strongest sourced case, as Markdown.

    Its sources are the message's annotations, and `[n]` in the text stands for source n. What came before is the
    question's context, and its thread where it holds an earlier reply of Steelman's: 'What about the cost?' and
    '/against 2' go on from that. With `stream` the reply is server-sent chunks, ended by
    `data: [DONE]`. What an app asks on its own account (a title for the chat, tags, follow-ups, search queries) and a
    greeting are answered at once and begin no run. Where and how to look is said in `steelman`. System messages,
    temperature and whatever else shapes a model's text change nothing.
    """
    include_usage = bool(conversation.stream_options and conversation.stream_options.include_usage)
    if task := task_of(conversation.messages):
        check(conversation, task=True)
        known = await follow_ups(service, caller, conversation.messages) if task.is_follow_ups else ()
        reply, headers = Reply(conversation.model, None, task.reply(known)), {}
    else:
        asked = await question_of(service, caller, conversation)
        try:
            run_id = await service.begin(caller, asked.question, asked.options, asked.thread, idempotency_key)
            run, headers = await service.run(caller, run_id), {"Content-Location": f"/v1/runs/{run_id}"}
            base = link("") or str(request.base_url).rstrip("/")
            reply = Reply(conversation.model, run, base=base, aside=asked.aside)
        except GreetingError as exc:
            reply, headers = Reply(conversation.model, None, str(exc)), {}
    if conversation.stream:
        return reply.streamed(service, include_usage)
    return JSONResponse(await reply.whole(service), headers=headers)


@router.get("/models")
async def models() -> dict[str, Any]:
    """The models that a completion may name: Steelman, and how deep it goes."""
    return {"object": "list", "data": [_model(name) for name in MODELS]}


@router.get("/models/{model}")
async def model(model: str) -> dict[str, Any]:
    """One of the models."""
    depth_of(model)
    return _model(model)


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": _OFFERED, "owned_by": "steelman"}

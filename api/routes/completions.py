"""OpenAI-compatible calls: chat completions and models."""

import time
from typing import Any
from uuid import uuid4

from fastapi import APIRouter, Request
from openai.types import Model
from starlette.responses import Response

from agent.runs.admission import usual_options
from agent.runs.store import RunRow
from api.callers import TheCaller
from api.completions.content import NO_TOKENS, content_of, usage_of
from api.completions.conversation import check, depth_of, follow_ups, question_of
from api.completions.problems import failed
from api.completions.schemas import MODELS, About, Completion, CompletionRequest, ModelList, completion
from api.completions.stream import completion_id, created, stream, stream_of
from api.completions.tasks import task_of
from api.events import EVENT_STREAM
from api.guard.outside import address_of
from api.problems import responses
from api.routes.asking import IdempotencyKey
from api.service import Service, TheService
from tools.errors import SteelmanError

router = APIRouter(prefix="/v1", tags=["OpenAI-compatible"])
_CHUNK = {
    "type": "object",
    "description": "Each of the server-sent events: `data` is a chunk in JSON, or `[DONE]` at the end.",
    "properties": {"data": {"type": "string"}},
    "required": ["data"],
}
_CHUNKS: dict[int | str, dict[str, Any]] = {200: {"content": {EVENT_STREAM: {"schema": _CHUNK}}}}
_OFFERED = 1_793_491_200  # 1 November 2026, when these models were first offered; clients sort by it


@router.post(
    "/chat/completions", response_model=Completion, responses={**_CHUNKS, **responses(404, 409, 502, 503, 504)}
)
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
    'Strongest counter-argument to 2?' go on from that. With `stream` the reply is server-sent chunks, ended by
    `data: [DONE]`. What an app asks on its own account (a title for the chat, tags, follow-ups, search queries) is
    answered at once and begins no run. Where and how to look is said in `steelman`. System messages, temperature and
    whatever else shapes a model's text change nothing.
    """
    include_usage = bool(conversation.stream_options and conversation.stream_options.include_usage)
    wanted = conversation.response_format
    if task := task_of(conversation.messages, as_json=bool(wanted and wanted.type != "text")):
        check(conversation, task=True)
        found = await follow_ups(service, caller, conversation.messages) if task.kind.name == "follow_ups" else ()
        return _at_once(task.reply(found), conversation, include_usage)
    asked = await question_of(service, caller, conversation)
    options = usual_options(service.runs, asked.depth, earlier=asked.earlier, **asked.changes)
    run_id = await service.begin(caller, asked.question, options, asked.thread, idempotency_key)
    run = await service.run(caller, run_id)
    base = address_of(request)
    if conversation.stream:
        return stream(service, run, conversation.model, base, include_usage, asked.aside)
    reply = await _completion(service, run, conversation.model, base, asked.aside)
    return Response(
        reply.model_dump_json(), headers={"Content-Location": f"/v1/runs/{run_id}"}, media_type="application/json"
    )


@router.get("/models", response_model=ModelList, response_model_exclude_unset=True)
async def models() -> ModelList:
    """The models that a completion may name: Steelman, and how deep it goes."""
    return ModelList(object="list", data=[_model(name) for name in MODELS])


@router.get("/models/{model}", response_model=Model, response_model_exclude_unset=True, responses=responses(404))
async def model(model: str) -> Model:
    """One of the models."""
    depth_of(model)
    return _model(model)


def _at_once(content: str, conversation: CompletionRequest, include_usage: bool) -> Response:
    """A reply without a run."""
    name = f"chatcmpl-{uuid4().hex[:12]}"
    reply = completion(name, int(time.time()), conversation.model, content, [], NO_TOKENS)
    if conversation.stream:
        return stream_of(reply, include_usage)
    return Response(_json(reply), media_type="application/json")


async def _completion(service: Service, run: RunRow, model: str, base: str, aside: bool) -> Completion:
    try:
        answer = await service.answer(run.id)
    except SteelmanError as exc:
        raise failed(run.id, exc) from exc
    about = About(run_id=run.id, thread=run.thread, outcome=answer.outcome)
    content, annotations = content_of(answer, base, aside)
    return completion(completion_id(run), created(run), model, content, annotations, usage_of(answer), about)


def _model(name: str) -> Model:
    return Model(id=name, created=_OFFERED, object="model", owned_by="steelman")


def _json(reply: Completion) -> str:
    """Without the members that are never used here, but for those that OpenAI sends as null."""
    return reply.model_dump_json(exclude_unset=True)

"""Reads the question of a conversation, the run that the question follows up on, and the earlier questions.

A client of chat completions sends the whole conversation each time. The last line of each reply names the run that made
the reply; the run identifies the thread. A client of responses may name the previous response instead. The server
accepts and ignores OpenAI's other members (temperature, seed, …). Steelman's own options are in the member `steelman`
(`extra_body` of OpenAI's client), so that the server can refuse misspelt options.
"""

import asyncio
import json
import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from agent.options import LONGEST_QUESTION, Depth
from agent.runs.bootstrap import default_options
from agent.runs.store import RunRow
from api.problems import FieldProblem, ProblemError
from api.schemas import SearchOptions
from api.service import ApiService
from tools.errors import GreetingError, UnknownRunError

MODELS: dict[str, Depth] = {"steelman": "normal", "steelman-quick": "quick", "steelman-deep": "deep"}
_RUN = re.compile(r"\bRun ([0-9a-f]{12})\b")
_MOST_EARLIER = 20


class OpenAIObject(BaseModel):
    """A JSON object of a request to OpenAI's API, with only the members that change what this server does."""

    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)


class Part(OpenAIObject):
    """A part of a message. Only text is allowed in a question."""

    type: str
    text: str | None = None


def _parts(given: Any) -> Any:
    if not isinstance(given, str | list | None):
        raise ValueError("Input should be text or a list")
    return [Part(type="text", text=given)] if isinstance(given, str) else given


Content = Annotated[list[Part], BeforeValidator(_parts, json_schema_input_type=str | list[Part])]
Role = Literal["system", "developer", "user", "assistant", "tool", "function"]
_TEXTS = ("text", "input_text", "output_text")  # types of a part


class Message(OpenAIObject):
    """A turn. The user's last one is the question. Turns of `system` and `developer` have no effect."""

    role: Role
    content: Content | None = None

    @property
    def text(self) -> str:
        return " ".join(part.text or "" for part in self.content or () if part.type in _TEXTS)


class StreamOptions(OpenAIObject):
    include_usage: bool | None = Field(default=None, description="Add a last chunk with the number of tokens.")


class ResponseFormat(OpenAIObject):
    type: str = Field(json_schema_extra={"enum": ["text"]})


def _boolean(value: object) -> object:
    if not isinstance(value, bool | None):
        raise ValueError("Input should be False")
    return value


Off = Annotated[Literal[False], BeforeValidator(_boolean)]
"""False, and not 0, which a Literal alone accepts."""


class ModelRequest(OpenAIObject):
    """The members that requests for completions and for responses share.

    The answer consists of verified claims, so options for a model's text have no effect. The server refuses options
    that an answer cannot satisfy (several answers, tool calls, JSON by a schema, log-probabilities, sound).
    """

    model_config = ConfigDict(extra="allow")  # to find options in the wrong place

    model: str = Field(json_schema_extra={"enum": list(MODELS)})
    stream: bool | None = None
    tool_choice: Literal["none", "auto"] | None = None
    steelman: SearchOptions | None = Field(
        default=None, description="Where and how to search, as in `/v1/ask`. The model's name sets the depth."
    )


class CompletionRequest(ModelRequest):
    """A conversation with the question as its last message."""

    names: ClassVar = ("messages", "response_format")

    messages: list[Message] = Field(
        min_length=1, examples=[[{"role": "user", "content": "Should schools ban smartphones?"}]]
    )
    stream_options: StreamOptions | None = None
    n: Literal[1] | None = None
    response_format: ResponseFormat | None = None
    logprobs: Off | None = None
    modalities: list[Literal["text"]] | None = None


class Item(OpenAIObject):
    """An item of a response's input. Only messages and references to messages have an effect."""

    type: str = "message"
    role: Role | None = None
    content: Content | None = None
    id: str | None = None


def _items(given: Any) -> Any:
    return [Item(role="user", content=_parts(given))] if isinstance(given, str) else _parts(given)


class TextOptions(OpenAIObject):
    format: ResponseFormat | None = None


class ResponseRequest(ModelRequest):
    """A question, as text or as the last message of a list."""

    names: ClassVar = ("input", "text.format")

    input: Annotated[list[Item], BeforeValidator(_items, json_schema_input_type=str | list[Item])] = Field(
        examples=["Should schools ban smartphones?"]
    )
    instructions: str | None = Field(default=None, description="Has no effect.")
    previous_response_id: str | None = Field(default=None, description="The response that the question follows up on.")
    store: bool | None = Field(default=None, description="With false the run is deleted when its answer is sent.")
    background: Off | None = None
    text: TextOptions | None = None
    top_logprobs: int | None = Field(default=None, ge=0, le=0)
    conversation: None = None
    prompt: None = None

    @property
    def response_format(self) -> ResponseFormat | None:
        return self.text.format if self.text else None

    @property
    def messages(self) -> list[Message]:
        """The conversation. A reference to a reply becomes a reply that names the run."""
        head = Message(role="system", content=_parts(self.instructions))
        return [head, *(Message(role=i.role, content=i.content) for i in map(_resolved, self.input) if i.role)]


def _resolved(item: Item) -> Item:
    named = item.type == "item_reference" and f"Run {(item.id or '').removeprefix('msg_')}"
    return Item(role="assistant", content=_parts(named)) if named else item


async def begin_run(
    service: ApiService,
    request: CompletionRequest | ResponseRequest,
    idempotency_key: str | None,
    previous: RunRow | None = None,
) -> tuple[RunRow | None, str, bool]:
    """Starts a run for the question. Returns the run, or None and the text that replies to an app's task or a greeting,
    and whether the app sent passages, which the agent does not read. The run `previous`, the option `thread`, or
    otherwise the last reply that names a run selects the thread. Without a thread, the earlier messages are the
    context. Raises ProblemError for an unknown model, without a question or with an unsupported option, and errors of
    `service.begin`."""
    check_model(request.model)
    messages, (asked, form) = request.messages, request.names
    if (empty := task_reply(messages)) is not None:
        return None, empty, False
    if misplaced := {*SearchOptions.model_fields, "depth"} & (request.model_extra or {}).keys():
        where = "put options of Steelman within 'steelman'; the model sets the depth"
        raise impossible(min(misplaced), f"{where}: {', '.join(MODELS)}")
    if request.response_format and request.response_format.type != "text":
        raise impossible(form, "the answer is Markdown; POST /v1/ask returns it as JSON")
    from_user = [i for i, m in enumerate(messages) if m.role == "user"]
    if not from_user:
        raise impossible(asked, "the last message with the role 'user' is the question, and there is none")
    last, before = messages[from_user[-1]], messages[: from_user[-1]]
    if any(part.type not in _TEXTS for part in last.content or ()):
        raise impossible(asked, "a question is text; omit its other parts")
    search = request.steelman or SearchOptions()
    if previous is None and search.thread:
        previous = await service.run(search.thread)
    run = previous or await _last_run(service, before)
    question, aside = question_in(last.text)
    usual = partial(default_options, service.runs, MODELS[request.model], before=run)
    options = await asyncio.to_thread(usual, earlier=() if run else _earlier(before), **search.changes)
    try:
        run_id = await service.begin(question, options, run.thread if run else None, idempotency_key)
    except GreetingError as exc:
        return None, str(exc), aside
    return await service.run(run_id), "", aside


def check_model(model: str) -> None:
    """Raises ProblemError (404) for an unknown model."""
    if model not in MODELS:
        detail = f"There is no model '{model[:100]}'. Models: {', '.join(MODELS)}. GET /v1/models lists them."
        raise ProblemError(404, "unknown-model", detail, fields=[FieldProblem(field="model", message=detail)])


def impossible(member: str, wrong: str) -> ProblemError:
    fields = [FieldProblem(field=member, message=wrong)]
    return ProblemError(400, "impossible-request", f"{member}: {wrong}.", fields=fields)


async def _last_run(service: ApiService, before: Sequence[Message]) -> RunRow | None:
    """Returns the caller's latest run that a reply of the conversation names."""
    for message in reversed(before):
        named = _RUN.findall(message.text) if message.role == "assistant" else []
        if named:
            try:
                return await service.run(named[-1])
            except UnknownRunError:  # the run belongs to another server or caller, or is deleted
                continue
    return None


def _earlier(before: Sequence[Message]) -> tuple[str, ...]:
    texts = [" ".join(question_in(m.text)[0].split()) for m in before if m.role == "user"]
    return tuple(t for t in texts if 0 < len(t) <= LONGEST_QUESTION)[-_MOST_EARLIER:]


# Extraction of the user's question from the app's prompt

_CONTEXT = re.compile(r"context|document|source|file|attach|reference|citation|search|knowledge|result", re.I)
_TALK = re.compile(r"chat|conversation|history|messages|dialog|transcript", re.I)
_ASKED = re.compile(r"(?:user[_-]?|original[_-]?)?(?:query|question|prompt|message|input|request)", re.I)
_LABELS = re.compile(  # at the start and the end of a question
    r"^[*#> ]{0,8}(?:user )?(?:question|query)[* ]{0,4}:[* ]{0,4}"
    r"|(?:^|\s)[*#> ]{0,8}(?:(?:helpful|final|your) )?(?:answer|response)[* ]{0,4}:[* ]{0,4}$",
    re.I,
)
_OPENING = re.compile(r"(?:^|(?<=[:>]))[ \t]*<([a-z][\w.:-]{0,40})(?:\s[^<>]{0,300})?>", re.I | re.M)
_CLOSING = re.compile(r"</([a-z][\w.:-]{0,40})\s*>", re.I)


class TaggedText(NamedTuple):
    """The text between an opening tag and the last closing tag of the same name."""

    name: str
    start: int
    text: str
    end: int


def tagged_texts(text: str) -> Iterator[TaggedText]:
    """Yields the outermost tags whose names announce context, a chat's history, or the question, such as <context>."""
    last = {m[1].casefold(): m for m in _CLOSING.finditer(text)}
    at = 0
    for opening in _OPENING.finditer(text):
        name = opening[1].casefold()
        closing = last.get(name)
        known = _CONTEXT.search(name) or _TALK.search(name) or _ASKED.fullmatch(name)
        if known and closing and closing.start() >= opening.end() and opening.start() >= at:
            at = closing.end()
            yield TaggedText(name, opening.start(), text[opening.end() : closing.start()], at)


def _outside(text: str) -> str:
    found = list(tagged_texts(text))
    starts, ends = [*(b.start for b in found), len(text)], [0, *(b.end for b in found)]
    return "\n".join(text[end:start] for end, start in zip(ends, starts, strict=True))


def question_in(text: str) -> tuple[str, bool]:
    """Returns the user's question in a message, and whether the app sent context."""
    found = list(tagged_texts(text))
    context = [b for b in found if _CONTEXT.search(b.name)]
    if asked := [b.text for b in found if _ASKED.fullmatch(b.name)]:
        return asked[-1].strip(), bool(context)
    if not context:
        return text, False
    before, after = (_LABELS.sub("", t.strip()).strip() for t in (text[: context[0].start], text[context[-1].end :]))
    early = not after or (before.endswith(("?", "？")) and not re.search("[?？]", after))
    return (before if early else "") or after or text, True


_FORM = re.compile(r"\{\s*[\"'“](\w+)[\"'”]\s*:(?!\s*[\"“][^\"”{}]*[\"”]\s*,)\s*(\[|[\"'“<{])")


def task_reply(messages: Sequence[Message]) -> str | None:
    """Returns an empty reply to an app's own task, or None if the conversation asks a question.

    Apps send tasks such as 'write a title' or 'suggest tags'. A message is a task if it contains a JSON form together
    with the chat's history, or asks for a choice of tools.
    """
    spoken = [m.text for m in messages if m.role == "user"]
    if any("tool_calls" in dict(_FORM.findall(m.text)) for m in messages if m.role in ("system", "user")):
        return json.dumps({"tool_calls": []})
    form = _FORM.search(_outside(spoken[-1])) if spoken else None
    if form and any(_TALK.search(tagged.name) for tagged in tagged_texts(spoken[-1])):
        return json.dumps({form[1]: [] if form[2] == "[" else ""}, ensure_ascii=False)
    return None

"""How a chat model is asked for JSON of a given shape, and what is made of refusals: from the strictest form that
servers know to plain text, without what a model was found not to take.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

from pydantic import BaseModel

from tools.errors import ProviderDownError, ProviderError
from tools.models.chat.replies import read_json
from tools.net.retries import had_response

_TOO_LONG = re.compile(
    r"""context[ _-]?(length|window|size|limit) | n_ctx | n_keep | context\ the\ overflows
    | (prompt|input|sequence|model)\ length | (is|are|was|were)\ too\ long
    | (prompt|inputs?|request|messages?|contents?|entity|body)\ (\(\d+\ tokens\)\ )?(is\ |are\ )?too\ (long|large)
    | longer\ than\ the\ model | too\ large\ for\ model | too\ many\ (input\ )?tokens
    | reduce\ (the|your)\ (length|prompt|input)
    | number\ of\ tokens | tokens?\ (count|limit)\b | max(imum)?\ tokens | inputs?`?\ tokens | size\ exceeds
    | (less\ than|at\ most|exceeds?|limit\ of)\ [\d,]+\ (tokens|characters) | at\ least\ 1,\ got\ - | 超长 | 长度超""",
    re.IGNORECASE | re.VERBOSE,
)
_LENGTH_CODE = re.compile(
    "context_length_exceeded|exceed_context_size|context_window_exceeded|request_too_large|tokens_limit_reached"
    "|string_above_max_length"
)
_NO_LENGTH = re.compile(r"schema|response_format|quota|monthly|per (?:minute|day|month)", re.IGNORECASE)
_TELLING = ("error", "errors", "message", "detail", "details", "msg", "loc", "raw", "reason", "code", "param", "type")
_WORDS = 600  # characters of a refusal; what follows may be what was sent, said back


class RefusalError(ProviderError):
    """What a server answered in the place of a reply. status: 0 where it came in the middle of one. words: all that it
    said, without what it said back of the request, such as FastAPI does in its lists of complaints."""

    def __init__(self, status: int, said: str) -> None:
        super().__init__("" if said.lstrip().startswith("<") else said)
        self.status = status
        body = read_json(said)
        self.words = (str(self) if body is None else " ".join(_told(body)))[:_WORDS]


def _told(body: Any) -> Iterator[str]:
    if isinstance(body, str):
        yield body
    elif isinstance(body, list):
        for part in body:
            yield from _told(part)
    elif isinstance(body, dict):
        for key in _TELLING:
            yield from _told(body.get(key))


E = TypeVar("E", bound=BaseException)


def cause_of(exc: BaseException | None, kind: type[E]) -> E | None:
    """The error of that kind that an error is, or came from."""
    while exc is not None and not isinstance(exc, kind):
        exc = exc.__cause__
    return exc


def reply_had_begun(exc: Exception) -> bool:
    """Whether the server was at work on a reply, for which it may count tokens, when the error came."""
    import httpx

    refused, failure = cause_of(exc, RefusalError) or cause_of(exc, ProviderDownError), cause_of(exc, httpx.HTTPError)
    return not refused and (failure is None or had_response(failure))


def is_too_long(refusal: RefusalError) -> bool:
    """Whether a refusal says that what was sent is longer than the model reads."""
    if refusal.status in (401, 403, 404):
        return False
    if refusal.status == 413 or _LENGTH_CODE.search(refusal.words):
        return True
    if refusal.status == 429:  # of tokens a minute there is another one; this is one request with too many of them
        return "request too large" in refusal.words.lower()
    return is_about_length(refusal.words)


def is_about_length(said: str) -> bool:
    """Whether a refusal in these words is about the length of a text."""
    return bool(_TOO_LONG.search(said[:_WORDS])) and not _NO_LENGTH.search(said[:_WORDS])


Mode = Literal["json_schema", "json_object", "text"]
_LADDER: tuple[Mode, ...] = ("json_schema", "json_object", "text")
_KEYWORDS = frozenset(("type", "enum", "items", "anyOf", "$ref", "$defs"))
"""The keywords that the strict modes of OpenAI, Anthropic, Gemini, vLLM, Ollama and llama.cpp all document, beside
those of objects; each vendor's table stands in `tests/vendor_tables`. Lengths are checked when the reply is read."""
_LENGTHS = frozenset(("minLength", "maxLength", "minItems", "maxItems"))
"""Of vLLM, Ollama and llama.cpp only: they hold small models to an end, which some do not find by themselves."""
_ABOUT_FORM = frozenset((400, 415, 422, 501))
"""Statuses of refusals that may be about how it was asked, even where nothing in them says so."""
_OTHER = re.compile(
    r"credit|billing|quota|balance|usage limit|api.?key|content.?(?:filter|policy|exists risk|management)|inspection"
    r"|invalid_prompt|moderation|not a valid model|model_not|model.{0,40} not (?:found|exist)"
    r"|location is not supported",
    re.IGNORECASE,
)
"""Matters of a refusal that no other form of the request helps against."""
_FORM = re.compile(
    r"response_?format|json_schema|json_object|json mode|structured|guided|output_(?:config|format)"
    r"|response_?(?:json_?)?schema|response_?mime_?type|\bgrammar\b|\bschema\b|\bformat\b",
    re.IGNORECASE,
)
_SYSTEM = re.compile(
    r"messages?\[0\]|\bsystem\b.{0,40}\b(?:role|message|prompt|instruction|turn)|\brole\b.{0,60}\bsystem\b"
    r"|developer (?:instruction|message)|roles must|user and assistant roles",
    re.IGNORECASE,
)
_PARTS = (
    ("counted", re.compile(r"stream_options|include_usage", re.IGNORECASE)),
    ("temperature", re.compile(r"\btemperature\b", re.IGNORECASE)),
    ("system", _SYSTEM),
    ("streamed", re.compile(r"(?<![\w/])stream(?:ing|ed)?\b", re.IGNORECASE)),
)
"""What can be left out of a request, and how a refusal names it."""


@dataclass(frozen=True, slots=True)
class Form:
    """How a request is put. mode: the kind of its reply. lengths: the schema has those of texts and lists. counted: the
    server is asked to count the stream's tokens. streamed, system, temperature: whether it is asked for a stream, with
    a system turn, with the temperature that is set. ladder: the modes that there are to fall back on."""

    mode: Mode = "json_schema"
    lengths: bool = False
    counted: bool = True
    streamed: bool = True
    system: bool = True
    temperature: bool = True
    ladder: tuple[Mode, ...] = _LADDER

    def lower(self, refusal: RefusalError) -> "Form | None":
        """The form that asks for less of what was refused; None where the refusal is about something else, or there
        is nothing less to ask for."""
        words = refusal.words
        if refusal.status in (401, 403, 429) or refusal.status > 501 or is_too_long(refusal):
            return None
        for part, pattern in _PARTS:
            if getattr(self, part) and pattern.search(words):
                without: Any = {part: False}
                return replace(self, **without)
        if _OTHER.search(words) or not (refusal.status in _ABOUT_FORM or _FORM.search(words)):
            return None
        if self.lengths:
            return replace(self, lengths=False)
        lower = self.ladder.index(self.mode) + 1
        return replace(self, mode=self.ladder[lower]) if lower < len(self.ladder) else None

    def schema(self, shape: type[BaseModel]) -> dict[str, Any] | None:
        """The JSON schema that this form asks by; None for forms without one."""
        return strict_schema(shape, self.lengths) if self.mode == "json_schema" else None

    def options(self, shape: type[BaseModel]) -> dict[str, Any]:
        """The options of an OpenAI-compatible client for this form.

        They go beside its own parameters: with `response_format` itself it reads the stream in a way that breaks on
        servers which leave anything out.
        """
        options: dict[str, Any] = {"stream_usage": True} if self.counted and self.streamed else {}
        if bare := self.schema(shape):
            schema = {"name": shape.__name__, "schema": bare, "strict": True}
            options["extra_body"] = {"response_format": {"type": "json_schema", "json_schema": schema}}
        elif self.mode == "json_object":
            options["extra_body"] = {"response_format": {"type": "json_object"}}
        return options

    def messages(self, system: str, user: str) -> list[tuple[str, str]]:
        """The turns, (role, text)."""
        if not system:
            return [("user", user)]
        return [("system", system), ("user", user)] if self.system else [("user", f"{system}\n\n{user}")]


def strict_schema(shape: type[BaseModel], lengths: bool = False) -> dict[str, Any]:
    """The shape's schema as the strict modes want it: every object closed, every field required, no other keywords but,
    if asked for, those of lengths."""
    schema: dict[str, Any] = _strict(shape.model_json_schema(), _KEYWORDS | _LENGTHS if lengths else _KEYWORDS)
    return schema


def schema_as_text(shape: type[BaseModel]) -> str:
    """The shape as part of the prompt, for servers that take no notice of a schema beside it: an object of the shape
    with a word for what goes where, which small models follow better than a schema."""
    schema = strict_schema(shape)
    return json.dumps(_example(schema, schema.get("$defs", {})), ensure_ascii=False)


def _example(schema: dict[str, Any], named: dict[str, Any]) -> Any:
    if "$ref" in schema:
        return _example(named[schema["$ref"].rpartition("/")[2]], named)
    if "enum" in schema:
        return schema["enum"][0]
    if schema.get("type") == "object":
        return {name: _example(field, named) for name, field in schema["properties"].items()}
    if schema.get("type") == "array":
        item = _example(schema["items"], named)
        return [item, item] if isinstance(item, dict) else [item]
    return 1 if schema.get("type") == "integer" else "…"


def _strict(schema: Any, keywords: frozenset[str]) -> Any:
    if isinstance(schema, list):
        return [_strict(s, keywords) for s in schema]
    if not isinstance(schema, dict):
        return schema
    made = {k: _strict(v, keywords) for k, v in schema.items() if k in keywords and k != "$defs"}
    if "$defs" in schema:  # names of ours, none of which is the schema's own word
        made["$defs"] = {name: _strict(part, keywords) for name, part in schema["$defs"].items()}
    if "properties" in schema:
        fields = {name: _strict(field, keywords) for name, field in schema["properties"].items()}
        made |= {"properties": fields, "additionalProperties": False, "required": list(fields)}
    return made

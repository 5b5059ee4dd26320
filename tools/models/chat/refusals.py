"""How a chat model is asked for JSON of a given shape, and what is made of refusals: from the strictest form that
servers know to plain text, without what a model was found not to take.

Each vendor's client raises errors of its own, with the status as a number, the server's words, or what it came from
behind them; they are read alike for all.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel

from tools.errors import ProviderError
from tools.net.retries import had_response

if TYPE_CHECKING:
    import httpx

_LENGTH_CODES = frozenset(
    """context_length_exceeded exceed_context_size_error model_context_window_exceeded request_too_large
    tokens_limit_reached string_above_max_length""".split()
)
_SENT = ("", "messages", "message", "prompt", "input", "inputs", "input_tokens", "contents")
"""What a refusal names as its parameter where it is about the text that was sent, or about nothing in particular."""
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
_NO_LENGTH = re.compile(r"schema|response_format|quota|monthly|per (?:minute|day|month)", re.IGNORECASE)
_TELLING = ("error", "errors", "message", "detail", "details", "msg", "loc", "raw", "reason")
_NOTHING = ("None", "null", "")
_WORDS = 600  # characters of a refusal; what follows may be what was sent, said back


@dataclass(frozen=True, slots=True)
class Refusal:
    """What a server says where it refuses a request. code, param: its own names for what is wrong and for the field
    that is, empty where it has none. words: all that it said, lists of complaints included."""

    status: int
    code: str = ""
    param: str = ""
    words: str = ""


def is_too_long(refusal: Refusal) -> bool:
    """Whether a refusal says that what was sent is longer than the model reads: by its status, its code or the field
    that it names, and by its words where none of them says so."""
    if refusal.status in (401, 403, 404):
        return False
    if refusal.status == 413 or refusal.code in _LENGTH_CODES:
        return True
    if refusal.status == 429:  # of tokens a minute there is another one; this is one request with too many of them
        return "request too large" in refusal.words.lower()
    return refusal.param in _SENT and is_about_length(refusal.words)


def is_about_length(said: str) -> bool:
    """Whether a refusal in these words is about the length of a text."""
    return bool(_TOO_LONG.search(said[:_WORDS])) and not _NO_LENGTH.search(said[:_WORDS])


def refusal_of(exc: BaseException) -> Refusal | None:
    """The refusal that an error is, or came from; None for what is no refusal. An error in the middle of a stream has
    the status that its code says, or 0."""
    status, bodies = status_of(exc), list(filter(None, map(_body, _causes(exc))))
    inners = [error if isinstance(error := body.get("error"), dict) else body for body in bodies]
    named = [str(inner[k]) for inner in inners for k in ("code", "type", "status") if inner.get(k)]
    if status is None:
        if not bodies:
            return None
        status = next((int(n) for n in named if n.isdigit() and 400 <= int(n) < 600), 0)
    # A number is the status again; some name the kind of error where others have a code.
    code = next((n for n in named if not n.isdigit() and n not in _NOTHING), "")
    params = (p for inner in inners if isinstance(p := inner.get("param"), str) and p not in _NOTHING)
    param = next(params, "") or next(filter(None, map(_place, bodies)), "")
    words = " ".join(dict.fromkeys(w for body in bodies for w in _told(body))) or str(exc)
    return Refusal(status, code, param, "" if words.lstrip().startswith("<") else words[:_WORDS])


def _body(exc: BaseException) -> dict[str, Any] | None:
    """What a refusal says as a JSON object, under the names that the vendors' clients have for it; some put it in a
    list, and some servers say a word."""
    for name in ("body", "details", "error"):
        body = getattr(exc, name, None)
        body = body[0] if isinstance(body, list) and len(body) == 1 else body
        if isinstance(body, dict):
            return body
        if isinstance(body, str) and body:
            return {"error": body}
    return None


def _told(body: Any) -> Iterator[str]:
    """What a refusal says, without what it says back of the request or of the reply."""
    if isinstance(body, str):
        yield body
    elif isinstance(body, list | tuple):
        for part in body:
            yield from _told(part)
    elif isinstance(body, dict):
        for key in _TELLING:
            yield from _told(body.get(key))


def _place(body: dict[str, Any]) -> str:
    """The field that FastAPI's list of complaints is about: {'detail': [{'loc': ['body', …]}]}."""
    detail = body.get("detail")
    first = detail[0] if isinstance(detail, list) and detail and isinstance(detail[0], dict) else {}
    return ".".join(str(part) for part in first.get("loc", ()) if part != "body")


def status_of(exc: BaseException) -> int | None:
    """The HTTP status of the refusal that an error is, or came from; None for what is no refusal."""
    return next((status for one in _causes(exc) if (status := _status(one)) is not None), None)


def connection_failure(exc: BaseException) -> "httpx.HTTPError | httpx.InvalidURL | None":
    """The failure of the connection that an error is, or came from."""
    import httpx

    return next((one for one in _causes(exc) if isinstance(one, httpx.HTTPError | httpx.InvalidURL)), None)


def own_error(exc: BaseException) -> ProviderError | None:
    """What the project's own transport raised, where a client took that for a failure of the connection."""
    return next((one for one in _causes(exc) if isinstance(one, ProviderError)), None)


def reply_had_begun(exc: BaseException) -> bool:
    """Whether the server was at work on a reply, for which it may count tokens, when the error came."""
    if status_of(exc) is not None:
        return False
    failure = connection_failure(exc)
    return failure is None or had_response(failure)


def _causes(exc: BaseException | None) -> Iterator[BaseException]:
    while exc is not None:
        yield exc
        exc = exc.__cause__


def _status(exc: BaseException) -> int | None:
    for name in ("status_code", "code"):
        status = getattr(exc, name, None)
        if isinstance(status, int) and 300 <= status < 600:
            return status
    return None


Mode = Literal["json_schema", "json_object", "text"]
_LADDER: tuple[Mode, ...] = ("json_schema", "json_object", "text")
_KEYWORDS = frozenset(("type", "enum", "items", "anyOf", "$ref", "$defs"))
"""The keywords that the strict modes of OpenAI, Anthropic, Gemini, vLLM, Ollama and llama.cpp all document, beside
those of objects; each vendor's table stands in `tests/vendor_tables`. Lengths are checked when the reply is read."""
_LENGTHS = frozenset(("minLength", "maxLength", "minItems", "maxItems"))
"""Of vLLM, Ollama and llama.cpp only: they hold small models to an end, which some do not find by themselves."""
_ABOUT_FORM = frozenset((400, 415, 422, 501))
"""Statuses of refusals that may be about how it was asked, even where nothing in them says so."""
_NOT_ABOUT_FORM = frozenset((401, 403, 429))
_OTHER_CODES = re.compile(r"filter|policy|inspection|model_not|quota|billing|credit|api_key|invalid_prompt", re.I)
_OTHER = re.compile(
    r"credit|billing|quota|balance|monthly|usage limit|api.?key|content (?:filter|exists risk|management)|inappropriate"
    r"|moderation|not a valid model|model.{0,40} not (?:found|exist)|location is not supported|has crashed",
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

    def lower(self, refusal: Refusal) -> "Form | None":
        """The form that asks for less of what was refused; None where the refusal is about something else, or there
        is nothing less to ask for.

        The field that the server names decides; where it names none, its words do.
        """
        if refusal.status in _NOT_ABOUT_FORM or _OTHER_CODES.search(refusal.code) or is_too_long(refusal):
            return None
        named = refusal.param or refusal.words
        if refusal.status <= 501 or _SYSTEM.search(named):
            for part, pattern in _PARTS:
                if getattr(self, part) and pattern.search(named):
                    without: Any = {part: False}
                    return replace(self, **without)
        if _OTHER.search(refusal.words) and not _FORM.search(named):
            return None
        unsaid = refusal.status in _ABOUT_FORM and not refusal.param
        if not (unsaid or _FORM.search(named)):
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


def is_of_content(refusal: Refusal) -> bool:
    """Whether it was refused for what it speaks of."""
    return bool(re.search(r"moderation|content|guideline|flagged", refusal.words, re.IGNORECASE))


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

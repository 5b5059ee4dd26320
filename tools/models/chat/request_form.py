"""The forms of a request that asks a chat model for JSON of a given shape.

The forms range from strict JSON schemas to plain text. A form leaves out the parts that the server refused, such as
the temperature, the system turn or the stream.
"""

import json
import re
from dataclasses import dataclass, replace
from typing import Any, Literal

from pydantic import BaseModel

from tools.models.chat.refusals import Refusal, is_too_long

Mode = Literal["json_schema", "json_object", "text"]
_LADDER: tuple[Mode, ...] = ("json_schema", "json_object", "text")
_KEYWORDS = frozenset(("type", "enum", "items", "anyOf", "$ref", "$defs"))
"""The schema keywords that the strict modes of OpenAI, Anthropic, Gemini, vLLM, Ollama and llama.cpp all document
(`docs/providers.md`). Keywords of objects are not listed here. Lengths are checked when the reply is parsed."""
_LENGTHS = frozenset(("minLength", "maxLength", "minItems", "maxItems"))
"""Keywords that only vLLM, Ollama and llama.cpp support. They stop small models that would not end by themselves."""
_ABOUT_FORM = frozenset((400, 415, 422, 501))
"""Statuses of refusals that may be about the form, even if the refusal's text does not mention the form."""
_NOT_ABOUT_FORM = frozenset((401, 403, 429))
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
"""The optional parts of a request, each with the words that name it in a refusal."""


@dataclass(frozen=True, slots=True)
class RequestForm:
    """The form of a request. mode: the kind of reply. lengths: the schema limits lengths of texts and lists. counted:
    ask for the stream's token count. streamed: ask for a stream. system: send a system turn. temperature: set the
    temperature."""

    mode: Mode = "json_schema"
    lengths: bool = False
    counted: bool = True
    streamed: bool = True
    system: bool = True
    temperature: bool = True

    def lower(self, refusal: Refusal) -> "RequestForm | None":
        """The next simpler form after a refusal; None if the refusal is about something else or no simpler form exists.

        The field that the server names decides what the next form leaves out. If the server names no field, the text of
        the refusal decides.
        """
        if refusal.status in _NOT_ABOUT_FORM or is_too_long(refusal):
            return None
        named = refusal.param or refusal.words
        for part, pattern in _PARTS:
            if getattr(self, part) and pattern.search(named):
                without: Any = {part: False}
                return replace(self, **without)
        if refusal.status not in _ABOUT_FORM and not _FORM.search(named):
            return None
        if self.lengths:
            return replace(self, lengths=False)
        lower = _LADDER.index(self.mode) + 1
        return replace(self, mode=_LADDER[lower]) if lower < len(_LADDER) else None

    def schema(self, shape: type[BaseModel]) -> dict[str, Any] | None:
        """The JSON schema of the request; None in forms without one."""
        return strict_schema(shape, self.lengths) if self.mode == "json_schema" else None

    def options(self, shape: type[BaseModel]) -> dict[str, Any]:
        """The options of an OpenAI-compatible client. They are sent as `extra_body`, because the client's own
        `response_format` fails on streams of servers that omit fields."""
        options: dict[str, Any] = {"stream_usage": True} if self.counted and self.streamed else {}
        if bare := self.schema(shape):
            schema = {"name": shape.__name__, "schema": bare, "strict": True}
            options["extra_body"] = {"response_format": {"type": "json_schema", "json_schema": schema}}
        elif self.mode == "json_object":
            options["extra_body"] = {"response_format": {"type": "json_object"}}
        return options

    def messages(self, system: str, user: str) -> list[tuple[str, str]]:
        """The turns: (role, text)."""
        if not system:
            return [("user", user)]
        return [("system", system), ("user", user)] if self.system else [("user", f"{system}\n\n{user}")]


def strict_schema(shape: type[BaseModel], lengths: bool = False) -> dict[str, Any]:
    """The shape's schema for strict modes. Objects are closed and all fields are required. Besides, the schema has only
    `_KEYWORDS` and, with `lengths`, limits of lengths."""
    schema: dict[str, Any] = _strict(shape.model_json_schema(), _KEYWORDS | _LENGTHS if lengths else _KEYWORDS)
    return schema


def schema_as_text(shape: type[BaseModel]) -> str:
    """The shape as an example object in the prompt. Small models follow it better than a schema."""
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
    if "$defs" in schema:  # names of the shape's classes, not keywords
        made["$defs"] = {name: _strict(part, keywords) for name, part in schema["$defs"].items()}
    if "properties" in schema:
        fields = {name: _strict(field, keywords) for name, field in schema["properties"].items()}
        made |= {"properties": fields, "additionalProperties": False, "required": list(fields)}
    return made

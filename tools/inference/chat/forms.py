"""How a chat model is asked for JSON of a given shape, from the strictest form to plain text."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from pydantic import BaseModel

Mode = Literal["json_schema", "bare_schema", "json_object", "text"]
_LADDER: tuple[Mode, ...] = ("json_schema", "bare_schema", "json_object", "text")
_TOO_LONG = ("context", "too long", "number of tokens")  # words of refusals of what is too long in any form
_LENGTHS = ("minLength", "maxLength", "minItems", "maxItems")  # which not every server that knows schemas knows


@dataclass(frozen=True, slots=True)
class Form:
    """How a request is put: the kind of its reply, whether the server is asked to count the stream's tokens, and which
    kinds there are to fall back on."""

    mode: Mode = "json_schema"
    counted: bool = True
    ladder: tuple[Mode, ...] = _LADDER

    def lower(self, said: str) -> "Form | None":
        """The form that asks for less, after a refusal in these words; None when there is nothing less to ask for."""
        if self.counted and "stream_options" in said:
            return replace(self, counted=False)
        lower = self.ladder.index(self.mode) + 1
        if lower == len(self.ladder) or any(words in said.lower() for words in _TOO_LONG):
            return None
        return replace(self, mode=self.ladder[lower])

    def schema(self, shape: type[BaseModel]) -> dict[str, Any] | None:
        """The JSON schema that this form asks by; None for forms without one."""
        if self.mode not in ("json_schema", "bare_schema"):
            return None
        schema: dict[str, Any] = _strict(shape.model_json_schema(), _LENGTHS if self.mode == "bare_schema" else ())
        return schema

    def options(self, shape: type[BaseModel]) -> dict[str, Any]:
        """The options of an OpenAI-compatible client for this form.

        They go beside its own parameters: with `response_format` itself it reads the stream in a way that breaks on
        servers which leave anything out.
        """
        options: dict[str, Any] = {"stream_usage": True} if self.counted else {}
        if bare := self.schema(shape):
            schema = {"name": shape.__name__, "schema": bare, "strict": True}
            options["extra_body"] = {"response_format": {"type": "json_schema", "json_schema": schema}}
        elif self.mode == "json_object":
            options["extra_body"] = {"response_format": {"type": "json_object"}}
        return options


def described(shape: type[BaseModel]) -> str:
    """The schema as part of the prompt, for servers that take no notice of one beside it."""
    return json.dumps(_strict(shape.model_json_schema(), _LENGTHS), ensure_ascii=False)


def _strict(schema: Any, left_out: Sequence[str]) -> Any:
    """The schema as strict mode wants it: every object closed, every field required, no defaults."""
    if isinstance(schema, list):
        return [_strict(s, left_out) for s in schema]
    if not isinstance(schema, dict):
        return schema
    dropped = ("default", "title", "description", "properties", *left_out)
    made = {k: _strict(v, left_out) for k, v in schema.items() if k not in dropped}
    if "properties" in schema:  # names of ours, none of which is the schema's own word
        fields = {name: _strict(field, left_out) for name, field in schema["properties"].items()}
        made |= {"properties": fields, "additionalProperties": False, "required": list(fields)}
    return made

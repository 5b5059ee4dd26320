"""JSON schemas as a reader wants them: what may stand somewhere in words, and an example of it."""

from typing import Any

Schema = dict[str, Any]
_WORDS = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "object": "object",
}
_SAMPLES: dict[str, Any] = {"string": "…", "integer": 1, "number": 1, "boolean": True}


class Schemas:
    """The schemas of an OpenAPI document."""

    def __init__(self, document: dict[str, Any]) -> None:
        self._named: dict[str, Schema] = document.get("components", {}).get("schemas", {})

    def of(self, schema: Schema) -> Schema:
        """The schema itself: what a reference names, or the first choice that is not null."""
        if "$ref" in schema:
            return self.of(self._named[schema["$ref"].rpartition("/")[2]])
        given: list[Schema] = schema.get("anyOf") or schema.get("oneOf") or []
        choices = [choice for choice in given if choice.get("type") != "null"]
        return self.of(choices[0]) if choices else schema

    def example(self, schema: Schema) -> Any:
        """The example that the schema gives, or one made of what it needs."""
        if "examples" in schema:
            return schema["examples"][0]
        found = self.of(schema)
        if "examples" in found:
            return found["examples"][0]
        if "enum" in found:
            return found["enum"][0]
        if found.get("type") == "array":
            return [self.example(found["items"])]
        if found.get("type") == "object":
            return {name: self.example(found["properties"][name]) for name in found.get("required", ())}
        return _SAMPLES.get(found.get("type", ""), "…")


def type_in_words(schemas: Schemas, schema: Schema) -> str:
    """What may stand there, such as 'list of text' or 'quick | normal | deep'."""
    found = schemas.of(schema)
    if "enum" in found:
        return " | ".join(str(value) for value in found["enum"] if value is not None)
    if found.get("type") == "array":
        return f"list of {type_in_words(schemas, found['items'])}"
    return _WORDS.get(found.get("type", ""), "text")

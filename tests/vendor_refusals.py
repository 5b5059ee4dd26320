"""Servers that refuse what the vendors' documentation does not allow, in the vendors' own words.

`vendor_tables/VENDOR.csv` says what each vendor takes, with the page that says so; it was written from the
documentation, without a look at what is sent here. What a table calls refused or unknown is refused, and so is a
keyword that it does not have. Where two lines match a model, the one with the longer pattern holds.
"""

import csv
import json
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any

from model_replies import Body, Reply

_FOLDER = Path(__file__).parent / "vendor_tables"
REFUSALS: dict[str, dict[str, dict[str, Any]]] = json.loads((_FOLDER / "refusals.json").read_text(encoding="utf-8"))
"""Refusals word for word: vendor → what for → status, body, page."""
DOORS = {
    "openai": "",
    "vllm": "",
    "llama_cpp": "",
    "llama-cpp-python": "",
    "ollama": "ollama",
    "anthropic": "anthropic",
    "gemini": "google_genai",
}
"""The tables, and the vendor's prefix of the client that meets each."""
_ELSEWHERE = ("responseSchema", "/v1", "llama-cpp-python", "responseSchema (Vertex)", "backend guidance")
_ENVELOPE = frozenset(
    "model messages contents system systemInstruction safetySettings tools options stream_options response_format "
    "generationConfig output_config candidateCount json_schema name schema".split()
)


def refusal(vendor: str, body: Body) -> Reply | None:
    """How the vendor refuses this request; None where its documentation allows all of it."""
    for kind, name in features(body):
        line = _line(vendor, kind, name, str(body.get("model", "")))
        if line["says"] not in ("allowed", "ignored"):
            return _refused(vendor, name, line)
    return None


def says_of(vendor: str, keyword: str) -> str:
    """What the vendor's table says of a keyword of schemas: allowed, refused, ignored or unknown."""
    return _line(vendor, "schema", keyword, "m")["says"]


def word_for_word(vendor: str, what: str) -> Reply:
    """A refusal of the vendor's as somebody saw it."""
    found = REFUSALS[vendor][what]
    return Reply(raw=json.dumps(found["body"]).encode(), status=found["status"])


def features(body: Body) -> Iterator[tuple[str, str]]:
    """What a request asks for, by the names of the tables: (schema or parameter, name)."""
    config = body.get("generationConfig", {})
    for name in {*body, *config} - _ENVELOPE:
        if body.get(name, config.get(name)):
            known = {"format": "format={schema}", "responseMimeType": "", "responseJsonSchema": ""}
            yield "parameter", known.get(name, name) or f"generationConfig.{name}"
    if "stream_options" in body:
        yield "parameter", "stream_options.include_usage"
    if "messages" in body and body["messages"][0]["role"] == "system":
        yield "parameter", "role=system"
    asked = body.get("response_format") or {}
    if asked:
        yield "parameter", f"response_format.type={asked['type']}"
    if "strict" in asked.get("json_schema", {}):
        yield "parameter", "response_format.json_schema.strict"
    own = (body.get("output_config") or {}).get("format")
    if own:
        yield "parameter", "output_config.format"
    schemas = (asked.get("json_schema", {}).get("schema"), own and own["schema"], body.get("format"))
    for schema in filter(None, (*schemas, config.get("responseJsonSchema"))):
        yield from (("schema", keyword) for keyword in _keywords(schema))


def _keywords(schema: Any) -> Iterator[str]:
    if isinstance(schema, list):
        for part in schema:
            yield from _keywords(part)
    if not isinstance(schema, dict):
        return
    for keyword, value in schema.items():
        if keyword == "additionalProperties":
            yield f"additionalProperties={str(value).lower()}"
            continue
        yield keyword
        if keyword in ("properties", "$defs"):
            yield from (name for part in value.values() for name in _keywords(part))
        elif keyword not in ("enum", "required"):
            yield from _keywords(value)
    if schema.get("type") == "object" and "additionalProperties" not in schema:
        yield "additionalProperties missing"


@cache
def _table(vendor: str) -> list[dict[str, str]]:
    name = "llama_cpp" if vendor == "llama-cpp-python" else vendor
    with (_FOLDER / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _line(vendor: str, kind: str, name: str, model: str) -> dict[str, str]:
    """The line that holds for a model; one that says unknown where there is none."""
    own = vendor == "llama-cpp-python"
    found = [
        (len(pattern), line)
        for line in _table(vendor)
        for pattern in line["models"].split(", ")
        if line["kind"] == kind
        and line["name"].removeprefix("options.") == name
        and fnmatch(model, pattern)
        and ((line["where"] == vendor) if own and kind == "parameter" else line["where"] not in _ELSEWHERE)
    ]
    nothing = dict.fromkeys(("status", "message", "code", "param"), "")
    nothing["says"] = "unknown" if kind == "schema" else "allowed"
    return max(found, key=lambda item: item[0])[1] if found else nothing


def _refused(vendor: str, name: str, line: dict[str, str]) -> Reply:
    said = line["message"] or f"'{name}' is not permitted."
    said = said.replace("{name}", name).replace("{path}", "('properties', 'neutral')").replace("{value}", "0.2")
    error: dict[str, Any] = {"message": said, "type": "invalid_request_error"}
    if vendor == "openai":
        error |= {"param": line["param"] or "response_format", "code": line["code"] or None}
    return Reply(raw=json.dumps({"error": error}).encode(), status=int(line["status"] or 400))

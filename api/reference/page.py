"""The page, made of the OpenAPI document. It loads nothing: styles and script stand in it, and its policy
names both."""

import base64
import hashlib
import json
import shlex
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from api.reference.schemas import Schema, Schemas, type_in_words

_HERE = Path(__file__).parent
_ADDRESS = "{address}"
_JSON, _FORM = "application/json", "multipart/form-data"


class ReferencePage:
    """The page of one OpenAPI document; only the address in its lines for curl differs from request to request."""

    def __init__(self, document: dict[str, Any]) -> None:
        style, script = ((_HERE / name).read_text() for name in ("page.css", "page.js"))
        self._html = _page(document, style, script)
        self.headers = {
            "Content-Security-Policy": f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; "
            "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cache-Control": "no-cache",
        }

    def html(self, address: str) -> str:
        """The page as it is returned to somebody who reaches the server at this address."""
        return self._html.replace(_ADDRESS, escape(address))


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _page(document: dict[str, Any], style: str, script: str) -> str:
    schemas = Schemas(document)
    groups: dict[str, list[str]] = {}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            groups.setdefault(operation["tags"][0], []).append(_call(schemas, method, path, operation))
    sections = "".join(f"<h2>{escape(_titled(tag))}</h2>{''.join(calls)}" for tag, calls in groups.items())
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Steelman: the calls</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">'
        f"<style>{style}</style></head><body><main><h1>Steelman: the calls</h1>"
        f"<p>{escape(document['info']['description'])} Open a call to read it and to send it from here. "
        "<code>GET /openapi.json</code> has the same for programs, docs/api.md tells it in order.</p>"
        '<p><label>Key, where one is needed <input id="key" type="password" autocomplete="off"></label></p>'
        f"{sections}</main><script>{script}</script></body></html>"
    )


def _call(schemas: Schemas, method: str, path: str, operation: dict[str, Any]) -> str:
    first, *more = operation["description"].split("\n\n")
    parameters = operation.get("parameters", [])
    bodies: dict[str, Any] = operation.get("requestBody", {}).get("content", {})
    media = next(iter(bodies), "")
    schema = schemas.of(bodies[media]["schema"]) if media else {}
    name = operation["operationId"]
    return (
        f'<details id="{name}"><summary><b>{method.upper()}</b> <code>{escape(path)}</code> '
        f"<span>{_prose(first)}</span></summary>{''.join(f'<p>{_prose(text)}</p>' for text in more)}"
        f"{_fields(schemas, parameters, schema)}{_replies(operation)}"
        f"<pre>{escape(_curl(schemas, method, path, media, schema))}</pre>"
        f"{_form(schemas, method, path, parameters, media, schema)}</details>"
    )


def _fields(schemas: Schemas, parameters: list[dict[str, Any]], body: Schema) -> str:
    rows = [_row(schemas, p["name"], p["in"], {**p["schema"], **p}, p.get("required", False)) for p in parameters]
    rows += [
        _row(schemas, name, "body", field, name in body.get("required", ()))
        for name, field in sorted(
            body.get("properties", {}).items(), key=lambda f: f[0] not in body.get("required", ())
        )
    ]
    head = "<tr><th>field</th><th>in</th><th>what it is</th><th></th></tr>"
    return f"<table>{head}{''.join(rows)}</table>" if rows else ""


def _row(schemas: Schemas, name: str, place: str, field: Schema, needed: bool) -> str:
    usual = f"usually {json.dumps(field['default'])}" if field.get("default") is not None else ""
    kind = ", ".join(filter(None, [type_in_words(schemas, field), "needed" if needed else usual]))
    prose = _prose(field.get("description") or schemas.of(field).get("description", ""))
    return f"<tr><td><code>{escape(name)}</code></td><td>{place}</td><td>{escape(kind)}</td><td>{prose}</td></tr>"


def _replies(operation: dict[str, Any]) -> str:
    replies = (
        f"<li><b>{status}</b> {_prose(reply['description'])}</li>" for status, reply in operation["responses"].items()
    )
    return f"<details><summary>Replies</summary><ul>{''.join(replies)}</ul></details>"


def _curl(schemas: Schemas, method: str, path: str, media: str, body: Schema) -> str:
    address = f"'{_ADDRESS}{path}'" if "{" in path else f"{_ADDRESS}{path}"
    verb = "" if method == ("post" if media else "get") else f" -X {method.upper()}"
    if media == _FORM:
        return f"curl -s{verb} {address} -F 'files=@notes.txt'"
    sent = f" \\\n  -H 'Content-Type: {_JSON}' -d {shlex.quote(_example(schemas, body))}" if media else ""
    return f"curl -s{verb} {address}{sent}"


def _form(schemas: Schemas, method: str, path: str, parameters: list[dict[str, Any]], media: str, body: Schema) -> str:
    inputs = "".join(_input(p["name"], p["in"], p.get("required", False)) for p in parameters)
    if media == _JSON:
        inputs += f"<label>body <textarea rows=4>{escape(_example(schemas, body, indent=1))}</textarea></label>"
    elif media == _FORM:
        inputs += '<label>files <input type="file" name="files" multiple required></label>'
    return (
        f'<form data-method="{method.upper()}" data-path="{escape(path)}">{inputs}<button>Send</button>'
        '<button type="button" hidden>Stop</button><output hidden></output></form>'
    )


def _input(name: str, place: str, needed: bool) -> str:
    required = " required" if needed else ""
    return f'<label>{escape(name)} <input name="{escape(name)}" data-in="{place}"{required}></label>'


def _example(schemas: Schemas, body: Schema, indent: int | None = None) -> str:
    return json.dumps(schemas.example(body), ensure_ascii=False, indent=indent)


def _prose(text: str) -> str:
    """Text in which backticks stand for code."""
    return "".join(_code_at_odd_places(escape(" ".join(text.split())).split("`")))


def _code_at_odd_places(parts: list[str]) -> Iterator[str]:
    for place, part in enumerate(parts):
        yield f"<code>{part}</code>" if place % 2 else part


def _titled(tag: str) -> str:
    return tag[0].upper() + tag[1:]

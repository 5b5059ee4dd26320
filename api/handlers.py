"""What becomes of an error that ends a request: each one is reported as a problem document."""

import json
from collections.abc import Mapping, Sequence
from email.message import Message
from typing import Any

from fastapi import FastAPI, Request, params
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Match

from api.patterns import PATTERNS
from api.problems import FieldProblem, ProblemError, problem_of, unexpected
from tools.errors import SteelmanError

_JSON, _FORM = "application/json", "multipart/form-data"
_WORDS = {
    "missing": "This is needed.",
    "extra_forbidden": "There is no such field; /openapi.json lists them.",
    "string_unicode": "This is no text: it holds half of a surrogate pair.",
    "model_attributes_type": "This has to be a JSON object.",
}
_MOST_SHOWN = 3


def add_handlers(app: FastAPI) -> None:
    """Answers what goes wrong in the routes."""
    app.add_exception_handler(ProblemError, _problem)
    app.add_exception_handler(SteelmanError, _problem)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _unexpected)


async def _problem(_: Request, exc: Exception) -> Response:
    if isinstance(exc, ProblemError):
        return exc.response()
    assert isinstance(exc, SteelmanError)
    return problem_of(exc).response()


async def _unexpected(_: Request, __: Exception) -> Response:
    return unexpected().response()


async def _invalid(request: Request, exc: Exception) -> Response:
    assert isinstance(exc, RequestValidationError)
    found: Sequence[Mapping[str, Any]] = exc.errors()
    if found[0]["type"] == "json_invalid":
        return _no_json(str(exc.body), int(found[0]["loc"][-1]), str(found[0]["ctx"]["error"])).response()
    if any(error["loc"][0] == "body" for error in found) and (wrong_type := _wrong_type(request)):
        return wrong_type.response()
    wrong = [FieldProblem(field=".".join(map(str, e["loc"])), message=_message(e)) for e in found]
    detail = " ".join(f"{w.field}: {w.message}" for w in wrong[:_MOST_SHOWN])
    more = f" And {len(wrong) - _MOST_SHOWN} more; see errors." if len(wrong) > _MOST_SHOWN else ""
    title = "The request is not as it should be"
    return ProblemError(422, "invalid-request", title, detail + more, fields=wrong).response()


def _message(error: Mapping[str, Any]) -> str:
    if error["loc"] == ("body",) and error["type"] == "missing":
        return "A body is needed; /openapi.json says what stands in it."
    if (words := PATTERNS.get(str(error.get("ctx", {}).get("pattern")))) is not None:
        return words
    message = str(error["msg"]).removeprefix("Value error, ")
    return _WORDS.get(error["type"], message if message.endswith(".") else f"{message}.")


def _no_json(text: str, position: int, why: str) -> ProblemError:
    line, column = text.count("\n", 0, position) + 1, position - text.rfind("\n", 0, position)
    detail = f"The body is no JSON: line {line}, column {column}: {why}."
    return ProblemError(400, "unreadable-body", "The body cannot be read", detail)


def _wrong_type(request: Request) -> ProblemError | None:
    """The problem of a body whose Content-Type is not what the call reads; None where it is, or where none was sent."""
    headers = request.headers
    if headers.get("content-length", "0") == "0" and "transfer-encoding" not in headers:
        return None
    field = getattr(request.scope.get("route"), "body_field", None)
    wanted = _FORM if field is not None and isinstance(field.field_info, params.Form) else _JSON
    message = Message()
    message["content-type"] = headers.get("content-type", "")
    given = message.get_content_type() if headers.get("content-type") else ""
    if given == wanted or (wanted == _JSON and given.startswith("application/") and given.endswith("+json")):
        return None
    how_sent = f"The body was sent as {given}" if given else "The body was sent without a Content-Type"
    how = f"send 'Content-Type: {wanted}'" if wanted == _JSON else f"send {wanted} (curl -F 'files=@notes.pdf')"
    title = "The body is of another type"
    return ProblemError(415, "unsupported-media-type", title, f"{how_sent}: {how}.", headers={"Accept": wanted})


async def _http(request: Request, exc: Exception) -> Response:
    assert isinstance(exc, HTTPException)
    return _problem_of_http(request, exc).response()


def _problem_of_http(request: Request, exc: HTTPException) -> ProblemError:
    path, headers = request.url.path, exc.headers
    if exc.status_code == 404:
        return ProblemError(404, "not-found", "No such address", f"There is nothing at {path}. {_LIST}")
    if exc.status_code == 405:
        takes = ", ".join(_methods(request))
        detail = f"{request.method} is not for {path}, which takes {takes}. {_LIST}"
        return ProblemError(405, "method-not-allowed", "Another method is needed", detail, headers={"Allow": takes})
    if exc.status_code == 400:
        return ProblemError(400, "unreadable-body", "The body cannot be read", _unreadable(exc), headers=headers)
    if exc.status_code == 413:
        detail = "The body is larger than this server takes. Send it in parts, or have STEELMAN_API_UPLOAD raised."
        return ProblemError(413, "body-too-large", "The body is too large", detail, headers=headers)
    return ProblemError(exc.status_code, "failure", "The request failed", f"{exc.detail}", headers=headers)


def _methods(request: Request) -> list[str]:
    """All that the address takes; a route by itself knows only its own."""
    routes = request.app.router.routes
    return [m for m in _METHODS if any(r.matches({**request.scope, "method": m})[0] is Match.FULL for r in routes)]


_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
_LIST = "GET /openapi.json lists the calls."


def _unreadable(exc: HTTPException) -> str:
    cause = exc.__cause__
    if isinstance(cause, UnicodeDecodeError):
        return f"The body is no UTF-8 text: byte {cause.start + 1} of it has no meaning there. Send JSON in UTF-8."
    if isinstance(cause, RecursionError):
        return "The body is JSON within JSON too deep to be read. Send what /openapi.json says."
    if isinstance(cause, ValueError) and not isinstance(cause, json.JSONDecodeError):
        return f"The body is no JSON that can be read ({str(cause).partition(';')[0]})."
    return f"The body cannot be read: {str(exc.detail).rstrip('.')}."

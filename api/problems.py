"""What a caller gets when something goes wrong: problem documents (RFC 9457), one form for every failure.

`type` is `urn:steelman:problem:` and a name that never changes; `detail` says what is wrong with this request and what
to do next. A request whose fields are wrong lists them in `errors`.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import FastAPI, Request, params
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Match
from starlette.types import Receive, Scope, Send

from agent.runs.executor import RunCrashedError, RunFailure
from api.outside import link
from api.schemas import PATTERNS
from tools import errors

MEDIA_TYPE = "application/problem+json"
_URN = "urn:steelman:problem:"


class FieldProblem(BaseModel):
    """A part of the request that cannot be as it is: where it stands, and why."""

    field: str
    message: str


class Problem(BaseModel):
    """What went wrong, after RFC 9457."""

    model_config = ConfigDict(extra="allow")

    type: str = Field(pattern=f"^{_URN}[a-z-]+$", description="A name of the kind of problem that never changes.")
    title: str = Field(description="The kind of problem in words.")
    status: int = Field(ge=400, le=599)
    detail: str = Field(description="What is wrong with this request, and what to do next.")
    instance: str | None = Field(default=None, description="The run that it is about, where it is about one.")
    errors: list[FieldProblem] | None = Field(default=None, description="The fields that are wrong.")


class ProblemError(Exception):
    """Ends a request with a problem document."""

    def __init__(
        self,
        status: int,
        name: str,
        title: str,
        detail: str,
        *,
        headers: Mapping[str, str] | None = None,
        fields: Sequence[FieldProblem] = (),
    ) -> None:
        super().__init__(detail)
        self.headers = dict(headers or {})
        self.problem = Problem(type=_URN + name, title=title, status=status, detail=detail, errors=list(fields) or None)

    def json(self) -> str:
        return self.problem.model_dump_json(exclude_none=True)

    def response(self) -> Response:
        """The answer to the request."""
        response = _ProblemResponse(self.json(), self.problem.status, headers=self.headers, media_type=MEDIA_TYPE)
        response.problem = self.problem
        return response


class _ProblemResponse(Response):
    """Leaves its kind with the request, for the log line and the figures; has what OpenAI's clients read, where one of
    their calls ends in it.

    They know 400 for every request that cannot be carried out, so a 422 becomes one. They ask again on a conflict or a
    failure, which would begin a second run: they are told not to where that cannot help.
    """

    problem: Problem

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope.setdefault("state", {})["problem"] = self.problem.type.removeprefix(_URN)
        if scope["path"].startswith(_OPENAI):
            self.status_code = 400 if self.problem.status == 422 else self.problem.status
            told = self.problem.model_dump(exclude_none=True) | {"status": self.status_code}
            self.body = json.dumps(told | {"error": error_of(self.problem)}, ensure_ascii=False).encode()
            self.headers["content-length"] = str(len(self.body))
            if self.status_code not in _WORTH_RETRYING:
                self.headers["x-should-retry"] = "false"
        await super().__call__(scope, receive, send)


def error_of(problem: Problem) -> dict[str, Any]:
    """The `error` member that OpenAI's clients read: the same message, the field that is wrong, a name for programs."""
    name = problem.type.removeprefix(_URN)
    kind = "server_error" if problem.status >= 500 else _TYPES.get(problem.status, "invalid_request_error")
    return {
        "message": problem.detail,
        "type": kind,
        "param": problem.errors[0].field.removeprefix("body.") if problem.errors else None,
        "code": _CODES.get(problem.status) or _CODES.get(name) or name.replace("-", "_"),
    }


_OPENAI = ("/v1/chat/", "/v1/models", "/v1/completions", "/v1/responses", "/v1/embeddings")
"""What OpenAI's clients call; whatever of it does not exist here is reported in their words too."""
_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
_CODES = {401: "invalid_api_key", 429: "rate_limit_exceeded", "unknown-model": "model_not_found"}
_WORTH_RETRYING = (429, 503, 504)
_KINDS: tuple[tuple[type[errors.SteelmanError], int, str, str, str], ...] = (
    (errors.UnknownCollectionError, 404, "unknown-collection", "No such collection", "GET /v1/collections lists them."),
    (
        *(errors.UnknownRunError, 404, "unknown-run", "No such run"),
        "A run's id stands in the Location or Content-Location of the reply that began it; GET /v1/runs lists yours.",
    ),
    (errors.QuestionError, 422, "unanswerable-question", "The question cannot be answered", ""),
    (errors.SettingsError, 422, "impossible-option", "An option cannot be as it is", ""),
    (errors.InputError, 422, "invalid-request", "The request cannot be carried out", ""),
    (errors.SourceError, 422, "unreadable-document", "A document cannot be read", ""),
    (errors.StoreBusyError, 503, "store-busy", "The store is busy", ""),
    (errors.StoreFullError, 507, "store-full", "No room left on the disk", ""),
    (errors.EncoderMismatchError, 409, "other-encoder", "The collection was made with another encoder", ""),
    (errors.StoreError, 503, "store-unusable", "The store cannot be used", "Whoever runs this server has to mend it."),
    (errors.ModelError, 503, "model-unusable", "A model cannot be used", "Whoever runs this server has to mend it."),
    (errors.DeadlineError, 504, "too-slow", "A provider did not answer in time", "Try again, with more time."),
    (errors.ProviderError, 502, "provider-failed", "A provider failed", ""),
    (errors.RunBusyError, 409, "run-busy", "The run is being worked on", "POST /v1/runs/{id}/cancel stops it."),
    (errors.RunCancelledError, 409, "run-cancelled", "The run was cancelled", "POST /v1/runs/{id}/resume goes on."),
    (
        *(errors.RunForgottenError, 409, "run-forgotten", "What the run found is not kept any more"),
        "Its answer is; ask the question again for the rest.",
    ),
    (errors.RunError, 409, "run-stopped", "The run has no answer", "POST /v1/runs/{id}/resume goes on with it."),
)
_RETRIES = {503: "5"}


def problem_of(exc: errors.SteelmanError) -> ProblemError:
    """The problem that an error of Steelman's is to a caller, without the hint for this machine's keyboard."""
    for kind, status, name, title, advice in _KINDS:
        if isinstance(exc, kind):
            detail = " ".join(filter(None, [exc.remote_text, advice]))
            headers = {"Retry-After": _RETRIES[status]} if status in _RETRIES else {}
            return ProblemError(status, name, title, detail, headers=headers)
    return unexpected(exc.remote_text)


def unexpected(
    detail: str = "Something went wrong inside Steelman. Whoever runs this server finds it in its log.",
) -> "ProblemError":
    """The problem that a mistake of Steelman's own is to a caller."""
    return ProblemError(500, "failure", "Something went wrong inside Steelman", detail)


def failed_run(run_id: str, failure: RunFailure) -> ProblemError:
    """What a run failed at, as the problem that it would have been to the request."""
    cause = failure.cause()
    error = unexpected(cause.remote_text) if isinstance(cause, RunCrashedError) else problem_of(cause)
    goes_on = f"POST /v1/runs/{run_id}/resume goes on with the run."
    error.problem = error.problem.model_copy(
        update={"instance": link(f"/v1/runs/{run_id}"), "detail": f"{error.problem.detail} {goes_on}"}
    )
    error.headers["Content-Location"] = f"/v1/runs/{run_id}"
    return error


def responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """For OpenAPI: these statuses are problem documents."""
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {
        s: {"description": _TITLES[s], "content": content, **({"headers": _HEADERS[s]} if s in _HEADERS else {})}
        for s in statuses
    }


LOCATED: dict[str, Any] = {
    "description": "What was asked for goes on, or waits; Location is its address.",
    "headers": {"Location": {"description": "Its address.", "required": True, "schema": {"type": "string"}}},
}
"""The reply 202."""
_RETRY_AFTER = {
    "Retry-After": {"description": "Seconds until it is worth asking again.", "schema": {"type": "integer"}}
}
_HEADERS = {429: _RETRY_AFTER, 503: _RETRY_AFTER}
_TITLES = {
    400: "The body is no JSON, or no text",
    401: "A key is needed, and it is missing or wrong",
    403: "The page or the name that the request comes from is not let in",
    404: "There is no such thing",
    409: "Not in the state that things are in",
    413: "The body is too large",
    415: "The body is of another type",
    422: "The request cannot be carried out as it is",
    429: "Too many requests or runs; Retry-After says when to come again",
    500: "Something went wrong inside Steelman",
    502: "A provider failed",
    503: "Not at the moment",
    504: "A provider did not answer in time",
    507: "No room left on the disk",
}


# What goes wrong in the routes

_JSON, _FORM = "application/json", "multipart/form-data"
_WORDS = {
    "missing": "This is needed.",
    "extra_forbidden": "There is no such field; /openapi.json lists them.",
    "string_unicode": "This is no text: it holds half of a surrogate pair.",
    "model_attributes_type": "This has to be a JSON object.",
}
_MOST_SHOWN = 3
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
_LIST = "GET /openapi.json lists the calls."


def add_handlers(app: FastAPI) -> None:
    """Reports what ends a request as a problem document."""
    app.add_exception_handler(ProblemError, _problem)
    app.add_exception_handler(errors.SteelmanError, _problem)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _problem)


async def _problem(_: Request, exc: Exception) -> Response:
    if isinstance(exc, errors.SteelmanError):
        exc = problem_of(exc)
    return (exc if isinstance(exc, ProblemError) else unexpected()).response()


async def _invalid(request: Request, exc: Exception) -> Response:
    assert isinstance(exc, RequestValidationError)
    found: Sequence[Mapping[str, Any]] = exc.errors()
    if found[0]["type"] == "json_invalid":
        text, position = str(exc.body), int(found[0]["loc"][-1])
        line, column = text.count("\n", 0, position) + 1, position - text.rfind("\n", 0, position)
        return _unreadable(f"is no JSON: line {line}, column {column}: {found[0]['ctx']['error']}").response()
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
    message = str(error["msg"]).removeprefix("Value error, ").rstrip(".")
    return _WORDS.get(error["type"], f"{message}.")


def _unreadable(why: str) -> ProblemError:
    return ProblemError(400, "unreadable-body", "The body cannot be read", f"The body {why}.")


def _wrong_type(request: Request) -> ProblemError | None:
    """The problem of a body whose Content-Type is not what the call reads; None where it is, or where none was sent."""
    headers = request.headers
    if headers.get("content-length", "0") == "0" and "transfer-encoding" not in headers:
        return None
    field = getattr(request.scope.get("route"), "body_field", None)
    wanted = _FORM if field is not None and isinstance(field.field_info, params.Form) else _JSON
    given = headers.get("content-type", "").partition(";")[0].strip().lower()
    if given == wanted or (wanted == _JSON and given.startswith("application/") and given.endswith("+json")):
        return None
    how = f"send 'Content-Type: {wanted}'" if wanted == _JSON else f"send {wanted} (curl -F 'files=@notes.pdf')"
    detail = f"The body was sent as {given or 'nothing that its Content-Type names'}: {how}."
    title = "The body is of another type"
    return ProblemError(415, "unsupported-media-type", title, detail, headers={"Accept": wanted})


async def _http(request: Request, exc: Exception) -> Response:
    assert isinstance(exc, HTTPException)
    path, headers = request.url.path, exc.headers
    if exc.status_code == 404:
        problem = ProblemError(404, "not-found", "No such address", f"There is nothing at {path}. {_LIST}")
    elif exc.status_code == 405:
        routes = request.app.router.routes  # a route by itself knows only its own methods
        takes = ", ".join(
            m for m in _METHODS if any(r.matches({**request.scope, "method": m})[0] is Match.FULL for r in routes)
        )
        detail = f"{request.method} is not for {path}, which takes {takes}. {_LIST}"
        problem = ProblemError(405, "method-not-allowed", "Another method is needed", detail, headers={"Allow": takes})
    elif exc.status_code == 413:
        detail = "The body is larger than this server takes. Send it in parts, or have STEELMAN_API_UPLOAD raised."
        problem = ProblemError(413, "body-too-large", "The body is too large", detail, headers=headers)
    elif exc.status_code == 400:
        problem = _unreadable(f"cannot be read: {str(exc.__cause__ or exc.detail).partition(';')[0].rstrip('.')}")
    else:
        problem = ProblemError(exc.status_code, "failure", "The request failed", f"{exc.detail}", headers=headers)
    return problem.response()

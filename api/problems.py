"""Every failure of a call as a problem document (RFC 9457)."""

from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.routing import Match
from starlette.types import Scope

from agent.runs.executor import RunCrashedError, RunFailure
from api.forms import PATTERNS
from api.public_url import link
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


class ProblemError(HTTPException):
    """Ends a request with a problem document."""

    def __init__(
        self,
        status: int,
        name: str,
        detail: str,
        *,
        headers: Mapping[str, str] | None = None,
        fields: Sequence[FieldProblem] = (),
    ) -> None:
        super().__init__(status, detail, headers)
        self.name = name
        title = name.replace("-", " ").capitalize()
        self.problem = Problem(type=_URN + name, title=title, status=status, detail=detail, errors=list(fields) or None)

    def told(self) -> dict[str, Any]:
        return self.problem.model_dump(exclude_none=True)

    def response(self, scope: Scope) -> Response:
        """The reply, with an `error` member on the calls of OpenAI's clients. Notes its kind for the log.

        These clients expect 400 in place of 422. They retry a conflict or a failure, which would begin a second run,
        unless a header forbids it.
        """
        scope.setdefault("state", {})["problem"] = self.name
        told, status, headers = self.told(), self.status_code, dict(self.headers or {})
        if scope["path"].startswith(_OPENAI):
            status = 400 if status == 422 else status
            told |= {"status": status, "error": self.openai_error()}
            if status not in _WORTH_RETRYING:
                headers["x-should-retry"] = "false"
        return JSONResponse(told, status, headers, MEDIA_TYPE)

    def openai_error(self) -> dict[str, Any]:
        """The `error` member that OpenAI's clients read."""
        status, wrong = self.status_code, self.problem.errors
        return {
            "message": self.detail,
            "type": "server_error" if status >= 500 else _TYPES.get(status, "invalid_request_error"),
            "param": wrong[0].field.removeprefix("body.") if wrong else None,
            "code": _CODES.get(status) or _CODES.get(self.name) or self.name.replace("-", "_"),
        }


_OPENAI = ("/v1/chat/", "/v1/models", "/v1/completions", "/v1/responses", "/v1/embeddings")  # some exist not here
_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
_CODES = {401: "invalid_api_key", 429: "rate_limit_exceeded", "unknown-model": "model_not_found"}
_WORTH_RETRYING = (429, 503, 504)

_MEND = "The server's operator has to mend it."
_LOCATED = "A run's id stands in the Location or Content-Location of the reply that began it; GET /v1/runs lists yours."
_KINDS: dict[type[Exception], tuple[int, str, str]] = {
    errors.UnknownCollectionError: (404, "unknown-collection", "GET /v1/collections lists them."),
    errors.UnknownRunError: (404, "unknown-run", _LOCATED),
    errors.QuestionError: (422, "unanswerable-question", ""),
    errors.SettingsError: (422, "impossible-option", ""),
    errors.InputError: (422, "invalid-request", ""),
    errors.SourceError: (422, "unreadable-document", ""),
    errors.StoreBusyError: (503, "store-busy", ""),
    errors.StoreFullError: (507, "store-full", ""),
    errors.EncoderMismatchError: (409, "other-encoder", ""),
    errors.StoreError: (503, "store-unusable", _MEND),
    errors.ModelError: (503, "model-unusable", _MEND),
    errors.DeadlineError: (504, "too-slow", "Try again, with more time."),
    errors.ProviderError: (502, "provider-failed", ""),
    RunCrashedError: (500, "failure", ""),
    errors.RunBusyError: (409, "run-busy", "POST /v1/runs/{id}/cancel stops it."),
    errors.RunCancelledError: (409, "run-cancelled", "POST /v1/runs/{id}/resume goes on."),
    errors.RunForgottenError: (409, "run-forgotten", "Its answer is; ask the question again for the rest."),
    errors.RunError: (409, "run-stopped", "POST /v1/runs/{id}/resume goes on with it."),
    errors.SteelmanError: (500, "failure", ""),
}
"""Status, name and advice by the first kind that an error is of."""


def problem_of(exc: Exception) -> ProblemError:
    """The error as a problem, without its hint for the server's own keyboard."""
    if isinstance(exc, ProblemError):
        return exc
    if not isinstance(exc, errors.SteelmanError):
        return ProblemError(500, "failure", "Something went wrong inside Steelman. The server's log has it.")
    status, name, advice = next(told for kind, told in _KINDS.items() if isinstance(exc, kind))
    headers = {"Retry-After": "5"} if status == 503 else {}
    return ProblemError(status, name, f"{exc.remote_text} {advice}".rstrip(), headers=headers)


def failed_run(run_id: str, failure: RunFailure) -> ProblemError:
    """The failure of a run as the problem that its request would have got."""
    cause = problem_of(failure.cause())
    detail = f"{cause.detail} POST /v1/runs/{run_id}/resume goes on with the run."
    headers = {**(cause.headers or {}), "Content-Location": f"/v1/runs/{run_id}"}
    error = ProblemError(cause.status_code, cause.name, detail, headers=headers)
    error.problem.instance = link(f"/v1/runs/{run_id}")
    return error


RESPONSES: dict[int | str, dict[str, Any]] = {
    "default": {
        "description": "A problem document; docs/api.md lists the kinds.",
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
}
LOCATED: dict[str, Any] = {
    "description": "What was asked for goes on, or waits; Location is its address.",
    "headers": {"Location": {"description": "Its address.", "required": True, "schema": {"type": "string"}}},
}
"""The reply 202."""


# Exceptions in routes

_JSON, _FORM = "application/json", "multipart/form-data"
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
_LIST = "GET /openapi.json lists the calls."


def add_handlers(app: FastAPI) -> None:
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(RequestValidationError, _invalid)
    for kind in (errors.SteelmanError, Exception):
        app.add_exception_handler(kind, _failure)


async def _failure(request: Request, exc: Exception) -> Response:
    return problem_of(exc).response(request.scope)


async def _http(request: Request, exc: Exception) -> Response:
    assert isinstance(exc, HTTPException)
    path, method = request.url.path, request.method
    if isinstance(exc, ProblemError):
        problem = exc
    elif exc.status_code == 404:
        problem = ProblemError(404, "not-found", f"There is nothing at {path}. {_LIST}")
    elif exc.status_code == 405:
        routes = request.app.router.routes  # a route by itself knows only its own methods
        takes = ", ".join(
            m for m in METHODS if any(r.matches({**request.scope, "method": m})[0] is Match.FULL for r in routes)
        )
        detail = f"{method} is not for {path}, which takes {takes}. {_LIST}"
        problem = ProblemError(405, "method-not-allowed", detail, headers={"Allow": takes})
    else:  # a body that cannot be parsed
        problem = _unreadable(f"cannot be read: {str(exc.__cause__ or exc.detail).partition(';')[0].rstrip('.')}")
    return problem.response(request.scope)


async def _invalid(request: Request, exc: Exception) -> Response:
    assert isinstance(exc, RequestValidationError)
    wrong: Sequence[Mapping[str, Any]] = exc.errors()
    if wrong[0]["type"] == "json_invalid":
        problem = _unreadable(f"is no JSON: {wrong[0]['ctx']['error']} at character {wrong[0]['loc'][-1]}")
    elif any(error["loc"][0] == "body" for error in wrong) and (other := _other_type(request)):
        problem = other
    else:
        fields = [FieldProblem(field=".".join(map(str, e["loc"])), message=_message(e)) for e in wrong]
        detail = " ".join(f"{w.field}: {w.message}" for w in fields[:3])
        problem = ProblemError(422, "invalid-request", detail, fields=fields)
    return problem.response(request.scope)


def _message(error: Mapping[str, Any]) -> str:
    if error["type"] == "extra_forbidden":
        return "There is no such field; /openapi.json lists them."
    if (words := PATTERNS.get(str(error.get("ctx", {}).get("pattern")))) is not None:
        return words
    return f"{str(error['msg']).removeprefix('Value error, ').rstrip('.')}."


def _unreadable(why: str) -> ProblemError:
    return ProblemError(400, "unreadable-body", f"The body {why}.")


def _other_type(request: Request) -> ProblemError | None:
    """The problem of a body whose Content-Type the call does not read."""
    headers = request.headers
    if headers.get("content-length", "0") == "0" and "transfer-encoding" not in headers:
        return None
    wanted = _FORM if request.url.path.rstrip("/").endswith("/files") else _JSON
    given = headers.get("content-type", "").partition(";")[0].strip().lower()
    if given == wanted or (wanted == _JSON and given.startswith("application/") and given.endswith("+json")):
        return None
    how = f"send 'Content-Type: {wanted}'" if wanted == _JSON else f"send {wanted} (curl -F 'files=@notes.pdf')"
    detail = f"The body was sent as {given or 'nothing that its Content-Type names'}: {how}."
    return ProblemError(415, "unsupported-media-type", detail, headers={"Accept": wanted})

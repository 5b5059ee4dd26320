"""Problem documents (RFC 9457): the reply to every call that fails."""

from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.routing import Match
from starlette.types import Scope

from agent.runs.executor import RunCrashedError, RunFailure
from tools import errors

MEDIA_TYPE = "application/problem+json"
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
_URN = "urn:steelman:problem:"
_OPENAI = ("/v1/chat/", "/v1/models", "/v1/completions", "/v1/responses", "/v1/embeddings")
_OPENAI_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
_OPENAI_CODES = {401: "invalid_api_key", 429: "rate_limit_exceeded", "unknown-model": "model_not_found"}
_Headers = Mapping[str, str] | None
BASE: ContextVar[str] = ContextVar("base", default="")
"""The public address (`STEELMAN_PUBLIC_URL`). The guard sets it for each request."""


def link(path: str) -> str:
    """Returns the path with the public address before it, or the plain path if no address is set."""
    return BASE.get() + path


class FieldProblem(BaseModel):
    """An invalid field of the request, and why it is invalid."""

    field: str
    message: str


class Problem(BaseModel):
    """An error after RFC 9457."""

    model_config = ConfigDict(extra="allow")

    type: str = Field(pattern=f"^{_URN}[a-z-]+$", description="The kind of problem. It never changes.")
    title: str = Field(description="The kind of problem in words.")
    status: int = Field(ge=400, le=599)
    detail: str = Field(description="The problem of this request, and what to do next.")
    instance: str | None = Field(default=None, description="The affected run, if any.")
    errors: list[FieldProblem] | None = Field(default=None, description="The invalid fields.")


class ProblemError(HTTPException):
    """Ends a request with a problem document."""

    def __init__(
        self, status: int, name: str, detail: str, *, headers: _Headers = None, fields: Sequence[FieldProblem] = ()
    ) -> None:
        super().__init__(status, detail, headers)
        self.name = name
        title = name.replace("-", " ").capitalize()
        self.problem = Problem(type=_URN + name, title=title, status=status, detail=detail, errors=list(fields) or None)

    def document(self) -> dict[str, Any]:
        return self.problem.model_dump(exclude_none=True)

    def response(self, scope: Scope) -> Response:
        """Returns the reply. Stores the kind of problem in the scope for the log.

        OpenAI's clients read an `error` member and expect 400 instead of 422. They retry after a conflict or a failure,
        and so would start a second run. A header forbids the retry.
        """
        scope.setdefault("state", {})["problem"] = self.name
        document, status, headers = self.document(), self.status_code, dict(self.headers or {})
        if scope["path"].startswith(_OPENAI):
            status = 400 if status == 422 else status
            document |= {"status": status, "error": self.openai_error()}
            if status not in (429, 503, 504):
                headers["x-should-retry"] = "false"
        return JSONResponse(document, status, headers, MEDIA_TYPE)

    def openai_error(self) -> dict[str, Any]:
        """Returns the `error` member for OpenAI's clients."""
        status, wrong = self.status_code, self.problem.errors
        return {
            "message": self.detail,
            "type": "server_error" if status >= 500 else _OPENAI_TYPES.get(status, "invalid_request_error"),
            "param": wrong[0].field.removeprefix("body.") if wrong else None,
            "code": _OPENAI_CODES.get(status) or _OPENAI_CODES.get(self.name) or self.name.replace("-", "_"),
        }


_LOCATED = "The reply that started a run has its id in Location or Content-Location. GET /v1/runs lists your runs."
_OPERATOR = "The server's operator must repair it."
_KINDS: dict[type[Exception], tuple[int, str, str]] = {
    errors.UnknownCollectionError: (404, "unknown-collection", "GET /v1/collections lists them."),
    errors.UnknownRunError: (404, "unknown-run", _LOCATED),
    errors.QuestionError: (422, "unanswerable-question", ""),
    errors.NoSourceError: (409, "no-source", ""),
    errors.SettingsError: (422, "impossible-option", ""),
    errors.InputError: (422, "invalid-request", ""),
    errors.SourceError: (422, "unreadable-document", ""),
    errors.StoreBusyError: (503, "store-busy", ""),
    errors.StoreFullError: (507, "store-full", ""),
    errors.StoreDownError: (503, "store-down", ""),
    errors.EncoderMismatchError: (409, "other-encoder", ""),
    errors.StoreError: (503, "store-unusable", _OPERATOR),
    errors.ModelError: (503, "model-unusable", _OPERATOR),
    errors.DeadlineError: (504, "too-slow", "Try again with a later deadline."),
    errors.ProviderError: (502, "provider-failed", ""),
    RunCrashedError: (500, "failure", ""),
    errors.RunBusyError: (409, "run-busy", "POST /v1/runs/{id}/cancel stops it."),
    errors.RunCancelledError: (409, "run-cancelled", "POST /v1/runs/{id}/resume continues it."),
    errors.RunForgottenError: (409, "run-forgotten", "Its answer is kept. Ask the question again for the passages."),
    errors.RunError: (409, "run-stopped", "POST /v1/runs/{id}/resume continues it."),
    errors.SteelmanError: (500, "failure", ""),
}
"""Status, name and advice by class of error. The first matching class applies."""


def problem_of(exc: Exception) -> ProblemError:
    """Converts an error to a problem without hints for the command line."""
    if isinstance(exc, ProblemError):
        return exc
    if not isinstance(exc, errors.SteelmanError):
        return ProblemError(500, "failure", "Steelman failed. The server's log has the reason.")
    status, name, advice = next(entry for kind, entry in _KINDS.items() if isinstance(exc, kind))
    headers = {"Retry-After": "5"} if status == 503 else {}
    return ProblemError(status, name, f"{exc.remote_text} {advice}".rstrip(), headers=headers)


def failed_run(run_id: str, failure: RunFailure) -> ProblemError:
    """Returns the problem that answers a request whose run failed."""
    cause, path = problem_of(failure.cause()), f"/v1/runs/{run_id}"
    headers = {**(cause.headers or {}), "Content-Location": link(path)}
    detail = f"{cause.detail} POST {path}/resume continues the run."
    error = ProblemError(cause.status_code, cause.name, detail, headers=headers)
    error.problem.instance = link(path)
    return error


RESPONSES: dict[int | str, dict[str, Any]] = {
    "default": {
        "description": "A problem document; docs/api.md lists the kinds.",
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
}
LOCATED: dict[str, Any] = {
    "description": "The work continues, or waits for a person. Location is its address.",
    "headers": {"Location": {"description": "Its address.", "required": True, "schema": {"type": "string"}}},
}
"""The description of the reply 202."""

_LIST = "GET /openapi.json lists the calls."


async def _reply(request: Request, exc: Exception) -> Response:
    if isinstance(exc, RequestValidationError):
        exc = _invalid(request, exc.errors())
    elif isinstance(exc, HTTPException) and not isinstance(exc, ProblemError):
        exc = _refused(request, exc)
    return problem_of(exc).response(request.scope)


_HANDLED = (HTTPException, RequestValidationError, errors.SteelmanError, Exception)
HANDLERS: dict[int | type[Exception], Any] = dict.fromkeys(_HANDLED, _reply)
"""FastAPI's exception handlers."""


def _refused(request: Request, exc: HTTPException) -> ProblemError:
    if exc.status_code == 404:
        return ProblemError(404, "not-found", f"There is nothing at {request.url.path}. {_LIST}")
    if exc.status_code == 405:
        # Starlette's Allow names the methods of one route only.
        routes, scopes = request.app.router.routes, {m: {**request.scope, "method": m} for m in METHODS}
        allowed = ", ".join(m for m in METHODS if any(r.matches(scopes[m])[0] is Match.FULL for r in routes))
        detail = f"{request.url.path} does not support {request.method}. It supports {allowed}. {_LIST}"
        return ProblemError(405, "method-not-allowed", detail, headers={"Allow": allowed})
    # FastAPI raises this error for a body that it cannot parse.
    why = str(exc.__cause__ or exc.detail).partition(";")[0].rstrip(".")
    return ProblemError(400, "unreadable-body", f"The body cannot be read: {why}.")


def _invalid(request: Request, wrong: Sequence[Mapping[str, Any]]) -> ProblemError:
    if wrong[0]["type"] == "json_invalid":
        where = f"{wrong[0]['ctx']['error']} at character {wrong[0]['loc'][-1]}"
        return ProblemError(400, "unreadable-body", f"The body is not JSON: {where}.")
    wanted = "multipart/form-data" if request.url.path.rstrip("/").endswith("/files") else "application/json"
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    suits = given == wanted or (wanted == "application/json" and given.endswith("+json"))
    if not suits and any(error["loc"][0] == "body" for error in wrong):
        detail = f"The Content-Type is {given or 'missing'}. Send 'Content-Type: {wanted}'."
        return ProblemError(415, "unsupported-media-type", detail, headers={"Accept": wanted})
    fields = [
        FieldProblem(field=".".join(map(str, e["loc"])), message=f"{e['msg'].removeprefix('Value error, ')}.")
        for e in wrong
    ]
    detail = " ".join(f"{w.field}: {w.message}" for w in fields[:3])
    return ProblemError(422, "invalid-request", detail, fields=fields)

"""Problems as OpenAI's clients read them: the problem document with an `error` member beside the standard ones.

{"type": "urn:steelman:problem:unknown-model", "status": 404, …,
 "error": {"message": …, "type": "invalid_request_error", "param": "model", "code": "model_not_found"}}
"""

import json
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.problems import MEDIA_TYPE, Problem, ProblemError, problem_of
from tools.errors import RunCancelledError, RunError, SteelmanError

_PATHS = ("/v1/chat/", "/v1/models", "/v1/completions", "/v1/responses", "/v1/embeddings")
"""What OpenAI's clients call; whatever of it does not exist here is reported in their words too."""
_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
_CODES = {"unknown-model": "model_not_found"}
_STATUS_CODES = {401: "invalid_api_key", 429: "rate_limit_exceeded"}
_WORTH_RETRYING = (429, 503, 504)


def error_of(problem: Problem) -> dict[str, Any]:
    """The `error` member: the same message, with the field that is wrong and a name for programs."""
    name = problem.type.rpartition(":")[2]
    kind = "server_error" if problem.status >= 500 else _TYPES.get(problem.status, "invalid_request_error")
    return {
        "message": problem.detail,
        "type": kind,
        "param": problem.errors[0].field.removeprefix("body.") if problem.errors else None,
        "code": _STATUS_CODES.get(problem.status) or _CODES.get(name) or name.replace("-", "_"),
    }


def failed(run_id: str, exc: SteelmanError) -> ProblemError:
    """Why a run has no answer. To one who asked for a completion that is the server's failure, and no conflict."""
    if isinstance(exc, RunCancelledError) or not isinstance(exc, RunError):
        return problem_of(exc)
    detail = f"{exc.remote_text} POST /v1/runs/{run_id}/resume goes on with it."
    return ProblemError(502, "run-failed", "The run has no answer", detail)


class OpenAIProblems:
    """Adds the `error` member to whatever problem an OpenAI-compatible call ends in, the guard's among them.

    OpenAI's clients know 400 for every request that cannot be carried out, so a 422 becomes one. They ask again on a
    conflict or a failure, which would begin a second run: they are told not to where that cannot help.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        compatible = scope["type"] == "http" and scope["path"].startswith(_PATHS)
        await self._app(scope, receive, _WithErrorMember(send) if compatible else send)


class _WithErrorMember:
    """Passes everything on as it comes, but for a problem document, which is held back until it is whole."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._start: Message | None = None
        self._body = b""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start" and _is_problem(message):
            self._start = message
        elif self._start is None or message["type"] != "http.response.body":
            await self._send(message)
        else:
            self._body += message.get("body", b"")
            if not message.get("more_body", False):
                await self._tell(self._start)

    async def _tell(self, start: Message) -> None:
        problem = Problem.model_validate_json(self._body)
        problem = problem.model_copy(update={"status": 400 if problem.status == 422 else problem.status})
        document = problem.model_dump(exclude_none=True) | {"error": error_of(problem)}
        body = json.dumps(document, ensure_ascii=False).encode()
        headers = MutableHeaders(raw=list(start["headers"]))
        headers["content-length"] = str(len(body))
        if problem.status not in _WORTH_RETRYING:
            headers["x-should-retry"] = "false"
        await self._send({**start, "status": problem.status, "headers": headers.raw})
        await self._send({"type": "http.response.body", "body": body})


def _is_problem(start: Message) -> bool:
    return Headers(raw=start["headers"]).get("content-type", "").startswith(MEDIA_TYPE)

"""The outermost layer: each request has an id, ends in a reply, and leaves a log line and its figures."""

import asyncio
import contextlib
import logging
import re
import time
import uuid
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.observing.logs import REQUESTS, SERVER
from api.observing.metrics import Metrics
from api.observing.notes import noting
from api.problems import ProblemError

_SANE_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_RUN_ID = re.compile(r"[0-9a-f]{12}")
_JOB_ID = re.compile(r"j[0-9a-f]{12}")
_METHODS = frozenset("GET HEAD POST PUT PATCH DELETE OPTIONS".split())
_NO_ROUTE = "(none)"
_GONE = 499
"""The status of a reply that nobody is there to get, as other servers note it."""
_STOPPING = ProblemError(
    503,
    "server-stopping",
    "The server is being stopped",
    "Come again in a moment: runs and jobs that were begun go on when it is started again.",
    headers={"Retry-After": "5"},
)


class Observed:
    """Wraps everything else. `log_questions`: questions stand in the log lines."""

    def __init__(self, app: ASGIApp, metrics: Metrics, log_questions: bool) -> None:
        self._app = app
        self._metrics = metrics
        self._log_questions = log_questions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange = _Exchange(scope, receive, send)
        with noting() as notes:
            try:
                await self._app(scope, exchange.receive, exchange.send)
                await exchange.finish()
            except asyncio.CancelledError:
                # Only a server that stops cancels what it has not finished, and it looks at nothing but the reply.
                await exchange.end_early(_STOPPING)
            except ClientDisconnect:
                pass
            except Exception:  # noqa: BLE001  # logged, and told to the caller
                SERVER.exception("a request failed", extra={"request_id": exchange.request_id})
                await exchange.end_early(_crash(exchange.request_id), cut=True)
            finally:
                self._tell(exchange, notes)

    def _tell(self, exchange: "_Exchange", notes: dict[str, str]) -> None:
        seconds, route, status = time.perf_counter() - exchange.began, _route(exchange.scope), exchange.status or _GONE
        method = exchange.scope["method"] if exchange.scope["method"] in _METHODS else "OTHER"
        self._metrics.request(method, route, status, seconds)
        if exchange.first_event is not None:
            self._metrics.first_event(route, exchange.first_event)
        if kind := notes.get("problem"):
            self._metrics.refusal(kind)
        run = str(exchange.scope.get("path_params", {}).get("run_id", ""))
        if _RUN_ID.fullmatch(run):
            notes["run"] = run
        job = str(exchange.scope.get("path_params", {}).get("job_id", ""))
        if _JOB_ID.fullmatch(job):
            notes["job"] = job
        if not self._log_questions:
            notes.pop("question", None)
        caller = exchange.scope.get("state", {}).get("caller")
        level = logging.INFO if status < 500 else logging.WARNING
        facts: dict[str, str | int | float] = {
            "method": method,
            "route": route,
            "status": status,
            "ms": round(seconds * 1000, 1),
            "key": caller.key_id if caller else "",
            "request_id": exchange.request_id,
            "bytes_in": exchange.received,
            "bytes_out": exchange.sent,
        }
        REQUESTS.log(level, "request", extra={**notes, **facts})


class _Exchange:
    """A request and its reply as they pass."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scope = scope
        given = Headers(scope=scope).get("x-request-id", "")
        self.request_id = given if _SANE_ID.fullmatch(given) else uuid.uuid4().hex
        self.began = time.perf_counter()
        self.status: int | None = None
        self.first_event: float | None = None
        self.sent = self.received = 0
        self._streams = self._whole = self._over = False
        self._receive = receive
        self._send = send

    async def receive(self) -> Message:
        message = await self._receive()
        self.received += len(message.get("body", b""))
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            headers["X-Request-Id"] = self.request_id
            self._streams = headers.get("content-type", "").startswith("text/event-stream")
            self._whole = "content-length" in headers
        elif message["type"] == "http.response.body":
            body = message.get("body", b"")
            self.sent += len(body)
            self._over = not message.get("more_body", False)
            if self._streams and self.first_event is None and b"data:" in body:
                self.first_event = time.perf_counter() - self.began
        await self._send(message)

    async def end_early(self, problem: ProblemError, cut: bool = False) -> None:
        """Replies with the problem; a reply that had begun ends here, or stays incomplete where it is `cut`."""
        if self.status is None:
            await problem.response()(self.scope, self.receive, self.send)
        elif not cut:
            await self.finish()

    async def finish(self) -> None:
        """Ends a reply that is still open, as a stream of events is when the server stops: its reader comes again."""
        if self.status is not None and not (self._over or self._whole):
            with contextlib.suppress(OSError):
                await self.send({"type": "http.response.body", "body": b"", "more_body": False})


def _crash(request_id: str) -> ProblemError:
    detail = f"It is not the request's fault. Whoever runs this server finds it in the logs as request {request_id}."
    return ProblemError(500, "failure", "Something went wrong inside Steelman", detail)


def _route(scope: Scope) -> str:
    """The template of the route that was taken, never the path itself, which may hold anything."""
    if (path := getattr(scope.get("route"), "path_format", None)) is not None:
        return str(path)
    if (endpoint := scope.get("endpoint")) is None:
        return _NO_ROUTE
    routes: list[Any] = scope["app"].router.routes  # what FastAPI did not make leaves nothing but its endpoint
    made = (r for r in routes if endpoint in (getattr(r, "endpoint", None), getattr(r, "app", None)))
    return str(getattr(next(made, None), "path", _NO_ROUTE))

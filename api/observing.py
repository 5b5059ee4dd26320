"""A log line for each request, in JSON or short on a terminal, and metrics for Prometheus.

No line holds a question or a key. A failure is logged by its type and traceback. Its message, which may quote a
question, is left out unless the settings allow questions in the logs.
"""

import asyncio
import logging
import re
import sys
import time
import traceback
import uuid
from functools import partial
from types import TracebackType
from typing import Any, TextIO

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.process_collector import ProcessCollector
from pythonjsonlogger.json import JsonFormatter
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agent.settings import Settings
from api.problems import METHODS, ProblemError
from api.public_url import link

REQUESTS = logging.getLogger("steelman.requests")
SERVER = logging.getLogger("steelman.server")
_ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
_REQUEST_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)
_EVENT_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_PLACE = re.compile(r"/v1/(run|job)s/(j?[0-9a-f]{12})(?:/|$)")
_MOST_CAUSES = 10
_SAID = ("problem", "run", "job", "key")
_GONE = 499  # nginx's status of a reply whose client has gone
_STOPPING = ProblemError(
    503,
    "server-stopping",
    "Come again in a moment: runs that were begun go on when it is started again.",
    headers={"Retry-After": "5"},
)


def configure(settings: Settings, stream: TextIO | None = None) -> None:
    """Sends every log record of this process to the stream (standard error), warnings and worse of other packages."""
    stream = stream or sys.stderr
    formatter: _Discreet = _Discreet("%(asctime)s %(levelname)s %(message)s", "%H:%M:%S")
    if not stream.isatty():
        names = {"levelname": "level", "name": "logger", "exc_info": "failure"}
        fields = ["levelname", "name", "message"]
        formatter = _Json(fields, rename_fields=names, timestamp="time", json_ensure_ascii=False)
    formatter.open_ = settings.api_log_questions
    handler = logging.StreamHandler(stream)
    handler.setFormatter(formatter)
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.getLogger("steelman").setLevel(logging.INFO)
    logging.captureWarnings(True)


def told_by_loop(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """An event loop's exception handler. Its own would quote the exception's message inside the record's."""
    exc = context.get("exception")
    message = str(context.get("message", "something went wrong in the event loop")).splitlines()[0]
    SERVER.error(message, exc_info=exc if isinstance(exc, BaseException) else None)


class _Discreet(logging.Formatter):
    """Formats an exception and its causes without their messages, unless `open_`."""

    open_ = False

    def formatException(self, ei: _ExcInfo) -> str:  # noqa: N802  # logging's name
        if ei[1] is None or self.open_:
            return super().formatException(ei) if ei[1] else ""
        exc: BaseException | None = ei[1]
        parts: list[str] = []
        while exc is not None and len(parts) < _MOST_CAUSES:
            frames = "".join(traceback.format_tb(exc.__traceback__))
            parts.insert(0, f"{frames}{type(exc).__module__}.{type(exc).__qualname__}")
            exc = exc.__cause__ or exc.__context__
        return "\nthen\n".join(parts)


class _Json(_Discreet, JsonFormatter):
    """Time, level, logger, message, then the other members of a record."""


class Metrics:
    """The metrics of one application, in a registry of its own."""

    def __init__(self) -> None:
        registry, call = CollectorRegistry(), ("method", "route")
        counter, gauge = partial(Counter, registry=registry), partial(Gauge, registry=registry)
        histogram = partial(Histogram, registry=registry)
        told = "Requests that were answered; status 499: the caller went away first."
        self.requests = counter("steelman_http_requests", told, (*call, "status"))
        told = "From a request's head to the end of its reply, followed events included."
        self.seconds = histogram("steelman_http_request_seconds", told, call, buckets=_REQUEST_SECONDS)
        told = "From a request's head to the first event that was sent."
        self.first_event = histogram("steelman_first_event_seconds", told, ("route",), buckets=_EVENT_SECONDS)
        self.refusals = counter("steelman_refusals", "Problem documents that were sent, by kind.", ("kind",))
        self.runs_ended = counter("steelman_runs_ended", "Runs that ended here, by how they did.", ("outcome",))
        self.jobs_ended = counter("steelman_jobs_ended", "Jobs that ended here, by how.", ("status",))
        self.working = gauge("steelman_runs_at_work", "Runs that are being worked on.")
        self.waiting = gauge("steelman_runs_waiting", "Runs that wait their turn.")
        self.jobs = gauge("steelman_jobs_open", "Jobs that are worked on or wait their turn.")
        ProcessCollector(registry=registry)  # memory, processor time, open files
        self.registry = registry


class Observed:
    """The outermost layer: a request has an id, ends in a reply, and leaves a log line and its metrics."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange = _Exchange(scope, send)
        try:
            await self._app(scope, receive, exchange.send)
            if exchange.status is not None and not exchange.over:
                # The server stops within a stream of events, which is to end without a fault.
                await exchange.send({"type": "http.response.body", "body": b""})
        except asyncio.CancelledError:
            # Only a server that stops cancels a request; it looks at nothing but the reply.
            if exchange.status is None:
                await _STOPPING.response(scope)(scope, receive, exchange.send)
        except ClientDisconnect:
            pass
        except Exception:  # noqa: BLE001  # logged
            SERVER.exception("a request failed", extra={"request_id": exchange.request_id})
            if exchange.status is None:
                detail = f"Steelman failed, not the request. The server's log has it as request {exchange.request_id}."
                problem = ProblemError(500, "failure", detail)
                await problem.response(scope)(scope, receive, exchange.send)
        finally:
            self._tell(exchange)

    def _tell(self, exchange: "_Exchange") -> None:
        scope, seconds = exchange.scope, time.perf_counter() - exchange.began
        method = scope["method"] if scope["method"] in METHODS else "OTHER"
        route, status, state = _route(scope), exchange.status or _GONE, scope.get("state", {})
        self._metrics.requests.labels(method, route, str(status)).inc()
        self._metrics.seconds.labels(method, route).observe(seconds)
        facts: dict[str, str | int | float] = {"method": method, "route": route, "status": status}
        facts |= {"ms": round(seconds * 1000, 1), "key": caller.key_id if (caller := state.get("caller")) else ""}
        if exchange.first_event is not None:
            self._metrics.first_event.labels(route).observe(exchange.first_event)
        if kind := state.get("problem"):
            self._metrics.refusals.labels(kind).inc()
            facts["problem"] = kind
        if place := _PLACE.match(scope["path"]) or _PLACE.match(exchange.place):
            facts[place[1]] = place[2]
        said = [f"{method} {route} {status} {facts['ms']:.0f} ms", *(f"{k} {facts[k]}" for k in _SAID if facts.get(k))]
        level = logging.INFO if status < 500 else logging.WARNING
        REQUESTS.log(level, ", ".join(said), extra={**facts, "request_id": exchange.request_id})


class _Exchange:
    """A request and its reply as they pass."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self.scope, self._send = scope, send
        given = Headers(scope=scope).get("x-request-id", "")
        self.request_id = given if _REQUEST_ID.fullmatch(given) else uuid.uuid4().hex
        self.began = time.perf_counter()
        self.status: int | None = None
        self.place = ""
        self.first_event: float | None = None
        self.over = self._streams = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            headers["X-Request-Id"] = self.request_id
            for name in ("location", "content-location"):
                if headers.get(name, "").startswith("/"):
                    self.place = headers[name]
                    headers[name] = link(self.place)
            self._streams = headers.get("content-type", "").startswith("text/event-stream")
        else:
            self.over = not message.get("more_body", False)
        if self._streams and self.first_event is None and b"data:" in message.get("body", b""):
            self.first_event = time.perf_counter() - self.began
        await self._send(message)


def _route(scope: Scope) -> str:
    """The template of the route that was taken, never the path itself, which may hold anything."""
    if template := getattr(scope.get("route"), "path_format", None):
        return str(template)
    fixed = {getattr(route, "path", None) for route in scope["app"].router.routes} if "app" in scope else set()
    return scope["path"] if scope["path"] in fixed else "(none)"

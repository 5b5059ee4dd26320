"""One log line for each request (JSON, or short text on a terminal) and metrics for Prometheus.

Log lines contain no question and no key. A failure is logged with its type and traceback but without its message, which
may quote a question, unless the settings allow questions in the log.
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
from api.service import ApiService

REQUESTS = logging.getLogger("steelman.requests")
SERVER = logging.getLogger("steelman.server")
_ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_ADDRESS = re.compile(r"/v1/(run|job)s/(j?[0-9a-f]{12})(?:/|$)")
_CLIENT_GONE = 499  # nginx's status for a client that disconnected before the reply


def configure(settings: Settings, stream: TextIO | None = None) -> None:
    """Sends all log records of this process to the stream (standard error): of other packages warnings and errors."""
    stream = stream or sys.stderr
    formatter: _PrivateFormatter = _PrivateFormatter("%(asctime)s %(levelname)s %(message)s", "%H:%M:%S")
    if not stream.isatty():
        names = {"levelname": "level", "name": "logger", "exc_info": "failure"}
        fields = ["levelname", "name", "message"]
        formatter = _PrivateJson(fields, rename_fields=names, timestamp="time", json_ensure_ascii=False)
    formatter.with_messages = settings.api_log_questions
    handler = logging.StreamHandler(stream)
    handler.setFormatter(formatter)
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.getLogger("steelman").setLevel(logging.INFO)
    logging.captureWarnings(True)


def log_loop_error(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """An event loop's exception handler. asyncio's own would log the exception's message."""
    SERVER.error(str(context["message"]).splitlines()[0], exc_info=context.get("exception"))


class _PrivateFormatter(logging.Formatter):
    """Formats an exception and its causes without their messages, unless `with_messages`."""

    with_messages = False

    def formatException(self, ei: _ExcInfo) -> str:  # noqa: N802  # logging's name
        exc, parts = ei[1], list[str]()
        if exc is None or self.with_messages:
            return super().formatException(ei) if exc else ""
        while exc is not None:
            frames = "".join(traceback.format_tb(exc.__traceback__))
            parts.insert(0, f"{frames}{type(exc).__module__}.{type(exc).__qualname__}")
            exc = exc.__cause__ or exc.__context__
        return "\nthen\n".join(parts)


class _PrivateJson(_PrivateFormatter, JsonFormatter):
    """The same as JSON: time, level, logger and message first."""


class Metrics:
    """The metrics of one application, in its own registry."""

    def __init__(self) -> None:
        self.registry, call = CollectorRegistry(), ("method", "route")
        counter, histogram = partial(Counter, registry=self.registry), partial(Histogram, registry=self.registry)
        about = "Requests by status; 499: the client disconnected before the reply."
        self.requests = counter("steelman_http_requests", about, (*call, "status"))
        about = "Seconds from a request's head to the end of its reply, including followed events."
        self.seconds = histogram("steelman_http_request_seconds", about, call, buckets=_SECONDS)
        about = "Seconds from a request's head to its first event."
        self.first_event = histogram("steelman_first_event_seconds", about, ("route",))
        self.refusals = counter("steelman_refusals", "Problem documents by kind.", ("kind",))
        self.runs_ended = counter("steelman_runs_ended", "Runs that ended on this server.", ("outcome",))
        self.jobs_ended = counter("steelman_jobs_ended", "Jobs that ended on this server.", ("status",))
        ProcessCollector(registry=self.registry)  # memory, processor time, open files

    def watch(self, service: ApiService) -> None:
        runs, jobs, most = service.runs, service.jobs, service.settings.api_runs
        runs.executor.on_end = lambda outcome: self.runs_ended.labels(outcome).inc()
        jobs.on_end = lambda status: self.jobs_ended.labels(status).inc()
        gauge = partial(Gauge, registry=self.registry)
        gauge("steelman_runs_at_work", "Active runs.").set_function(lambda: min(len(runs.at_work), most))
        gauge("steelman_runs_waiting", "Queued runs.").set_function(lambda: max(len(runs.at_work) - most, 0))
        gauge("steelman_jobs_open", "Active and queued jobs.").set_function(lambda: len(jobs))


class Exchange:
    """A request and its reply: gives them an id, makes sure that there is a reply, and records log line and metrics."""

    def __init__(self, scope: Scope, send: Send, metrics: Metrics) -> None:
        self._scope, self._send, self._metrics, self._began = scope, send, metrics, time.perf_counter()
        given = Headers(scope=scope).get("x-request-id", "")
        self._id = given if _REQUEST_ID.fullmatch(given) else uuid.uuid4().hex
        self._status, self._address = 0, str(scope["path"])  # the address of a run or job
        self._is_over = self._is_stream = False

    async def run(self, app: ASGIApp, receive: Receive) -> None:
        problem = None
        try:
            await app(self._scope, receive, self._pass_on)
            if self._status and not self._is_over:  # the stopping server cut a stream of events
                await self._pass_on({"type": "http.response.body", "body": b""})
        except asyncio.CancelledError:  # only a stopping server cancels a request
            detail = "Try again in a moment. The next server continues the runs."
            problem = ProblemError(503, "server-stopping", detail, headers={"Retry-After": "5"})
        except ClientDisconnect:
            pass
        except Exception:  # noqa: BLE001  # logged
            SERVER.exception("a request failed", extra={"request_id": self._id})
            problem = ProblemError(500, "failure", f"Steelman failed. The server's log has the reason at {self._id}.")
        try:
            if problem and not self._status:
                await problem.response(self._scope)(self._scope, receive, self._pass_on)
        finally:
            self._record()

    async def _pass_on(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status, headers = message["status"], MutableHeaders(scope=message)
            headers["X-Request-Id"] = self._id
            for name in ("location", "content-location"):
                if headers.get(name, "").startswith("/"):
                    self._address = headers[name]
                    headers[name] = link(self._address)
            self._is_stream = headers.get("content-type", "").startswith("text/event-stream")
        else:
            self._is_over = not message.get("more_body", False)
            if self._is_stream and b"data:" in message.get("body", b""):
                self._is_stream = False  # only the first event is measured
                self._metrics.first_event.labels(self._route).observe(time.perf_counter() - self._began)
        await self._send(message)

    @property
    def _route(self) -> str:
        """The route's template. The path itself may quote a question."""
        return str(getattr(self._scope.get("route"), "path_format", "(none)"))

    def _record(self) -> None:
        seconds, state = time.perf_counter() - self._began, self._scope.get("state", {})
        method = self._scope["method"] if self._scope["method"] in METHODS else "OTHER"
        call, status = (method, self._route), self._status or _CLIENT_GONE
        self._metrics.requests.labels(*call, str(status)).inc()
        self._metrics.seconds.labels(*call).observe(seconds)
        about = {"key": caller.key_id if (caller := state.get("caller")) else ""}
        if problem := state.get("problem"):
            self._metrics.refusals.labels(problem).inc()
            about["problem"] = problem
        if address := _ADDRESS.match(self._address):
            about[address[1]] = address[2]
        line = " ".join((*call, str(status), f"{seconds * 1000:.0f} ms", *(f"{k} {v}" for k, v in about.items() if v)))
        facts = {"method": method, "route": call[1], "status": status, "ms": round(seconds * 1000, 1), **about}
        REQUESTS.log(logging.WARNING if status >= 500 else logging.INFO, line, extra=facts | {"request_id": self._id})

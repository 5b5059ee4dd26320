"""Writes a log line for each request (JSON, or short text on a terminal), and counts metrics for Prometheus.

Log lines contain no question and no key. The log has a failure's type and traceback, but not its message, because the
message may quote a question. The settings can allow questions in the log.
"""

import asyncio
import logging
import re
import sys
import time
import traceback
import uuid
from collections.abc import Iterator
from functools import partial
from types import TracebackType
from typing import Any, TextIO

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector
from pythonjsonlogger.json import JsonFormatter
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agent.runs.jobs import Jobs
from agent.runs.service import Runs
from agent.settings import Settings
from api.problems import METHODS, ProblemError
from api.service import ApiService
from tools.net.pool import SERVERS

REQUESTS = logging.getLogger("steelman.requests")
SERVER = logging.getLogger("steelman.server")
_ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_ADDRESS = re.compile(r"/v1/(run|job)s/(j?[0-9a-f]{12})(?:/|$)")
_CLIENT_GONE = 499  # nginx's status for a client that disconnected before the reply


def configure(settings: Settings, stream: TextIO | None = None) -> None:
    """Sends this process's log records to the stream (standard error). Other packages log only warnings and errors."""
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
    """Handles an event loop's exception. asyncio's own handler would log the exception's message."""
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
    """Formats a record as JSON, with time, level, logger and message first."""


class Metrics:
    """The metrics of one server, in its own registry."""

    def __init__(self, service: ApiService) -> None:
        self.registry = registry = CollectorRegistry()
        about, labels = "Seconds to the end of a reply; status 499: the client left.", ("method", "route", "status")
        name = "steelman_http_request_seconds"
        self.seconds = Histogram(name, about, labels, registry=registry, buckets=_SECONDS)
        observe_runs(registry, service.runs, service.jobs)


def observe_runs(registry: CollectorRegistry, runs: Runs, jobs: Jobs) -> None:
    """Registers the metrics of this process's runs and memory, and of all open jobs. For a worker, also of the runs
    that wait for any worker."""
    gauge, most = partial(Gauge, registry=registry), runs.settings.api_runs
    ended = Counter("steelman_runs_ended", "Runs that ended in this process.", ("outcome",), registry=registry)
    runs.executor.on_end = lambda outcome: ended.labels(outcome).inc()

    def waiting() -> int:
        return runs.run_store.waiting() if runs.role == "worker" else max(len(runs.at_work) - most, 0)

    gauge("steelman_runs_at_work", "Active runs.").set_function(lambda: min(len(runs.at_work), most))
    gauge("steelman_runs_waiting", "Queued runs.").set_function(waiting)
    gauge("steelman_jobs_open", "Active and queued jobs of all processes.").set_function(jobs.open)
    registry.register(ModelServers())
    ProcessCollector(registry=registry)  # memory, processor time, open files


class ModelServers(Collector):
    """Reads the load of the model servers that this process asks. The label `server` is HOST:PORT."""

    def collect(self) -> Iterator[Metric]:
        name, label = "steelman_model_requests", ("server",)
        open_now = GaugeMetricFamily(f"{name}_open", "Requests without a whole reply.", labels=label)
        waiting = GaugeMetricFamily(f"{name}_waiting", "Requests that wait for this server or another.", labels=label)
        ended = CounterMetricFamily(name, "Requests that ended, by outcome.", labels=(*label, "outcome"))
        for server in list(SERVERS.values()):
            open_now.add_metric((server.place,), server.open)
            waiting.add_metric((server.place,), server.waiting)
            for outcome, count in list(server.ended.items()):
                ended.add_metric((server.place, outcome), count)
        yield from (open_now, waiting, ended)


class Exchange:
    """A request and its reply. It gets an id, always sends a reply, and records the log line and the metrics."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self._scope, self._send, self._began = scope, send, time.perf_counter()
        given = Headers(scope=scope).get("x-request-id", "")
        self._id = given if _REQUEST_ID.fullmatch(given) else uuid.uuid4().hex
        self._status, self._address = 0, str(scope["path"])  # the address of a run or job

    async def run(self, app: ASGIApp, receive: Receive) -> None:
        problem = None
        try:
            await app(self._scope, receive, self._pass_on)
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
            self._address = headers.get("location") or headers.get("content-location") or self._address
        await self._send(message)

    def _record(self) -> None:
        seconds, state = time.perf_counter() - self._began, self._scope["state"]
        method = self._scope["method"] if self._scope["method"] in METHODS else "OTHER"
        route = str(getattr(self._scope.get("route"), "path_format", "(none)"))  # the path itself may quote a question
        status = self._status or _CLIENT_GONE
        self._scope["app"].state.metrics.seconds.labels(method, route, str(status)).observe(seconds)
        facts = {"method": method, "route": route, "status": status, "ms": round(seconds * 1000, 1)}
        facts |= {name: state[key] for name, key in (("key", "caller"), ("problem", "problem")) if key in state}
        if address := _ADDRESS.search(self._address):
            facts[address[1]] = address[2]
        line = " ".join(map(str, facts.values()))
        REQUESTS.log(logging.WARNING if status >= 500 else logging.INFO, line, extra=facts | {"request_id": self._id})

"""Figures for Prometheus, in a registry of the application's own."""

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.process_collector import ProcessCollector

_REQUEST_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)
_EVENT_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)


class Metrics:
    """What is counted of one application."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "steelman_http_requests",
            "Requests that were answered; status 499: the caller went away first.",
            ("method", "route", "status"),
            registry=self._registry,
        )
        self._seconds = Histogram(
            "steelman_http_request_seconds",
            "From a request's head to the end of its reply, followed events included.",
            ("method", "route"),
            buckets=_REQUEST_SECONDS,
            registry=self._registry,
        )
        self._first_event = Histogram(
            "steelman_first_event_seconds",
            "From a request's head to the first event that was sent.",
            ("route",),
            buckets=_EVENT_SECONDS,
            registry=self._registry,
        )
        self._refusals = Counter(
            "steelman_refusals", "Problem documents that were sent, by kind.", ("kind",), registry=self._registry
        )
        self._ended = Counter(
            "steelman_runs_ended", "Runs that ended here, by how they did.", ("outcome",), registry=self._registry
        )
        self._jobs_ended = Counter(
            "steelman_jobs_ended", "Jobs that ended or were left here, by how.", ("status",), registry=self._registry
        )
        ProcessCollector(registry=self._registry)  # memory, processor time, open files

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Counts a request that has been answered."""
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(method, route).observe(seconds)

    def first_event(self, route: str, seconds: float) -> None:
        self._first_event.labels(route).observe(seconds)

    def refusal(self, kind: str) -> None:
        self._refusals.labels(kind).inc()

    def run_ended(self, outcome: str) -> None:
        self._ended.labels(outcome).inc()

    def job_ended(self, status: str) -> None:
        self._jobs_ended.labels(status).inc()

    def watch_jobs(self, taken_on: Callable[[], int]) -> None:
        """Tells from now on how many jobs are at work or wait their turn."""
        jobs = Gauge("steelman_jobs_open", "Jobs that are worked on or wait their turn.", registry=self._registry)
        jobs.set_function(taken_on)

    def watch_runs(self, taken_on: Callable[[], int], max_concurrent: int) -> None:
        """Tells from now on how many of the runs that were taken on are at work, and how many wait their turn."""
        working = Gauge("steelman_runs_at_work", "Runs that are being worked on.", registry=self._registry)
        waiting = Gauge("steelman_runs_waiting", "Runs that wait their turn.", registry=self._registry)
        working.set_function(lambda: min(taken_on(), max_concurrent))
        waiting.set_function(lambda: max(taken_on() - max_concurrent, 0))

    def text(self) -> bytes:
        """All of it, in Prometheus' text format."""
        return generate_latest(self._registry)

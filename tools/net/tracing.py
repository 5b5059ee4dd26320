"""OpenTelemetry spans of runs, if its usual variables enable them; no LangSmith traces of private runs.

Without these variables nothing is imported. Spans contain no text of questions, sources, answers or error messages; the
run's id leads to them.
"""

import asyncio
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from tools.errors import SettingsError
from tools.net.http import is_local

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer

SERVICE = "steelman"
_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_setting_up = threading.Lock()
_tracer: "Tracer | None" = None
_untraced: ContextVar[bool] = ContextVar("untraced", default=False)


def set_up_tracing() -> bool:
    """Exports the process's spans as the environment says. Returns whether spans are exported.

    Later calls change nothing. Do not call it in an event loop: it reads files. Raises SettingsError for unsupported
    variables.
    """
    global _tracer
    wanted = is_wanted(os.environ)
    with _setting_up:
        if wanted and _tracer is None:
            from opentelemetry import trace
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
            from opentelemetry.sdk.resources import SERVICE_NAME, OTELResourceDetector, Resource
            from opentelemetry.sdk.trace import TracerProvider
            from opentelemetry.sdk.trace.export import BatchSpanProcessor

            if not isinstance(trace.get_tracer_provider(), TracerProvider):  # the existing one has its own exporters
                named = Resource.create({SERVICE_NAME: SERVICE}).merge(OTELResourceDetector().detect())
                provider = TracerProvider(resource=named)  # its exit hook sends the rest when the process ends
                provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
                trace.set_tracer_provider(provider)
            _tracer = trace.get_tracer(SERVICE)
    return _tracer is not None


def is_wanted(environment: Mapping[str, str]) -> bool:
    """Whether the variables enable spans. Raises SettingsError for an unsupported exporter or protocol."""

    def value_of(*names: str) -> str:
        return next((value for name in names if (value := environment.get(name, "").strip().lower())), "")

    exporter = value_of("OTEL_TRACES_EXPORTER") or ("otlp" if value_of(*_ENDPOINTS) else "none")
    if exporter == "none" or value_of("OTEL_SDK_DISABLED") == "true":
        return False
    protocol = value_of(*_PROTOCOLS) or "http/protobuf"
    if (exporter, protocol) != ("otlp", "http/protobuf"):
        name, given = ("OTEL_TRACES_EXPORTER", exporter) if exporter != "otlp" else (_PROTOCOLS[1], protocol)
        raise SettingsError(f"traces go over OTLP as http/protobuf only, not '{given}'. Unset {name}.")
    return True


class TracedSpan:
    """A running span, or a placeholder without tracing."""

    def __init__(self, span: "Span | None" = None) -> None:
        self._span = span

    def note(self, **attributes: Any) -> None:
        """Adds attributes with the project's prefix, except None and empty values."""
        if self._span is not None:
            facts = {
                f"{SERVICE}.{name}": value for name, value in attributes.items() if value not in (None, "", {}, [])
            }
            self._span.set_attributes(facts)

    def done(self, outcome: str, providers: Mapping[str, str]) -> None:
        """Records the run's outcome and the providers of its stages."""
        self.note(status="done", outcome=outcome, **{f"provider.{stage}": name for stage, name in providers.items()})

    def failed(self, kind: str) -> None:
        """Records an error by its type only."""
        if self._span is not None:
            from opentelemetry.trace import Status, StatusCode

            self._span.add_event("exception", {"exception.type": kind})
            self._span.set_status(Status(StatusCode.ERROR, kind))


@contextmanager
def _span(name: str, **attributes: Any) -> Iterator[TracedSpan]:
    """A child of the current span. It records the type of an error; a cancellation is not an error."""
    if _tracer is None or _untraced.get():
        yield TracedSpan()
        return
    from langgraph.errors import GraphBubbleUp

    with _tracer.start_as_current_span(name, record_exception=False, set_status_on_exception=False) as span:
        traced = TracedSpan(span)
        traced.note(**attributes)
        try:
            yield traced
        except asyncio.CancelledError:
            traced.note(status="cancelled")
            raise
        except GraphBubbleUp:  # the graph waits for a person
            raise
        except BaseException as exc:
            traced.note(status="failed")
            traced.failed(type(exc).__qualname__)
            raise


@contextmanager
def run_span(run_id: str, *, web: bool, **facts: Any) -> Iterator[TracedSpan]:
    """The span of a run. A run without web has none if spans leave this machine."""
    unseen = _untraced.set(not web and _leaves(os.environ))
    try:
        with _span(f"{SERVICE}.run", run_id=run_id, web=web, **facts) as traced:
            yield traced
    finally:
        _untraced.reset(unseen)


def _leaves(environment: Mapping[str, str]) -> bool:
    """Whether spans are sent to another machine."""
    address = next((environment[name] for name in _ENDPOINTS if environment.get(name)), "http://127.0.0.1:4318")
    return not is_local(address)


def stage_span(name: str) -> AbstractContextManager[TracedSpan]:
    """The span of a stage, below its run's."""
    return _span(f"{SERVICE}.{name}", stage=name)


def langsmith_scope(*, web: bool) -> AbstractContextManager[Any]:
    """Disables LangSmith for a run without web, whatever the environment says."""
    if web:
        return nullcontext()
    from langsmith import tracing_context

    return tracing_context(enabled=False)

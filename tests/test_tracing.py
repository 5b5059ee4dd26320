"""Traces of runs, by the variables that OpenTelemetry and LangSmith are usually turned on with, to servers of ours."""

import os
from collections.abc import Iterator

import pytest
from agent_fixtures import QUESTION
from collector import CollectedSpan, Collector, collector
from conftest import Spawn
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from agent.settings import Settings
from tools.net import tracing

STAGES = {"frame", "expand", "retrieve", "judge", "select", "write", "verify"}
RUN = """
import asyncio, sys
from agent.options import RunOptions
from agent.runs.service import Runs
from agent.settings import load_settings
from providers import build

def before(query):
    if "fail" in sys.argv:
        raise RuntimeError(f"could not search for {query}")

async def main():
    async with Runs(load_settings(), build(before_search=before)) as runs:
        run_id = await runs.start(sys.argv[1], RunOptions.of("quick", web="offline" not in sys.argv))
        print(run_id, (await runs.answer(run_id)).outcome)
"""
PLAIN = f"{RUN}\nasyncio.run(main())"
IN_A_REQUEST = f"""{RUN}
async def request():
    import httpx
    from fastapi import FastAPI
    from tools.net.tracing import set_up_tracing
    assert set_up_tracing() and set_up_tracing()
    app = FastAPI()

    @app.post("/ask")
    async def ask(question: dict[str, str]) -> str:
        return await runs.start(question["question"])

    async with Runs(load_settings(), build()) as runs, httpx.AsyncClient(transport=httpx.ASGITransport(app)) as client:
        begun = await client.post("http://127.0.0.1/ask", json={{"question": sys.argv[1]}})
        await runs.answer(begun.json())  # the request has ended

asyncio.run(request())"""


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("OTEL_"):
            monkeypatch.delenv(name)


@pytest.fixture
def traces(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    """A collector to which the variables point."""
    with collector() as running:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", running.url)
        yield running


def finish(spawn: Spawn, code: str, *arguments: str, status: int = 0) -> tuple[str, str]:
    process = spawn(code, *arguments)
    out, err = process.communicate(timeout=100)
    assert process.returncode == status, err
    return out, err


def named(spans: list[CollectedSpan], name: str) -> CollectedSpan:
    [span] = [s for s in spans if s.name == name]
    return span


def test_a_run_belongs_to_its_request(settings: Settings, spawn: Spawn, traces: Collector) -> None:
    finish(spawn, IN_A_REQUEST, QUESTION)
    assert set(traces.requests) == {"POST /v1/traces"}
    spans = {s.span_id: s for s in traces.spans()}
    run = named(traces.spans(), "steelman.run")
    told = {name.removeprefix("steelman."): value for name, value in run.attributes.items()}
    assert told | {"status": "done", "outcome": "answered", "web": True, "provider.judge": "instant-judge"} == told
    stages = [s for s in spans.values() if s.parent_id == run.span_id]
    assert {s.attributes["steelman.stage"] for s in stages} == STAGES
    assert named(stages, "steelman.judge").attributes["steelman.passages"] > 0
    above = spans[run.parent_id]
    while above.parent_id:  # FastAPI has a span for the endpoint under the request's
        above = spans[above.parent_id]
    assert above.name == "POST /ask"
    assert {s.trace_id for s in spans.values()} == {above.trace_id}
    assert {s.service for s in spans.values()} == {"steelman"}
    assert not [body for body in traces.bodies if b"bridge" in body.lower()]


@pytest.mark.slow
def test_no_word_of_a_question_is_in_a_trace(settings: Settings, spawn: Spawn, traces: Collector) -> None:
    finish(spawn, PLAIN, QUESTION)
    finish(spawn, PLAIN, QUESTION, "fail", status=1)
    assert len([s for s in traces.spans() if s.name == "steelman.run"]) == 2
    assert not [body for body in traces.bodies if b"bridge" in body.lower()]


@pytest.mark.parametrize(("where", "traced"), [("http://192.0.2.1:4318", False), ("http://127.0.0.1:4318", True)])
def test_an_offline_run_is_traced_to_this_machine_only(
    monkeypatch: pytest.MonkeyPatch, where: str, traced: bool
) -> None:
    kept, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    monkeypatch.setattr(tracing, "_tracer", provider.get_tracer("steelman"))
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", where)
    with tracing.run_span("r", web=False), tracing.stage_span("judge"):
        pass
    assert bool(kept.get_finished_spans()) is traced


@pytest.fixture
def langsmith(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    with collector() as running:
        monkeypatch.setenv("LANGSMITH_TRACING", "true")
        monkeypatch.setenv("LANGSMITH_ENDPOINT", running.url)
        monkeypatch.setenv("LANGSMITH_API_KEY", "test")
        yield running


def test_langsmith_is_sent_a_run_and_its_stages(settings: Settings, spawn: Spawn, langsmith: Collector) -> None:
    finish(spawn, PLAIN, QUESTION)
    assert langsmith.posted()
    sent = b"".join(langsmith.bodies)
    assert QUESTION.encode() in sent
    assert all(f'"name":"{stage}"'.encode() in sent for stage in ("frame", "retrieve", "verify"))


@pytest.mark.slow
def test_langsmith_gets_nothing_of_an_offline_run(settings: Settings, spawn: Spawn, langsmith: Collector) -> None:
    finish(spawn, PLAIN, QUESTION, "offline")
    assert langsmith.posted() == []

"""What can be seen of the server: log lines that hold no question and no key, and figures for Prometheus."""

import contextlib
import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import httpx
from agent_fixtures import QUESTION
from api_on_loopback import api
from fastapi import FastAPI
from prometheus_client.parser import text_string_to_metric_families
from raw_http import problem_of, wait_until

from agent.settings import Settings
from api.callers import Keys
from api.observing import configure, log_loop_error
from tools.store.database import Database

ASK = {"question": QUESTION}


@contextlib.contextmanager
def logs_of(settings: Settings, stream: io.StringIO) -> Iterator[io.StringIO]:
    """What a process with these settings logs; the logging of the tests is as before afterwards."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    root.handlers = []
    configure(settings, stream)
    try:
        yield stream
    finally:
        logging.captureWarnings(False)
        root.handlers = handlers
        root.setLevel(level)


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def crash(text: str) -> None:
    raise RuntimeError(f"cannot do {text}")


def add_crash(app: FastAPI) -> None:
    app.add_api_route("/crash", crash)


def figures(address: str, key: str = "") -> dict[tuple[str, ...], float]:
    """The figures by name and the values of their labels."""
    reply = httpx.get(f"{address}/metrics", headers={"Authorization": f"Bearer {key}"} if key else {})
    assert reply.headers["content-type"].startswith("text/plain; version=")
    families = text_string_to_metric_families(reply.text)
    return {(s.name, *(v for k, v in sorted(s.labels.items()))): s.value for f in families for s in f.samples}


def test_no_question_and_no_key_stands_in_the_logs(settings: Settings) -> None:
    with contextlib.closing(Database(settings.database)) as database:
        key, text = Keys(database).make("laptop")
    with logs_of(settings, io.StringIO()) as logs, api(settings, change=add_crash) as address:
        with httpx.Client(base_url=address, headers={"Authorization": f"Bearer {text}"}, timeout=30) as client:
            run = client.post("/v1/ask", json=ASK).headers["content-location"]
            client.get(f"{run}/events")
            client.get("/v1/collections", params={"question": QUESTION})
            client.get(f"/{QUESTION}")
            client.post("/v1/ask", json={**ASK, "no": QUESTION})
            client.post("/v1/ask", content=f'{{"question": "{QUESTION}"', headers={"Content-Type": "application/json"})
            client.get("/crash", params={"text": QUESTION})
        httpx.post(f"{address}/v1/ask", json=ASK, headers={"Authorization": f"Bearer x{text}"})
        wait_until(lambda: len(lines(logs)) >= 9)
    written = logs.getvalue()
    assert "bridges" not in written.lower()
    assert text[len("sk-steelman-") :] not in written
    assert "Bearer" not in written
    told = [line for line in lines(logs) if line["logger"] == "steelman.requests" and line["route"] != "/healthz"]
    assert [(t["method"], t["route"], t["status"], t["key"]) for t in told] == [
        ("POST", "/v1/ask", 200, key.id),
        ("GET", "/v1/runs/{run_id}/events", 200, key.id),
        ("GET", "/v1/collections", 200, key.id),
        ("GET", "(none)", 404, key.id),
        ("POST", "/v1/ask", 422, key.id),
        ("POST", "/v1/ask", 400, key.id),
        ("GET", "/crash", 500, key.id),
        ("POST", "(none)", 401, ""),
    ]
    assert told[0]["run"] == told[1]["run"] == run.rpartition("/")[2]
    assert told[-1]["problem"] == "key-wrong"
    assert all(t["ms"] >= 0 and t["request_id"] and t["time"].startswith("20") for t in told)
    assert [t["level"] for t in told].count("WARNING") == 1


def test_a_failure_is_logged_by_its_place_and_not_by_its_message(settings: Settings) -> None:
    asked = "secret"
    with logs_of(settings, io.StringIO()) as logs, api(settings, change=add_crash) as address:
        reply = httpx.get(f"{address}/crash", params={"text": asked}, headers={"X-Request-Id": "mine-1"})
        try:
            try:
                crash(asked)
            except RuntimeError as exc:
                raise ValueError(asked) from exc
        except ValueError as exc:
            log_loop_error(None, {"message": f"Task failed\nfuture: {asked}", "exception": exc})  # type: ignore[arg-type]
    failure, of_loop = (line for line in lines(logs) if "failure" in line)
    assert failure["request_id"] == reply.headers["x-request-id"] == "mine-1"
    assert failure["request_id"] in problem_of(reply, 500, "failure")["detail"]
    assert "in crash" in failure["failure"]
    assert of_loop["failure"].index("RuntimeError") < of_loop["failure"].index("ValueError")
    assert asked not in logs.getvalue() + reply.text


def test_figures_of_requests_and_runs(settings: Settings) -> None:
    with api(settings) as address, httpx.Client(base_url=address, timeout=30) as client:
        client.post("/v1/ask", json=ASK).raise_for_status()
        with client.stream("POST", "/v1/ask", json={**ASK, "stream": True}) as reply:
            list(reply.iter_lines())
        client.get("/v1/runs/0123456789ab")
        client.get("/nothing/at/all")
        told = figures(address)
        assert told["steelman_http_request_seconds_count", "POST", "/v1/ask", "200"] == 2
        assert told["steelman_http_request_seconds_count", "GET", "/v1/runs/{run_id}", "404"] == 1
        assert told["steelman_http_request_seconds_count", "GET", "(none)", "404"] == 1
        assert told["process_resident_memory_bytes",] > 10_000_000
        wait_until(lambda: figures(address).get(("steelman_runs_ended_total", "answered")) == 2)

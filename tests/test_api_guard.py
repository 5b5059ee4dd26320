"""What a request passes before it is answered: names, pages, rates, sizes, types and time."""

import contextlib
import json
import logging
import math
import re
import time
from collections.abc import AsyncIterator, Iterator

import httpx
import pytest
from agent_fixtures import QUESTION
from api_on_loopback import api
from fastapi import FastAPI
from providers import build
from raw_http import connected, head, problem_in, problem_of, read_to_end, wait_until
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from agent.settings import Settings
from api import connections
from api.guard.guard import Guard
from api.keys import Keys
from api.observing.metrics import Metrics
from tools.store.database import Database

ASK = {"question": QUESTION}


@pytest.fixture(scope="module")
def address(module_settings: Settings) -> Iterator[str]:
    with api(module_settings) as running:
        yield running


def with_(settings: Settings, **changes: object) -> Settings:
    return settings.model_copy(update=changes)


# Names and pages


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:8000", "127.0.0.1:1", "127.8.9.1", "[::1]:8000", "api.example"]
)
def test_names_of_this_server(settings: Settings, host: str) -> None:
    with api(with_(settings, api_hosts="other.example, API.example")) as address:
        assert httpx.get(f"{address}/v1/collections", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8000", "localhost.evil.example", "10.0.0.1", "", "[", "a b"]
)
def test_other_names_are_refused(address: str, host: str) -> None:
    for path in ("/v1/collections", "/docs"):
        problem_of(httpx.get(f"{address}{path}", headers={"Host": host}), 403, "unknown-host")
    problem = httpx.post(f"{address}/v1/ask", json=ASK, headers={"Host": host})
    assert "STEELMAN_API_HOSTS" in problem_of(problem, 403, "unknown-host")["detail"]


def test_any_name_will_do_where_other_machines_are_let_in_by_key(settings: Settings) -> None:
    with contextlib.closing(Database(settings.database_path)) as database:
        _, text = Keys(database).make("laptop")
    away = {"Host": "steelman.example", "Authorization": f"Bearer {text}"}
    with api(with_(settings, api_host="0.0.0.0")) as address:
        assert httpx.get(f"{address}/v1/collections", headers=away).status_code == 200
    with api(with_(settings, api_host="0.0.0.0", api_hosts="api.example")) as address:
        problem_of(httpx.get(f"{address}/v1/collections", headers=away), 403, "unknown-host")


def test_a_server_for_other_machines_needs_a_key_even_if_none_was_ever_made(settings: Settings) -> None:
    with api(with_(settings, api_host="0.0.0.0")) as address:
        problem_of(httpx.get(f"{address}/v1/collections"), 401, "key-missing")


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://127.0.0.1:8501", "https://app.example.evil"]
)
def test_a_page_that_is_not_let_in(settings: Settings, origin: str) -> None:
    form = {"Origin": origin, "Content-Type": "application/x-www-form-urlencoded"}
    with api(with_(settings, api_origins="https://app.example")) as address:
        refused = httpx.post(f"{address}/v1/ask", content=b"question=x", headers=form)
        problem_of(refused, 403, "unknown-origin")
        assert "access-control-allow-origin" not in refused.headers
        asked = {"Origin": origin, "Access-Control-Request-Method": "POST"}
        problem_of(httpx.options(f"{address}/v1/ask", headers=asked), 403, "unknown-origin")
        assert httpx.get(f"{address}/metrics").text.count("steelman_runs_ended_total{") == 0


def test_cors_is_closed_by_default(address: str) -> None:
    for origin in ("https://app.example", address.replace("127.0.0.1", "localhost"), f"{address}0", "http://"):
        problem_of(httpx.get(f"{address}/v1/collections", headers={"Origin": origin}), 403, "unknown-origin")
    assert not any("access-control" in name for name in httpx.get(f"{address}/v1/collections").headers)


def test_the_servers_own_page_is_let_in_where_its_name_is_known(settings: Settings) -> None:
    with contextlib.closing(Database(settings.database_path)) as database:
        bearer = {"Authorization": f"Bearer {Keys(database).make('page')[1]}"}
    with api(settings) as address:
        judging = {"pairs": [{"statement": "Bridges help.", "passage": "A bridge helps."}]}
        sent = httpx.post(f"{address}/v1/judge", json=judging, headers={"Origin": address, **bearer}, timeout=30)
        assert sent.status_code == 200
        assert not any("access-control" in name for name in sent.headers)
    with api(with_(settings, api_host="0.0.0.0")) as address:  # any name will do
        there = {"Host": "evil.example", "Origin": "http://evil.example", **bearer}
        problem_of(httpx.get(f"{address}/v1/collections", headers=there), 403, "unknown-origin")


def test_a_page_that_is_let_in(settings: Settings) -> None:
    with contextlib.closing(Database(settings.database_path)) as database:
        _, text = Keys(database).make("page")
    page = {"Origin": "https://app.example"}
    with api(with_(settings, api_origins="https://other.example, https://app.example")) as address:
        wanted = "authorization,content-type,idempotency-key"
        preflight = {**page, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": wanted}
        allowed = httpx.options(f"{address}/v1/ask", headers=preflight)
        assert allowed.status_code == 200
        assert allowed.headers["access-control-allow-origin"] == "https://app.example"
        assert "authorization" in allowed.headers["access-control-allow-headers"]
        refused = httpx.options(f"{address}/v1/ask", headers={**preflight, "Access-Control-Request-Method": "PUT"})
        problem_of(refused, 403, "preflight-refused")
        locked = httpx.get(f"{address}/v1/collections", headers=page)
        problem_of(locked, 401, "key-missing")
        assert locked.headers["access-control-allow-origin"] == "https://app.example"  # so that the page can read it
        reply = httpx.get(f"{address}/v1/collections", headers={**page, "Authorization": f"Bearer {text}"})
        assert reply.status_code == 200
        assert "Location" in reply.headers["access-control-expose-headers"]


# Rates


def test_past_the_rate_a_caller_is_told_when_to_come_again(settings: Settings) -> None:
    with (
        api(with_(settings, api_rate="100/minute; 3 per 2 second")) as address,
        httpx.Client(base_url=address) as client,
    ):
        began = time.monotonic()
        assert [client.get("/v1/collections").status_code for _ in range(3)] == [200] * 3
        refused = client.get("/v1/collections")
        detail = problem_of(refused, 429, "too-many-requests")["detail"]
        seconds = int(refused.headers["retry-after"])
        assert detail == f"The rate is 3 in 2 seconds. Come again in {seconds} seconds."
        assert seconds <= 2
        assert [client.get("/healthz").status_code for _ in range(5)] == [200] * 5
        time.sleep(max(0.0, began + seconds - time.monotonic()) + 0.2)
        assert client.get("/v1/collections").status_code == 200


def test_each_key_has_its_rate_and_wrong_keys_share_one(settings: Settings) -> None:
    with contextlib.closing(Database(settings.database_path)) as database:
        mine, other = ({"Authorization": f"Bearer {Keys(database).make(name)[1]}"} for name in ("mine", "other"))
    with api(with_(settings, api_rate="3/minute")) as address, httpx.Client(base_url=address) as client:
        tried = [client.get("/v1/collections", headers={"Authorization": f"Bearer {n}"}).status_code for n in range(5)]
        assert tried == [401, 401, 401, 429, 429]
        assert client.get("/v1/collections").status_code == 429
        assert [client.get("/v1/collections", headers=mine).status_code for _ in range(4)] == [200, 200, 200, 429]
        last = client.get("/v1/collections", headers=mine)
        assert 50 < int(last.headers["retry-after"]) <= 60
        assert client.get("/v1/collections", headers=other).status_code == 200


# Bodies


def test_a_huge_body_is_refused_before_it_is_sent(address: str) -> None:
    announced = head("POST", "/v1/ask", "Content-Type: application/json", f"Content-Length: {10**11}")
    with connected(address) as connection:
        began = time.monotonic()
        connection.sendall(announced)
        reply = connection.recv(65536)
        assert time.monotonic() - began < 1
        assert problem_in(reply)["detail"] == "At most 8 MB are taken here. Send less at once."
        assert b"connection: close" in reply.lower()
        connection.shutdown(1)
        assert read_to_end(connection) == b""


@pytest.mark.parametrize("length", [[], [f"Content-Length: {10**9}"]])
def test_a_body_without_end_is_cut_off_and_nothing_of_it_is_kept(address: str, length: list[str]) -> None:
    kind = ["Content-Type: application/json", *(length or ["Transfer-Encoding: chunked"])]
    part = b"x" * 100_000 if length else b"%x\r\n" % 100_000 + b"x" * 100_000 + b"\r\n"
    sent = 0
    with connected(address) as connection:
        connection.sendall(head("POST", "/v1/ask", *kind))
        with contextlib.suppress(ConnectionError):
            while sent < 500_000_000:
                connection.sendall(part)
                sent += len(part)
        assert 8_000_000 * (not length) < sent < 60_000_000  # what the server took, and what lay between
        assert problem_in(read_to_end(connection))["type"].endswith("body-too-large")
        assert httpx.get(f"{address}/healthz").status_code == 200


def test_a_client_that_sends_first_and_reads_later_gets_to_see_the_refusal(address: str) -> None:
    reply = httpx.post(f"{address}/v1/ask", json={"question": "x" * 12_000_000})
    problem_of(reply, 413, "body-too-large")


def test_uploads_have_a_limit_of_their_own(settings: Settings) -> None:
    def files(size: int) -> dict[str, tuple[str, bytes]]:
        return {"files": ("notes.txt", b"Bridges carry people. " * (size // 22))}

    with api(with_(settings, api_upload=10)) as address, httpx.Client(base_url=address, timeout=60) as client:
        too_much = client.post("/v1/collections/mine/files", files=files(10_100_000))
        assert problem_of(too_much, 413, "body-too-large")["detail"].startswith("At most 10 MB")
        between = {"documents": [{"id": "x", "text": "x" * 9_000_000}]}
        problem_of(client.post("/v1/collections/mine/documents", json=between), 413, "body-too-large")
        assert client.post("/v1/collections/mine/files", files={"files": ("a.txt", b"Bridges.")}).status_code == 200


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/v1/ask", "text/plain"),
        ("/v1/ask", "application/x-www-form-urlencoded"),
        ("/v1/ask", ""),
        ("/v1/judge", "application/jsonx"),
        ("/v1/collections/mine/files", "application/json"),
    ],
)
def test_a_body_of_another_type(address: str, path: str, kind: str) -> None:
    reply = httpx.post(f"{address}{path}", content=json.dumps(ASK), headers={"Content-Type": kind} if kind else {})
    wanted = "multipart/form-data" if path.endswith("files") else "application/json"
    assert wanted in problem_of(reply, 415, "unsupported-media-type")["detail"]


def test_json_by_any_name_and_no_body_at_all_pass(address: str) -> None:
    with httpx.Client(base_url=address, timeout=30) as client:
        for kind in ("application/json; charset=utf-8", "APPLICATION/JSON"):
            reply = client.post("/v1/ask", content=json.dumps(ASK), headers={"Content-Type": kind})
            assert reply.status_code == 200
        assert client.post(f"{reply.headers['content-location']}/cancel").status_code == 200


# Heads and framing


def test_a_head_without_end(address: str) -> None:
    with connected(address) as connection:
        sent = 0
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Long: ")
        with contextlib.suppress(ConnectionError):
            while sent < 200_000_000:
                connection.sendall(b"x" * 50_000)
                sent += 50_000
        assert sent < 20_000_000
        assert problem_in(read_to_end(connection))["status"] == 431


@pytest.mark.parametrize("endless", [b"0\r\nX-Trailer: ", b"5;extension="])
def test_a_body_that_is_all_framing(address: str, endless: bytes) -> None:
    with connected(address) as connection:
        kind = ("Content-Type: application/json", "Transfer-Encoding: chunked")
        connection.sendall(head("POST", "/v1/ask", *kind) + b"1\r\n{\r\n" + endless)
        sent = 0
        with contextlib.suppress(ConnectionError):
            while sent < 200_000_000:
                connection.sendall(b"x" * 50_000)
                sent += 50_000
        assert sent < 20_000_000
        assert httpx.get(f"{address}/healthz").status_code == 200


def test_a_caller_that_asks_first_is_refused_before_it_sends(settings: Settings) -> None:
    with api(settings) as address, connected(address) as connection:
        kind = ("Content-Type: application/json", "Expect: 100-continue")
        connection.sendall(head("POST", "/v1/ask", *kind, "Content-Length: 9000000"))
        assert problem_in(connection.recv(65536))["status"] == 413
    with api(settings) as address, connected(address) as connection:
        connection.sendall(head("POST", "/v1/ask", *kind, "Content-Length: 2", "Connection: close"))
        assert connection.recv(65536) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(b"{}")
        assert problem_in(read_to_end(connection))["status"] == 422


def test_one_connection_serves_many_requests(address: str, caplog: pytest.LogCaptureFixture) -> None:
    upgrade = ("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: x")
    with connected(address) as connection:
        connection.sendall(head("GET", "/healthz") * 3 + head("GET", "/healthz", "Connection: close"))
        assert read_to_end(connection).count(b'{"status":"ok"}') == 4
        with connected(address) as other:
            other.sendall(head("GET", "/healthz", *upgrade))
            assert b'{"status":"ok"}' in other.recv(65536)
    assert [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING] == []


def test_what_is_no_http(address: str) -> None:
    with connected(address) as connection:
        connection.sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
        assert problem_in(read_to_end(connection))["type"].endswith("no-http")


def test_more_connections_than_there_may_be(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with contextlib.ExitStack() as opened:
        monkeypatch.setattr(connections, "_MOST_CONNECTIONS", 3)
        held = [opened.enter_context(connected(address)) for _ in range(3)]
        for connection in held:
            connection.sendall(head("GET", "/healthz"))
            assert b"200 OK" in connection.recv(65536)
        with connected(address) as one_more:
            reply = read_to_end(one_more)
        assert problem_in(reply)["status"] == 503
        assert b"Retry-After: 5" in reply
        held[0].close()
        wait_until(lambda: httpx.get(f"{address}/healthz").status_code == 200)


# Callers that go away, and failures


def test_a_connection_that_is_cut_leaves_no_traceback(address: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    for path, body in (("/v1/ask", b'{"question": "Should'), ("/v1/collections/mine/files", b"--b\r\nContent-")):
        kind = "multipart/form-data; boundary=b" if path.endswith("files") else "application/json"
        with connected(address) as connection:
            connection.sendall(head("POST", path, f"Content-Type: {kind}", "Content-Length: 500") + body)
            time.sleep(0.1)
    wait_until(lambda: sum(r.name == "steelman.requests" for r in caplog.records) >= 2)
    assert httpx.get(f"{address}/healthz").status_code == 200
    assert [r for r in caplog.records if r.exc_info or r.levelno >= logging.WARNING] == []


def test_a_caller_that_goes_away_does_not_cost_the_run_its_answer(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    slow = build(before_search=lambda _: time.sleep(0.3))
    with api(settings, slow) as address:
        with httpx.stream("POST", f"{address}/v1/ask", json={**ASK, "stream": True}) as reply:
            run = reply.headers["content-location"]
            assert next(reply.iter_lines())
        wait_until(lambda: httpx.get(f"{address}{run}").json()["status"] == "done")
        assert httpx.get(f"{address}{run}").json()["answer"]["outcome"] == "answered"
    assert [r for r in caplog.records if r.levelno >= logging.WARNING] == []


def test_a_crash_is_a_problem_document_without_its_cause(settings: Settings) -> None:
    def crash() -> None:
        raise RuntimeError("a secret of the house")

    with api(settings, change=lambda app: app.add_api_route("/crash", crash)) as address:
        reply = httpx.get(f"{address}/crash", headers={"X-Request-Id": "mine-1"})
        problem_of(reply, 500, "failure")
        assert reply.headers["x-request-id"] == "mine-1"
        assert "mine-1" in reply.json()["detail"]
        assert "secret" not in reply.text
        assert "Traceback" not in reply.text


def test_a_reply_that_crashes_half_way_does_not_look_complete(settings: Settings) -> None:
    async def half() -> AsyncIterator[bytes]:
        yield b"half"
        raise RuntimeError("and no more")

    def add(app: FastAPI) -> None:
        app.add_api_route("/half", lambda: StreamingResponse(half()))

    with api(settings, change=add) as address, pytest.raises(httpx.RemoteProtocolError):
        httpx.get(f"{address}/half")


@pytest.mark.parametrize(("given", "kept"), [("abc-1.2_3", True), ("", False), ("x" * 65, False), ("a b", False)])
def test_every_reply_has_a_request_id(address: str, given: str, kept: bool) -> None:
    replies = [httpx.get(f"{address}{path}", headers={"X-Request-Id": given}) for path in ("/healthz", "/nothing")]
    for reply in replies:
        told = reply.headers["x-request-id"]
        assert told == given if kept else re.fullmatch("[0-9a-f]{32}", told)


async def test_websockets_are_closed(settings: Settings) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        raise AssertionError("it came through")

    sent = []

    async def send(message: object) -> None:
        sent.append(message)

    await Guard(app, settings, Metrics())({"type": "websocket"}, None, send)  # type: ignore[arg-type]  # never received
    assert sent == [{"type": "websocket.close", "code": 1008}]


def test_retry_after_is_never_nothing() -> None:
    from api.guard.rates import Rates

    rates = Rates("1/second")
    assert rates.problem("a") is None
    refused = rates.problem("a")
    assert refused is not None
    assert 1 <= int(refused.headers["Retry-After"]) <= math.ceil(1)
    assert rates.problem("b") is None


def test_what_the_guard_may_answer_is_documented(address: str) -> None:
    paths = httpx.get(f"{address}/openapi.json").json()["paths"]
    assert "/metrics" in paths
    for path, operations in paths.items():
        for operation in operations.values():
            told = set(operation["responses"])
            is_open = path in ("/healthz", "/readyz")
            assert ({"401", "429"} <= told) is not is_open
            assert (operation["security"] == []) is is_open
            assert {"403", "500"} <= told
            assert "requestBody" not in operation or {"400", "413", "415"} <= told

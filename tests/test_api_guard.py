"""What a request passes before it is answered: names, pages, rates, sizes, types and time."""

import contextlib
import json
import socket
import sqlite3
import time
from collections.abc import AsyncIterator, Iterator

import httpx
import pytest
from agent_fixtures import QUESTION
from api_on_loopback import Door, api
from fastapi import FastAPI
from raw_http import connected, head, problem_in, problem_of, read_to_end, wait_until
from starlette.responses import PlainTextResponse, StreamingResponse

from agent.settings import Settings
from api.__main__ import main
from api.callers import Keys
from tools.net import connections
from tools.store.database import Database

pytest_plugins = ["api_on_loopback"]

ASK = {"question": QUESTION}


@pytest.fixture(scope="module")
def address(standing: Door) -> str:
    return standing.address


def with_(settings: Settings, **changes: object) -> Settings:
    return settings.model_copy(update=changes)


# Names, pages and probes


def test_names_of_this_server(settings: Settings) -> None:
    with api(with_(settings, api_hosts="other.example, API.example")) as address:
        for host in ("localhost", "LOCALHOST:8000", "127.0.0.1:1", "127.8.9.1", "[::1]:8000", "api.example"):
            assert httpx.get(f"{address}/v1/collections", headers={"Host": host}).status_code == 200


def test_other_names_are_refused(address: str) -> None:
    for host in ("evil.example", "evil.example:8000", "localhost.evil.example", "10.0.0.1", "", "[", "a b"):
        for path in ("/v1/collections", "/docs"):
            problem_of(httpx.get(f"{address}{path}", headers={"Host": host}), 403, "unknown-host")
    problem = httpx.post(f"{address}/v1/ask", json=ASK, headers={"Host": host})
    assert "STEELMAN_API_HOSTS" in problem_of(problem, 403, "unknown-host")["detail"]


POD = "HTTP/1.1\r\nHost: 10.1.2.3:8000"


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (f"GET /healthz {POD}", '200 OK {"status":"ok"}'),
        ("GET /readyz HTTP/1.1\r\nHost: [fd00::7]:8000", '200 OK {"status":"ready"}'),
        ("GET /readyz HTTP/1.0", '200 OK {"status":"ready"}'),
        (f"HEAD /readyz {POD}", "200 OK "),
    ],
)
def test_a_probe_may_ask_by_any_name(address: str, asked: str, said: str) -> None:
    with connected(address) as connection:
        connection.sendall(f"{asked}\r\nConnection: close\r\n\r\n".encode())
        top, _, body = read_to_end(connection).decode().partition("\r\n\r\n")
    assert f"{top.splitlines()[0]} {body}" == f"HTTP/1.1 {said}"


def test_a_probe_is_not_told_why_the_server_is_not_ready(settings: Settings) -> None:
    with api(settings) as address, contextlib.closing(sqlite3.connect(settings.database_path)) as database:
        database.execute("ALTER TABLE collections RENAME TO others")
        problem = problem_of(httpx.get(f"{address}/readyz", headers={"Host": "10.1.2.3:8000"}), 503, "not-ready")
    assert not [word for word in ("collections", "store") if word in problem["detail"]]


def test_links_begin_with_the_address_of_the_settings_and_never_with_what_callers_send(settings: Settings) -> None:
    for public, sent in (
        ("https://example.org/a", {"Host": "example.org"}),
        ("", {"X-Forwarded-Host": "evil.example"}),
    ):
        with api(with_(settings, public_url=public)) as address, httpx.Client(base_url=address, headers=sent) as http:
            run = http.post(f"{public[19:]}/v1/ask", json={**ASK, "wait_seconds": 0})  # a proxy may leave the path on
            asked = {"model": "steelman", "messages": [{"role": "user", "content": QUESTION}]}
            reply = http.post("/v1/chat/completions", json=asked, timeout=30)
            noted = reply.json()["choices"][0]["message"]["annotations"][0]["url_citation"]["url"]
            servers = [f"{one['url']}/v1" for one in http.get("/openapi.json").json().get("servers", ())]
            links = [run.headers["location"], reply.headers["content-location"]]
            page = http.get("/docs").text.partition("url: '")[2]
            assert http.get("/v1/runs", headers={"Origin": "https://example.org"}).status_code == (
                200 if public else 403
            )
            assert {link.partition("/v1")[0] for link in (*links, *servers)} == {public}
            assert noted.startswith(public or address)
            assert page.startswith(f"{public}/openapi.json'")


def test_where_other_machines_are_let_in_any_name_will_do_and_a_key_is_needed(settings: Settings) -> None:
    with api(with_(settings, api_host="0.0.0.0")) as address:
        away = {"Host": "steelman.example"}
        problem_of(httpx.get(f"{address}/v1/collections", headers=away), 401, "key-missing")
        with contextlib.closing(Database(settings.database_path)) as database:
            away["Authorization"] = f"Bearer {Keys(database).make('laptop')[1]}"
        wait_until(lambda: httpx.get(f"{address}/v1/collections", headers=away).status_code == 200, 3)
        there = away | {"Host": "evil.example", "Origin": "http://evil.example"}
        problem_of(httpx.get(f"{address}/v1/collections", headers=there), 403, "unknown-origin")


def test_pages_are_closed_out_but_the_servers_own(address: str) -> None:
    for origin in ("https://app.example", address.replace("127.0.0.1", "localhost"), f"{address}0", "http://"):
        problem_of(httpx.get(f"{address}/v1/collections", headers={"Origin": origin}), 403, "unknown-origin")
    judging = {"pairs": [{"statement": "Bridges help.", "passage": "A bridge helps."}]}
    sent = httpx.post(f"{address}/v1/judge", json=judging, headers={"Origin": address}, timeout=30)
    assert sent.status_code == 200
    assert not any("access-control" in name for name in sent.headers)


def test_a_page_that_is_let_in_and_others(settings: Settings) -> None:
    with contextlib.closing(Database(settings.database_path)) as database:
        _, text = Keys(database).make("page")
    page = {"Origin": "https://app.example"}
    with api(with_(settings, api_origins="https://other.example, https://app.example")) as address:
        for origin in ("https://evil.example", "null", "http://127.0.0.1:8501", "https://app.example.evil"):
            form = {"Origin": origin, "Content-Type": "application/x-www-form-urlencoded"}
            refused = httpx.post(f"{address}/v1/ask", content=b"question=x", headers=form)
            problem_of(refused, 403, "unknown-origin")
            assert "access-control-allow-origin" not in refused.headers
            asked = {"Origin": origin, "Access-Control-Request-Method": "POST"}
            problem_of(httpx.options(f"{address}/v1/ask", headers=asked), 403, "unknown-origin")
        allowed = httpx.options(f"{address}/v1/ask", headers={**page, "Access-Control-Request-Method": "POST"})
        assert (allowed.status_code, allowed.headers["access-control-allow-origin"]) == (200, "https://app.example")
        locked = httpx.get(f"{address}/v1/collections", headers=page)
        problem_of(locked, 401, "key-missing")
        assert locked.headers["access-control-allow-origin"] == "https://app.example"  # so that the page can read it
        reply = httpx.get(f"{address}/v1/collections", headers={**page, "Authorization": f"Bearer {text}"})
        assert reply.status_code == 200
        assert "Location" in reply.headers["access-control-expose-headers"]


# Rates


def test_each_key_has_its_rate_and_wrong_keys_share_one(settings: Settings) -> None:
    with contextlib.closing(Database(settings.database_path)) as database:
        mine, other = ({"Authorization": f"Bearer {Keys(database).make(name)[1]}"} for name in ("mine", "other"))
    with (
        api(with_(settings, api_rate="4/minute; 3 per 2 second")) as address,
        httpx.Client(base_url=address) as client,
    ):
        tried = [client.get("/v1/collections", headers={"Authorization": f"Bearer {n}"}).status_code for n in range(5)]
        assert tried == [401, 401, 401, 429, 429]
        assert client.get("/v1/collections").status_code == 429
        assert [client.get("/v1/collections", headers=mine).status_code for _ in range(3)] == [200] * 3
        refused = client.get("/v1/collections", headers=mine)
        seconds = int(refused.headers["retry-after"])
        assert 1 <= seconds <= 2
        detail = problem_of(refused, 429, "too-many-requests")["detail"]
        assert detail == f"The rate is 3 in 2 seconds. Come again in {seconds} seconds."
        assert client.get("/v1/collections", headers=other).status_code == 200
        assert [client.get("/healthz").status_code for _ in range(5)] == [200] * 5
        wait_until(lambda: client.get("/v1/collections", headers=mine).status_code == 200, seconds + 1)


# Bodies


def test_a_huge_body_is_refused_before_it_is_sent(address: str) -> None:
    announced = head("POST", "/v1/ask", "Content-Type: application/json", f"Content-Length: {10**11}")
    with connected(address) as connection:
        began = time.monotonic()
        connection.sendall(announced)
        reply = connection.recv(65536)
        assert time.monotonic() - began < 1
        assert problem_in(reply)["detail"] == "At most 8 MB are taken here. Send less at once."


@pytest.mark.parametrize("length", ["Transfer-Encoding: chunked", f"Content-Length: {10**12}"])
def test_a_refused_body_that_goes_on_is_cut_off(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, length: str
) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", 1)
    part = b"x" * 100_000 if "Content" in length else b"%x\r\n" % 100_000 + b"x" * 100_000 + b"\r\n"
    with api(settings) as address, connected(address) as connection:
        connection.sendall(head("POST", "/v1/ask", "Content-Type: application/json", length))
        give_up = time.monotonic() + 10
        with contextlib.suppress(ConnectionError):
            while time.monotonic() < give_up:
                connection.sendall(part)
        assert time.monotonic() < give_up
        assert problem_in(read_to_end(connection))["status"] == 413
        assert httpx.get(f"{address}/healthz").status_code == 200


def test_uploads_have_a_limit_of_their_own(settings: Settings) -> None:
    def files(size: int) -> dict[str, tuple[str, bytes]]:
        return {"files": ("notes.txt", b"Bridges carry people. " * (size // 22))}

    with api(with_(settings, api_upload=10)) as address, httpx.Client(base_url=address, timeout=60) as client:
        too_much = client.post("/v1/collections/mine/files", files=files(10_100_000))
        assert problem_of(too_much, 413, "body-too-large")["detail"].startswith("At most 10 MB")
        between = {"documents": [{"id": "x", "text": "x" * 9_000_000}]}
        problem_of(client.post("/v1/collections/mine/documents", json=between), 413, "body-too-large")
        assert client.post("/v1/collections/mine/files", files={"files": ("a.txt", b"Bridges.")}).status_code == 200


# Heads and framing


def test_silent_connections_are_few_and_short_and_in_nobodys_way(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"_TICK": 0.2, "_MOST_WAITING": 5, "_MOST_CONNECTIONS": 40, "HEAD_SECONDS": 1.5}.items():
        monkeypatch.setattr(connections, name, value)
    with api(settings) as address, httpx.Client(base_url=address) as kept, contextlib.ExitStack() as opened:
        held = [opened.enter_context(connected(address)) for _ in range(120)]
        for number, connection in enumerate(held):
            with contextlib.suppress(ConnectionError):
                connection.sendall(b"GET /healthz HTTP/1.1\r\nX: " if number % 2 else b"")
            if number % 10 == 0:
                assert httpx.get(f"{address}/v1/collections").status_code == 200
                assert kept.get("/healthz").status_code == 200
        wait_until(lambda: sum(map(is_open, held)) <= 5, 1.4)
        wait_until(lambda: not any(map(is_open, held)), 5)


def is_open(connection: socket.socket) -> bool:
    """Whether the server has not closed the connection; what it said is taken."""
    try:
        while said := connection.recv(4096, socket.MSG_DONTWAIT):
            assert said
    except BlockingIOError:
        return True
    except ConnectionError:
        pass
    return False


def with_much(app: FastAPI) -> None:
    """Adds a reply that no buffer of a connection takes whole."""
    app.add_api_route("/much", lambda: PlainTextResponse(b"x" * 10_000_000))


def test_a_reply_that_nobody_reads_is_given_up(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"_TICK": 0.2, "_UNREAD_SECONDS": 1.0}.items():
        monkeypatch.setattr(connections, name, value)
    with api(settings, change=with_much) as address, connected(address, receive_buffer=4096) as unread:
        unread.sendall(head("GET", "/much"))
        time.sleep(3)
        assert len(read_to_end(unread)) < 10_000_000


def test_a_slow_upload_and_a_slow_reader_are_waited_for(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"_TICK": 0.2, "HEAD_SECONDS": 2, "_UNREAD_SECONDS": 2.0}.items():
        monkeypatch.setattr(connections, name, value)
    monkeypatch.setattr(connections, "_BODY_SECONDS", 1.0)
    monkeypatch.setattr(connections, "_BODY_RATE", 1_000)  # the machine of a test may be busy
    documents = json.dumps({"documents": [{"id": "a", "text": "Bridges carry people. " * 1000}]}).encode()
    served_by = api(settings, change=with_much)
    with served_by as address, connected(address) as slow, connected(address, receive_buffer=300_000) as reader:
        lines = "Content-Type: application/json", f"Content-Length: {len(documents)}", "Connection: close"
        slow.sendall(head("POST", "/v1/collections/mine/documents", *lines))
        reader.sendall(head("GET", "/much", "Connection: close"))
        got = 0
        for at in range(0, len(documents), 500):  # 5,000 bytes a second, for more than four seconds
            slow.sendall(documents[at : at + 500])
            got += len(reader.recv(250_000))
            time.sleep(0.1)
        assert read_to_end(slow).startswith(b"HTTP/1.1 200 ")
        assert got + len(read_to_end(reader)) > 10_000_000


# Callers that go away, and failures


def test_half_a_reply_does_not_look_complete(settings: Settings) -> None:
    async def half() -> AsyncIterator[bytes]:
        yield b"half"
        raise RuntimeError("and no more")

    def add(app: FastAPI) -> None:
        app.add_api_route("/half", lambda: StreamingResponse(half()))

    with api(settings, change=add) as address, pytest.raises(httpx.RemoteProtocolError):
        httpx.get(f"{address}/half")


# Keys


@pytest.fixture
def keys(settings: Settings) -> Iterator[Keys]:
    with contextlib.closing(Database(settings.database_path)) as database:
        yield Keys(database)


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def test_commands_make_list_and_revoke(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["keys", "list"]) == 0
    assert "No key was ever made" in capsys.readouterr().out
    assert main(["keys", "make", "laptop"]) == 0
    made = capsys.readouterr()
    text = made.out.strip()
    assert text.startswith("sk-steelman-")
    assert len(text) == len("sk-steelman-") + 43
    assert "Authorization: Bearer" in made.err
    assert text not in made.err
    assert text[len("sk-steelman-") :].encode() not in b"".join(f.read_bytes() for f in settings.data_dir.glob("*.db*"))
    assert main(["keys", "make", "laptop"]) == 2
    assert "already" in capsys.readouterr().err
    assert main(["keys", "revoke", "laptop"]) == 0
    assert "Revoked key" in capsys.readouterr().out
    assert main(["keys", "list"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert listed[0].split() == ["ID", "NAME", "MADE", "REVOKED"]
    key_id, name, made_at, revoked_at = listed[1].split()
    assert (name, made_at[:2], revoked_at[:2]) == ("laptop", "20", "20")
    assert main(["keys", "revoke", key_id]) == 0  # twice does no harm
    assert main(["keys", "revoke", "nobody"]) == 2
    assert "keys list" in capsys.readouterr().err
    assert main(["keys", "make", "laptop"]) == 0  # the name is free again


def test_a_running_server_locks_when_the_first_key_is_made_and_stays_locked(settings: Settings, keys: Keys) -> None:
    with api(settings) as address:
        assert httpx.get(f"{address}/v1/collections").status_code == 200
        key, text = keys.make("laptop")
        wait_until(lambda: httpx.get(f"{address}/v1/collections").status_code == 401, 2.5)
        assert httpx.get(f"{address}/v1/collections", headers=bearer(text)).status_code == 200
        keys.revoke(key.id)
        wait_until(lambda: httpx.get(f"{address}/v1/collections", headers=bearer(text)).status_code == 401, 2.5)
        assert httpx.get(f"{address}/v1/collections").status_code == 401


WRONG = ["Bearer sk-steelman-" + "A" * 43, "Bearer", "Basic {key}", "{key}", "Bearer {key} x", "Bearer é{key}"]


def test_keys_lock_everything_but_health_and_the_page_of_the_calls(settings: Settings, keys: Keys) -> None:
    (_, mine), (_, other) = keys.make("mine"), keys.make("other")

    def add(app: FastAPI) -> None:
        app.mount("/mounted", PlainTextResponse("in"))

    with api(settings, change=add) as address, httpx.Client(base_url=address, timeout=30) as client:
        for path in ("/healthz", "/readyz", "/docs", "/openapi.json"):
            assert client.get(path).status_code == 200
        for path in ("/metrics", "/v1/collections", "/mounted/x", "/nothing", "/healthz/", "//healthz", "/healthz/x"):
            missing = client.get(path)
            assert problem_of(missing, 401, "key-missing")["detail"].startswith("This call needs a key.")
            assert missing.headers["www-authenticate"] == "Bearer"
        assert problem_of(client.post("/v1/ask", json={"question": QUESTION}), 401, "key-missing")
        assert client.get("/mounted/x", headers=bearer(mine)).text == "in"
        for wrong in WRONG:
            sent = wrong.replace("{key}", mine).encode("latin-1")
            reply = client.get("/v1/collections", headers={b"Authorization": sent})
            problem_of(reply, 401, "key-wrong")
            assert reply.headers["www-authenticate"] == 'Bearer error="invalid_token"'
            assert mine not in reply.text
        two = client.get("/v1/collections", headers=[*bearer(mine).items(), *bearer("x").items()])
        problem_of(two, 401, "key-wrong")
        assert client.get("/v1/collections", headers={"authorization": f"bearer {mine}"}).status_code == 200
        run = client.post("/v1/ask", json={"question": QUESTION}, headers=bearer(mine)).headers["content-location"]
        assert client.get(run, headers=bearer(mine)).json()["status"] == "done"
        for call in (
            ("GET", run),
            ("GET", f"{run}/events"),
            ("POST", f"{run}/resume"),
            ("DELETE", run),
            ("DELETE", f"{run}/corrections"),
        ):
            problem_of(client.request(*call, headers=bearer(other)), 404, "unknown-run")


def test_keys_that_cannot_be_read_let_nobody_in(settings: Settings, keys: Keys) -> None:
    with api(settings) as address:
        assert httpx.get(f"{address}/v1/collections").status_code == 200
        with keys._db.write() as db:
            db.execute("ALTER TABLE api_keys RENAME TO elsewhere")
        wait_until(lambda: httpx.get(f"{address}/v1/collections").status_code == 503, 2.5)
        assert json.loads(httpx.get(f"{address}/v1/collections").text)["type"].startswith("urn:steelman:problem:store")
        assert httpx.get(f"{address}/healthz").status_code == 200

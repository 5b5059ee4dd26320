"""The checks before a route: host names, pages, keys, rates, sizes, and slow connections."""

import contextlib
import socket
from collections.abc import Iterator

import httpx
import pytest
from agent_fixtures import QUESTION
from api_on_loopback import Door, api
from fastapi import FastAPI
from raw_http import connected, head, problem_in, problem_of, wait_until
from starlette.responses import PlainTextResponse

from agent.settings import Settings
from api.__main__ import main
from api.callers import Keys
from tools.net import connections
from tools.store.database import Database

pytest_plugins = ["api_on_loopback"]

ASK = {"question": QUESTION}


def with_(settings: Settings, **changes: object) -> Settings:
    return settings.model_copy(update=changes)


@pytest.fixture
def keys(settings: Settings) -> Iterator[Keys]:
    with contextlib.closing(Database(settings.database)) as database:
        yield Keys(database)


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


# Names, pages and probes


def test_names_of_this_server(settings: Settings) -> None:
    with api(with_(settings, api_hosts="other.example, API.example")) as address:
        for host in ("LOCALHOST:8000", "127.8.9.1", "[::1]:8000", "api.example", "other.example:1"):
            assert httpx.get(f"{address}/v1/collections", headers={"Host": host}).status_code == 200
        for host in ("evil.example", "localhost.evil.example", "10.0.0.1", "", "a b"):
            problem_of(httpx.get(f"{address}/v1/collections", headers={"Host": host}), 403, "unknown-host")


@pytest.mark.parametrize(
    ("public", "sent"), [("https://example.org/a", {"Host": "example.org"}), ("", {"X-Forwarded-Host": "evil.example"})]
)
def test_links_start_with_the_public_url_and_never_with_a_callers_header(
    settings: Settings, public: str, sent: dict[str, str]
) -> None:
    with api(with_(settings, public_url=public)) as address, httpx.Client(base_url=address, headers=sent) as http:
        run = http.post(f"{public[19:]}/v1/ask", json={**ASK, "wait_seconds": 0})  # a proxy may keep the path
        asked = {"model": "steelman", "messages": [{"role": "user", "content": QUESTION}]}
        reply = http.post("/v1/chat/completions", json=asked, timeout=30)
        source = reply.json()["choices"][0]["message"]["annotations"][0]["url_citation"]["url"]
        servers = [f"{one['url']}/v1" for one in http.get("/openapi.json").json().get("servers", ())]
        links = [run.headers["location"], reply.headers["content-location"], *servers]
        assert {link.partition("/v1")[0] for link in links} == {public}
        assert source.startswith(public or address)
        assert f"url: '{public}/openapi.json'" in http.get("/docs").text
        own_page = http.get("/v1/runs", headers={"Origin": "https://example.org"})
        assert own_page.status_code == (200 if public else 403)


def test_other_machines_may_use_any_name_with_a_key(settings: Settings, keys: Keys) -> None:
    with api(with_(settings, api_host="0.0.0.0")) as address:
        away = {"Host": "steelman.example"}
        problem_of(httpx.get(f"{address}/v1/collections", headers=away), 401, "key-missing")
        away |= bearer(keys.make("laptop")[1])
        assert httpx.get(f"{address}/v1/collections", headers=away).status_code == 200
        foreign = away | {"Host": "evil.example", "Origin": "http://evil.example"}
        problem_of(httpx.get(f"{address}/v1/collections", headers=foreign), 403, "unknown-origin")


def test_an_allowed_page_and_others(settings: Settings, keys: Keys) -> None:
    _, text = keys.make("page")
    page = {"Origin": "https://app.example"}
    with api(with_(settings, api_origins="https://other.example, https://app.example")) as address:
        for origin in ("https://evil.example", "null", "http://127.0.0.1:8501", "https://app.example.evil"):
            for method, more in (("POST", {}), ("OPTIONS", {"Access-Control-Request-Method": "POST"})):
                refused = httpx.request(method, f"{address}/v1/ask", headers={"Origin": origin, **more})
                problem_of(refused, 403, "unknown-origin")
                assert "access-control-allow-origin" not in refused.headers
        allowed = httpx.options(f"{address}/v1/ask", headers={**page, "Access-Control-Request-Method": "POST"})
        assert (allowed.status_code, allowed.headers["access-control-allow-origin"]) == (200, "https://app.example")
        locked = httpx.get(f"{address}/v1/collections", headers=page)
        problem_of(locked, 401, "key-missing")
        assert locked.headers["access-control-allow-origin"] == "https://app.example"  # so the page can read it
        reply = httpx.get(f"{address}/v1/collections", headers=page | bearer(text))
        assert "Location" in reply.headers["access-control-expose-headers"]


# Rates and bodies


def test_each_key_has_its_rate_and_wrong_keys_share_one(settings: Settings, keys: Keys) -> None:
    mine, other = (bearer(keys.make(name)[1]) for name in ("mine", "other"))
    with api(with_(settings, api_rate="4/minute")) as address:

        def statuses(*headers: dict[str, str]) -> list[int]:
            return [httpx.get(f"{address}/v1/collections", headers=h).status_code for h in headers]

        assert statuses(*(bearer(str(n)) for n in range(4)), {}) == [401, 401, 401, 401, 429]
        assert statuses(mine, mine, mine, mine, other) == [200] * 5
        refused = httpx.get(f"{address}/v1/collections", headers=mine)
        seconds = int(refused.headers["retry-after"])
        assert f"in {seconds} seconds." in problem_of(refused, 429, "too-many-requests")["detail"]
        assert httpx.get(f"{address}/healthz").status_code == 200


@pytest.mark.slow
def test_a_huge_body_is_refused_before_it_is_sent(standing: Door) -> None:
    with connected(standing.address) as connection:
        connection.sendall(head("POST", "/v1/ask", "Content-Type: application/json", f"Content-Length: {10**11}"))
        assert problem_in(connection.recv(65536))["status"] == 413


def test_uploads_have_their_own_limit(settings: Settings) -> None:
    def upload(size: int) -> httpx.Response:
        text = b"Bridges carry people. " * (size // 22)
        return httpx.post(f"{address}/v1/collections/mine/files", files={"files": ("a.txt", text)}, timeout=60)

    with api(with_(settings, api_upload=1)) as address:
        assert "at most 1 MB" in problem_of(upload(1_100_000), 413, "body-too-large")["detail"]
        assert upload(220_000).status_code == 200


# Connections


def test_silent_connections_are_few_and_short_and_block_nobody(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"_TICK": 0.2, "_MOST_CONNECTIONS": 40, "HEAD_SECONDS": 1.5}.items():
        monkeypatch.setattr(connections, name, value)
    with api(settings) as address, httpx.Client(base_url=address) as kept, contextlib.ExitStack() as opened:
        held = [opened.enter_context(connected(address)) for _ in range(120)]
        for number, connection in enumerate(held):
            with contextlib.suppress(ConnectionError):
                connection.sendall(b"GET /healthz HTTP/1.1\r\nX: " if number % 2 else b"")
            if number % 30 == 0:
                assert httpx.get(f"{address}/v1/collections").status_code == 200
                assert kept.get("/healthz").status_code == 200
        assert sum(map(is_open, held)) <= 40
        wait_until(lambda: not any(map(is_open, held)), 5)


def is_open(connection: socket.socket) -> bool:
    try:
        while connection.recv(4096, socket.MSG_DONTWAIT):
            pass
    except BlockingIOError:
        return True
    except ConnectionError:
        pass
    return False


# Keys


def test_commands_make_list_and_revoke(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["keys", "make", "laptop"]) == 0
    made = capsys.readouterr()
    text = made.out.strip().removeprefix("sk-steelman-")
    assert text not in made.err
    assert text.encode() not in b"".join(f.read_bytes() for f in settings.data_dir.glob("*.db*"))
    for status, typed in ((2, "make laptop"), (0, "revoke laptop"), (2, "revoke nobody"), (0, "make laptop")):
        assert main(["keys", *typed.split()]) == status, typed
    assert main(["keys", "list"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[-2:]]
    assert [row[2] for row in rows] == ["laptop"] * 2
    assert [row[3] for row in rows if len(row) > 3] == ["(revoked"]  # the first one


def test_a_running_server_needs_a_key_once_one_was_made(settings: Settings, keys: Keys) -> None:
    with api(settings) as address:
        assert httpx.get(f"{address}/v1/collections").status_code == 200
        key, text = keys.make("laptop")
        assert httpx.get(f"{address}/v1/collections").status_code == 401
        assert httpx.get(f"{address}/v1/collections", headers=bearer(text)).status_code == 200
        keys.revoke(key.id)
        for headers in (bearer(text), {}):
            assert httpx.get(f"{address}/v1/collections", headers=headers).status_code == 401


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
            problem_of(missing, 401, "key-missing")
            assert missing.headers["www-authenticate"] == "Bearer"
        for wrong in WRONG:
            reply = client.get("/v1/collections", headers={b"Authorization": wrong.format(key=mine).encode("latin-1")})
            problem_of(reply, 401, "key-wrong")
            assert reply.headers["www-authenticate"] == 'Bearer error="invalid_token"'
        problem_of(client.get("/v1/runs", headers=[*bearer(mine).items(), *bearer("x").items()]), 401, "key-wrong")
        assert client.get("/mounted/x", headers={"authorization": f"bearer {mine}"}).text == "in"
        run = client.post("/v1/ask", json=ASK, headers=bearer(mine)).headers["content-location"]
        assert client.get(run, headers=bearer(mine)).json()["status"] == "done"
        assert client.get("/v1/runs", headers=bearer(other)).json()["runs"] == []
        for method, path in (("GET", ""), ("GET", "/events"), ("POST", "/resume"), ("DELETE", "/corrections")):
            problem_of(client.request(method, f"{run}{path}", headers=bearer(other)), 404, "unknown-run")


def test_keys_that_cannot_be_read_let_nobody_in(settings: Settings, keys: Keys) -> None:
    with api(settings) as address:
        with keys._db.write() as db:
            db.exec_driver_sql("ALTER TABLE api_keys RENAME TO elsewhere")
        assert problem_of(httpx.get(f"{address}/v1/collections"), 503, "store-unusable")
        assert httpx.get(f"{address}/healthz").status_code == 200

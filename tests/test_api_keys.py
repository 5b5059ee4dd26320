"""Bearer keys: made and revoked by a command, kept as digests, needed once one was ever made."""

import contextlib
import hashlib
import json
from collections.abc import Iterator

import httpx
import pytest
from agent_fixtures import QUESTION
from api_on_loopback import api
from fastapi import FastAPI
from raw_http import problem_of, wait_until
from starlette.responses import PlainTextResponse

from agent.settings import Settings
from api.__main__ import main
from api.keys import Keys
from tools.errors import InputError
from tools.store.database import Database


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


def test_a_key_is_kept_as_a_digest_only(settings: Settings, keys: Keys) -> None:
    key, text = keys.make("laptop")
    assert key.digest == hashlib.sha256(text.encode()).digest()
    stored = b"".join(f.read_bytes() for f in settings.data_dir.glob("steelman.db*"))
    assert key.digest in stored
    assert text.encode() not in stored
    assert text.removeprefix("sk-steelman-").encode() not in stored
    assert keys.make("other")[1] != text


def test_a_name_that_is_no_good(keys: Keys) -> None:
    for name in ("", "   ", "x" * 65, "two\nlines"):
        with pytest.raises(InputError, match="name"):
            keys.make(name)
    assert keys.all() == []


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
        for call in (("GET", run), ("GET", f"{run}/events"), ("POST", f"{run}/cancel"), ("DELETE", run)):
            problem_of(client.request(*call, headers=bearer(other)), 404, "unknown-run")


def test_keys_that_cannot_be_read_let_nobody_in(settings: Settings, keys: Keys) -> None:
    with api(settings) as address:
        assert httpx.get(f"{address}/v1/collections").status_code == 200
        with keys._db.write() as db:
            db.execute("ALTER TABLE api_keys RENAME TO elsewhere")
        wait_until(lambda: httpx.get(f"{address}/v1/collections").status_code == 503, 2.5)
        assert json.loads(httpx.get(f"{address}/v1/collections").text)["type"].startswith("urn:steelman:problem:store")
        assert httpx.get(f"{address}/healthz").status_code == 200

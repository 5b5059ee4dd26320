"""The way to a server: what is tried again, what is read, what is said of a failure."""

import gzip
import time
from typing import Any

import pytest
from model_server import ModelServer, Reply

from tools.budget import Budget, budget_scope
from tools.errors import ProviderDownError, ProviderReplyError
from tools.net import retries
from tools.net.http import fetch_json, is_local, open_client, without_login
from tools.net.route import environment_proxy


async def fetch(
    server: ModelServer, budget: Budget | None = None, seconds: float = 5.0, headers: dict[str, str] | None = None
) -> Any:
    with budget_scope(budget or Budget()):
        async with open_client(headers, seconds) as client:
            return await fetch_json(client, "POST", f"{server.root}/search", name="Finder", body={"q": "bridges"})


@pytest.mark.parametrize("status", [408, 429, 503])
@pytest.mark.usefixtures("quick_retries")
async def test_a_busy_server_is_asked_up_to_three_times(server: ModelServer, status: int) -> None:
    server.on("", Reply("busy", status=status), Reply("busy", status=status), Reply([1]), path="/search")
    assert await fetch(server) == [1]
    assert len(server.requests) == 3


async def test_no_pause_outlasts_the_stage(server: ModelServer) -> None:
    server.on("", Reply("busy", status=503), path="/search")
    with pytest.raises(ProviderDownError, match="503"):
        await fetch(server, Budget(deadline_at=time.time() + 0.2))
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("address", "local"),
    [
        ("http://127.0.0.1:8000/v1", True),
        ("localhost:8000", True),
        ("http://[::1]:8000", True),
        ("http://127.0.0.1@example.org/", False),
        ("http://localhost.example.org", False),
        ("http://0.0.0.0:8000", False),
        ("https://api.openai.com/v1", False),
        ("http://[oops", False),
    ],
)
def test_what_is_on_this_machine(address: str, local: bool) -> None:
    assert is_local(address) is local


@pytest.mark.parametrize(
    ("no_proxy", "direct"),
    [
        ("corp.example", True),
        ("*.corp.example", True),
        ("a.corp.example:443", True),
        ("a.corp.example:80", False),
        ("b.example .corp.example", True),
        ("localhost,*", True),
        ("orp.example, *.b.example", False),
        ("", False),
    ],
)
def test_what_is_asked_without_the_proxy(no_proxy: str, direct: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("all_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", no_proxy)
    assert (environment_proxy("https://A.corp.example/v1") is None) is direct


def test_a_login_is_left_out_of_an_address() -> None:
    for login in ("ann:hunter2@", "ann:hun/ter@2@", "ann:://hunter2@", ""):
        assert without_login(f"http://{login}host:1/v1?key=hunter2#a") == "http://host:1/v1"
        assert without_login(f"{login}host:1") == "host:1"
    assert without_login("http://ann:hun?ter2@host:1/v1") == without_login("http://host?key=hun@ter2") == "http://…"
    assert without_login("http://host:1/v1") == "http://host:1/v1"


async def test_compressed_replies_are_read_up_to_a_limit(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = {"content-encoding": "gzip"}
    bomb = gzip.compress(b" " * 5_000_000)
    server.on("", Reply(raw=gzip.compress(b"[1]"), headers=packed), Reply(raw=bomb, headers=packed), path="/search")
    assert await fetch(server) == [1]
    monkeypatch.setattr(retries, "LARGEST_REPLY", 1_000_000)
    with pytest.raises(ProviderReplyError, match="more than 1 MB"):
        await fetch(server)
    assert server.requests[0].headers["accept-encoding"] == "identity"


@pytest.mark.parametrize(
    "value", [*("", "soon", "nan", "-5", "Mon, 01 Jan 0001 00:00:00 -0000", "Mon, 99 Jan 2026 00:00:00 GMT", "(" * 200)]
)
def test_a_retry_after_that_is_nonsense_is_no_reason_to_wait(value: str) -> None:
    assert 0 <= retries.retry_after(value, 0.5) <= 1

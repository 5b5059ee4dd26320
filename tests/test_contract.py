"""What people's servers, files and wordings do: faults × clients, one table.

A row is a fault that somebody met, the client that meets it here, what that client is given, and what has to come of
it. A client is a function of what is given and of the bench; it has the real part of the product meet the fault (a
server's over real HTTP on this machine) and returns what a person would see of it, as text.
"""

import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, closing, redirect_stderr, suppress
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import httpx
import pytest
from agent_fixtures import QUESTION
from api_on_loopback import api
from raw_http import connected, read_to_end

from agent.__main__ import main as agent_line
from agent.settings import load_settings
from api.__main__ import main as api_line
from evals.__main__ import main as evals_line
from evals.benchmarks.instant import instant_providers
from tools.errors import SettingsError
from tools.store.database import Database
from tools.store.store import Store
from ui.service import PageService


@dataclass(frozen=True)
class Bench:
    """What a client may use: a folder of its own, and the means to set what is set."""

    folder: Path
    patch: pytest.MonkeyPatch


Client = Callable[[Any, Bench], Awaitable[str]]


@dataclass(frozen=True)
class Row:
    """fault: what a server, file or person does. right: texts that all stand in what comes of it; wrong: none does."""

    fault: str
    client: Client
    given: Any
    right: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()


# --- doors: settings, proxies, probes ---------------------------------------------------------------------------------


async def settings(given: bytes | dict[str, str] | None, bench: Bench) -> str:
    """given: the bytes of `.env`, variables, or None for a folder. The key that is read, or what every door says."""
    bench.patch.chdir(bench.folder)
    if isinstance(given, dict):
        for name, value in given.items():
            bench.patch.setenv(name, value)
    elif given is None:
        Path(".env").mkdir()
    else:
        Path(".env").write_bytes(given)
    with suppress(SettingsError):
        return f"{load_settings().openai_api_key.get_secret_value()} is read"
    heard = []
    for enter, words in ((agent_line, ["runs"]), (api_line, ["keys", "list"]), (evals_line, ["model", "--live"])):
        with redirect_stderr(StringIO()) as said:
            assert enter(words)
        heard.append(said.getvalue().partition(": ")[2])
    with pytest.raises(SettingsError) as shown:
        PageService()
    assert set(heard) == {f"{shown.value}\n"}
    assert "secret" not in heard[0]
    return heard[0]


SETTINGS = (
    Row("UTF-16 of PowerShell", settings, "OPENAI_API_KEY=sk-1\r\n".encode("utf-16"), ("sk-1 is read",)),
    Row("UTF-8 with its mark", settings, b"\xef\xbb\xbfOPENAI_API_KEY=sk-1", ("sk-1 is read",)),
    Row("a mounted secret", settings, {"OPENAI_API_KEY": "sk-1\r\n"}, ("sk-1 is read",)),
    Row("Windows-1252", settings, b"A=b\nOPENAI_API_KEY=\x93secret", ("line 2 (OPENAI_API_KEY) holds what is no",)),
    Row("UTF-16 added to UTF-8", settings, b"A=b\n" + "MODEL=m".encode("utf-16-le"), ("line 2 holds a NUL",)),
    Row("UTF-8 added to UTF-16", settings, "A=b\n".encode("utf-16") + b"A_KEY=s\n", ("line 2 cannot be",)),
    Row("a folder", settings, None, (".env is a folder",)),
    Row("smart quotes", settings, "OPENAI_API_KEY=“secret”".encode(), ("OPENAI_API_KEY holds a curly quotation",)),
    Row("one of them smart", settings, 'OPENAI_API_KEY="secret”'.encode(), ("line 1 (OPENAI_API_KEY) cannot be und",)),
    Row("another shell's form", settings, b"$env:SERPER_API_KEY='secret'", ("line 1 (SERPER_API_KEY) cannot be und",)),
    Row("its name along", settings, b"CHROMA_TOKEN=CHROMA_TOKEN=secret", ("CHROMA_TOKEN holds the name",)),
    Row("its header along", settings, {"STEELMAN_JUDGE_API_KEY": "Bearer secret"}, ("JUDGE_API_KEY begins with 'B",)),
    Row("a no-break space", settings, {"ANTHROPIC_API_KEY": "secret\xa0"}, ("ANTHROPIC_API_KEY holds a no-break",)),
    Row("no width", settings, {"SEARXNG_URL": "http://\u200ba.example"}, ("SEARXNG_URL holds", "zero width space")),
    Row("a byte that is no text", settings, {"OPENAI_API_KEY": "\udc93secret"}, ("no UTF-8 text (0x93)",)),
    Row("docker's quotes", settings, {"OPENAI_BASE_URL": '"http://a.example"'}, ("OPENAI_BASE_URL holds quotation",)),
)


def served(**changes: Any) -> AbstractContextManager[str]:
    """The server over the instant documents, with these settings."""
    given = load_settings(**changes)
    with closing(Database(given.database_path)) as database:
        instant_providers(given, Store(database))
    return api(given)


async def links(given: tuple[dict[str, Any], dict[str, str]], bench: Bench) -> str:
    """given: settings, and headers that a proxy sends. The addresses that the server gives out."""
    changes, sent = given
    asked = {"model": "steelman", "messages": [{"role": "user", "content": QUESTION}]}
    with served(**changes) as address, httpx.Client(base_url=address, headers=sent, timeout=30) as client:
        left = changes.get("public_url", "").partition("example.org")[2].rstrip("/")  # a proxy may leave the path on
        run = client.post(f"{left}/v1/ask", json={"question": QUESTION, "wait_seconds": 0})
        reply = client.post("/v1/chat/completions", json=asked)
        noted = reply.json()["choices"][0]["message"]["annotations"][0]["url_citation"]["url"]
        placed = [run.headers["location"], reply.headers["content-location"], noted]
        servers = [server["url"] for server in client.get("/openapi.json").json().get("servers", ())]
        page = client.get("/docs").text.partition("curl -s ")[2].split()[0]
        own = client.get("/v1/runs", headers={"Origin": "https://example.org"}).status_code
    said = [one.partition("/v1")[0].replace(address, "HERE") for one in (*placed, page, *servers)]
    return f"{' '.join(said)} {own}"


HERE = {"trusted_proxies": "10.0.0.0/8, 127.0.0.1"}
PROXY = {"X-Forwarded-Proto": "https", "X-Forwarded-Host": "example.org", "X-Forwarded-Prefix": "/steelman"}
PUBLIC, NOWHERE = "https://example.org/steelman", ("  HERE HERE 403",)
CHAIN = {"X-Forwarded-For": "203.0.113.9, 10.1.1.1", "X-Forwarded-Host": "evil.example, example.org, b.example"}
FORWARDED = {"Forwarded": 'host=evil.example, for="[2001:db8::1]:9";proto=https;host="example.org:8443"'}
PROXIES = (
    Row("the setting", links, ({"public_url": f"{PUBLIC}/"}, {"Host": "example.org"}), (f"{PUBLIC} " * 5 + "200",)),
    Row("the setting wins", links, ({"public_url": "https://a.example"} | HERE, PROXY), ("https://a.example " * 5,)),
    Row("a trusted proxy", links, (HERE, PROXY), (f"{PUBLIC} " * 5 + "403",)),
    Row("one that is named", links, (HERE | {"api_hosts": "example.org"}, PROXY), (f"{PUBLIC} " * 5 + "200",)),
    Row("somebody else", links, ({"trusted_proxies": "10.0.0.0/8"}, PROXY | FORWARDED), NOWHERE),
    Row("Forwarded", links, (HERE, FORWARDED), ("https://example.org:8443 " * 5,)),
    Row("two proxies, one liar", links, (HERE, CHAIN), ("http://example.org " * 5,)),
    Row("a port apart", links, (HERE, PROXY | {"X-Forwarded-Port": "8443"}), ("https://example.org:8443/steel",)),
    Row(
        "no sense", links, (HERE, {"X-Forwarded-Proto": "gopher", "X-Forwarded-Prefix": "//b.example"}), ("HERE " * 5,)
    ),
)


async def probe(given: str, bench: Bench) -> str:
    """given: the request's lines; where they end in BROKEN the store cannot be read. The reply, without its headers."""
    with served(api_hosts="api.example.org") as address, connected(address) as connection:
        if given.endswith("BROKEN"):
            with closing(sqlite3.connect(load_settings().database_path)) as database:
                database.execute("ALTER TABLE collections RENAME TO others")
        connection.sendall(f"GET {given.removesuffix('BROKEN')}\r\nConnection: close\r\n\r\n".encode())
        head, _, body = read_to_end(connection).decode().partition("\r\n\r\n")
    return f"{head.splitlines()[0]} {body}"


POD = "HTTP/1.1\r\nHost: 10.1.2.3:8000"
PROBES = (
    Row("a pod's address", probe, f"/healthz {POD}", ('200 OK {"status":"ok"}',)),
    Row("IPv6", probe, "/readyz HTTP/1.1\r\nHost: [fd00::7]:8000", ('200 OK {"status":"ready"}',)),
    Row("no host", probe, "/readyz HTTP/1.0", ('200 OK {"status":"ready"}',)),
    Row("broken", probe, f"/readyz {POD}BROKEN", (" 503 ", ":not-ready"), ("collections", "store")),
)

# --- the table --------------------------------------------------------------------------------------------------------

ROWS: tuple[Row, ...] = (*SETTINGS, *PROXIES, *PROBES)


@pytest.mark.usefixtures("quick_retries")
@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.client.__name__}: {row.fault}")
async def test_what_comes_of_it(row: Row, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    came = await row.client(row.given, Bench(tmp_path, monkeypatch))
    assert not [text for text in row.right if text not in came], came
    assert not [text for text in row.wrong if text in came], came

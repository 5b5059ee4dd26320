"""Clients of the contract table at the doors of the server for programs: the addresses it gives out, its probes."""

import sqlite3
from contextlib import AbstractContextManager, closing
from typing import Any

import httpx
from agent_fixtures import QUESTION
from api_on_loopback import api
from raw_http import connected, read_to_end

from agent.settings import load_settings
from evals.benchmarks.instant import instant_providers
from tools.store.database import Database
from tools.store.store import Store


def served(**changes: Any) -> AbstractContextManager[str]:
    """The server over the instant documents, with these settings."""
    given = load_settings(**changes)
    with closing(Database(given.database_path)) as database:
        instant_providers(given, Store(database))
    return api(given)


async def links(given: tuple[dict[str, Any], dict[str, str]], bench: Any) -> str:
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


async def probe(given: str, bench: Any) -> str:
    """given: the request's lines; where they end in BROKEN the store cannot be read. The reply, without its headers."""
    with served(api_hosts="api.example.org", trusted_proxies="127.0.0.1") as address, connected(address) as connection:
        if given.endswith("BROKEN"):
            with closing(sqlite3.connect(load_settings().database_path)) as database:
                database.execute("ALTER TABLE collections RENAME TO others")
        asked = given if given.startswith("HEAD") else f"GET {given}"
        connection.sendall(f"{asked.removesuffix('BROKEN')}\r\nConnection: close\r\n\r\n".encode())
        head, _, body = read_to_end(connection).decode().partition("\r\n\r\n")
    return f"{head.splitlines()[0]} {body}"

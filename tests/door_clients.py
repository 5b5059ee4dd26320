"""Clients of the contract table at the doors of the server for programs: the addresses it gives out, its probes."""

import json
import sqlite3
from contextlib import AbstractContextManager, closing
from typing import Any
from urllib.parse import urljoin

import httpx
from agent_fixtures import QUESTION
from api_on_loopback import api
from instant_providers import instant_providers
from raw_http import connected, read_to_end

from agent.settings import load_settings
from tools.models.judges.judge import Pair
from tools.store.database import Database
from tools.store.store import Store


def served(**changes: Any) -> AbstractContextManager[str]:
    """The server over the instant documents, with these settings."""
    given = load_settings(**changes)
    with closing(Database(given.database_path)) as database:
        instant_providers(given, Store(database)).search.close()
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
        read = client.get("/docs").text.partition("url: '")[2].partition("/openapi.json'")[0]
        page = urljoin(address, read)
        own = client.get("/v1/runs", headers={"Origin": "https://example.org"}).status_code
    said = [one.partition("/v1")[0].replace(address, "HERE") for one in (*placed, page, *servers)]
    return f"{' '.join(said)} {own}"


async def probe(given: str, bench: Any) -> str:
    """given: the request's lines; where they end in BROKEN the store cannot be read. The reply, without its headers."""
    with served(api_hosts="api.example.org") as address, connected(address) as connection:
        if given.endswith("BROKEN"):
            with closing(sqlite3.connect(load_settings().database_path)) as database:
                database.execute("ALTER TABLE collections RENAME TO others")
        asked = given if given.startswith("HEAD") else f"GET {given}"
        connection.sendall(f"{asked.removesuffix('BROKEN')}\r\nConnection: close\r\n\r\n".encode())
        head, _, body = read_to_end(connection).decode().partition("\r\n\r\n")
    return f"{head.splitlines()[0]} {body}"


# Chat apps on the OpenAI-compatible door


def said(*texts: str, system: str = "", **more: Any) -> dict[str, Any]:
    """A request of an app: its system message, and what user and assistant say by turns."""
    turns = [{"role": ("user", "assistant")[i % 2], "content": text} for i, text in enumerate(texts)]
    return {"messages": [{"role": "system", "content": system}, *turns] if system else turns, **more}


def task(form: str, answer: str = "Both sides have a case.") -> dict[str, Any]:
    """A prompt of the structure that Open WebUI's templates have, in no language."""
    history = f"<chat_history>\nUSER: {QUESTION}\nASSISTANT: {answer}\n</chat_history>"
    return said(f"### Xxx:\nXxx xxxx.\n### Xxxx:\nJSON: {form}\n### Xxx Xxx:\n{history}")


def sided(pair: Pair) -> float:
    """Each of the instant passages speaks for one side, by the number of its bridge's arches."""
    return 0.9 if ("not" in pair.statement) == any(even in pair.text for even in "2468") else 0.1


async def chat_app(given: dict[str, Any], bench: Any) -> str:
    """What a chat app shows, plain and streamed, and the questions of which runs were stored. Where the request says
    ANSWER, the server's own reply to the question stands instead, and there is its run before."""
    with httpx.Client(base_url=f"{bench.door()}/v1") as http:

        def runs() -> list[tuple[str, str]]:
            return [(run["id"], run["question"]) for run in http.get("/runs").json()["runs"]]

        def ask(request: dict[str, Any], **more: Any) -> httpx.Response:
            return http.post("/chat/completions", json={"model": "steelman-quick", **request, **more}, timeout=60)

        before, body = runs(), json.dumps(given)
        if "ANSWER" in body:
            answer = ask(said(QUESTION)).json()["choices"][0]["message"]["content"]
            given = json.loads(body.replace("ANSWER", json.dumps(answer)[1:-1]))
        whole = ask(given).json()
        if error := whole.get("error"):
            return f"# {error['message']}"
        lines = [line for line in ask(given, stream=True).text.splitlines() if line.startswith("data: {")]
        deltas = [choice["delta"] for line in lines for choice in json.loads(line[6:])["choices"]]
        stored = [question for number, question in runs() if (number, question) not in before]
    content = whole["choices"][0]["message"]["content"]
    streamed = "".join(delta.get("content", "") for delta in deltas)
    same = content.partition("\nCheck what")[0] == streamed.partition("\nCheck what")[0]
    return f"{content}\nstreamed the same: {same}\nruns: {stored}"

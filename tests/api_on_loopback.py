"""The doors for programs on loopback: the real server in a thread of its own, over whatever providers a test wants.

A module shares one server by the fixture `standing` (`pytest_plugins = ["api_on_loopback"]`), whose searches a test can
hold. PYTEST_DONT_REWRITE: names are imported from here too, which happens before it becomes a plugin.
"""

import json
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
import uvicorn
from fastapi import FastAPI
from providers import Build, build

from agent.runs.service import Runs
from agent.settings import Settings
from api.serving import create_app
from tools.net.listening import config_of


@contextmanager
def api(
    settings: Settings, made: Build | None = None, change: Callable[[FastAPI], object] = lambda _: None
) -> Iterator[str]:
    """The address of a running server, over instant providers unless others are given; `change`: routes to add."""
    app = create_app(settings, lambda: Runs(settings, made or build(), max_concurrent=settings.api_runs))
    change(app)
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(config_of(app, ws="none"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    address = f"http://127.0.0.1:{listening.getsockname()[1]}"
    try:
        with httpx.Client(base_url=address, timeout=30) as client:
            client.get("/healthz").raise_for_status()  # the listener queues callers until the server is up
        yield address
    finally:
        server.should_exit = True
        thread.join(20)
        listening.close()


class Held:
    def __init__(self) -> None:
        self.open, self.reached = threading.Event(), threading.Event()

    def __call__(self, _: str) -> None:
        self.reached.set()
        assert self.open.wait(30)


class Door:
    def __init__(self, address: str, http: httpx.Client) -> None:
        self.address, self.http = address, http

    @contextmanager
    def held(self) -> Iterator[Held]:
        held = _HOOK[0] = Held()
        try:
            yield held
        finally:
            held.open.set()
            _HOOK[0] = lambda _: None


_HOOK: list[Callable[[str], object]] = [lambda _: None]


@pytest.fixture(scope="module")
def standing(module_settings: Settings) -> Iterator[Door]:
    made = build(before_search=lambda query: _HOOK[0](query))
    with api(module_settings, made) as address, httpx.Client(base_url=address, timeout=30) as http:
        yield Door(address, http)


@dataclass(frozen=True)
class Sent:
    """A server-sent event as it came; `id` is None for one that a client does not count."""

    id: int | None
    event: str
    data: dict[str, Any]


def sent_events(lines: Iterable[str]) -> Iterator[Sent]:
    """The events of a stream of server-sent events; comments are left out."""
    fields: dict[str, str] = {}
    for line in lines:
        if line and not line.startswith(":"):
            name, _, value = line.partition(": ")
            assert name not in fields, f"{name} twice in one event"
            fields[name] = value
        elif not line and fields:
            number = fields.get("id")
            yield Sent(None if number is None else int(number), fields["event"], json.loads(fields["data"]))
            fields = {}
    assert not fields, "the stream ended within an event"


def followed(client: httpx.Client, path: str, after: int | None = None) -> list[Sent]:
    """All events that the server sends, reconnecting with Last-Event-ID where `after` is given."""
    headers = {} if after is None else {"Last-Event-ID": str(after)}
    with client.stream("GET", path, headers=headers) as reply:
        if reply.status_code == 204:
            return []
        assert reply.headers["content-type"].startswith("text/event-stream")
        return list(sent_events(reply.iter_lines()))

"""Servers on this machine that take a stated time for each call: a chat model, a judge, a search engine and a site.

They answer so that a run goes all the way, a second search included; what they say is of no interest, only when.
"""

import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_PASSAGE = re.compile(r'<passage number="(\d+)"[^>]*>(.*?)</passage>', re.DOTALL)
QUESTION = "Should towns build bridges?"
_FRAMED = {
    "form": "polar",
    "neutral": QUESTION,
    "claim": "Towns should build bridges.",
    "negation": "Towns should not build bridges.",
    "alternatives": [],
    "topic": "towns building bridges",
    "focus": "",
}
_SIDES = [
    {"name": "Build them", "statement": "Towns should build bridges.", "stance": "supports"},
    {"name": "Leave it", "statement": "Towns should not build bridges.", "stance": "opposes"},
    {"name": "Run ferries", "statement": "Towns should run ferries in the place of bridges.", "stance": "other"},
]
_PAGES = 400


class SlowServers:
    """One server for all of it. `calls` holds (what, begin, end) of each call, in seconds since the first."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.calls: list[tuple[str, float, float]] = []
        self.began = time.monotonic()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"slow": self}))
        self.root = f"http://127.0.0.1:{self.server.server_address[1]}"

    def take_time(self, what: str) -> None:
        begin = time.monotonic() - self.began
        time.sleep(self.seconds)
        self.calls.append((what, begin, time.monotonic() - self.began))

    def chain(self) -> list[tuple[str, float]]:
        """The longest chain of calls of which each began after the one before had ended: (what, when it began)."""
        best: list[list[tuple[str, float]]] = []
        calls = sorted(self.calls, key=lambda c: c[2])
        for what, begin, _ in calls:
            before = [b for (_, _, ended), b in zip(calls, best, strict=False) if ended <= begin]
            best.append([*max(before, key=len, default=[]), (what, begin)])
        return max(best, key=len, default=[])


@contextmanager
def slow_servers(seconds: float) -> Iterator[SlowServers]:
    """The servers, running until the block is left."""
    slow = SlowServers(seconds)
    slow.server.daemon_threads = True
    slow.server.request_queue_size = 512
    thread = threading.Thread(target=slow.server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield slow
    finally:
        slow.server.shutdown()
        slow.server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    slow: SlowServers
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self.slow.take_time("page")
        self._send(_page(self.path).encode(), "text/html; charset=utf-8")

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path.endswith("/score"):
            self.slow.take_time("judge")
            self._json(_scores(body))
        elif self.path.endswith("/search"):
            self.slow.take_time("search")
            self._json(_results(body["query"], int(body.get("max_results", 5)), self.slow.root))
        else:
            what, content = _reply(body["messages"][-1]["content"])
            self.slow.take_time(what)
            self._stream(content)

    def _stream(self, content: Any) -> None:
        delta = {"choices": [{"index": 0, "delta": {"content": json.dumps(content)}, "finish_reason": None}]}
        ended = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
        told = {"id": "x", "object": "chat.completion.chunk", "created": 0, "model": "slow"}
        lines = "".join(f"data: {json.dumps({**told, **part})}\n\n" for part in (delta, ended))
        self._send((lines + "data: [DONE]\n\n").encode(), "text/event-stream")

    def _json(self, value: Any) -> None:
        self._send(json.dumps(value).encode(), "application/json")

    def _send(self, data: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        pass


def _reply(prompt: str) -> tuple[str, Any]:
    if "- neutral:" in prompt:
        return "frame", _FRAMED
    if "List the perspectives" in prompt:
        return "perspectives", {"perspectives": _SIDES}
    if "new queries" in prompt:
        return "queries", {"queries": ["ferries for small towns", "cost of ferries"]}
    claims = [
        {"text": text.split(". ")[0].rstrip(".") + ".", "passages": [int(number)]}
        for number, text in _PASSAGE.findall(prompt)[:4]
    ]
    return "claims", {"claims": claims}


def _scores(body: dict[str, Any]) -> dict[str, Any]:
    """The third side finds nothing until it is searched for again."""
    statements, texts = body["text_1"], body["text_2"]
    scores = [0.1 if "ferries" in s and "ferry" not in t else 0.9 for s, t in zip(statements, texts, strict=True)]
    return {"data": [{"index": i, "object": "score", "score": s} for i, s in enumerate(scores)]}


def _results(query: str, limit: int, root: str) -> dict[str, Any]:
    topic = "ferry" if "ferries" in query and "towns should" not in query.lower() else "bridge"
    start = sum(map(ord, query)) % _PAGES
    found = [f"{root}/{topic}/{(start + i) % _PAGES}" for i in range(limit)]
    return {"results": [{"url": url, "title": url, "content": topic, "score": 0.5} for url in found]}


def _page(path: str) -> str:
    _, topic, number = path.split("/")[:3]
    kinds = ("toll", "trade", "repair", "school", "flood", "market", "winter", "traffic", "harbour", "tax")
    text = " ".join(
        f"The {topic} of town {number} changed its {kind} in year {int(number) + n}, and the people of street {n} of "
        f"that town say that a {topic} number {int(number) * 7 + n} serves their {kind} well."
        for n, kind in enumerate(kinds)
    )
    head = f'<title>The {topic} {number}</title><meta property="og:site_name" content="Town {number} Times">'
    return f"<html><head>{head}</head><body><main><article><h1>The {topic} {number}</h1><p>{text}</p></article></main>"

"""Search engines over real HTTP on this machine, for tests: they record what they were asked and can misbehave.

    with SearchServer("tavily") as server:
        server.on("bicycle", [Found("https://a.example/one", "One", "Bicycles help.")])   # a substring of the query
        server.on("helmets", Trouble(status=429), [])                                      # one after the other
        server.otherwise(lambda query: [Found(…)])                                         # for any other query
        Tavily("key", server.url)

It answers as Tavily, Serper, SearXNG or DuckDuckGo do, by its kind, and gives each only what was asked for:
`include_domains`, `max_results`, pages of ten. Leaving the block raises AssertionError where a script went unused or a
query found none.
"""

import contextlib
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from http.server import BaseHTTPRequestHandler
from typing import Any, Literal
from urllib.parse import parse_qsl, urlsplit

from loopback import Connections, Served, Silent

Kind = Literal["tavily", "serper", "duckduckgo", "searxng"]


@dataclass(frozen=True)
class Found:
    """A page that the engine knows; `date` is written as the engine writes it."""

    url: str
    title: str = "A page"
    snippet: str = "What the page says."
    date: str = ""


@dataclass(frozen=True)
class Trouble:
    """What goes wrong instead of an answer. hang: seconds of silence before the connection closes."""

    status: int = 200
    body: str = ""
    hang: float = 0.0


@dataclass
class Request:
    """A request as it came: `query` is what was searched for, `body` the JSON or the form."""

    path: str
    query: str
    body: dict[str, Any]
    headers: dict[str, str]  # names in lower case


Answer = Sequence[Found] | Trouble


@dataclass
class _Script:
    part: str
    answers: list[Answer]
    used: int = 0

    def next(self) -> Answer:
        self.used += 1
        return self.answers[min(self.used, len(self.answers)) - 1]


class SearchServer(Served):
    """An engine on loopback. url: its base address; requests: what it was asked."""

    def __init__(self, kind: Kind = "tavily") -> None:
        self.kind = kind
        self.requests: list[Request] = []
        self._scripts: list[_Script] = []
        self._otherwise: Callable[[str], Answer] | None = None
        self._unmatched: list[str] = []
        self._lock = threading.Lock()
        self._closing = threading.Event()
        super().__init__(Connections(_handler(self)))
        self.url = f"http://127.0.0.1:{self.port}"

    def on(self, part: str, *answers: Answer) -> None:
        """What queries with this part in them get, one after the other; the last one is given again."""
        self._scripts.append(_Script(part.casefold(), list(answers) or [[]]))

    def otherwise(self, answer: Callable[[str], Answer]) -> None:
        """What a query gets that no script is for; this one need not be used."""
        self._otherwise = answer

    @property
    def queries(self) -> list[str]:
        return [r.query for r in self.requests]

    def __exit__(self, *error: object) -> None:
        self._closing.set()
        super().__exit__(*error)
        if error[0] is None:
            unused = [s.part for s in self._scripts if s.used < len(s.answers)]
            assert not unused, f"answers that were never asked for: {unused}"
            assert not self._unmatched, f"queries without an answer: {self._unmatched}"

    def answer(self, request: Request) -> Answer:
        """What the request gets; called by the server's threads."""
        with self._lock:
            self.requests.append(request)
            query = request.query.casefold()
            for script in self._scripts:
                if script.part in query:
                    return script.next()
            if self._otherwise is None:
                self._unmatched.append(request.query)
                return Trouble(status=500, body="no script for this query")
        return self._otherwise(request.query)

    def pause(self, seconds: float) -> None:
        self._closing.wait(seconds)


def _handler(server: SearchServer) -> type[Silent]:
    class Handler(Silent, BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 10

        def do_GET(self) -> None:
            self.do_POST()

        def do_POST(self) -> None:
            self.close_connection = True
            data = self.rfile.read(int(self.headers.get("content-length", 0)))
            request = _request(server.kind, self.path, dict(self.headers), data)
            answer = server.answer(request)
            with contextlib.suppress(OSError):  # a client that went away, as tests of timeouts want
                self._send(answer, request)

        def _send(self, answer: Answer, request: Request) -> None:
            trouble = answer if isinstance(answer, Trouble) else Trouble()
            if trouble.hang:
                server.pause(trouble.hang)
                return
            body = trouble.body.encode() if isinstance(answer, Trouble) else _page(server.kind, answer, request)
            self.send_response(trouble.status)
            self.send_header("Content-Type", "text/html" if server.kind == "duckduckgo" else "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(body)

    return Handler


def _request(kind: Kind, path: str, headers: Mapping[str, str], data: bytes) -> Request:
    if kind == "searxng":
        body: dict[str, Any] = dict(parse_qsl(urlsplit(path).query))
    else:
        body = dict(parse_qsl(data.decode())) if kind == "duckduckgo" else json.loads(data)
    query = str(body.get("query" if kind == "tavily" else "q", ""))
    return Request(path, query, body, {k.lower(): v for k, v in headers.items()})


def _page(kind: Kind, found: Sequence[Found], request: Request) -> bytes:
    body = request.body
    if kind == "tavily":
        inside = [f for f in found if _inside(f.url, body.get("include_domains"))][: body.get("max_results", 5)]
        rows = [{"url": f.url, "title": f.title, "content": f.snippet, "score": 0.9} | _dated(f) for f in inside]
        if any("published_date" in row for row in rows):
            rows = [{"published_date": None} | row for row in rows]
        return json.dumps({"query": request.query, "results": rows, "response_time": 0.1}).encode()
    if kind == "serper":
        first = (body.get("page", 1) - 1) * 10
        shown = found[first : first + min(body.get("num", 10), 10)]
        organic = [
            {"title": f.title, "link": f.url, "snippet": f.snippet, "position": i}
            | ({"date": f.date} if f.date else {})
            for i, f in enumerate(shown, start=1)
        ]
        return json.dumps({"searchParameters": body, "organic": organic, "credits": 1}).encode()
    if kind == "searxng":
        first = (int(body["pageno"]) - 1) * 10
        results = [
            {"url": f.url, "title": f.title, "content": f.snippet, "engine": "one", "publishedDate": f.date or None}
            for f in found[first : first + 10]
        ]
        return json.dumps({"query": request.query, "number_of_results": 0, "results": results}).encode()
    first = int(body.get("s", 0))
    return _html(found[first : first + (15 if first else 10)])


def _dated(found: Found) -> dict[str, str]:
    return {"published_date": found.date} if found.date else {}


def _inside(url: str, domains: Sequence[str] | None) -> bool:
    return not domains or any(f".{urlsplit(url).hostname}".endswith("." + d.removeprefix("*.")) for d in domains)


def _html(found: Sequence[Found]) -> bytes:
    """The page for browsers without scripts, as far as it is read: a block a result, or one that says there is none."""
    none = "<div class='result results_links result--no-result'><div class='no-results'>No results.</div></div>"
    blocks = "".join(
        f"<div class='result results_links web-result'><div class='links_main result__body'>"
        f"<h2 class='result__title'><a class='result__a' href='{escape(f.url)}'>{escape(f.title)}</a></h2>"
        f"<a class='result__snippet' href='{escape(f.url)}'>{escape(f.snippet)}</a></div></div>"
        for f in found
    )
    return (
        f"<html><body class='body--html'><div id='links' class='results'>{blocks or none}</div></body></html>".encode()
    )

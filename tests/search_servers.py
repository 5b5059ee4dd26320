"""Search engines over real HTTP on this machine, for tests: they record what they were asked and can misbehave.

    with SearchServer("tavily") as server:
        server.on("bicycle", [Found("https://a.example/one", "One", "Bicycles help.")])   # a substring of the query
        server.on("helmets", Trouble(status=429), [])                                      # one after the other
        server.otherwise(lambda query: [Found(…)])                                         # for any other query
        Tavily("key", server.url)

It answers as Tavily, Serper, SearXNG or DuckDuckGo do, and keeps to `include_domains`, `max_results` and pages of ten.
Leaving the block raises AssertionError for an answer that was never asked for and for a query without one.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from typing import Any, Literal
from urllib.parse import urlsplit

from model_replies import Body, Reply, Request
from model_server import ModelServer

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
    """What goes wrong instead of an answer. hang: there is none until the server closes."""

    status: int = 200
    body: str = ""
    hang: bool = False


Answer = Sequence[Found] | Trouble


class SearchServer(ModelServer):
    """An engine on loopback. url: its base address; requests: what it was asked, with a form or a query as the body."""

    def __init__(self, kind: Kind = "tavily") -> None:
        super().__init__()
        self.kind, self.url = kind, self.root
        self._otherwise: Callable[[str], Answer] | None = None

    def on(self, part: str, *answers: Answer) -> None:  # type: ignore[override]
        """What queries with this part in them get, one after the other; the last one is given again."""
        replies = [partial(self._reply, answer) for answer in answers]
        super().on(lambda body: part.casefold() in self._query(body).casefold(), *replies, path="")

    def otherwise(self, answer: Callable[[str], Answer]) -> None:
        """What a query gets that no script is for; this one need not be used."""
        self._otherwise = answer

    @property
    def queries(self) -> list[str]:
        return [self._query(r.body) for r in self.requests]

    def _query(self, body: Body) -> str:
        return str(body.get("query" if self.kind == "tavily" else "q", ""))

    def _unscripted(self, request: Request, body: Body) -> Reply:
        if self._otherwise is not None:
            return self._reply(self._otherwise(self._query(body)), body)
        self.errors.append(f"a query without an answer: {self._query(body)}")
        return Reply("no script for this query", status=500)

    def _reply(self, answer: Answer, body: Body) -> Reply:
        headers = {"Content-Type": "text/html" if self.kind == "duckduckgo" else "application/json"}
        if isinstance(answer, Trouble):
            return Reply(raw=answer.body.encode(), status=answer.status, hang=answer.hang, headers=headers)
        return Reply(raw=_page(self.kind, answer, body), headers=headers)


def _page(kind: Kind, found: Sequence[Found], body: Mapping[str, Any]) -> bytes:
    if kind == "tavily":
        inside = [f for f in found if _inside(f.url, body.get("include_domains"))][: body.get("max_results", 5)]
        rows = [{"url": f.url, "title": f.title, "content": f.snippet, "score": 0.9} | _dated(f) for f in inside]
        if any("published_date" in row for row in rows):
            rows = [{"published_date": None} | row for row in rows]
        return json.dumps({"query": body["query"], "results": rows, "response_time": 0.1}).encode()
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
        return json.dumps({"query": body["q"], "number_of_results": 0, "results": results}).encode()
    first = int(body.get("s", 0))
    return _html(found[first : first + (15 if first else 10)])


def _dated(found: Found) -> dict[str, str]:
    return {"published_date": found.date} if found.date else {}


def _inside(url: str, domains: Sequence[str] | None) -> bool:
    return not domains or any(f".{urlsplit(url).hostname}".endswith("." + d.removeprefix("*.")) for d in domains)


def _html(found: Sequence[Found]) -> bytes:
    """The page for browsers without scripts: a block for each result, or one that says that none was found."""
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

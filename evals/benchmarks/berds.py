"""Retrievers on the web, judged: `python -m evals berds` as a user runs it, over pages that nobody wrote.

A server on loopback is the search engine, as SearXNG speaks, and the proxy over which pages are asked for, since their
address leads nowhere. The rest is the product's own, each run a process of its own. Pages are drawn from the samples'
sentences, since models take longer over made-up words, and every tenth is what one of the question's sides says.
"""

import json
import random
import re
import tempfile
import threading
from functools import cache
from html import escape
from http.server import ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from agent.samples import sample_documents
from evals.benchmarks.timing import process
from evals.reports.records import Record
from evals.scripted.server import Handler
from tools.errors import InputError
from tools.language.sentences import split_sentences
from tools.models.batching import batches
from tools.web.engine import PAGE_RESULTS

QUESTIONS = PAGES = 100
WORDS = 800  # of a page at least
_HOST = "[2e00::1]"  # an address that is given to nobody; a name would be looked up for every page
_ON_THE_QUESTION = 0.1  # of a page's sentences
_A_PARAGRAPH = 5  # sentences
_HTML = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title></head><body>
<nav><a href="/">Home</a> <a href="/about">About us</a></nav>
<main><article><h1>{title}</h1>{body}</article></main></body></html>"""


def bench_berds(questions: int = QUESTIONS, pages: int = PAGES, data: Path | None = None) -> Record:
    """What a first run takes, a second one, and BM25 with its passages judged anew. Pages, vectors and verdicts are
    kept in `data`; where it has the pages already, there is no first run. Raises InputError."""
    if questions < 1 or pages < 1:
        raise InputError("--questions and --pages need numbers from 1.")
    with tempfile.TemporaryDirectory() as own, _Web() as web:
        threading.Thread(target=web.serve_forever, daemon=True).start()
        kept, rows = data or Path(own, "kept"), Path(own, "questions.jsonl")
        rows.write_text("".join(f"{json.dumps(_row(number))}\n" for number in range(questions)))
        wanted = ["--data", str(rows), "--corpus", "web", "--pages", str(pages), "--keep", str(kept / "pages")]
        figures: Record = {"questions": questions, "pages": pages}
        try:
            found = _run(web, kept, "bm25,dense", wanted)
            if found["requests"]:
                figures["first"], found = found, _run(web, kept, "bm25,dense", wanted)
            return figures | {"second": found, "bm25_judged_anew": _run(web, Path(own, "empty"), "bm25", wanted)}
        finally:
            web.shutdown()


def _run(web: "_Web", folder: Path, methods: str, wanted: list[str]) -> Record:
    """What a run takes that has its caches in the folder; `stages` in seconds."""
    before, here = len(web.requests), f"http://127.0.0.1:{web.server_port}"
    environment = {"STEELMAN_DATA_DIR": str(folder.absolute()), "STEELMAN_WEB": "searxng", "SEARXNG_URL": here}
    environment |= {"http_proxy": here, "no_proxy": ""}
    command = ["-m", "evals", "berds", *wanted, "--methods", methods, "--judge", "embedded", "--json"]
    with tempfile.TemporaryFile() as said:
        taken = process(command, environment, said)
        said.seek(0)
        if not (text := said.read()):
            raise InputError("a run of `python -m evals berds` failed; what it said stands above.")
    result = json.loads(text)
    stages = {name: round(seconds, 1) for name, seconds in result["stages"].items()}
    told = {"encoder": result["config"]["encoder"], "stages": stages, **result["pages"]}
    return taken._asdict() | told | {"requests": len(web.requests) - before}


class _Web(ThreadingHTTPServer):
    """The engine and the pages. requests: what was asked for."""

    request_queue_size = 512  # a connection that finds the queue full tries again a second later

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[str] = []


class _Handler(Handler):
    server: _Web

    def do_GET(self) -> None:  # noqa: N802  # as http.server calls it
        self.server.requests.append(self.path)
        html = not self.path.startswith("/")  # it is a whole address, as a proxy is asked
        given = dict(parse_qsl(urlsplit(self.path).query))
        text = _page(*self.path.split("/")[-3:]) if html else _results(given["q"], int(given["pageno"]))
        self.say("text/html; charset=utf-8" if html else "application/json", text)


def _row(number: int) -> Record:
    """The question of that number, which no other has, with its two sides."""
    of = _subjects()
    one, other = of[number % len(of)], of[(number + number // len(of) + 1) % len(of)]
    return {"question": f"Should {one} come before {other}?", "perspectives": _sides(one, other)}


def _results(query: str, page: int) -> str:
    """A page, counted from 1, of what the engine finds, which has no end."""
    _, one, _, _, other = query.rstrip("?").split()
    places = range((page - 1) * PAGE_RESULTS, page * PAGE_RESULTS)
    return json.dumps({"results": [{"url": f"http://{_HOST}/{one}/{other}/{n}", "title": query} for n in places]})


def _page(one: str, other: str, n: str) -> str:
    """The nth page for the question whether the one should come before the other."""
    drawn, text, words = random.Random(f"{one} {other} {n}"), list[str](), 0
    while words < WORDS:
        text.append(drawn.choice(_sides(one, other) if drawn.random() < _ON_THE_QUESTION else _sentences()))
        words += len(text[-1].split())
    body = "".join(f"<p>{escape(' '.join(part))}</p>" for part in batches(text, _A_PARAGRAPH))
    return _HTML.format(title=f"On {one} and {other}, {n}", body=body)


def _sides(one: str, other: str) -> list[str]:
    return [f"{a.capitalize()} should come before {b}." for a, b in ((one, other), (other, one))]


@cache
def _sentences() -> list[str]:
    return [s for document in sample_documents() for s in split_sentences(document.text)]


@cache
def _subjects() -> list[str]:
    return sorted(set(re.findall(r"\b[a-z]+ions\b", " ".join(_sentences()))))

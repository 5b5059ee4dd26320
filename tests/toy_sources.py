"""Sources of any kind on loopback: one server plays them all, and a source of a few lines asks it over real HTTP."""

import json
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler
from typing import Any, Self
from urllib.parse import parse_qs, urlencode, urlsplit

from loopback import Connections, Served, Silent

from tools.passages import EvidenceKind
from tools.web.source import Source, SourceResult, read_results


class ToySource(Source):
    """Asks a ToyServer for what it has under the source's name."""

    most_results = 10

    def __init__(self, address: str, name: str, kind: EvidenceKind, seconds: float = 5.0) -> None:
        super().__init__(address, seconds)
        self.name, self.title, self.kind = name, name.capitalize(), kind

    async def _page(self, client: Any, query: str, page: int) -> list[SourceResult]:
        reply = await self._fetch(client, "GET", f"/{self.name}?{urlencode({'q': query})}")
        extent: Any = {"studies": "abstract", "discussion": "post", "encyclopedia": "extract"}.get(self.kind, "")
        given = {name: name for name in ("publisher", "author", "venue", "text", "open_url")}
        names = {"url": "url", "title": "title", "snippet": "text", "date": "date"}
        return read_results(self.title, reply["found"], extent=extent, **names, **given)


class ToyServer(Served):
    """Answers with the results that stand in `has` under a source's name; `down` names sources that fail, `hangs` those
    that never answer. asked: queries by source."""

    def __init__(self) -> None:
        self.has: dict[str, list[dict[str, str]]] = {}
        self.down: set[str] = set()
        self.hangs: set[str] = set()
        self.asked = Counter[str]()
        self._over = threading.Event()
        outer = self

        class Handler(Silent, BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                parts = urlsplit(self.path)
                name = parts.path.strip("/")
                assert parse_qs(parts.query)["q"]
                outer.asked[name] += 1
                if name in outer.hangs:
                    outer._over.wait(60)
                body = json.dumps({"found": outer.has.get(name, [])}).encode()
                self.send_response(500 if name in outer.down else 200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        super().__init__(Connections(Handler))
        self.url = f"http://127.0.0.1:{self.port}"

    def source(self, name: str, kind: EvidenceKind, *found: dict[str, str], seconds: float = 5.0) -> ToySource:
        self.has[name] = list(found)
        return ToySource(self.url, name, kind, seconds)

    def __exit__(self, *error: object) -> None:
        self._over.set()
        super().__exit__(*error)

    def __enter__(self) -> Self:
        return super().__enter__()

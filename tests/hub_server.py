"""A hub of models on this machine: what `huggingface_hub` asks of the real one, for one model."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha1
from http.server import BaseHTTPRequestHandler

import pytest
from loopback import Silent, serving

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@contextmanager
def serve_hub(model: str, files: Mapping[str, bytes], licence: str) -> Iterator[tuple[str, list[str]]]:
    """Its address, and the paths that were asked for, which grow."""
    asked: list[str] = []
    sizes = [{"rfilename": name, "size": len(data)} for name, data in files.items()]
    told = {"id": model, "sha": COMMIT, "siblings": sizes, "cardData": {"license": licence}}
    tree = [{"type": "file", "path": n, "size": len(d), "oid": sha1(d).hexdigest()} for n, d in files.items()]

    class Hub(Silent, BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self._answer(body=False)

        def do_GET(self) -> None:
            self._answer(body=True)

        def _answer(self, body: bool) -> None:
            path = self.path.partition("?")[0]
            asked.append(path)
            name = path.rpartition("/resolve/")[2].partition("/")[2]
            if path.startswith(f"/api/models/{model}/tree/"):
                data = json.dumps(tree).encode()
            elif path.startswith(f"/api/models/{model}"):
                data = json.dumps(told).encode()
            else:
                data = files.get(name, b"")
            self.send_response(200 if data else 404)
            self.send_header("Content-Length", str(len(data)))
            self.send_header("ETag", f'"{sha1(data).hexdigest()}"')
            self.send_header("X-Repo-Commit", COMMIT)
            self.end_headers()
            if body:
                self.wfile.write(data)

    with serving(Hub) as url:
        yield url, asked


def use_hub(monkeypatch: pytest.MonkeyPatch, address: str, cache: str) -> None:
    """Has `huggingface_hub` ask this hub and keep its files in `cache`."""
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", address)
    template = f"{address}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
    monkeypatch.setattr("huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", cache)
    # As `tools.serving` has it in a process of its own; here something else may have loaded the library before.
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_TELEMETRY", True)

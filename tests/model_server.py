"""A scripted model server over real HTTP on this machine: it records what it was sent and can misbehave.

It speaks OpenAI's interface (chat, plain and streamed, models, embeddings) and vLLM's /score. A chat
request gets the next reply of the first rule that matches it and has replies left:

    with ModelServer() as server:
        server.on("opposes", {"sides": []})  # a substring of the messages; JSON as the content
        server.on(lambda body: body.get("stream"), Reply("late", delay=1), "this one for ever after")
        server.on("again", "the same", times=2)
        server.on("", Reply(status=503), path="/score")  # a path other than the chat's

Leaving the block raises AssertionError where a script went unused or a request found no reply.
"""

import json
import ssl
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from typing import Any, cast
from urllib.parse import parse_qsl

import numpy as np
from loopback import Connections, Served, Silent
from model_replies import (
    Body,
    Content,
    Reply,
    Request,
    embeddings,
    plain_parts,
    scores,
    stream_parts,
    word_overlap,
    word_vector,
)

__all__ = ["ModelServer", "Reply", "Request", "word_overlap", "word_vector"]

Script = Content | Callable[[Body], Content]
Match = str | Callable[[Body], object]


@dataclass
class _Rule:
    path: str
    match: Match
    replies: Sequence[Script]
    times: int | None
    used: int = 0

    def answers(self, request: Request) -> bool:
        if not request.path.endswith(self.path) or self.used == self.times:
            return False
        return self.match in request.text if isinstance(self.match, str) else bool(self.match(request.body))

    def next(self) -> Script:
        self.used += 1
        return self.replies[min(self.used, len(self.replies)) - 1]

    @property
    def unused(self) -> bool:
        return self.used < (len(self.replies) if self.times is None else self.times)


class ModelServer(Served):
    """The server; `url` ends with /v1 and `root` does not. `at_once`: requests that it answers now; `peak`: the most so
    far."""

    def __init__(
        self,
        *,
        key: str = "",
        models: Sequence[str] = ("test-model",),
        judge: Callable[[str], float] | None = None,
        embed: Callable[[str], Sequence[float]] | None = None,
        score: Callable[[str, str], float] | None = None,
        no_logprobs: bool = False,
        strict: bool = True,
        tls: ssl.SSLContext | None = None,
        proxy: bool = False,
        pace: float = 0.0,
        most: int = 0,
    ) -> None:
        """judge: a prompt's probability of Yes. embed: a text's vector. score: of two texts. tls: how it speaks.
        proxy: it answers only inside tunnels. pace: seconds before each answer. most: more requests at once get
        429 and Retry-After. For the rest see the class and `Reply`."""
        self.pace, self.most, self.peak = pace, most, 0
        self.key, self.models, self.strict, self.tls, self.proxy = key, models, strict, tls, proxy
        self.judge, self.embed, self.score = judge, embed or word_vector, score or word_overlap
        self.requests: list[Request] = []
        self.errors: list[str] = []
        self.at_once = 0
        self.closing = threading.Event()
        self._no_logprobs = no_logprobs
        self._rules: list[_Rule] = []
        self._lock = threading.Lock()
        super().__init__(_Server(self))
        self.root = f"http://127.0.0.1:{self.port}"
        self.url = f"{self.root}/v1"

    def on(
        self, match: Match, *replies: Script, times: int | None = None, path: str = "/chat/completions"
    ) -> "ModelServer":
        """Adds a rule: each reply once, in order, and the last one for ever or, with `times`, up to so many in all.
        A reply may be a function of the request's body. `path` is the end of the path that it is for."""
        assert replies, "a rule needs a reply"
        with self._lock:
            self._rules.append(_Rule(path, match, replies, times))
        return self

    def prompts(self) -> list[str]:
        """The text of all messages, of each chat request."""
        return [r.text for r in list(self.requests) if r.path.endswith("/chat/completions")]

    def __exit__(self, *error: object) -> None:
        self.closing.set()
        super().__exit__(*error)
        if error[0] is None and self.strict:
            self.check()

    def kill(self) -> None:
        """Ends all connections in the middle of what they carry; from now on nothing listens."""
        self.closing.set()
        super().__exit__()

    def check(self) -> None:
        """Raises AssertionError for replies that nobody asked for and for requests without one."""
        unused = [f"unused: {r.match!r} on {r.path} (used {r.used} times)" for r in self._rules if r.unused]
        assert not self.errors + unused, "\n".join(self.errors + unused)

    def answer(self, request: Request) -> Reply:
        """What the rules, the options and the functions have to say to a request that was recorded."""
        body = request.body if isinstance(request.body, dict) else {}
        if self.key and request.headers.get("authorization") != f"Bearer {self.key}":
            return Reply("the key is wrong", status=401)
        if request.path.endswith("/chat/completions") and not body.get("messages"):
            return Reply("the body has no messages", status=400)
        if self._no_logprobs and body.get("logprobs"):
            return Reply("logprobs is not supported", status=400)
        with self._lock:
            rule = next((r for r in self._rules if r.answers(request)), None)
            script = rule.next() if rule else None
        if script is not None:
            reply = script(body) if callable(script) else script
            return reply if isinstance(reply, Reply) else Reply(reply)
        return self._unscripted(request, body)

    def _unscripted(self, request: Request, body: Body) -> Reply:
        path = request.path
        if path == "/v1/models":
            return Reply({"object": "list", "data": [{"id": name, "object": "model"} for name in self.models]})
        if path == "/v1/embeddings":
            return Reply(embeddings(body, self.embed))
        if path.endswith("/score"):
            return scores(body, self.score)
        if not path.endswith("/chat/completions"):
            return Reply("Not Found", status=404)
        if self.judge and body.get("logprobs"):
            yes = min(max(self.judge(request.text), 1e-9), 1 - 1e-9)
            return Reply(top_logprobs={"Yes": float(np.log(yes)), "No": float(np.log1p(-yes))})
        self.errors.append(f"no reply for {path}: {request.text[:500]!r}")
        return Reply("the script has no reply for this request", status=500)

    def count(self, change: int) -> None:
        with self._lock:
            self.at_once += change
            self.peak = max(self.peak, self.at_once)


class _Server(Connections):
    def __init__(self, owner: ModelServer) -> None:
        self.owner = owner
        super().__init__(_Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        error = sys.exc_info()[1]
        if not isinstance(error, ConnectionError | ssl.SSLError):
            self.owner.errors.append(f"the server itself failed: {error!r}")


class _Handler(Silent, BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def setup(self, tunnelled: bool = False) -> None:
        server = cast(_Server, self.server)
        if server.owner.tls and server.owner.proxy is tunnelled:
            self.request = server.owner.tls.wrap_socket(self.request, server_side=True)
            server.connections.add(self.request)
        super().setup()

    def finish(self) -> None:
        super().finish()
        if isinstance(self.request, ssl.SSLSocket):
            cast(_Server, self.server).connections.discard(self.request)
            self.request.close()

    def do_CONNECT(self) -> None:
        cast(_Server, self.server).owner.requests.append(Request(self.path, {}, None, time.monotonic()))
        self.wfile.write(b"HTTP/1.1 200 Connected\r\n\r\n")
        self.setup(tunnelled=True)

    def do_GET(self) -> None:
        self._serve(dict(parse_qsl(self.path.partition("?")[2])) or None)

    def do_POST(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        data = self.rfile.read(length)
        if len(data) < length:  # the client left in the middle of its request, as one that is cancelled does
            self.close_connection = True
            return
        try:
            self._serve(json.loads(data))
        except ValueError:
            text = data.decode("utf-8", "replace")
            self._serve(dict(parse_qsl(text)) or text)

    def _serve(self, body: Any) -> None:
        owner = cast(_Server, self.server).owner
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.path.partition("?")[0], headers, body, time.monotonic())
        owner.requests.append(request)
        owner.count(1)
        self._is_counted = True
        try:
            is_full = 0 < owner.most < owner.at_once
            reply = Reply("full", status=429, headers={"Retry-After": "1"}) if is_full else owner.answer(request)
            self._wait(reply.delay or (0 if is_full else owner.pace))
            self._send(reply, request)
        finally:
            self._uncount()

    def _uncount(self) -> None:
        """Ends the request's count, before the client has the whole reply and may send its next request."""
        if self._is_counted:
            self._is_counted = False
            cast(_Server, self.server).owner.count(-1)

    def _wait(self, seconds: float | None) -> None:
        if seconds != 0 and cast(_Server, self.server).owner.closing.wait(seconds):
            raise ConnectionAbortedError("the server is closing")

    def _send(self, reply: Reply, request: Request) -> None:
        if reply.cut and reply.raw == b"":
            self.close_connection = True
            return
        if reply.hang and not reply.cut:
            self._wait(None)
        chat = request.path.endswith("/chat/completions") and reply.raw is None and reply.status < 400
        streamed = chat and bool(request.body.get("stream"))
        parts = stream_parts(reply, request.body) if streamed else plain_parts(reply, request.body if chat else None)
        self.send_response(reply.status)
        if "Content-Type" not in reply.headers:
            self.send_header("Content-Type", "text/event-stream" if streamed else "application/json")
        size = ("Transfer-Encoding", "chunked") if streamed else ("Content-Length", str(sum(map(len, parts))))
        for name, value in (size, *reply.headers.items()):
            self.send_header(name, value)
        self.end_headers()
        for number, part in enumerate(parts[: max(1, len(parts) // 2)] if reply.cut else parts, start=1):
            if number == len(parts) and not (streamed or reply.cut):
                self._uncount()
            self.wfile.write(b"%x\r\n%b\r\n" % (len(part), part) if streamed else part)
            self._wait(reply.drip)
        if reply.cut:
            self.close_connection = True
            self._wait(None if reply.hang else 0)
        elif streamed:
            self._uncount()
            self.wfile.write(b"0\r\n\r\n")

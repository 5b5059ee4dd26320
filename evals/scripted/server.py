"""A server on this machine that speaks OpenAI's chat interface, streamed, and says what a script tells it to.

    with ChatServer() as server:
        server.script = script
        ... load_settings(openai_base_url=server.url, model="scripted")

script(shape, prompt) is given the name of the JSON schema that is asked for and the last message, and returns the JSON
of the reply. Every call is kept in `calls`; `latency` is how many seconds each takes.
"""

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Script = Callable[[str, str], Any]
_CHARACTERS_A_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Call:
    """A call that was answered: when it began and ended (`time.monotonic`), its tokens."""

    began: float
    ended: float
    given: int
    made: int


class ChatServer:
    """The server; `url` is what OPENAI_BASE_URL would be."""

    def __init__(self) -> None:
        self.script: Script = lambda shape, prompt: {}
        self.latency = 0.0
        self.calls: list[Call] = []
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, self))
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> "ChatServer":
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def reply(self, body: dict[str, Any]) -> tuple[str, Call]:
        """What the script says to a request, after the latency."""
        began = time.monotonic()
        shape = body["response_format"]["json_schema"]["name"]
        given = sum(len(str(m["content"])) for m in body["messages"]) // _CHARACTERS_A_TOKEN
        with self._lock:  # a script keeps count of what it has said, and calls come side by side
            content = json.dumps(self.script(shape, str(body["messages"][-1]["content"])), ensure_ascii=False)
        time.sleep(self.latency)
        call = Call(began, time.monotonic(), given, len(content) // _CHARACTERS_A_TOKEN)
        with self._lock:
            self.calls.append(call)
        return content, call

    def taken(self) -> list[Call]:
        """The calls since this was last asked."""
        with self._lock:
            calls, self.calls = self.calls, []
        return calls


def longest_chain(calls: list[Call]) -> int:
    """The number of calls in the longest sequence of which each began after the one before had ended."""
    lengths: list[tuple[float, int]] = []
    for call in sorted(calls, key=lambda c: c.began):
        before = max((length for ended, length in lengths if ended <= call.began), default=0)
        lengths.append((call.ended, before + 1))
    return max((length for _, length in lengths), default=0)


class Handler(BaseHTTPRequestHandler):
    """Logs nothing."""

    protocol_version = "HTTP/1.1"

    def say(self, kind: str, text: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, format: str, *args: Any) -> None:
        pass


class _Handler(Handler):
    def __init__(self, owner: ChatServer, *request: Any) -> None:
        self.owner = owner
        super().__init__(*request)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        content, call = self.owner.reply(body)
        usage = {"prompt_tokens": call.given, "completion_tokens": call.made, "total_tokens": call.given + call.made}
        head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": body["model"]}
        choice = {"index": 0, "delta": {"role": "assistant", "content": content}, "finish_reason": "stop"}
        events = [{**head, "choices": [choice]}, {**head, "choices": [], "usage": usage}]
        data = "".join(f"data: {json.dumps(e)}\n\n" for e in events) + "data: [DONE]\n\n"
        self.say("text/event-stream", data)

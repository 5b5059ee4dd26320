"""What the scripted model server says and hears: its replies in the shapes of OpenAI's and vLLM's interfaces, and
of vendors that have their own."""

import json
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Body = dict[str, Any]
Logprobs = Mapping[str, float]


@dataclass(frozen=True)
class Reply:
    """An answer. content: a string, JSON, or None; with `top_logprobs` it may be left out.

    delay: seconds before the answer. drip: seconds between its parts. cut: half of it, then the connection is closed
    (with raw=b"" before anything was said). hang: never an answer; with `cut` none after half of it. raw: the body.
    usage: tokens given and made. top_logprobs: of the first token, or of each of several. message: more of its fields.
    """

    content: "str | dict[str, Any] | list[Any] | None" = ""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    drip: float = 0.0
    cut: bool = False
    hang: bool = False
    raw: bytes | None = None
    usage: tuple[int, int] | None = None
    top_logprobs: Logprobs | Sequence[Logprobs] | None = None
    finish_reason: str = "stop"
    message: Mapping[str, Any] = field(default_factory=dict)


Content = str | dict[str, Any] | Reply


@dataclass(frozen=True)
class Request:
    """A request as it came; `headers` have lower-case names, `at` is time.monotonic()."""

    path: str
    headers: Mapping[str, str]
    body: Any
    at: float

    @property
    def text(self) -> str:
        """All messages of a chat request, joined; of other requests the body as JSON."""
        if not isinstance(self.body, dict) or "messages" not in self.body:
            return json.dumps(self.body, ensure_ascii=False)
        return "\n".join(_content_text(message.get("content")) for message in self.body["messages"])


def word_vector(text: str, dimensions: int = 64) -> list[float]:
    """A unit vector of the text's words, so that texts with common words are near each other."""
    vector = np.zeros(dimensions)
    for word in text.lower().split() or [""]:
        vector[zlib.crc32(word.encode()) % dimensions] += 1
    return [float(x) for x in vector / np.linalg.norm(vector)]


def word_overlap(first: str, second: str) -> float:
    """The share of the words of both that are in both."""
    one, two = set(first.lower().split()), set(second.lower().split())
    return len(one & two) / max(1, len(one | two))


def _content_text(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content)
    return content or ""


def _tokens(reply: Reply) -> Sequence[Logprobs]:
    given = reply.top_logprobs or ()
    return (given,) if isinstance(given, Mapping) else given


def _said(reply: Reply) -> str | None:
    if reply.content == "" and reply.top_logprobs:
        return "".join(max(token, key=lambda t: token[t]) for token in _tokens(reply))
    if reply.content is None or isinstance(reply.content, str):
        return reply.content
    return json.dumps(reply.content, ensure_ascii=False)


def _usage(reply: Reply, body: Body) -> dict[str, int]:
    words = len(Request("", {}, body, 0.0).text.split())
    given, made = reply.usage or (words, len((_said(reply) or "").split()))
    return {"prompt_tokens": given, "completion_tokens": made, "total_tokens": given + made}


def _logprobs(reply: Reply, body: Body) -> dict[str, Any] | None:
    if not body.get("logprobs") or not reply.top_logprobs:
        return None
    content = []
    for token in _tokens(reply):
        best = sorted(token.items(), key=lambda item: -item[1])
        offered = [{"token": t, "logprob": p, "bytes": None} for t, p in best[: body.get("top_logprobs") or 0]]
        content.append({"token": best[0][0], "logprob": best[0][1], "bytes": None, "top_logprobs": offered})
    return {"content": content, "refusal": None}


def _head(body: Body, kind: str) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "object": kind, "created": 1, "model": body.get("model", "")}


def plain_parts(reply: Reply, chat: Body | None) -> list[bytes]:
    """The body of a plain reply, in one part or, where it drips or is cut, in several."""
    if reply.raw is not None:
        data = reply.raw
    elif reply.status >= 400:
        data = json.dumps({"error": {"message": _said(reply) or "scripted failure", "type": "scripted"}}).encode()
    elif chat is None:
        data = json.dumps(reply.content).encode()
    else:
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": _said(reply), **reply.message},
            "finish_reason": reply.finish_reason,
            "logprobs": _logprobs(reply, chat),
        }
        data = json.dumps(
            {**_head(chat, "chat.completion"), "choices": [choice], "usage": _usage(reply, chat)}
        ).encode()
    size = max(1, -(-len(data) // 8)) if reply.drip or reply.cut else max(1, len(data))
    return [data[i : i + size] for i in range(0, len(data), size)]


def stream_parts(reply: Reply, body: Body) -> list[bytes]:
    return [f"data: {event}\n\n".encode() for event in (*map(json.dumps, _chunks(reply, body)), "[DONE]")]


def _chunks(reply: Reply, body: Body) -> Iterator[dict[str, Any]]:
    head, logprobs = _head(body, "chat.completion.chunk"), _logprobs(reply, body)

    def chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> dict[str, Any]:
        return {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish, **more}]}

    yield chunk({"role": "assistant", "content": "", **reply.message})
    said = _said(reply) or ""
    for i in range(0, len(said), 12):
        yield chunk({"content": said[i : i + 12]}, logprobs=logprobs if i == 0 else None)
    yield chunk({}, reply.finish_reason)
    if (body.get("stream_options") or {}).get("include_usage"):
        yield {**head, "choices": [], "usage": _usage(reply, body)}


def embeddings(body: Body, embed: Callable[[str], Sequence[float]]) -> dict[str, Any]:
    texts: list[str] = body["input"]
    data = [{"object": "embedding", "index": i, "embedding": [*map(float, embed(t))]} for i, t in enumerate(texts)]
    tokens = sum(len(t.split()) for t in texts)
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return {"object": "list", "model": body.get("model", ""), "data": data, "usage": usage}


def scores(body: Body, score: Callable[[str, str], float]) -> Reply:
    both = list(zip(body["text_1"], body["text_2"], strict=True))
    data = [{"index": i, "object": "score", "score": score(a, b)} for i, (a, b) in enumerate(both)]
    tokens = sum(len(a.split()) + len(b.split()) for a, b in both)
    usage = {"prompt_tokens": tokens, "total_tokens": tokens, "completion_tokens": 0}
    return Reply({**_head(body, "list"), "data": data, "usage": usage})


PATHS = {"anthropic": "/v1/messages", "google_genai": ":streamGenerateContent", "ollama": "/api/chat"}
"""Where each vendor is asked."""


def reply_of(vendor: str, content: Any, given: int = 20, made: int = 5) -> Reply:
    """A reply of a vendor by name, in two parts of its own stream format; given, made: its tokens."""
    text, events = content if isinstance(content, str) else json.dumps(content), list[dict[str, Any]]()
    for n, part in enumerate((text[: len(text) // 2], text[len(text) // 2 :])):
        usage = {"input_tokens": given, "output_tokens": made * n}
        if vendor == "anthropic":
            begun = {"id": "1", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": usage}
            text_block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": part}
            events += [] if n else [{"type": "message_start", "message": begun}]
            events += [] if n else [{"type": "content_block_start", "index": 0, "content_block": text_block}]
            events += [{"type": "content_block_delta", "index": 0, "delta": delta}]
            events += [{"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage}] * n
        elif vendor == "google_genai":  # each part counts all that has come so far
            said = {"content": {"role": "model", "parts": [{"text": part}]}, **({"finishReason": "STOP"} if n else {})}
            counts = {"promptTokenCount": given, "candidatesTokenCount": made * n}
            events += [{"candidates": [said], "usageMetadata": counts}]
        else:
            ended = {"prompt_eval_count": given, "eval_count": made, "done_reason": "stop"} if n else {}
            events += [{"model": "m", "message": {"role": "assistant", "content": part}, "done": bool(n), **ended}]
    kind, lines = "text/event-stream", [json.dumps(event) for event in events]
    if vendor == "ollama":
        return Reply(raw="\n".join(lines).encode(), headers={"Content-Type": "application/x-ndjson"})
    heads = [f"event: {event['type']}\n" if "type" in event else "" for event in events]
    stream = "".join(f"{head}data: {line}\n\n" for head, line in zip(heads, lines, strict=True))
    return Reply(raw=stream.encode(), headers={"Content-Type": kind})

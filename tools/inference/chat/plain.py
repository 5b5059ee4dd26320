"""Replies that come plain where a stream was asked for: read as one, or told for what they are."""

import json
import re
from typing import TYPE_CHECKING, Any

from tools.errors import ProviderDownError

if TYPE_CHECKING:
    import httpx

_STREAMS = ("event-stream", "ndjson", "jsonl", "x-json-stream")
_BEGINNINGS = (b"data:", b"event:", b"id:", b":", b"{")
"""Of what is a stream although its header does not say so."""
_TITLE = re.compile(rb"<(title|h1)[^>]*>(.*?)</\1>", re.DOTALL | re.IGNORECASE)


def told_apart(inner: "httpx.AsyncBaseTransport") -> "httpx.AsyncBaseTransport":
    """The transport of a chat model's client: a reply of status 200 that is an error becomes a refusal, a whole
    completion becomes the stream that was asked for, and a web page is told as one.

    Raises ProviderDownError for a page and other text that is no chat reply.
    """
    import httpx

    class ToldApart(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            response = await inner.handle_async_request(request)
            kind = response.headers.get("content-type", "")
            if response.status_code != 200 or request.method != "POST" or any(s in kind for s in _STREAMS):
                return response
            data = await response.aread()
            return _read_plain(data, request, response)

        async def aclose(self) -> None:
            await inner.aclose()

    return ToldApart()


def _read_plain(data: bytes, request: "httpx.Request", response: "httpx.Response") -> "httpx.Response":
    import httpx

    body = _json(data)
    if isinstance(body, dict) and body.get("choices") and isinstance(failed := body["choices"][0], dict):
        body = failed if failed.get("error") else body
    if isinstance(body, dict) and body and not _is_reply(body):
        error = body.get("error")
        if isinstance(error, str) and "unexpected endpoint" in error.lower():  # LM Studio's 404
            return httpx.Response(404, stream=httpx.ByteStream(data), request=request)
        code = (error if isinstance(error, dict) else body).get("code")
        status = code if isinstance(code, int) and 400 <= code < 600 else 400
        return httpx.Response(status, stream=httpx.ByteStream(data), request=request)
    if isinstance(body, dict) and body.get("choices") and b'"stream":true' in request.content.replace(b" ", b""):
        stream = httpx.ByteStream(_as_stream(body))
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, stream=stream, request=request)
    begin = data.lstrip()
    if body is None and begin[:1].isascii() and begin and not begin.startswith(_BEGINNINGS):
        title = _TITLE.search(data[:20_000])
        shown = " ".join((title[2] if title else data[:120]).decode("utf-8", "replace").split())[:120]
        what = "a web page" if begin.startswith(b"<") else "text"
        raise ProviderDownError(
            f"answered with {what} ('{shown}') instead of a chat reply. Check the address: most servers' ends in /v1."
        )
    return httpx.Response(200, headers=response.headers, stream=httpx.ByteStream(data), request=request)


def _is_reply(body: dict[str, Any]) -> bool:
    """Whether it is a whole reply of one of the vendors; Ollama's has its message in an object."""
    return bool(body.keys() & {"choices", "candidates", "content"}) or isinstance(body.get("message"), dict)


def _json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _as_stream(body: dict[str, Any]) -> bytes:
    """The events of a stream that say what a whole completion says."""
    choices = [
        {"index": n, "delta": choice.get("message") or {}, "finish_reason": choice.get("finish_reason")}
        for n, choice in enumerate(body["choices"])
    ]
    chunk = {**body, "object": "chat.completion.chunk", "choices": choices}
    return f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n".encode()

"""What stands between the clients of chat models and the project's own HTTP client, whose retries, limits and headers
are then the only ones: LangChain's client of OpenAI-compatible servers with what these add, the transport that a
vendor's client is given, and replies that come plain where a stream was asked for."""

import json
import re
from collections.abc import AsyncIterator
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

from tools.errors import ProviderDownError
from tools.models.chat.replies import read_json

if TYPE_CHECKING:
    import httpx


_OWN_HEADERS = (b"accept-encoding", b"user-agent", b"host", b"content-length", b"transfer-encoding")


def client_transport(client: "httpx.AsyncClient", library: ModuleType) -> Any:
    """A transport for clients of `library` (httpx, or httpx2 which is its fork) that hands each request to `client`.

    What fails on the way is raised as `client` raises it. Closing the transport leaves `client` open.
    """

    class Body(library.AsyncByteStream):  # type: ignore[misc, name-defined]  # the library is only known here
        def __init__(self, response: "httpx.Response") -> None:
            self._response = response

        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for part in self._response.aiter_raw():
                yield part

        async def aclose(self) -> None:
            await self._response.aclose()

    class Through(library.AsyncBaseTransport):  # type: ignore[misc, name-defined]
        async def handle_async_request(self, request: Any) -> Any:
            headers = [(name, value) for name, value in request.headers.raw if name.lower() not in _OWN_HEADERS]
            sent = client.build_request(
                request.method, str(request.url), headers=headers, content=await request.aread() or None
            )
            sent.extensions = request.extensions  # one and the same: what is marked on one request is on both
            response = await client.send(sent, stream=True)
            return library.Response(response.status_code, headers=response.headers.raw, stream=Body(response))

    return Through()


MARK = "x-stainless-raw-response"
"""The header of OpenAI's client that is not for the server."""


@cache
def compatible_class() -> Any:
    """LangChain's client of OpenAI, which leaves out of a stream the reasoning and the refusal that stand beside the
    text, and errors in the middle of it."""
    import openai
    from langchain_openai import ChatOpenAI

    class Compatible(ChatOpenAI):
        def _convert_chunk_to_generation_chunk(self, chunk: dict[str, Any], *args: Any) -> Any:
            if chunk.get("object") == "error":
                raise openai.APIError(str(chunk.get("message")), cast("Any", None), body=chunk)
            made = super()._convert_chunk_to_generation_chunk(chunk, *args)
            choices = chunk.get("choices") or [{}]
            return _with_reasoning(made, choices[0].get("delta"))

        def _create_chat_result(self, response: Any, generation_info: dict[str, Any] | None = None) -> Any:
            made = super()._create_chat_result(response, generation_info)
            body = response if isinstance(response, dict) else response.model_dump()
            _with_reasoning(made.generations[0], body["choices"][0].get("message"))
            return made

    return Compatible


def _with_reasoning(made: Any, said: Any) -> Any:
    """The part of a reply with the reasoning and the refusal that its message holds."""
    for name, kept in (
        ("reasoning_content", "reasoning_content"),
        ("reasoning", "reasoning_content"),
        ("refusal", "refusal"),
    ):
        if made is not None and said and isinstance(said.get(name), str) and said[name]:
            made.message.additional_kwargs[kept] = said[name]
    return made


async def restore_marker(response: "httpx.Response") -> None:
    """Gives OpenAI's client back the header by which it knows how it wanted the reply."""
    if response.request.extensions.get(MARK):
        response.request.headers[MARK] = "true"


_STREAMS = ("event-stream", "ndjson", "jsonl", "x-json-stream")
_BEGINNINGS = (b"data:", b"event:", b"id:", b":", b"{")
"""Of what is a stream although its header does not say so."""
_TITLE = re.compile(rb"<(title|h1)[^>]*>(.*?)</\1>", re.DOTALL | re.IGNORECASE)


def refusal_transport(inner: "httpx.AsyncBaseTransport") -> "httpx.AsyncBaseTransport":
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

    body = read_json(data)
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


def _as_stream(body: dict[str, Any]) -> bytes:
    """The events of a stream that say what a whole completion says."""
    choices = [
        {"index": n, "delta": choice.get("message") or {}, "finish_reason": choice.get("finish_reason")}
        for n, choice in enumerate(body["choices"])
    ]
    chunk = {**body, "object": "chat.completion.chunk", "choices": choices}
    return f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n".encode()

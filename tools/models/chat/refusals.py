"""Parses refusals of chat servers in the same way for all vendors' clients.

The clients raise different errors. The refusal is in an error's status, text or cause. Some servers refuse with status
200, or answer a request for a stream with one JSON object. `refusal_transport` converts both cases to a refusal with
status 400.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from tools.errors import ProviderDownError, ProviderReplyError
from tools.models.chat.reply import read_json
from tools.net.retries import causes_of, had_response

if TYPE_CHECKING:
    import httpx

E = TypeVar("E", bound=BaseException)
_TOO_LONG = re.compile(
    r"""context[ _-]?(length|window|size|limit) | n_ctx | n_keep | context\ the\ overflows
    | (prompt|input|sequence|model)\ length | (is|are|was|were)\ too\ long
    | (prompt|inputs?|request|messages?|contents?|entity|body)\ (\(\d+\ tokens\)\ )?(is\ |are\ )?too\ (long|large)
    | longer\ than\ the\ model | too\ large\ for\ model | too\ many\ (input\ )?tokens
    | above\ max\ length | reduce\ (the|your)\ (length|prompt|input)
    | number\ of\ tokens | tokens?\ (count|limit)\b | max(imum)?\ tokens | inputs?`?\ tokens | size\ exceeds
    | (less\ than|at\ most|exceeds?|limit\ of)\ [\d,]+\ (tokens|characters) | at\ least\ 1,\ got\ - | 超长 | 长度超""",
    re.IGNORECASE | re.VERBOSE,
)
_NO_LENGTH = re.compile(r"schema|response_format|quota|monthly|per (?:minute|day|month)", re.IGNORECASE)
_MESSAGE_KEYS = ("error", "errors", "message", "detail", "details", "msg", "loc", "raw", "reason")
_EMPTY_CODES = ("None", "null", "")
_MOST_CHARACTERS = 600  # most characters shown of a refusal; the rest may repeat the prompt


@dataclass(frozen=True, slots=True)
class Refusal:
    """A server's refusal. code, param: the server's own error code and field name, else empty. words: the refusal's
    whole text."""

    status: int
    code: str = ""
    param: str = ""
    words: str = ""


def is_too_long(refusal: Refusal) -> bool:
    """Whether the prompt exceeds the model's context, by the refusal's status, code or words."""
    if refusal.status in (401, 403, 404):
        return False
    if refusal.status == 429:  # one request with too many tokens, not too many per minute
        return "request too large" in refusal.words.lower()
    return refusal.status == 413 or is_about_length(f"{refusal.code.replace('_', ' ')} {refusal.words}")


def is_about_length(said: str) -> bool:
    """Whether the words are about a text's length."""
    return bool(_TOO_LONG.search(said[:_MOST_CHARACTERS])) and not _NO_LENGTH.search(said[:_MOST_CHARACTERS])


def refusal_of(exc: BaseException) -> Refusal | None:
    """The refusal that caused an error; None without a refusal. For an error inside a stream the status is the error's
    numeric code, or 0 without a numeric code."""
    status, bodies = status_of(exc), list(filter(None, map(_body, causes_of(exc))))
    inners = [error if isinstance(error := body.get("error"), dict) else body for body in bodies]
    named = [str(inner[k]) for inner in inners for k in ("code", "type", "status") if inner.get(k)]
    if status is None:
        if not bodies:
            return None
        status = next((int(n) for n in named if n.isdigit() and 400 <= int(n) < 600), 0)
    # A numeric code only repeats the status. Some vendors have a type instead of a code.
    code = next((n for n in named if not n.isdigit() and n not in _EMPTY_CODES), "")
    params = (p for inner in inners if isinstance(p := inner.get("param"), str) and p not in _EMPTY_CODES)
    param = next(params, "")
    words = " ".join(dict.fromkeys(w for body in bodies for w in _messages_in(body))) or str(exc)
    return Refusal(status, code, param, "" if words.lstrip().startswith("<") else words[:_MOST_CHARACTERS])


def _body(exc: BaseException) -> dict[str, Any] | None:
    """The refusal as a JSON object. Vendors use different attributes, and some use lists or strings."""
    for name in ("body", "details", "error"):
        body = getattr(exc, name, None)
        body = body[0] if isinstance(body, list) and len(body) == 1 else body
        if isinstance(body, dict):
            return body
        if isinstance(body, str) and body:
            return {"error": body}
    return None


def _messages_in(body: Any) -> Iterator[str]:
    """The messages in a refusal, without echoed parts of request or reply."""
    if isinstance(body, str):
        yield body
    elif isinstance(body, list | tuple):
        for part in body:
            yield from _messages_in(part)
    elif isinstance(body, dict):
        for key in _MESSAGE_KEYS:
            yield from _messages_in(body.get(key))


def status_of(exc: BaseException) -> int | None:
    """The HTTP status of the refusal that caused an error; None without a refusal."""
    found = (getattr(one, name, None) for one in causes_of(exc) for name in ("status_code", "code"))
    return next((status for status in found if isinstance(status, int) and 300 <= status < 600), None)


def cause_of_kind(exc: BaseException, *kinds: type[E]) -> E | None:
    """The error itself, or the first of its causes, that has one of these classes."""
    return next((one for one in causes_of(exc) if isinstance(one, kinds)), None)


def reply_had_begun(exc: BaseException) -> bool:
    """Whether the server had started a reply. Then the server may charge for the reply's tokens."""
    import httpx

    failure = cause_of_kind(exc, httpx.HTTPError, httpx.InvalidURL)
    return status_of(exc) is None and (failure is None or had_response(failure))


def is_about_content(refusal: Refusal) -> bool:
    """Whether the server refused the request for its content."""
    return bool(re.search(r"moderation|content|guideline|flagged", refusal.words, re.IGNORECASE))


class AnswerRefusedError(ProviderReplyError):
    """The model gives no answer, and a retry would not change that."""


_STREAMS = ("event-stream", "ndjson", "jsonl", "x-json-stream")
_BEGINNINGS = (b"data:", b"event:", b"id:", b":", b"{")
"""The first bytes of a stream, for streams whose header has another content type."""
_REPLY_KEYS = {"choices", "candidates", "content"}
_TITLE = re.compile(rb"<(title|h1)[^>]*>(.*?)</\1>", re.DOTALL | re.IGNORECASE)


def refusal_transport(
    inner: "httpx.AsyncBaseTransport", prepare: "Callable[[httpx.Request], None]"
) -> "httpx.AsyncBaseTransport":
    """The transport of a chat model's client. It converts two kinds of responses to refusals: errors with status 200,
    and whole completions where a stream was requested.

    prepare: changes each request before it is sent. Raises ProviderDownError for web pages and other text.
    """
    import httpx

    class RefusalTransport(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            own = request.headers.copy()
            prepare(request)
            try:
                response = await inner.handle_async_request(request)
            finally:
                request.headers = own  # OpenAI's client reads its own headers again
            kind = response.headers.get("content-type", "")
            if response.status_code != 200 or request.method != "POST" or any(s in kind for s in _STREAMS):
                return response
            data = await response.aread()
            return _as_chat_response(data, request, response)

        async def aclose(self) -> None:
            await inner.aclose()

    return RefusalTransport()


def _as_chat_response(data: bytes, request: "httpx.Request", response: "httpx.Response") -> "httpx.Response":
    import httpx

    body = read_json(data)
    if isinstance(body, dict) and body.get("choices") and isinstance(failed := body["choices"][0], dict):
        body = failed if failed.get("error") else body
    is_reply = isinstance(body, dict) and (body.keys() & _REPLY_KEYS or isinstance(body.get("message"), dict))
    if isinstance(body, dict) and body and not is_reply:
        code = (error if isinstance(error := body.get("error"), dict) else body).get("code")
        status = code if isinstance(code, int) and 400 <= code < 600 else 400
        return httpx.Response(status, stream=httpx.ByteStream(data), request=request)
    if isinstance(body, dict) and body.get("choices") and b'"stream":true' in request.content.replace(b" ", b""):
        unable = {"error": {"message": "It does not stream.", "param": "stream"}}
        return httpx.Response(400, json=unable, request=request)
    begin = data.lstrip()
    if body is None and begin[:1].isascii() and begin and not begin.startswith(_BEGINNINGS):
        title = _TITLE.search(data[:20_000])
        shown = " ".join((title[2] if title else data[:120]).decode("utf-8", "replace").split())[:120]
        what = "a web page" if begin.startswith(b"<") else "text"
        raise ProviderDownError(
            f"answered with {what} ('{shown}') instead of a chat reply. Check the address: most servers' ends in /v1."
        )
    return httpx.Response(200, headers=response.headers, stream=httpx.ByteStream(data), request=request)

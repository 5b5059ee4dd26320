"""Servers of judges and encoders, asked by OpenAI's client over the house's transport: its retries, limits and way out
are the only ones, it follows no redirect, and nothing is sent but the key and the body."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tools.errors import ProviderDownError, ProviderReplyError
from tools.inference.chat.refusals import connection_failure, own_error
from tools.net.causes import cause
from tools.net.http import check_address, check_key, open_client, status_error, strip_headers, without_key

if TYPE_CHECKING:
    import httpx
    from openai import AsyncOpenAI

_NO_KEY = "none"  # the client wants one


@asynccontextmanager
async def open_served(url: str, key: str, seconds: float) -> "AsyncIterator[AsyncOpenAI]":
    """A client of the server at the address; it belongs to an event loop. seconds: the longest silence of the server.

    Raises ProviderDownError for an address or a key that can be none.
    """
    check_address(url)
    check_key(key)
    import openai

    login = key or "@" in urlsplit(url).netloc

    async def bare(request: "httpx.Request") -> None:
        strip_headers(request, {"authorization"} if login else set())

    async with open_client(seconds=seconds) as http:
        http.event_hooks = {"request": [bare]}
        # Its type says httpx2, which is a fork of httpx; it takes the clients of both.
        given: Any = http
        yield openai.AsyncOpenAI(base_url=url, api_key=key or _NO_KEY, http_client=given, max_retries=0)


async def post(client: "AsyncOpenAI", url: str, body: dict[str, Any], name: str) -> Any:
    """The JSON of one call to the server called `name`.

    Raises RefusedError for a refusal, ProviderDownError where it cannot be reached, ProviderReplyError for what is no
    JSON or too much, DeadlineError.
    """
    import httpx
    import openai

    try:
        response: httpx.Response = await client.post(url, body=body, cast_to=httpx.Response)
        return json.loads(response.content)
    except openai.APIStatusError as exc:
        said = without_key(exc.response.text, {"authorization": client.api_key})
        refusal = RefusedError(str(status_error(name, exc.status_code, said)))
        refusal.status, refusal.said = exc.status_code, " ".join(said.split())[:200]
        raise refusal from exc
    except openai.OpenAIError as exc:
        failure: Exception = connection_failure(exc) or exc
        own = own_error(exc)
    except (ValueError, RecursionError) as exc:
        raise ProviderReplyError(f"{name} answered with something that is no JSON.") from exc
    if own:  # outside of what was caught, which came from it
        raise own
    if isinstance(failure, httpx.TimeoutException):
        raise ProviderDownError(f"{name} did not answer in time.") from failure
    raise ProviderDownError(f"{name} cannot be reached ({cause(failure, url)}).") from failure


class RefusedError(ProviderDownError):
    """A refusal, in words that say what to do. said: the server's own."""

    said = ""

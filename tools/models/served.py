"""Models behind an address that are asked by OpenAI's client: judges and encoders."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from tools.budget import current_budget
from tools.errors import ProviderDownError, ProviderReplyError
from tools.models.chat.servers import Price, cost_of
from tools.net.http import check_address, check_key, is_local, open_client, reply_json, strip_headers

if TYPE_CHECKING:
    import httpx
    from openai import AsyncOpenAI

_COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens")


class ModelEndpoint:
    """A model at an address, asked by OpenAI's client over the project's own transport, whose retries and limits are
    the only ones; nothing is sent but the key and the body."""

    def __init__(self, url: str, model: str, key: str, seconds: float, price: Price | None = None) -> None:
        """seconds: the longest silence of the server. price: of the model's tokens; one on this machine costs nothing.
        Raises ProviderDownError for what is no address."""
        check_address(url)
        self.address = url.rstrip("/")
        self.model = model
        self.server = f"{model} at {urlsplit(self.address).netloc.rpartition('@')[2] or self.address}"
        self._key = key
        self._seconds = seconds
        self._price: Price | None = (0.0, 0.0) if is_local(url) else price

    @asynccontextmanager
    async def opened(self) -> "AsyncIterator[AsyncOpenAI]":
        """A client of the server, which belongs to an event loop.

        Raises ProviderDownError for a key that can be none, and for an address elsewhere in an offline run.
        """
        if current_budget().offline and not is_local(self.address):
            raise ProviderDownError(
                f"{self.server} is not asked: nothing may leave this machine, and the run stays offline."
            )
        import openai

        login = {"authorization"} if self._key or "@" in urlsplit(self.address).netloc else set()

        async def bare(request: "httpx.Request") -> None:
            strip_headers(request, login)

        check_key(self._key)
        async with open_client(seconds=self._seconds) as http:
            http.event_hooks = {"request": [bare]}
            # Its type says httpx2, which is a fork of httpx; it takes the clients of both.
            given: Any = http
            yield openai.AsyncOpenAI(
                base_url=self.address, api_key=self._key or "none", http_client=given, max_retries=0
            )

    async def post(self, client: "AsyncOpenAI", url: str, body: dict[str, Any]) -> dict[str, Any]:
        """The JSON object of one call, which is counted; a server that does not count leaves an estimate of about four
        characters a token. Raises ProviderDownError, ProviderReplyError, BudgetError."""
        import httpx
        import openai

        async def send() -> "httpx.Response":
            """What the client makes of a failure is undone: it is told alike for all servers."""
            try:
                reply: Any = await client.post(url, body=body, cast_to=httpx.Response)
                return cast("httpx.Response", reply)
            except openai.APIStatusError as exc:
                return cast("httpx.Response", exc.response)
            except openai.APIConnectionError as exc:
                failure = exc.__cause__ or exc
            raise failure  # outside of what was caught, which came from it

        budget = current_budget()
        budget.begin_call()
        reply = await reply_json(send(), url, name=self.server, sent=[{"authorization": self._key}])
        if not isinstance(reply, dict):
            raise ProviderReplyError(f"{self.server} answered with JSON of another kind than was asked for.")
        usage = reply.get("usage")
        counts = [usage.get(k) if isinstance(usage, dict) else None for k in _COUNTS]
        given, made, total = (c if isinstance(c, int) and 0 <= c < 10**9 else 0 for c in counts)
        given = given or total or len(str(body)) // 4
        budget.add_tokens(given, made, cost_of(self._price, given, made))
        return reply

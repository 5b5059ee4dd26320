"""Models behind an OpenAI-compatible address that are no chat models: judges and encoders."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tools.budget import current_budget
from tools.errors import ProviderDownError, ProviderReplyError
from tools.models.chat.servers import Price, cost_of
from tools.net.http import check_address, fetch_json, is_local, open_client

if TYPE_CHECKING:
    import httpx

_COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens")


class Served:
    """A model at an address; nothing is sent but the key and the body."""

    def __init__(self, url: str, model: str, key: str, seconds: float, price: Price | None = None) -> None:
        """seconds: the longest silence of the server. price: of the model's tokens; one on this machine costs nothing.
        Raises ProviderDownError for what is no address."""
        check_address(url)
        self.address = url.rstrip("/")
        self.model = model
        self.server = f"{model} at {urlsplit(self.address).netloc.rpartition('@')[2] or self.address}"
        self._headers = {"authorization": f"Bearer {key}"} if key else {}
        self._seconds = seconds
        self._price: Price | None = (0.0, 0.0) if is_local(url) else price

    @asynccontextmanager
    async def opened(self) -> "AsyncIterator[httpx.AsyncClient]":
        """A client of the server, which belongs to an event loop.

        Raises ProviderDownError for a key that can be none, and for an address elsewhere in an offline run.
        """
        if current_budget().offline and not is_local(self.address):
            raise ProviderDownError(
                f"{self.server} is not asked: nothing may leave this machine, and the run stays offline."
            )
        async with open_client(self._headers, self._seconds) as client:
            yield client

    async def post(self, client: "httpx.AsyncClient", url: str, body: dict[str, Any]) -> dict[str, Any]:
        """The JSON object of one call, which is counted; a server that does not count leaves an estimate of about four
        characters a token. Raises ProviderDownError, ProviderReplyError, BudgetError."""
        budget = current_budget()
        budget.begin_call()
        reply = await fetch_json(client, "POST", url, name=self.server, body=body)
        if not isinstance(reply, dict):
            raise ProviderReplyError(f"{self.server} answered with JSON of another kind than was asked for.")
        usage = reply.get("usage")
        counts = [usage.get(k) if isinstance(usage, dict) else None for k in _COUNTS]
        given, made, total = (c if isinstance(c, int) and 0 <= c < 10**9 else 0 for c in counts)
        given = given or total or len(str(body)) // 4
        budget.add_tokens(given, made, cost_of(self._price, given, made))
        return reply

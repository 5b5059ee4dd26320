"""Search engines that are asked for one page of results after the other."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from tools.errors import ProviderReplyError
from tools.net.http import fetch_json, open_client
from tools.web.engines import WebResult, begin_call, gather_pages, with_sites, within


class PagedEngine(ABC):
    """What these engines share; satisfies `SearchEngine`. title: what people call the engine."""

    name: str
    title: str
    longest_query = 500
    most_results = 100
    patience = 3.0
    """Times the longest silence of the server that a page may take in all."""

    def __init__(self, address: str, seconds: float, headers: dict[str, str] | None = None) -> None:
        """seconds: the longest silence of the server. headers: sent with every request."""
        self.address = address.rstrip("/")
        self._seconds = seconds
        self._headers = headers

    async def search(self, query: str, limit: int, domains: Sequence[str] = ()) -> list[WebResult]:
        text = with_sites(query, domains, self.longest_query)
        async with self._client() as client:

            async def ask(page: int) -> list[WebResult]:
                begin_call(self.title, self.address)
                async with within(self.title, self.patience * self._seconds):
                    return await self._page(client, text, page)

            return await gather_pages(self.title, ask, max(1, min(limit, self.most_results)), domains)

    @abstractmethod
    async def _page(self, client: Any, query: str, page: int) -> list[WebResult]:
        """The results of a page, counted from 1."""

    def _client(self) -> AbstractAsyncContextManager[Any]:
        """What all pages of a search are asked over."""
        return open_client(self._headers, self._seconds)

    async def _fetch(self, client: Any, method: str, path: str, body: Any = None) -> dict[str, Any]:
        """The JSON object that the engine answers with. Raises ProviderDownError, ProviderReplyError."""
        reply = await fetch_json(client, method, f"{self.address}{path}", name=self.title, body=body)
        if not isinstance(reply, dict):
            raise ProviderReplyError(f"{self.title} answered with something that is not its JSON.")
        return reply

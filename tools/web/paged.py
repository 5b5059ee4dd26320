"""Search engines that are asked for one page of results after the other: Serper, and a SearXNG of one's own."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any
from urllib.parse import urlencode

from tools.errors import ProviderDownError, ProviderReplyError
from tools.net.http import fetch_json, open_client
from tools.web.engines import (
    PAGE,
    WebResult,
    begin_call,
    checked_key,
    gather_pages,
    read_results,
    with_sites,
    within,
)

_JSON_IS_OFF = "It answers no program until its settings.yml lists json under search: formats."


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


class Serper(PagedEngine):
    """Google's results by Serper (serper.dev), a call for every ten.

    Google gives ten results a page whatever `num` says (since September 2025), and at most a hundred or so in all.
    seconds: the longest silence of the server, three times that for a page in all.
    """

    name = "serper"
    title = "Serper"

    def __init__(self, key: str, address: str = "https://google.serper.dev", seconds: float = 20.0) -> None:
        super().__init__(address, seconds, {"X-API-KEY": checked_key("Serper", key)})

    async def _page(self, client: Any, query: str, page: int) -> list[WebResult]:
        reply = await self._fetch(client, "POST", "/search", {"q": query, "num": PAGE, "page": page})
        found = reply.get("organic", [] if "searchParameters" in reply else None)
        return read_results("Serper", found, url="link", title="title", snippet="snippet", date="date")


class SearXng(PagedEngine):
    """A SearXNG (docs.searxng.org), which asks other engines and needs no key; a call a page.

    seconds: the longest silence of the server, three times that for a page in all.
    """

    name = "searxng"
    title = "SearXNG"

    def __init__(self, address: str, seconds: float = 20.0) -> None:
        super().__init__(address, seconds)

    async def _page(self, client: Any, query: str, page: int) -> list[WebResult]:
        asked = urlencode({"q": query, "format": "json", "pageno": page, "categories": "general"})
        try:
            reply = await self._fetch(client, "GET", f"/search?{asked}")
        except ProviderDownError as exc:
            if "status 403" not in str(exc):
                raise
            raise ProviderDownError(f"SearXNG refused the request (status 403). {_JSON_IS_OFF}") from exc
        found = reply.get("results")
        return read_results("SearXNG", found, url="url", title="title", snippet="content", date="publishedDate")

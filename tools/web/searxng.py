"""Web search by a SearXNG of one's own (docs.searxng.org), which asks other engines and needs no key."""

from typing import Any
from urllib.parse import urlencode

from tools.errors import ProviderDownError
from tools.web.engines import WebResult, read_results
from tools.web.paged import PagedEngine

_JSON_IS_OFF = "It answers no program until its settings.yml lists json under search: formats."


class SearXng(PagedEngine):
    """A call a page of results. seconds: the longest silence of the server, three times that for a page in all."""

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

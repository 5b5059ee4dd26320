"""Web search by a SearXNG of one's own (docs.searxng.org), which asks other engines and needs no key."""

from collections.abc import Sequence
from urllib.parse import urlencode

from tools.errors import ProviderDownError, ProviderReplyError
from tools.net.http import fetch_json, open_client
from tools.web.engines import WebResult, begin_call, gather_pages, read_results, with_sites, within

_JSON_IS_OFF = "It answers no program until its settings.yml lists json under search: formats."


class SearXng:
    """A call a page of results. seconds: the longest silence of the server, three times that for a page in all."""

    name = "searxng"
    longest_query = 500
    most_results = 100

    def __init__(self, address: str, seconds: float = 20.0) -> None:
        self.address = address.rstrip("/")
        self._seconds = seconds

    async def search(self, query: str, limit: int, domains: Sequence[str] = ()) -> list[WebResult]:
        limit = max(1, min(limit, self.most_results))
        text = with_sites(query, domains, self.longest_query)

        async def ask(page: int) -> list[WebResult]:
            begin_call("SearXNG", self.address)
            asked = urlencode({"q": text, "format": "json", "pageno": page, "categories": "general"})
            async with within("SearXNG", 3 * self._seconds):
                try:
                    reply = await fetch_json(client, "GET", f"{self.address}/search?{asked}", name="SearXNG")
                except ProviderDownError as exc:
                    if "status 403" not in str(exc):
                        raise
                    raise ProviderDownError(f"SearXNG refused the request (status 403). {_JSON_IS_OFF}") from exc
            if not isinstance(reply, dict):
                raise ProviderReplyError("SearXNG answered with something that is not its JSON.")
            found = reply.get("results")
            return read_results("SearXNG", found, url="url", title="title", snippet="content", date="publishedDate")

        async with open_client(seconds=self._seconds) as client:
            return await gather_pages("SearXNG", ask, limit, domains)

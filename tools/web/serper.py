"""Web search by Serper (serper.dev), which asks Google."""

from typing import Any

from tools.web.engines import PAGE, WebResult, checked_key, read_results
from tools.web.paged import PagedEngine


class Serper(PagedEngine):
    """Google's results by Serper, a call for every ten.

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

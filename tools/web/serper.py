"""Web search by Serper (serper.dev), which asks Google."""

from collections.abc import Sequence

from tools.errors import ProviderReplyError
from tools.net.http import fetch_json, open_client
from tools.web.engines import PAGE, WebResult, begin_call, gather_pages, read_results, usable_key, with_sites, within


class Serper:
    """Google's results by Serper, a call for every ten.

    Google gives ten results a page whatever `num` says (since September 2025), and at most a hundred or so in all.
    seconds: the longest silence of the server, three times that for a page in all.
    """

    name = "serper"
    longest_query = 500
    most_results = 100

    def __init__(self, key: str, address: str = "https://google.serper.dev", seconds: float = 20.0) -> None:
        self.address = address.rstrip("/")
        self._key = usable_key("Serper", key)
        self._seconds = seconds

    async def search(self, query: str, limit: int, domains: Sequence[str] = ()) -> list[WebResult]:
        limit = max(1, min(limit, self.most_results))
        text = with_sites(query, domains, self.longest_query)

        async def ask(page: int) -> list[WebResult]:
            begin_call("Serper", self.address)
            body = {"q": text, "num": PAGE, "page": page}
            async with within("Serper", 3 * self._seconds):
                reply = await fetch_json(client, "POST", f"{self.address}/search", name="Serper", body=body)
            if not isinstance(reply, dict):
                raise ProviderReplyError("Serper answered with something that is not its JSON.")
            found = reply.get("organic", [] if "searchParameters" in reply else None)
            return read_results("Serper", found, url="link", title="title", snippet="snippet", date="date")

        async with open_client({"X-API-KEY": self._key}, self._seconds) as client:
            return await gather_pages("Serper", ask, limit, domains)

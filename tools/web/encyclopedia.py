"""Wikipedia: its search, and the beginning of each article as plain text."""

from collections.abc import Mapping
from typing import Any, ClassVar

from tools.web.keyword_source import KeywordSource, Wanted, dig, objects


class Wikipedia(KeywordSource):
    """Wikipedia, in English unless the address is another one's. All words must occur. One request searches (`list`)
    and reads the found articles' beginnings (`generator`), at most 20. A date is that of the last change."""

    name, title, kind, extent = "wikipedia", "Wikipedia", "encyclopedia", "extract"
    home, endpoint, items = "https://en.wikipedia.org", "/w/api.php", "query.search"
    longest_query, most_results = 300, 20
    pause = 0.2  # requests shall come one after the other
    fields: ClassVar = {
        "url": "page.fullurl",
        "date": "timestamp",
        "publisher": lambda _: "Wikipedia",
        "text": "page.extract",
        "open_url": "page.fullurl",
    }

    def _parameters(self, query: Wanted) -> dict[str, object]:
        search = {"list": "search", "srsearch": query.text, "srlimit": query.limit, "srprop": "snippet|timestamp"}
        pages = {"generator": "search", "gsrsearch": query.text, "gsrlimit": query.limit}
        extracts = {"prop": "extracts|info|pageprops", "exintro": 1, "explaintext": 1, "exlimit": "max"}
        more = {"inprop": "url", "ppprop": "disambiguation"}
        return {"action": "query", "format": "json", "formatversion": 2, **search, **pages, **extracts, **more}

    def _list(self, reply: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The hits, each with its page; without the pages that only list articles of one name."""
        pages = {str(page.get("pageid")): page for page in objects(dig(reply, "query.pages"))}
        hits = [hit | {"page": pages.get(str(hit.get("pageid")))} for hit in super()._list(reply)]
        return [hit for hit in hits if dig(hit, "page.pageprops.disambiguation") is None]

"""News: the index of the GDELT project, which holds three months."""

import json
import re
from typing import Any, ClassVar

import httpx

from tools.errors import ProviderReplyError
from tools.web.keyword_source import KeywordSource, Wanted, value_at
from tools.web.source import exact_domains

_MOST_DOMAINS = 4  # a query may have about 250 characters
_ESCAPE = re.compile(r'\\(["\\/bfnrtu])|\\')
_SPACED_MARK = re.compile(r" ([,.;:!?%])(?=\s|$)")


class Gdelt(KeywordSource):
    """GDELT's DOC 2.0 API. All words must occur. Only English articles are asked for: GDELT finds others by a machine's
    translation, which is no quotation. Words of one or two letters are refused. A result has no text; its date is the
    day on which GDELT saw it. A refusal is a line of text, often with status 200."""

    name, title, kind = "gdelt", "GDELT", "news"
    home, endpoint, items = "https://api.gdeltproject.org", "/api/v2/doc/doc", "articles"
    longest_query, most_results = 120, 75
    most_words, shortest_word = 5, 3
    pause = 5.0
    fields: ClassVar = {
        "title": lambda article: _SPACED_MARK.sub(r"\1", value_at(article, "title")),
        "date": lambda article: re.sub(r"(\d{4})(\d\d)(\d\d)T.*", r"\1-\2-\3", value_at(article, "seendate")),
        "publisher": "domain",
        "venue": "sourcecountry",
    }

    def _parameters(self, query: Wanted) -> dict[str, object]:
        sites = " OR ".join(f"domain:{d.removeprefix('*.')}" for d in exact_domains(query.domains)[:_MOST_DOMAINS])
        only = f" ({sites})" if " OR " in sites else f" {sites}".rstrip()
        return {
            "query": f"{query.text}{only} sourcelang:english",
            "mode": "artlist",
            "format": "json",
            "maxrecords": query.limit,
            "sort": "hybridrel",
        }

    @staticmethod
    def _parse(response: httpx.Response) -> Any:
        text = response.text.strip()
        if text and text[0] not in "{[<":
            raise ProviderReplyError(f"the server refused the query: {' '.join(text.split())[:200]}")
        # Titles hold escapes and line ends that JSON does not know.
        return json.loads(_ESCAPE.sub(lambda found: found[0] if found[1] else "", text), strict=False)

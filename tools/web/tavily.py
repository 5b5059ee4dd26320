"""Web search by Tavily (tavily.com), or by an engine that speaks its format at another address, over its own client."""

from collections.abc import Sequence
from typing import Any

from tools.errors import ProviderDownError, ProviderReplyError
from tools.net.causes import cause
from tools.net.http import open_client, status_error
from tools.web.engines import WebResult, askable, begin_call, checked_key, cut_query, read_results, tidy, within

_MOST_DOMAINS = 300
"""What Tavily reads of `include_domains`."""
_PLAN = "The plan's limit may be used up: see app.tavily.com."


class Tavily:
    """Tavily's search; one call a search. seconds: the longest silence of the server, three times that in all."""

    name = "tavily"
    longest_query = 400
    most_results = 20

    def __init__(self, key: str, address: str = "https://api.tavily.com", seconds: float = 20.0) -> None:
        self.address = address.rstrip("/")
        self._key = checked_key("Tavily", key)
        self._seconds = seconds

    async def search(self, query: str, limit: int, domains: Sequence[str] = ()) -> list[WebResult]:
        begin_call("Tavily", self.address)
        wanted = {
            "query": cut_query(query, self.longest_query),
            "max_results": max(1, min(limit, self.most_results)),
            "include_domains": list(askable(domains)[:_MOST_DOMAINS]) or None,
            "search_depth": "basic",
            "timeout": self._seconds,
        }
        async with within("Tavily", 3 * self._seconds):
            reply = await self._ask(wanted)
        if not reply["results"] and "query" not in reply:  # the client makes up an empty list where there is none
            raise ProviderReplyError("Tavily answered with something that is not its JSON.")
        results = read_results(
            "Tavily", reply["results"], url="url", title="title", snippet="content", date="published_date"
        )
        return tidy(results, limit, domains)

    async def _ask(self, wanted: dict[str, Any]) -> dict[str, Any]:
        import httpx
        from tavily import AsyncTavilyClient
        from tavily.errors import (
            BadRequestError,
            ForbiddenError,
            InvalidAPIKeyError,
            UsageLimitExceededError,
        )
        from tavily.errors import TimeoutError as TavilyTimeoutError

        try:
            async with open_client({"Accept-Encoding": "identity"}, self._seconds) as client:
                asked = AsyncTavilyClient(self._key, api_base_url=self.address, client=client)
                return dict(await asked.search(**wanted))
        except InvalidAPIKeyError as exc:
            raise status_error("Tavily", 401) from exc
        except UsageLimitExceededError as exc:
            raise ProviderDownError(f"Tavily allows no more requests now (status 429{_reason(exc)}).") from exc
        except ForbiddenError as exc:
            raise ProviderDownError(f"Tavily refuses the request{_reason(exc)}. {_PLAN}") from exc
        except BadRequestError as exc:
            raise ProviderReplyError(f"Tavily does not accept the query{_reason(exc)}.") from exc
        except (TavilyTimeoutError, httpx.TimeoutException) as exc:
            raise ProviderDownError("Tavily did not answer in time.") from exc
        except httpx.HTTPStatusError as exc:
            raise status_error("Tavily", exc.response.status_code, exc.response.content) from exc
        except (httpx.HTTPError, httpx.InvalidURL) as exc:
            raise ProviderDownError(f"Tavily cannot be reached ({cause(exc, self.address)}).") from exc
        except (ValueError, AttributeError, TypeError, RecursionError) as exc:  # how its client meets a reply like that
            raise ProviderReplyError("Tavily answered with something that is not its JSON.") from exc


def _reason(exc: Exception) -> str:
    said = " ".join(str(exc).split())[:200].rstrip(".")
    return f": {said}" if said else ""

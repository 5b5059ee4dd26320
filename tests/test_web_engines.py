"""The search engines over real HTTP on loopback: what is sent, what comes back, and every bad day."""

from datetime import datetime
from typing import Any

import pytest
from search_servers import Found, Kind, SearchServer, Trouble

from tools.budget import Budget, StageLog, budget_scope
from tools.dates import date_of_cell, date_of_result
from tools.errors import ProviderDownError, ProviderReplyError
from tools.web.engines import DuckDuckGo, SearXng, Serper, Tavily
from tools.web.source import Source, SourceResult

KINDS: tuple[Kind, ...] = ("tavily", "serper", "duckduckgo", "searxng")
NOW = datetime(2026, 3, 15, 12, 0)


def engine(server: SearchServer, seconds: float = 5.0) -> Source:
    if server.kind == "duckduckgo":
        return DuckDuckGo(server.url, seconds)
    if server.kind == "searxng":
        return SearXng(server.url, seconds)
    return (
        Tavily("tvly-secret", server.url, seconds)
        if server.kind == "tavily"
        else Serper("sp-secret", server.url, seconds)
    )


def pages(n: int, host: str = "site.example") -> list[Found]:
    return [Found(f"https://{host}/{i}", f"Page {i}", f"Words of page {i}.") for i in range(1, n + 1)]


# --- what is sent


async def test_tavily_is_asked_with_its_parameters_and_the_key_in_the_header_only() -> None:
    with SearchServer("tavily") as server:
        server.on("bike", pages(30))
        found = await engine(server).search("bike lanes", 12, ["who.int", "*.gov"])
    request = server.requests[0]
    assert request.path == "/search"
    assert request.headers["authorization"] == "Bearer tvly-secret"
    assert request.body == {
        "query": "bike lanes",
        "max_results": 12,
        "include_domains": ["who.int", "*.gov"],
        "search_depth": "basic",
    }
    assert "tvly-secret" not in str(request.body)
    assert found == []  # the server knows no page inside those domains


async def test_serper_is_asked_page_by_page_with_the_key_in_the_header_only() -> None:
    with SearchServer("serper") as server:
        server.on("bike", pages(40))
        found = await engine(server).search("bike lanes", 25)
    assert [r.body for r in server.requests] == [{"q": "bike lanes", "num": 10, "page": p} for p in (1, 2, 3)]
    assert {r.path for r in server.requests} == {"/search"}
    assert all(r.headers["x-api-key"] == "sp-secret" for r in server.requests)
    assert [r.url for r in found] == [f"https://site.example/{i}" for i in range(1, 26)]


async def test_searxng_is_asked_for_json_page_by_page() -> None:
    with SearchServer("searxng") as server:
        server.on("bike", pages(30))
        found = await engine(server).search("bike lanes", 12, ["who.int"])
    asked = {"q": "site:who.int bike lanes", "format": "json", "categories": "general"}
    assert [r.body for r in server.requests] == [asked | {"pageno": "1"}, asked | {"pageno": "2"}]
    assert found == []  # nothing of what it gave is inside the domain
    with SearchServer("searxng") as server:
        server.on("bike", pages(30))
        assert [r.url for r in await engine(server).search("bike", 12)] == [f.url for f in pages(12)]
    assert [r.body["pageno"] for r in server.requests] == ["1", "2"]


@pytest.mark.parametrize("remote", [Tavily("k"), Serper("k"), DuckDuckGo()])
async def test_an_offline_run_asks_no_engine_on_the_internet(remote: Source) -> None:
    with budget_scope(Budget(offline=True)) as budget, pytest.raises(ProviderDownError, match="stays offline"):
        await remote.search("bike", 5)
    assert budget.calls == 0


# --- what comes back


@pytest.mark.parametrize("kind", KINDS)
async def test_results_are_pages_over_http_each_once_in_order(kind: Kind) -> None:
    odd = [
        Found("ftp://files.example/a"),
        Found("javascript:alert(1)"),
        Found("https://a.example/one?x=%26y&z=1#part", "One", "First & best."),
        Found("https://www.A.example/one?x=%26y&z=1"),
        Found("https:///nowhere"),
        Found("http://[::1/"),
        Found("https://b.example/two/", "Two"),
        Found("http://b.example/two"),
        Found("https://c.example:99999/"),
        Found("https://b.example:8080/two", ""),
    ]
    with SearchServer(kind) as server:
        server.on("bike", odd)
        found = await engine(server).search("bike", 10)
    assert found == [
        SourceResult("https://a.example/one?x=%26y&z=1", "One", "First & best."),
        SourceResult("https://b.example/two/", "Two", "What the page says."),
        SourceResult("https://b.example:8080/two", "", "What the page says."),
    ]


async def test_duckduckgo_links_lead_to_the_page_and_its_advertisements_are_dropped() -> None:
    linked = [
        Found("//duckduckgo.com/l/?uddg=https%3A%2F%2Fa.example%2Fone%3Fq%3D1%252F2&rut=abc"),
        Found("https://duckduckgo.com/y.js?ad_domain=shop.example&u3=x"),
        Found("https://duckduckgo.com/about"),
    ]
    with SearchServer("duckduckgo") as server:
        server.on("bike", linked)
        found = await engine(server).search("bike", 10)
    assert [r.url for r in found] == ["https://a.example/one?q=1%2F2"]


# --- bad days


BAD_DAYS: list[tuple[Kind, Trouble, type[Exception], str]] = [
    ("tavily", Trouble(432, '{"detail": {"error": "Plan limit."}}'), ProviderDownError, "Plan limit.*app.tavily.com"),
    ("tavily", Trouble(400, '{"detail": {"error": "Bad domain"}}'), ProviderReplyError, "does not accept .*Bad domain"),
    ("tavily", Trouble(body='{"results": [1, {"link": "https://a.example"}]}'), ProviderReplyError, "no addresses"),
    ("serper", Trouble(400, '{"message": "Not enough credits"}'), ProviderDownError, "Not enough credits"),
    ("serper", Trouble(body='{"organic": 3}'), ProviderReplyError, "without a list of results"),
    ("searxng", Trouble(403, "<h1>Forbidden</h1>"), ProviderDownError, "lists json under search: formats"),
    ("searxng", Trouble(410, "an engine says: status 403"), ProviderDownError, r"failed \(status 410: [^)]+403\)\.$"),
    ("duckduckgo", Trouble(202, "<div class='anomaly-modal'>"), ProviderDownError, "no program now .*TAVILY_API_KEY"),
    ("duckduckgo", Trouble(body="<p>Welcome to our hotel's network"), ProviderReplyError, "unexpected page"),
]


@pytest.mark.parametrize(("kind", "trouble", "error", "says"), BAD_DAYS)
async def test_a_bad_day_is_told_in_words(kind: Kind, trouble: Trouble, error: type[Exception], says: str) -> None:
    with SearchServer(kind) as server:
        server.on("bike", trouble)
        with pytest.raises(error, match=says) as caught:
            await engine(server).search("bike", 5)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("kind", ["serper", "duckduckgo"])
async def test_a_later_page_that_fails_keeps_the_first(kind: Kind) -> None:
    with SearchServer(kind) as server, budget_scope(Budget(), log := StageLog()):
        server.on("bike", pages(40), Trouble(403))
        assert len(await engine(server).search("bike", 20)) == 10
    assert "only the first 10 results" in log.notes[0][1]


# --- the parts


@pytest.mark.parametrize(
    ("written", "iso"),
    [
        ("Mar 12, 2026", "2026-03-12"),
        ("yesterday", "2026-03-14"),
        ("2025-03-11T12:00:00Z", "2025-03-11"),
        ("Mar 16, 2026", ""),
        ("03/04/2021", ""),
        ("1234 people", ""),
        (None, ""),
    ],
)
def test_dates_of_search_engines(written: Any, iso: str) -> None:
    assert date_of_result(written, NOW) == iso


@pytest.mark.parametrize(
    ("written", "iso"),
    [
        ("1577836800", "2020-01-01"),
        ("3/4/2026", ""),
        ("Wed Aug 27 13:08:45 +0000 2008", "2008-08-27"),
        ("spring 2024", "2024"),
        ("June 2, 2023, 8:14 pm UTC", "2023-06-02"),
        ("2023-02-30", ""),
        ("Q3 2021", ""),
    ],
)
def test_dates_of_tables(written: str, iso: str) -> None:
    assert date_of_cell(written) == iso

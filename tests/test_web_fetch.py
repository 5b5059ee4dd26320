"""Fetching pages from a site that behaves and from one that does not: every limit, over real connections."""

import time
import zlib
from collections.abc import AsyncIterator

import pytest
from web_server import WebServer, article, open_fetcher, pdf

from tools.budget import Budget, budget_scope
from tools.errors import AddressError, SourceError
from tools.web.fetch import FetchedPage, PageFetcher

PAGE = article("The old harbour", ["The harbour was closed in May."])


@pytest.fixture
async def fetcher() -> AsyncIterator[PageFetcher]:
    opened = open_fetcher()
    yield opened
    await opened.aclose()


async def refused(fetcher: PageFetcher, url: str, why: str) -> None:
    with pytest.raises(SourceError, match=why) as caught:
        await fetcher.fetch(url)
    assert not isinstance(caught.value, AddressError)
    assert str(caught.value).startswith(url.partition("#")[0])


async def test_a_page(site: WebServer, fetcher: PageFetcher) -> None:
    url = site.page("/harbour;v=1", PAGE, content_type='Text/HTML; Charset="UTF-8"')
    page = await fetcher.fetch(f"{url}?q=a+b#part")
    assert page == FetchedPage(f"{url}?q=a+b", "text/html", PAGE.encode(), "utf-8")
    [asked] = site.requests
    assert asked.path == "/harbour;v=1?q=a+b"
    assert "Steelman" in asked.headers["user-agent"]
    assert asked.headers["accept-language"] == "en"
    assert "cookie" not in asked.headers


async def test_packed_pages(site: WebServer, fetcher: PageFetcher) -> None:
    long = PAGE * 2000
    assert (await fetcher.fetch(site.packed("/gzip", long))).data == long.encode()
    url = site.page("/deflate", zlib.compress(PAGE.encode()), headers={"Content-Encoding": "deflate"})
    assert (await fetcher.fetch(url)).data == PAGE.encode()
    for encoding in ("utf-8", "identity, binary"):
        assert (await fetcher.fetch(site.page("/plain", PAGE, headers={"Content-Encoding": encoding}))).data
    for encoding in ("br", "gzip, gzip", "x\u00e9"):
        await refused(fetcher, site.page("/br", PAGE, headers={"Content-Encoding": encoding}), "packed in a way")
    await refused(fetcher, site.page("/wrong", PAGE, headers={"Content-Encoding": "gzip"}), "packed in a way")


async def test_redirects_are_followed(site: WebServer, fetcher: PageFetcher) -> None:
    end = site.page("/end/", PAGE)
    for number, status in enumerate((301, 302, 303, 307, 308)):
        start = site.redirect(f"/a/{number}", "../end/#part", status)
        assert (await fetcher.fetch(start)).url == end
    chain = "/end/"
    for number in range(5):
        chain = site.redirect(f"/chain/{number}", chain).removeprefix(site.url)
    assert (await fetcher.fetch(site.url + chain)).url == end
    await refused(fetcher, site.redirect("/chain/5", chain), "redirects more than 5 times")
    await refused(fetcher, site.redirect_loop("/loop"), "redirects in a loop")
    await refused(fetcher, site.redirect("/self", "/self"), "redirects in a loop")


@pytest.mark.parametrize(
    ("told", "data", "taken"),
    [
        ("text/html", PAGE, "text/html"),
        ("", PAGE, "text/html"),
        ("", "\n<!-- a --><!-- b -->\n<?xml version='1.0'?><HTML><body>", "text/html"),
        ("", "<?xml version='1.0'?><doc>Words</doc>", "application/xml"),
        ("application/pdf", pdf(["Words"]), "application/pdf"),
        ("text/html", pdf(["Words"]), "application/pdf"),
        ("application/pdf", b"junk before\n" + pdf(["Words"]), "application/pdf"),
        ("text/html", "\ufeff<html>".encode("utf-16-le"), "text/html"),
    ],
)
async def test_what_kind_of_page_it_is(
    site: WebServer, fetcher: PageFetcher, told: str, data: str | bytes, taken: str
) -> None:
    assert (await fetcher.fetch(site.page("/x", data, content_type=told))).content_type == taken


@pytest.mark.parametrize(
    ("told", "data", "why"),
    [
        ("video/mp4", b"x", "is a video"),
        ("text/html", b"\x89PNG\r\n\x1a\n\x00\x00", "is no page but binary data"),
        ("", b"\x00\x00\x00\x18ftypmp42", "is no page but binary data"),
        ("application/pdf", b"words", "declared as a PDF and is none"),
        ("text/html", b"", "empty"),
    ],
)
async def test_what_is_no_page(site: WebServer, fetcher: PageFetcher, told: str, data: bytes, why: str) -> None:
    await refused(fetcher, site.page("/x", data, content_type=told), why)


async def test_too_large(site: WebServer, fetcher: PageFetcher) -> None:
    began = time.monotonic()
    await refused(fetcher, site.endless("/endless"), r"too large \(over 5 MB\)")
    await refused(fetcher, site.gzip_bomb("/bomb"), "too large")
    await refused(fetcher, site.wrong_length("/told", 6_000_000, b"x"), "too large")
    await refused(fetcher, site.page("/big", "x" * 5_000_001), "too large")
    assert time.monotonic() - began < 10
    assert len((await fetcher.fetch(site.page("/full", "x" * 5_000_000))).data) == 5_000_000


async def test_time_is_bounded(site: WebServer) -> None:
    fetcher = open_fetcher(seconds=0.5)
    began = time.monotonic()
    await refused(fetcher, site.hang("/hang"), "took too long")
    await refused(fetcher, site.drip("/drip"), "took too long")
    site.latency = 0.3
    end = site.page("/end", PAGE)
    await refused(fetcher, site.redirect("/slow", end), "took too long")
    assert time.monotonic() - began < 20  # the site hangs for 60
    await fetcher.aclose()


async def test_a_run_that_stays_on_this_machine(site: WebServer, fetcher: PageFetcher) -> None:
    with budget_scope(Budget(offline=True)):
        await refused(fetcher, site.page("/x", PAGE), "does not leave this machine")
    assert site.requests == []

"""Documents from fetched pages, what is refused instead, and hostile pages that are read in bounded time."""

import contextlib
import time

import pytest
from web_server import LOGIN_WALL, article

from tools.errors import SourceError
from tools.limits import FEWEST_PAGE_WORDS, LONGEST_PAGE
from tools.web.addresses import normalise_url
from tools.web.fetch import FetchedPage
from tools.web.pages import read_page

URL = "https://gazette.example/harbour"
STORY = [
    "The old harbour was closed to fishing boats in May, after the council had voted for it by a single voice.",
    "Nobody had asked the fishermen, who had moored there for three generations and paid their dues every year.",
    "The mayor said that the walls were unsafe and that mending them would cost more than the town could find.",
    "An engineer from the capital disagreed: with a little money each spring, he wrote, they would last for decades.",
    "In the end it was the ferry company that paid, because without the harbour its summer line had no landing.",
]
HEAD = """<meta property="og:site_name" content="Sample Gazette"><meta name="author" content="Ada Quill">
<meta property="article:published_time" content="2026-03-12T08:00:00Z"><meta property="og:type" content="article">
<link rel="canonical" href="https://elsewhere.example/copied">"""


def html_page(html: str | bytes, url: str = URL, charset: str = "") -> FetchedPage:
    return FetchedPage(url, "text/html", html if isinstance(html, bytes) else html.encode(), charset)


def test_a_long_page_is_cut_within_a_block() -> None:
    found = read_page(html_page(article("The old harbour", [STORY[0], f"{' '.join(STORY)} " * 1000, STORY[1]], HEAD)))
    assert LONGEST_PAGE - 20 < len(found.text) <= LONGEST_PAGE
    assert found.text == "\n\n".join(block.text for block in found.blocks)
    assert found.left_out["characters beyond the limit"] > 0


def refused(html: str, why: str) -> None:
    with pytest.raises(SourceError, match=why) as caught:
        read_page(html_page(html))
    assert str(caught.value).startswith(URL)


def test_an_article() -> None:
    found = read_page(html_page(article("The old harbour", STORY, HEAD), f"{URL}?utm_source=x&page=2&gclid=y#top"))
    assert found.external_id == found.url == f"{URL}?page=2"
    assert (found.title, found.publisher, found.date) == ("The old harbour", "Sample Gazette", "2026-03-12")
    for text in STORY:
        assert text in found.text
    for furniture in ("About us", "newsletter"):
        assert furniture not in found.text


# Walls

WALLS = [
    (LOGIN_WALL, "a login is asked for"),
    ("<html><body><h1>Log in or create an account to continue</h1></body></html>", "a login is asked for"),
    ("<html><body><noscript>You need to enable JavaScript to run this app.</noscript><div id=root></div></body></html>",
     "shows nothing without JavaScript"),
    ("<html><head><title>Just a moment...</title></head><body>Checking your browser before you go on.</body></html>",
     "asks whether the reader is human"),
    ("<html><body><p>We use cookies. Accept all cookies or change your cookie settings.</p></body></html>", "cookies"),
    ("<html><body><p>Subscribe now to continue. Already a subscriber?</p></body></html>", "a subscription is asked"),
    (article("The old harbour", [*STORY[:4], "Subscribe to continue reading."]), "a subscription is asked for"),
    (article("The old harbour", [*STORY[:4], "Please log in to read the rest of it."]), "a login is asked for"),
    (article("The old harbour", STORY, '<script type="application/ld+json">{"@type": "NewsArticle", '
             '"isAccessibleForFree": "False"}</script>'), "a subscription is asked for"),
    (article("The old harbour", STORY[:1]), f"too little text \\(under {FEWEST_PAGE_WORDS} words\\)"),
    (article("Parking fees to rise | Courier", [
        "With your agreement we and our 812 partners store and read information on your device to show personalised "
        "advertising and content, to measure how it performs and to learn about our audience. Refuse everything, or "
        "look at each purpose in turn. Your choice can be changed whenever you like.",
    ]), "consent to cookies is asked for"),
    (article("We couldn't find that", [
        "The page you are looking for may have been moved or renamed, or the link that brought you here may be old. "
        "Check the address, use the search box above, or start again from the home page. If you think that something "
        "is broken please tell us which link you followed, so that we can put it right for the next reader.",
    ]), "the page is not there"),
    (article("The school that banned homework", [
        "When the bell rings at Saint Brannoc's, nobody carries a bag home. You have read all that can be had for "
        "nothing in November. Choose a plan to go on reading: 6 euros a month or 11 with the printed paper; students "
        "pay half. Subscribers get the Saturday letter and audio versions of long reports. You can cancel at any time.",
    ]), "a subscription is asked for"),
    ("", "no text was found"),
    ("<html><body><nav><a href='/'>Home</a></nav></body></html>", "too little text"),
]  # fmt: skip


@pytest.mark.parametrize(("html", "why"), WALLS)
def test_a_page_that_does_not_show_its_text(html: str, why: str) -> None:
    refused(html, why)


# Addresses


@pytest.mark.parametrize(
    "other",
    [
        "http://gazette.example/harbour",
        "https://www.gazette.example/harbour/",
        "https://gazette.example/harbour?utm_source=a&utm_campaign=b",
        "https://gazette.example/harbour?fbclid=a&GCLID=b&mc_cid=c&_ga=d",
        " https://gazette.example./harbour? ",
    ],
)
def test_addresses_of_one_page(other: str) -> None:
    assert normalise_url(other) == normalise_url(URL) == URL


# Hostile pages


def ld_json(text: str) -> str:
    return f'<script type="application/ld+json">{text}</script>'


WORDS = " ".join(STORY)
SIZE = 300_000
HOSTILE = {
    "nested": "<div>" * (SIZE // 5),
    "a doctype of slashes": "<!DOCTYPE html " + "/" * SIZE,
    "many authors": ('<meta name="author" content="' + "(" * 1900 + ' x">') * (SIZE // 2000),
    "metadata that is not closed": ld_json('"author": ' * (SIZE // 10)),
    "one long attribute": f'<p class="{"comment " * (SIZE // 8)}">',
    "one long word": "x" * SIZE,
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_page_is_read_or_refused_soon(what: str) -> None:
    page = html_page(f"<html><body>{HOSTILE[what]}<article><p>{WORDS}</p></article></body></html>")
    began = time.process_time()
    with contextlib.suppress(SourceError):
        assert len(read_page(page).text) <= LONGEST_PAGE
    assert time.process_time() - began < 6

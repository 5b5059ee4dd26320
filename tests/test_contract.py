"""What people's servers, files and wordings do: faults × clients, one table.

A row is a fault that somebody met, the client that meets it here, what that client is given, and what has to come of
it. A client is a function of what is given and of the bench; it has the real part of the product meet the fault (a
server's over real HTTP on this machine) and returns what a person would see of it, as text.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest
from web_server import WebServer, open_fetcher

from agent.answer.notes import what_happened
from agent.state import RunState
from tools.errors import SourceError
from tools.web.domains import DomainLists
from tools.web.sources import read_source


@dataclass(frozen=True)
class Bench:
    """What a client may use: a folder of its own, and the means to set what is set."""

    folder: Path
    patch: pytest.MonkeyPatch


Client = Callable[[Any, Bench], Awaitable[str]]


@dataclass(frozen=True)
class Row:
    """fault: what a server, file or person does. right: texts that all stand in what comes of it; wrong: none does."""

    fault: str
    client: Client
    given: Any
    right: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()


# --- walls: pages that ask or refuse instead of showing a text --------------------------------------------------------


async def page_of_the_web(given: tuple[str, ...], bench: Bench) -> str:
    """What fetching and reading a page comes to; given: its title and its paragraphs."""
    title, *paragraphs = given
    html = f"<html><head><title>{title}</title></head><body>{''.join(f'<p>{p}</p>' for p in paragraphs)}</body></html>"
    with WebServer() as site:
        fetcher = open_fetcher()
        try:
            document = await read_source(await fetcher.fetch(site.page("/page", html)), DomainLists.load())
        except SourceError as exc:
            return str(exc)
        finally:
            await fetcher.aclose()
    return document.text


async def note_of_unread(given: dict[str, str], bench: Bench) -> str:
    """What the answer's notes say of pages and why they were not read."""
    return "".join(note.text for note in what_happened(cast(RunState, {"unread": given})))


WALLS = (
    Row("a consent page", page_of_the_web, (
        "Parking fees to rise | Courier",
        "With your agreement we and our 812 partners store and read information on your device to show personalised "
        "advertising and content, to measure how it performs and to learn about our audience.",
        "You can accept everything, refuse everything, or look at each purpose in turn. Some partners rely on "
        "legitimate interest, to which you may object. Your choice can be changed whenever you like.",
    ), right=("consent to cookies is asked for",)),
    Row("a page that is gone, with status 200", page_of_the_web, (
        "We couldn't find that",
        "The page you are looking for may have been moved or renamed, or the link that brought you here may be old. "
        "Check the address, use the search box above, or start again from the home page. If you think that something "
        "is broken please tell us which link you followed, so that we can put it right for the next reader.",
    ), right=("the page is not there",)),
    Row("a teaser before a wall", page_of_the_web, (
        "The school that banned homework",
        "When the bell rings at Saint Brannoc's, nobody carries a bag home.",
        "You have read all that can be had for nothing in November. Choose a plan to go on reading: 6 euros a month or "
        "11 with the printed paper; students pay half. Subscribers get the Saturday letter, the puzzle page and audio "
        "versions of long reports. You can cancel at any time.",
    ), right=("a subscription is asked for",)),
    Row("an article about walls, in their words", page_of_the_web, (
        "Are you human? The tyranny of the puzzle box",
        "My mother is eighty-three and cannot tell a traffic light from a letterbox in a grainy picture. By the "
        "reckoning of her pension provider she is not a robot only on good days. The tests were a clever idea in 2003. "
        "Today machines solve each captcha better than people do: a report found 98 per cent for software and 71 for "
        "those over seventy. What remains is a toll, paid by those least able to pay it.",
    ), right=("98 per cent",)),
    Row("more walls than are named", note_of_unread, {
        **{f"https://a.example/{n}": "consent to cookies is asked for" for n in range(4)},
        "https://b.example/": "the site refuses access",
    }, right=("5 web pages could not be read", "consent to cookies is asked for 4", "the site refuses access 1")),
)  # fmt: skip


# --- the table --------------------------------------------------------------------------------------------------------

ROWS: tuple[Row, ...] = (*WALLS,)


@pytest.mark.usefixtures("quick_retries")
@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.client.__name__}: {row.fault}")
async def test_what_comes_of_it(row: Row, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    came = await row.client(row.given, Bench(tmp_path, monkeypatch))
    assert not [text for text in row.right if text not in came], came
    assert not [text for text in row.wrong if text in came], came

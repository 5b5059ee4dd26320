"""The page: what events amount to, what hostile text becomes, and the page itself over instant providers."""

import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from agent_fixtures import QUESTION, instant_template, settings
from conftest import ROOT
from providers import ScriptedJudge, build
from streamlit.testing.v1 import AppTest

from agent.commands import session
from agent.run_store import Event
from agent.runs import Runs
from agent.settings import Settings
from ui import shown
from ui.answer_view import escaped
from ui.door import Door
from ui.watching import progress_of

__all__ = ["instant_template", "settings"]

HOSTILE = (
    "<script>alert(1)</script><iframe src=//x></iframe><img src=x onerror=alert(1)> ![](http://x/y.png) "
    "[go](javascript:alert(1)) :red[red] :material/delete: $x^2$ \u202eevil\u0007 <b>bold</b>"
)


def events(*told: tuple[str, dict[str, Any]]) -> list[Event]:
    return [Event(n, float(n), kind, data) for n, (kind, data) in enumerate(told, start=1)]


# What events amount to

SIDES = [{"id": "p1", "name": "For", "statement": "Build."}, {"id": "p2", "name": "Against", "statement": "Do not."}]


def test_a_run_as_it_goes() -> None:
    told: list[tuple[str, dict[str, Any]]] = [
        ("started", {"question": QUESTION}),
        ("stage", {"stage": "frame"}),
        ("framed", {"neutral": QUESTION, "focus": ""}),
        ("stage", {"stage": "expand"}),
        ("sides", {"sides": SIDES}),
        ("stage", {"stage": "search"}),
        ("searching", {"side": "p1", "queries": ["Build."]}),
        ("found", {"side": "p1", "passages": 24, "pages": 3}),
        ("searching", {"side": "p2", "queries": ["Do not."]}),
        ("stage", {"stage": "judge"}),
        ("judged", {"side": "p1", "status": "supported", "passages": 1, "sources": 1}),
        ("judged", {"side": "p2", "status": "not_found", "passages": 0, "sources": 0}),
        ("stage", {"stage": "again"}),
        ("searching", {"side": "p2", "queries": ["more"]}),
    ]
    words = [[s.words for s in progress_of(events(*told[:n])).sides.values()] for n in (5, 7, 8, 12, 14)]
    assert words == [
        ["planned", "planned"],
        ["searching", "planned"],
        ["24 passages from 3 web pages", "planned"],
        ["covered: 1 passage", "not found"],
        ["covered: 1 passage", "searching again"],
    ]
    progress = progress_of(events(*told))
    assert progress.neutral == QUESTION
    assert progress.reached == ["frame", "expand", "search", "judge", "again"]
    assert progress.running == "again"


def test_how_a_run_ended_and_went_on() -> None:
    failed = events(("stage", {"stage": "frame"}), ("failed", {"error": "No."}))
    assert (progress_of(failed).ended, progress_of(failed).error, progress_of(failed).running) == ("failed", "No.", "")
    resumed = progress_of([*failed, *events(("resumed", {}), ("stage", {"stage": "expand"}))])
    assert (resumed.ended, resumed.error, resumed.running) == ("", "", "expand")


def test_claims_come_to_their_sides() -> None:
    told = events(
        ("sides", {"sides": SIDES}), ("claim", {"side": "p2", "text": "A."}), ("claim", {"side": "x", "text": "B"})
    )
    assert [s.claims for s in progress_of(told).sides.values()] == [[], ["A."]]


# Hostile text


def test_hostile_text_becomes_text() -> None:
    html = shown.text(HOSTILE)
    assert "<" not in html
    assert "\u202e" not in html
    assert "\u0007" not in html
    assert "&lt;script&gt;" in html


def test_endless_text_is_cut() -> None:
    assert len(shown.text("x" * 100_000)) < shown.LONGEST + 20


def test_streamlits_own_markup_is_escaped() -> None:
    words = escaped(HOSTILE)
    for mark in (r"\:red\[", r"\:material", r"\$x", r"\<script", r"\!\[" if r"\!" in words else r"!\["):
        assert mark in words


def test_the_words_behind_a_claim_are_marked_where_they_stand() -> None:
    html = shown.marked("It lasts.  A bridge <b>carries</b> a town.", ["A bridge <b>carries</b>", "nowhere"])
    assert html.count("<mark") == 1
    assert ">A bridge &lt;b&gt;carries&lt;/b&gt;</mark> a town." in html
    assert shown.marked("Nothing here.", ["else"]) == "Nothing here."


@pytest.mark.parametrize("address", ["javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "", "//x"])
def test_only_addresses_of_the_web_become_links(address: str) -> None:
    assert shown.link(address, "A <b>title") == "A &lt;b&gt;title"
    assert 'href="https://a.example/?q=&quot;"' in shown.link('https://a.example/?q="', "title")


# The page


@pytest.fixture
def page(settings: Settings, models_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., AppTest]]:
    """Opens the page over instant providers, whose judge takes a moment."""
    import streamlit as st

    (settings.data_dir / "cache").symlink_to(models_dir)

    def score(_: object) -> float:
        time.sleep(0.005)
        return 0.9

    monkeypatch.setattr(session, "Runs", partial(Runs, build=build(judge=ScriptedJudge(score))))
    monkeypatch.setattr(session, "index_samples", lambda *_: None)
    opened: list[Door] = []

    def open_door() -> Door:
        opened.append(Door(settings))
        return opened[-1]

    monkeypatch.setattr("ui.door.Door", open_door)
    st.cache_resource.clear()

    def open_page(**query: str) -> AppTest:
        app = AppTest.from_file(str(ROOT / "ui" / "app.py"), default_timeout=20)
        for name, value in query.items():
            app.query_params[name] = value
        return app.run()

    yield open_page
    st.cache_resource.clear()
    for door in opened:
        door.close()


def ask(app: AppTest, question: str, *, review: bool = False) -> AppTest:
    app.text_input[0].set_value(question)
    if review:
        app.checkbox[0].check()
    return next(b for b in app.button if b.label == "Ask").click().run()


def until(app: AppTest, there: Callable[[AppTest], object]) -> AppTest:
    for _ in range(100):
        if there(app):
            return app
        time.sleep(0.1)
        app.run()
    raise AssertionError([m.value for m in (*app.markdown, *app.error, *app.warning)])


def answered(app: AppTest) -> bool:
    return any("24 passages from 24 sources" in m.value for m in app.markdown)


def test_ask_watch_and_see_the_sides(page: Callable[..., AppTest]) -> None:
    app = ask(page(), QUESTION)
    assert not app.exception
    assert app.query_params["run"]
    until(app, answered)
    assert app.title[0].value == QUESTION
    again = page(run=app.query_params["run"][0])  # a reload, or the link in another browser
    assert answered(again)
    assert again.title[0].value == QUESTION


def test_what_cannot_be_asked_is_said_and_nothing_is_lost(page: Callable[..., AppTest]) -> None:
    app = ask(page(), "???")
    assert not app.exception
    assert "there is no word" in app.error[0].value
    assert app.text_input[0].value == "???"


def test_a_run_that_is_not_there(page: Callable[..., AppTest]) -> None:
    app = page(run="feedfeed")
    assert not app.exception
    assert "no such run" in app.warning[0].value


def test_the_sides_can_be_edited_first(page: Callable[..., AppTest]) -> None:
    app = ask(page(), QUESTION, review=True)
    until(app, lambda a: any(b.label == "Search for these" for b in a.button))
    next(b for b in app.button if b.label == "Search for these").click().run()
    until(app, answered)


def test_a_run_is_stopped_and_goes_on(page: Callable[..., AppTest]) -> None:
    app = ask(page(), QUESTION)
    next(b for b in app.button if b.label == "Stop").click().run()
    until(app, lambda a: any("was stopped" in w.value for w in a.warning))
    next(b for b in app.button if b.label == "Go on with it").click().run()
    until(app, answered)

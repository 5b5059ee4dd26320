"""The page's script without a browser, over instant providers, as it is drawn for a visitor."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

import pytest
from conftest import ROOT
from providers import Build, ScriptedJudge, build
from streamlit.testing.v1 import AppTest

from agent.runs import service as session
from agent.runs.service import Runs
from agent.settings import Settings
from tools.models.judges.judge import Pair
from ui import permissions
from ui.service import PageService, close_service

HOST = "127.0.0.1:8501"


@dataclass
class Client:
    """The connection of a visitor's browser, as Streamlit knows it; one at this machine unless told otherwise."""

    remote_ip: str = "127.0.0.1"
    named: Mapping[str, str] = field(default_factory=dict)
    cookies: Mapping[str, str] = field(default_factory=dict)

    @property
    def headers(self) -> list[tuple[str, str]]:
        usual = {"host": HOST, "origin": f"http://{HOST}", "sec-websocket-version": "13", "user-agent": "Chromium"}
        return list({**usual, **self.named}.items())


class Pages:
    """Opens the page; the next script run is for `client`."""

    def __init__(self) -> None:
        self.client = Client()
        self.opened: list[PageService] = []

    def __call__(self, claims: Mapping[str, object] | None = None, **query: str) -> AppTest:
        """claims: about who logged in; empty for nobody yet, None where the page has no logins."""
        app = AppTest.from_file(str(ROOT / "ui" / "app.py"), default_timeout=20)
        for name, value in query.items():
            app.query_params[name] = value
        app.session_state["at home"] = True  # no shared link opened it
        if claims is not None:
            auth = {"redirect_uri": "http://127.0.0.1/oauth2callback", "client_kwargs": {"prompt": "login"}}
            app.secrets = {"auth": auth}
            app.user = dict(claims)
        return app.run()


@contextmanager
def open_pages(settings: Settings, patch: pytest.MonkeyPatch, made: Build | None = None) -> Iterator[Pages]:
    """Pages over one service, whose judge takes a moment. made: other providers."""
    import streamlit as st
    from streamlit import config
    from streamlit.runtime.secrets import Secrets

    def score(pair: Pair) -> float:
        time.sleep(0.005)
        return 0.1 if " not " in pair.statement else 0.9

    pages = Pages()
    permissions._admins.cache_clear()
    patch.setattr(session, "Runs", partial(Runs, build=made or build(judge=ScriptedJudge(score))))
    patch.setattr("agent.runs.bootstrap.index_samples", lambda *_: None)
    patch.setattr(st, "secrets", Secrets())
    patch.setattr("streamlit.runtime.context._get_client_context", lambda: pages.client)
    config.set_option("secrets.files", [str(settings.data_dir.parent / "secrets.toml")])

    def open_service(chosen: Settings | None = None) -> PageService:
        pages.opened.append(PageService(chosen or getattr(open_service, "chosen", settings)))
        return pages.opened[-1]

    patch.setattr("ui.service.PageService", open_service)
    try:
        yield pages
    finally:
        close_service()
        for service in pages.opened:
            if not service.closed:
                service.close()


def click(app: AppTest, label: str) -> AppTest:
    return next(b for b in app.button if b.label == label).click().run()


def html(app: AppTest) -> str:
    return "".join(e.proto.body for e in app.get("html"))


def until(app: AppTest, there: Callable[[AppTest], object]) -> AppTest:
    for _ in range(100):
        if there(app):
            return app
        time.sleep(0.1)
        app.run()
    raise AssertionError(html(app))

"""The page of the calls: it loads nothing from elsewhere, and needs no key."""

import contextlib
import re
from typing import TYPE_CHECKING

import httpx
import pytest
from api_on_loopback import api

from agent.settings import Settings
from api.keys import Keys
from tools.store.database import Database

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytest_plugins = ["visitors"]


def test_it_is_read_without_a_key_and_loads_nothing_from_elsewhere(settings: Settings) -> None:
    with contextlib.closing(Database(settings.database_path)) as database:
        Keys(database).make("laptop")
    with api(settings) as address:
        page = httpx.get(f"{address}/docs")
        assert page.status_code == 200
        assert page.headers["content-security-policy"].startswith("default-src 'self'; ")
        assert page.headers["x-content-type-options"] == "nosniff"
        assert "://" not in page.text
        loaded = re.findall(r"""(?:src|href|url: ?)=?["'](/[^"']+)""", page.text)
        assert "/openapi.json" in loaded
        assert [httpx.get(f"{address}{path}").status_code for path in loaded] == [200] * len(loaded) == [200] * 3
        for path in ("/docs/", "/docs/oauth2-redirect", "/v1/collections"):
            assert httpx.get(f"{address}{path}").status_code == 401


@pytest.mark.slow
def test_a_browser_shows_every_call_and_sends_one(settings: Settings, browser: "Browser") -> None:
    with api(settings) as address:
        said: list[str] = []
        page = browser.new_page()
        page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
        page.goto(f"{address}/docs")
        page.locator("[id$='list_collections'] button").first.click()
        page.locator("text=Try it out").click()
        page.locator("button.execute").click()
        page.locator(".live-responses-table", has_text="samples").wait_for()
        assert said == []

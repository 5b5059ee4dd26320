"""The page of the calls: that it has every call, loads nothing, and sends what is filled in."""

import re
from collections.abc import Iterator
from contextlib import closing
from html import unescape
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from agent_fixtures import QUESTION
from api_on_loopback import api
from lxml import html

from agent.settings import Settings
from api.keys import Keys
from api.reference.schemas import Schemas, type_in_words
from tools.store.database import Database

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytest_plugins = ["visitors"]


@pytest.fixture(scope="module")
def address(module_settings: Settings) -> Iterator[str]:
    with api(module_settings) as running:
        yield running


def test_it_has_every_call_with_a_line_for_curl(address: str) -> None:
    page = html.document_fromstring(httpx.get(f"{address}/docs").text)
    document = httpx.get(f"{address}/openapi.json").json()
    told = {(d.get("id"), d.findtext("summary/b"), d.findtext("summary/code")) for d in page.xpath("//main/details")}
    calls = {(o["operationId"], m.upper(), p) for p, ops in document["paths"].items() for m, o in ops.items()}
    assert told == calls
    lines = {d.get("id"): d.findtext("pre") for d in page.xpath("//main/details")}
    assert lines["ask"].startswith(f"curl -s {address}/v1/ask \\\n")
    assert '-d \'{"question": "Should schools ban smartphones?"}\'' in lines["ask"]
    assert lines["delete_run"] == f"curl -s -X DELETE '{address}/v1/runs/{{run_id}}'"
    assert lines["cancel_run"].startswith("curl -s -X POST ")
    asking = " ".join(page.xpath("//details[@id='ask']//td//text()"))
    assert "question body text, needed" in asking
    assert "idempotency-key header text A name of your own" in asking
    assert 'depth body quick | normal | deep, usually "normal"' in asking


def test_the_examples_on_it_are_taken(address: str) -> None:
    page = html.document_fromstring(httpx.get(f"{address}/docs").text)
    json = {"Content-Type": "application/json"}
    for path, name in (("/v1/judge", "judge"), ("/v1/collections/mine/documents", "store_documents")):
        body = page.xpath(f"//details[@id='{name}']//textarea")[0].text
        assert httpx.post(f"{address}{path}", content=body, headers=json, timeout=30).status_code == 200


def test_it_loads_nothing_and_runs_nothing_else(address: str) -> None:
    reply = httpx.get(f"{address}/docs")
    policy = reply.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
    assert reply.headers["x-content-type-options"] == "nosniff"
    page = html.document_fromstring(reply.text)
    assert [e.get("src") or e.get("href") for e in page.iter() if e.get("src") or e.get("href")] == ["data:,"]
    assert not page.xpath("//*[@style or @onclick]")


def test_it_is_read_without_a_key_and_nothing_else_is(settings: Settings) -> None:
    with closing(Database(settings.database_path)) as database:
        Keys(database).make("laptop")
    with api(settings) as address:
        assert httpx.get(f"{address}/docs").status_code == 200
        for path in ("/docs/", "/docs/oauth2-redirect", "/openapi.json"):
            assert httpx.get(f"{address}{path}").status_code == 401


def test_a_name_that_is_not_the_servers_is_not_repeated(address: str) -> None:
    reply = httpx.get(f"{address}/docs", headers={"Host": "evil.example<b>"})
    assert reply.status_code == 403
    assert "evil" not in unescape(reply.text)


def test_a_reference_and_a_choice_are_followed() -> None:
    schemas = Schemas(
        {"components": {"schemas": {"Part": {"type": "object", "properties": {"n": {"type": "integer"}}}}}}
    )
    part: dict[str, Any] = {"anyOf": [{"$ref": "#/components/schemas/Part"}, {"type": "null"}]}
    assert type_in_words(schemas, {"type": "array", "items": part}) == "list of object"
    needing = {"type": "object", "properties": {"a": part, "b": {"type": "boolean"}}, "required": ["a", "b"]}
    assert schemas.example(needing) == {"a": {}, "b": True}
    assert schemas.example({"enum": ["x", "y"]}) == "x"


@pytest.mark.slow
def test_a_browser_sends_a_call_and_shows_its_reply(address: str, browser: "Browser") -> None:
    said: list[str] = []
    page = browser.new_page()
    page.on("console", lambda message: said.append(message.text) if message.type in ("error", "warning") else None)
    page.goto(f"{address}/docs")
    page.locator("#judge > summary").click()
    page.locator("#judge form button").first.click()
    page.locator("#judge output", has_text="probabilities").wait_for()
    page.locator("#ask > summary").click()
    page.locator("#ask textarea").fill(f'{{"question": "{QUESTION}", "stream": true}}')
    page.locator("#ask form button").first.click()
    page.locator("#ask output", has_text="event: done").wait_for()
    run = re.search(r'"run_id": ?"(\w{12})"', page.locator("#ask output").text_content() or "")
    assert run
    page.locator("#read_run > summary").click()
    page.locator("#read_run input[name=run_id]").fill(run[1])
    page.locator("#read_run form button").first.click()
    page.locator("#read_run output", has_text="200").wait_for()
    assert said == []

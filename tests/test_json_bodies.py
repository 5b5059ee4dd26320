"""Long lists in JSON bodies: validated in parts and in a thread, with what is wrong told as of any other list."""

import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from api_on_loopback import api

from agent.settings import Settings
from api.json_bodies import _LONG
from tools.inference.batching import parts

FAR = 3 * _LONG + 200
"""An element in a part that is not the first."""


@pytest.fixture(scope="module")
def client(module_settings: Settings) -> Iterator[httpx.Client]:
    with api(module_settings) as address, httpx.Client(base_url=address, timeout=60) as client:
        yield client


def documents(number: int) -> list[dict[str, Any]]:
    return [{"id": f"d{i}", "text": f"Bridge {i} carries a town."} for i in range(number)]


def test_no_long_list_is_validated_at_once_or_where_all_requests_are_answered(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    met: list[tuple[str, int]] = []

    def watched(items: Any, size: int) -> Iterator[Any]:
        for part in parts(items, size):
            met.append((threading.current_thread().name, len(part)))
            yield part

    monkeypatch.setattr("api.json_bodies.parts", watched)
    reply = client.post("/v1/collections/long/documents", json={"documents": documents(FAR)})
    assert reply.status_code == 202, reply.text
    assert [size for _, size in met] == [_LONG] * 3 + [200]
    assert {name.partition("_")[0] for name, _ in met} == {"steelman"}  # the executor's, not the loop's


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"kind": "rumour"}, f"body.documents.{FAR}.kind"),
        ({"text": ""}, f"body.documents.{FAR}.text"),
        ({"words": "x"}, f"body.documents.{FAR}.words"),
    ],
)
def test_what_is_wrong_far_down_a_list_is_told_with_its_place(
    client: httpx.Client, wrong: dict[str, str], field: str
) -> None:
    given = documents(FAR + 50)
    given[FAR] |= wrong
    reply = client.post("/v1/collections/wrong/documents", json={"documents": given})
    assert reply.status_code == 422
    assert {error["field"] for error in reply.json()["errors"]} == {field}
    assert client.get("/v1/collections/wrong/documents").status_code == 404


@pytest.mark.parametrize("element", [None, 7, "text", []])
def test_an_element_that_is_no_document_is_told_with_its_place(client: httpx.Client, element: Any) -> None:
    given = [*documents(FAR), element]
    reply = client.post("/v1/collections/wrong/documents", json={"documents": given})
    assert reply.status_code == 422
    assert {error["field"] for error in reply.json()["errors"]} == {f"body.documents.{FAR}"}


def test_a_field_beside_a_long_list_is_still_refused(client: httpx.Client) -> None:
    reply = client.post("/v1/collections/wrong/documents", json={"documents": documents(FAR), "more": 1})
    assert reply.status_code == 422
    assert {error["field"] for error in reply.json()["errors"]} == {"body.more"}

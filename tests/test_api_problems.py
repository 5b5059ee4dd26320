"""What a caller is told when something is wrong with a request: problem documents that say what, and what next."""

import json
from typing import Any

import httpx
import pytest
from agent_fixtures import QUESTION
from api_on_loopback import Door
from raw_http import problem_of

from api import problems
from tools import errors

JSON = {"Content-Type": "application/json"}


pytest_plugins = ["api_on_loopback"]


@pytest.fixture(scope="module")
def client(standing: Door) -> httpx.Client:
    return standing.http


BODIES = {
    "cut": (b'{"question": "Should towns build bridges?"', "Expecting ',' delimiter at character 42"),
    "no JSON": (b"question=Should", "Expecting value at character 0"),
    "Latin-1": ("{'question': 'Ist Bücherverbot gut?'}".encode("latin-1"), "can't decode byte 0xfc in position 19"),
    "deep": (b"[" * 100_000, "recursion depth"),
    "long number": (b'{"question": ' + b"9" * 5000 + b"}", "4300 digits"),
}


def test_an_unreadable_body_is_told_where(client: httpx.Client) -> None:
    for body, says in BODIES.values():
        assert says in problem_of(client.post("/v1/ask", content=body, headers=JSON), 400, "unreadable-body")["detail"]


TYPES = ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "nonsense"]


def test_a_body_of_another_type_is_told_which_to_send(client: httpx.Client) -> None:
    for given in TYPES:
        for path in ("/v1/ask", "/v1/collections/mine/documents"):
            headers = {"Content-Type": given} if given else {}
            reply = client.post(path, content=b'{"question": "Should towns build bridges?"}', headers=headers)
            assert "send 'Content-Type: application/json'" in problem_of(reply, 415, "unsupported-media-type")["detail"]
            assert reply.headers["accept"] == "application/json"


FIELDS: dict[str, tuple[Any, str, str]] = {
    "no question": ({}, "body.question", "Field required."),
    "an unknown field": ({"question": QUESTION, "dept": "deep"}, "body.dept", "There is no such field; /openapi.json"),
    "domain": ({"question": QUESTION, "domains": ["http://a"]}, "body.domains.0", "looks like gov.uk"),
    "selection": ({"question": QUESTION, "selection": "mmr"}, "body.selection", "There is no such field"),
}


def test_a_wrong_field_is_named(client: httpx.Client) -> None:
    for body, field, says in FIELDS.values():
        reply = client.post("/v1/ask", content=json.dumps(body), headers=JSON)
        wrong = problem_of(reply, 422, "invalid-request")["errors"]
        assert [(w["field"], says in w["message"]) for w in wrong] == [(field, True)], wrong


def test_what_is_not_there_is_told_with_where_to_look(client: httpx.Client) -> None:
    ask = client.post("/v1/ask", json={"question": QUESTION, "collections": ["samples", "nowhere"]})
    unknown = problem_of(ask, 404, "unknown-collection")["detail"]
    assert unknown == "There is no collection 'nowhere'. There are: samples. GET /v1/collections lists them."
    run = problem_of(client.get("/v1/runs/aaaaaaaaaaaa"), 404, "unknown-run")["detail"]
    assert run.startswith("There is no run 'aaaaaaaaaaaa'. A run's id stands in the Location")
    follow_up = client.post("/v1/ask", json={"question": QUESTION, "thread": "aaaaaaaaaaaa"})
    assert problem_of(follow_up, 404, "unknown-run")
    assert problem_of(client.delete("/v1/collections/samples/documents/d1"), 409, "collection-is-fixed")
    for path in ("/v1/run", "/v1/runs/", "/v1/ask/", "/nowhere", "/", "/v1/runs/aaaaaaaaaaaa/nothing"):
        detail = problem_of(client.get(path), 404, "not-found")["detail"]
        assert detail == f"There is nothing at {path}. GET /openapi.json lists the calls."
    assert "12 characters" in problem_of(client.get("/v1/runs/nonsense"), 422, "invalid-request")["detail"]


METHODS = {
    ("GET", "/v1/ask"): "POST",
    ("PUT", "/v1/runs/aaaaaaaaaaaa"): "GET, DELETE",
    ("PATCH", "/v1/collections/mine/documents"): "GET, POST",
    ("OPTIONS", "/v1/retrieve"): "POST",
    ("POST", "/healthz"): "GET, HEAD",
}


def test_another_method_is_told_those_of_the_address(client: httpx.Client) -> None:
    for (method, path), takes in METHODS.items():
        reply = client.request(method, path)
        detail = problem_of(reply, 405, "method-not-allowed")["detail"]
        assert detail == f"{method} is not for {path}, which takes {takes}. GET /openapi.json lists the calls."
        assert reply.headers["allow"] == takes


# Messages that were written for somebody at a keyboard


def test_every_error_of_ours_has_a_status() -> None:
    kinds = [
        kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.SteelmanError)
    ]
    told = {kind.__name__: problems.problem_of(kind("it went wrong.")).problem for kind in kinds}
    assert all(400 <= p.status < 600 and p.detail.startswith("It went wrong.") for p in told.values())
    assert told.pop("SteelmanError").status == 500
    assert 500 not in {p.status for p in told.values()}
    assert problems.problem_of(errors.StoreBusyError("x.")).headers == {"Retry-After": "5"}

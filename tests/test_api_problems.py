"""Every kind of problem document that a caller can cause: its status, its cause and what to do next."""

import re
from typing import Any

import pytest
from agent_fixtures import QUESTION
from api_on_loopback import Door
from conftest import ROOT
from raw_http import problem_of

from agent.settings import Settings
from api import problems
from api.events import KINDS
from tools import errors

pytest_plugins = ["api_on_loopback"]

RUN = "/v1/runs/aaaaaaaaaaaa"
ASK, DOCUMENT = {"question": QUESTION}, {"documents": [{"id": "d", "text": "Bridges help."}]}


def body(content: bytes, kind: str = "application/json") -> dict[str, Any]:
    return {"content": content, "headers": {"Content-Type": kind} if kind else {}}


def ask(**more: Any) -> tuple[str, str, dict[str, Any]]:
    return "POST", "/v1/ask", {"json": {**ASK, **more}}


def sent(content: bytes, kind: str = "application/json") -> tuple[str, str, dict[str, Any]]:
    return "POST", "/v1/ask", body(content, kind)


GET: dict[str, Any] = {}
LIST = "GET /openapi.json lists the calls."
_JSON = "Send 'Content-Type: application/json'"
PROBLEMS: list[tuple[tuple[str, str, dict[str, Any]], int, str, str]] = [
    (sent(b'{"question": "x"'), 400, "unreadable-body", "Expecting ',' delimiter at character 16"),
    (sent("{'q': 'ü'}".encode("latin-1")), 400, "unreadable-body", "can't decode byte 0xfc in position 7"),
    (sent(b"[" * 100_000), 400, "unreadable-body", "recursion depth"),
    (("GET", "/v1/runs", {"headers": {"Host": "evil.example"}}), 403, "unknown-host", "STEELMAN_API_HOSTS"),
    (("GET", "/docs", {"headers": {"Host": "["}}), 403, "unknown-host", "STEELMAN_PUBLIC_URL"),
    (("GET", "/v1/runs", {"headers": {"Origin": "http://a.example"}}), 403, "unknown-origin", "STEELMAN_API_ORIGINS"),
    (ask(collections=["samples", "nowhere"]), 404, "unknown-collection", "There are: samples. GET /v1/collections"),
    (ask(thread="a" * 12), 404, "unknown-run", "GET /v1/runs lists your runs."),
    (("GET", RUN, GET), 404, "unknown-run", "There is no run 'aaaaaaaaaaaa'. The reply that started a run has its id"),
    (("GET", "/v1/jobs/jaaaaaaaaaaaa", GET), 404, "unknown-job", "week"),
    (("GET", "/v1/models/gpt-6", GET), 404, "unknown-model", "GET /v1/models lists them."),
    *((("GET", path, GET), 404, "not-found", f"nothing at {path}. {LIST}") for path in ("/", "/v1/ask/", f"{RUN}/x")),
    (("PUT", RUN, GET), 405, "method-not-allowed", f"It supports GET, DELETE. {LIST}"),
    (("POST", "/healthz", GET), 405, "method-not-allowed", "It supports GET, HEAD."),
    (("POST", "/v1/collections/samples/documents", {"json": DOCUMENT}), 409, "collection-is-fixed", "another name"),
    (("DELETE", "/v1/collections/samples", GET), 409, "collection-is-fixed", "another name"),
    (sent(b" " * 8_000_001), 413, "body-too-large", "Send at most 8 MB at once."),
    *((sent(b"{}", kind), 415, "unsupported-media-type", _JSON) for kind in ("", "text/plain", "nonsense")),
    (("POST", "/v1/collections/a/files", body(b"{}")), 415, "unsupported-media-type", "multipart/form-data"),
    (("POST", "/v1/ask", {"json": {}}), 422, "invalid-request", "body.question: Field required."),
    (ask(dept="deep"), 422, "invalid-request", "body.dept: There is no such field; /openapi.json"),
    (ask(domains=["http://a"]), 422, "invalid-request", "body.domains.0: A domain looks like gov.uk"),
    (("GET", "/v1/runs/nonsense", GET), 422, "invalid-request", "12 characters"),
    (ask(question="Hello!"), 422, "unanswerable-question", "Ask something"),
    (ask(question="Ist Atomkraft gut?"), 422, "unanswerable-question", "Ask it in English"),
]


@pytest.mark.parametrize(("call", "status", "name", "says"), PROBLEMS, ids=[f"{p[1]} {p[3]}"[:60] for p in PROBLEMS])
def test_a_problem_says_what_and_what_next(
    standing: Door, call: tuple[str, str, dict[str, Any]], status: int, name: str, says: str
) -> None:
    method, path, more = call
    reply = standing.http.request(method, path, **more)
    problem = problem_of(reply, status, name)
    assert says in problem["detail"]
    if status in (405, 415):
        assert reply.headers["allow" if status == 405 else "accept"] in problem["detail"]
    if name == "invalid-request":
        assert f"{problem['errors'][0]['field']}: {problem['errors'][0]['message']}" in problem["detail"]


def test_every_error_of_ours_has_a_status() -> None:
    kinds = [k for k in vars(errors).values() if isinstance(k, type) and issubclass(k, errors.SteelmanError)]
    made = {kind.__name__: problems.problem_of(kind("it went wrong.")).problem for kind in kinds}
    assert all(p.detail.startswith("It went wrong.") for p in made.values())
    assert made.pop("SteelmanError").status == 500
    assert {p.status for p in made.values()} == {404, 409, 422, 502, 503, 504, 507}
    assert problems.problem_of(errors.StoreBusyError("x.")).headers == {"Retry-After": "5"}


def test_the_guide_lists_every_kind_event_and_setting() -> None:
    guide = (ROOT / "docs" / "api.md").read_text()
    code = "".join(file.read_text() for file in (ROOT / "api").rglob("*.py"))
    made = set(re.findall(r'\(\s*\d{3},\s*"([a-z-]+)"', code)) | {"key-missing", "key-wrong"}
    assert made <= set(re.findall(r"`([a-z-]+)`", guide[guide.index("| status | `urn:") :]))
    assert set(KINDS) <= set(re.findall(r"^\| `(\w+)`", guide[guide.index("| event | data") :], re.MULTILINE))
    settings = {f"STEELMAN_{name.upper()}" for name in Settings.model_fields if name.startswith("api_")}
    assert set(re.findall(r"`(STEELMAN_API_\w+)`", guide)) == settings


def test_the_page_of_the_calls_needs_no_key_and_loads_nothing_from_elsewhere(standing: Door) -> None:
    page = standing.http.get("/docs")
    assert page.headers["content-security-policy"].startswith("default-src 'self'; ")
    assert "://" not in page.text
    loaded = re.findall(r"""(?:src|href|url: ?)=?["'](/[^"']+)""", page.text)
    assert [standing.http.get(path).status_code for path in loaded] == [200] * 3


def test_without_allowed_pages_only_the_servers_own_may_call(standing: Door) -> None:
    own = standing.http.get("/v1/runs", headers={"Origin": standing.address})
    assert own.status_code == 200
    assert not [name for name in own.headers if "access-control" in name]

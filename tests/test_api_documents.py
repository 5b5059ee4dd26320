"""Collections and documents over HTTP: upload, list, ask, delete."""

from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from agent_fixtures import QUESTION
from api_on_loopback import Door, api
from raw_http import problem_of

from agent.settings import Settings
from tools.store.index_sync import index_lock

TEXT = "A bridge of stone carries a town. It stands for years."

pytest_plugins = ["api_on_loopback"]


@pytest.fixture(scope="module")
def client(standing: Door) -> httpx.Client:
    return standing.http


def store(client: httpx.Client, name: str, *documents: dict[str, Any]) -> httpx.Response:
    return client.post(f"/v1/collections/{name}/documents", json={"documents": documents})


def upload(client: httpx.Client, name: str, *files: tuple[str, bytes], **columns: Any) -> httpx.Response:
    return client.post(f"/v1/collections/{name}/files", files=[("files", file) for file in files], data=columns)


def listed(client: httpx.Client, name: str) -> dict[str, dict[str, Any]]:
    reply = client.get(f"/v1/collections/{name}/documents", params={"limit": 1000})
    return {document.pop("id"): document for document in reply.json()["documents"]}


@pytest.mark.parametrize(("url", "status"), [("http://a?b=[1]", 200), ("https://a/[b]", 200), ("http://[", 422)])
def test_a_documents_url_is_one_that_parsers_accept(client: httpx.Client, url: str, status: int) -> None:
    assert store(client, "urls", {"id": "d", "text": TEXT, "url": url}).status_code == status


def test_the_next_question_uses_new_documents(client: httpx.Client) -> None:
    given = {"title": "Of stone", "url": "https://stone.example/d", "publisher": "Stone Press", "author": "A. Moen"}
    given |= {"kind": "news", "date": "2026-03"}
    assert store(client, "seen", {"id": "d", "text": TEXT, **given}).json()["stored"] == 1
    made = {"provenance": "", "speakers": 0, "passages": 1, "language": "en"}
    assert listed(client, "seen")["d"] == {**given, **made, "number": listed(client, "seen")["d"]["number"]}
    answer = client.post("/v1/ask", json={"question": QUESTION, "collections": ["seen"]}).json()
    cited = {(c["document_id"], c["collection"], c["url"]) for c in answer["citations"]}
    assert cited == {("d", "seen", "https://stone.example/d")}
    assert store(client, "seen", {"id": "d", "text": "Another text about towns."}).json()["replaced"] == 1
    assert listed(client, "seen")["d"]["title"] == ""
    problem = problem_of(client.delete("/v1/collections/seen/documents/none"), 404, "unknown-document")
    assert "GET /v1/collections/seen/documents lists them." in problem["detail"]


UNREADABLE = {
    "broken.pdf": (b"%PDF-1.4 and then nothing", "broken.pdf: this PDF is damaged"),
    "picture.png": (b"\x89PNG", "picture.png: the name has no readable ending"),
    "a\u202etxt.txt": (b"Bridges.", "'a\\u202etxt.txt': no document can have this name"),
}


def test_unreadable_files_are_named_with_the_reason(client: httpx.Client) -> None:
    files = [(name, content) for name, (content, _) in UNREADABLE.items()]
    alone = problem_of(upload(client, "unreadable", *files), 422, "unreadable-document")
    beside = upload(client, "beside", *files, ("good.txt", TEXT.encode())).json()
    assert beside["stored"] == 1
    for problems in ([error["message"] for error in alone["errors"]], beside["problems"]):
        assert all(p.startswith(says) for p, (_, says) in zip(problems, UNREADABLE.values(), strict=True)), problems


def test_a_files_name_is_an_id_and_never_a_path(client: httpx.Client, tmp_path: Path) -> None:
    for name in ("../../etc/passwd.txt", "a;b&c?.txt", "/e//f%2F#g.txt"):
        assert upload(client, "names", (name, f"{TEXT} {name}".encode())).json()["stored"] == 1
        assert set(listed(client, "names")) == {name}
        removed = client.delete("/v1/collections/names/documents/" + quote(name, safe="").replace(".", "%2E"))
        assert removed.json() == {"passages": 1}
    assert not list(tmp_path.rglob("*.txt"))


def test_a_store_that_another_process_holds_is_a_503_and_nothing_is_lost(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tools.store.index_sync.INDEX_LOCK_SECONDS", 0.2)
    with api(settings) as address, httpx.Client(base_url=address, timeout=30) as client:
        with index_lock(settings.data_dir / "index" / "dense.lock", exclusive=True, timeout=5):
            busy = store(client, "busy", {"id": "d", "text": TEXT})
            problem_of(busy, 503, "store-busy")
            assert int(busy.headers["retry-after"]) > 0
        assert store(client, "busy", {"id": "d", "text": TEXT}).json()["unchanged"] == 1
        answer = client.post("/v1/ask", json={"question": QUESTION, "collections": ["busy"]}).json()
        assert [c["document_id"] for c in answer["citations"]] == ["d"]

"""Collections and documents over HTTP: upload, list, ask, delete."""

from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from agent_fixtures import QUESTION
from api_on_loopback import Door, api

from agent.settings import Settings
from tools.store.index_sync import index_lock

TEXT = "A bridge of stone carries a town. It stands for years."


pytest_plugins = ["api_on_loopback"]


@pytest.fixture(scope="module")
def client(standing: Door) -> httpx.Client:
    return standing.http


def store(client: httpx.Client, name: str, *documents: dict[str, Any]) -> httpx.Response:
    return client.post(f"/v1/collections/{name}/documents", json={"documents": documents})


def upload(client: httpx.Client, name: str, *files: tuple[str, bytes]) -> httpx.Response:
    return client.post(f"/v1/collections/{name}/files", files=[("files", file) for file in files])


def listed(client: httpx.Client, name: str) -> dict[str, dict[str, Any]]:
    reply = client.get(f"/v1/collections/{name}/documents", params={"limit": 1000})
    assert reply.status_code == 200, reply.text
    return {document.pop("id"): document for document in reply.json()["documents"]}


def names(client: httpx.Client) -> set[str]:
    return {c["name"] for c in client.get("/v1/collections").json()["collections"]}


def test_columns_of_tables_are_told_and_named(client: httpx.Client) -> None:
    unclear = f"pro,con,who\n{TEXT},{TEXT} Not.,Ann\n".encode()
    reply = upload(client, "tables", ("talk.csv", b"comment,stars\n" + TEXT.encode() + b",5\n"), ("a.csv", unclear))
    assert reply.json()["notes"] == [
        "talk.csv: read 'comment' as the text; ids from the row numbers; not used: 'stars'."
    ]
    [problem] = reply.json()["problems"]
    assert "a.csv: is 'pro' the text, or 'con'?" in problem
    assert "Send the form field text_column=pro with it." in problem
    files = [("files", ("a.csv", unclear))]
    named = {"text_column": ["pro", "con"], "title_column": "who", "id_column": "who", "author_column": "who"}
    reply = client.post("/v1/collections/tables/files", files=files, data=named)
    assert (reply.json()["stored"], reply.json()["problems"]) == (1, [])
    ann = listed(client, "tables")["Ann"]
    assert (ann["title"], ann["author"]) == ("Ann", "Ann")
    assert "talk.csv, row 1" in listed(client, "tables")


def test_documents_are_seen_by_the_next_question(client: httpx.Client) -> None:
    given = {"id": "d", "text": TEXT, "title": "Of stone", "url": "https://stone.example/d", "publisher": "Stone Press"}
    given["author"] = "A. Moen"
    assert store(client, "seen", {**given, "kind": "news", "date": "2026-03"}).json()["stored"] == 1
    assert listed(client, "seen")["d"] == {
        **{name: value for name, value in given.items() if name not in ("id", "text")},
        "kind": "news",
        "date": "2026-03",
        "provenance": "",
        "speakers": 0,
        "passages": 1,
        "number": listed(client, "seen")["d"]["number"],
        "language": "en",
    }
    answer = client.post("/v1/ask", json={"question": QUESTION, "collections": ["seen"]}).json()
    cited = {(c["document_id"], c["collection"], c["url"]) for c in answer["citations"]}
    assert cited == {("d", "seen", "https://stone.example/d")}
    assert store(client, "seen", {"id": "d", "text": "Another text about towns."}).json()["stored"] == 1
    assert listed(client, "seen")["d"]["title"] == ""


def test_what_a_new_collection_may_be_called(client: httpx.Client) -> None:
    for name in (".hidden", "trailing ", "a" * 65, "ü", "a%00b", "-x"):
        reply = store(client, name, {"id": "d", "text": TEXT})
        assert (reply.status_code, "A new collection's name has" in reply.json()["detail"]) == (422, True)
    for name in ("a", "My sources 2", "v1.2_final-b"):
        assert store(client, name, {"id": "d", "text": TEXT}).json()["stored"] == 1
        assert name in names(client)
        assert client.delete(f"/v1/collections/{name}").json() == {"passages": 1}
        assert name not in names(client)


UNREADABLE = {
    "broken.pdf": (b"%PDF-1.4 and then nothing", "broken.pdf: this PDF is damaged"),
    "picture.png": (b"\x89PNG", "picture.png: files ending in '.png' cannot be read. These can be read: .md, .mark"),
    "a\u202etxt.txt": (b"Bridges.", "'a\\u202etxt.txt': no document can have this name"),
}


def test_files_that_cannot_be_read_are_named_and_why(client: httpx.Client) -> None:
    files = [(name, content) for name, (content, _) in UNREADABLE.items()]
    reply = upload(client, "unreadable", *files)
    assert (reply.status_code, reply.json()["type"]) == (422, "urn:steelman:problem:unreadable-document")
    assert "unreadable" not in names(client)
    beside = upload(client, "beside", *files, ("good.txt", TEXT.encode())).json()
    assert beside["stored"] == 1
    for problems in ([error["message"] for error in reply.json()["errors"]], beside["problems"]):
        assert all(p.startswith(says) for p, (_, says) in zip(problems, UNREADABLE.values(), strict=True)), problems


def test_a_files_name_is_an_id_and_never_a_path(client: httpx.Client, tmp_path: Path) -> None:
    for name in ("../../etc/passwd.txt", "/etc/passwd.txt", "a;b&c?.txt", "/e//f%2F#g.txt"):
        assert upload(client, "names", (name, f"{TEXT} {name}".encode())).json()["stored"] == 1
        assert set(listed(client, "names")) == {name}
        removed = client.delete("/v1/collections/names/documents/" + quote(name, safe="").replace(".", "%2E"))
        assert removed.json() == {"passages": 1}
    assert not list(tmp_path.rglob("*.txt"))


def test_the_samples_stay_as_they_are(client: httpx.Client) -> None:
    before = listed(client, "samples")
    replies = [
        store(client, "samples", {"id": "d", "text": TEXT}),
        upload(client, "samples", ("a.txt", TEXT.encode())),
        client.delete("/v1/collections/samples"),
        client.delete("/v1/collections/samples/documents/d1"),
    ]
    assert {(r.status_code, r.json()["type"]) for r in replies} == {(409, "urn:steelman:problem:collection-is-fixed")}
    assert listed(client, "samples") == before


def test_a_store_that_another_process_holds_is_a_503_and_nothing_is_lost(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tools.store.index_sync._LOCK_SECONDS", 0.2)
    with api(settings) as address, httpx.Client(base_url=address, timeout=30) as client:
        with index_lock(settings.index_dir / "dense.lock", exclusive=True, timeout=5):
            busy = store(client, "busy", {"id": "d", "text": TEXT})
            assert (busy.status_code, busy.json()["type"]) == (503, "urn:steelman:problem:store-busy")
            assert int(busy.headers["retry-after"]) > 0
        again = store(client, "busy", {"id": "d", "text": TEXT}).json()
        assert (again["stored"], again["unchanged"]) == (0, 1)
        answer = client.post("/v1/ask", json={"question": QUESTION, "collections": ["busy"]}).json()
        assert [c["document_id"] for c in answer["citations"]] == ["d"]

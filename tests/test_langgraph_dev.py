"""LangGraph's own development server over the real agent with its embedded providers: asked, watched, resumed."""

import gc
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from conftest import ROOT
from langgraph.pregel.remote import RemoteException, RemoteGraph
from langgraph_sdk import get_sync_client
from langgraph_server import DevServer, dev_server
from model_server import ModelServer, Reply

from agent.answer.files import escape_markdown
from agent.answer.model import Answer
from tools.language.grounding import verbatim

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
QUESTION = "Should schools ban smartphones?"
QUICK: dict[str, Any] = {"depth": "quick", "deadline_seconds": 300.0}
INTEGRATIONS = ROOT / "docs" / "integrations.md"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, shared_cache: Path) -> Iterator[DevServer]:
    with dev_server(tmp_path_factory.mktemp("langgraph"), shared_cache) as running:
        yield running


@pytest.fixture
def steelman(server: DevServer) -> Iterator[Any]:
    with get_sync_client(url=server.url) as client:
        yield RemoteGraph("steelman", sync_client=client)


def test_an_answer_comes_with_citations_that_stand_in_their_sources(steelman: Any) -> None:
    told = steelman.invoke({"question": QUESTION}, context={**QUICK, "collections": ["samples"], "web": False})
    answer = Answer.model_validate(told["answer"])
    assert answer.outcome == "answered"
    assert {s.stance for s in answer.perspectives if s.claims} >= {"supports", "opposes"}
    assert len(answer.citations) >= 2
    for citation in answer.citations:
        assert verbatim(citation.quote, (ROOT / citation.document_id).read_text(encoding="utf-8"))
    assert told["markdown"].startswith(f"# {QUESTION}\n")
    open_claims = [*(c for side in answer.perspectives for c in side.claims), *answer.also[:5]]
    shown = {n for claim in open_claims for n in claim.citations}
    sources = [c for c in answer.citations if c.number in shown]
    assert sources
    assert all(f"\n{c.number}. {escape_markdown(c.title)}" in told["markdown"] for c in sources)


def test_what_cannot_be_done_is_refused_in_plain_words(steelman: Any) -> None:
    with pytest.raises(RemoteException) as refused:
        steelman.invoke({"question": QUESTION}, context={"collections": ["nowhere"]})
    assert "there is no collection 'nowhere'" in refused.value.args[0]["message"]


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")  # the lines close nothing, as is usual for an agent
def test_a_langchain_agent_uses_it_as_a_tool(server: DevServer, monkeypatch: pytest.MonkeyPatch) -> None:
    [block] = re.findall(r"<!-- langchain -->\n```python\n(.*?)```", INTEGRATIONS.read_text(encoding="utf-8"), re.S)
    code = [line for line in block.splitlines() if line.strip() and not line.lstrip().startswith('"')]
    assert len(code) == 5
    assert block.count("http://127.0.0.1:2024") == 1
    function = {"name": "steelman", "arguments": json.dumps({"question": QUESTION})}
    calls = {"tool_calls": [{"id": "call-1", "type": "function", "function": function}]}
    with ModelServer() as model:
        model.on(lambda body: len(body["messages"]) == 1, Reply(None, finish_reason="tool_calls", message=calls))
        model.on(lambda body: len(body["messages"]) == 3, lambda body: f"It says: {body['messages'][2]['content']}")
        monkeypatch.setenv("OPENAI_BASE_URL", model.url)
        monkeypatch.setenv("OPENAI_API_KEY", "test")
        scope: dict[str, Any] = {}
        exec(block.replace("http://127.0.0.1:2024", server.url), scope)
        said = scope["agent"].invoke({"messages": [("user", QUESTION)]})["messages"][-1].text
    scope.clear()
    gc.collect()
    assert said.startswith(f"It says: # {QUESTION}")
    assert "## Sources" in said
    [tool] = model.requests[0].body["tools"]
    assert tool["function"]["name"] == "steelman"
    assert "contentious" in tool["function"]["description"]


@pytest.mark.parametrize(("origin", "let_in"), [("https://smith.langchain.com", True), ("https://example.org", False)])
def test_only_studios_page_may_ask_from_a_browser(server: DevServer, origin: str, let_in: bool) -> None:
    headers = {"Origin": origin, "Access-Control-Request-Method": "POST"}
    asked = httpx.options(f"{server.url}/threads", headers=headers, timeout=30)
    assert (asked.headers.get("access-control-allow-origin") == origin) is let_in
    assert (
        httpx.get(f"{server.url}/ok", headers=headers).headers.get("access-control-allow-origin") == origin
    ) is let_in


def test_the_stages_are_streamed_as_they_go(steelman: Any) -> None:
    parts = steelman.stream({"question": QUESTION}, context=QUICK, stream_mode=["custom", "updates"], subgraphs=True)
    told, done = [], []
    for where, mode, data in parts:
        if mode == "custom" and data["kind"] == "stage":
            told.append(data["stage"])
            assert where[0].startswith("stages:")
        elif mode == "updates":
            done += [(len(where), name) for name in data]
    assert list(dict.fromkeys(told)) == ["frame", "expand", "retrieve", "judge", "select", "write", "verify"]
    outer = [name for depth, name in done if depth == 0]
    assert outer == ["check", "stages"]
    assert next(name for depth, name in done if depth == 1) == "frame"


def test_it_sends_nothing_and_stops(server: DevServer) -> None:
    log = server.log.read_text()
    assert "BlockingError" not in log
    assert server.asked_elsewhere == []
    assert server.stop() == 0
    assert "Traceback" not in server.log.read_text()[len(log) :]

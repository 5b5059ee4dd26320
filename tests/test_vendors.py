"""Models of vendors by name: what is sent and counted, what their names turn on, and a whole run of each."""

import json
import sys
from collections.abc import Callable
from contextlib import aclosing
from typing import Any

import pytest
from answering_model import QUERIES, SIDES, STAGES, case_of, run, said_all
from model_replies import PATHS, Body, reply_of
from model_server import ModelServer, Reply

from agent.providers.from_settings import build_chat_models
from agent.settings import load_settings
from agent.stages.requery import PlannedQueries
from tools.budget import Budget, budget_scope
from tools.errors import ProviderDownError, ProviderReplyError, SettingsError
from tools.models.chat.model import ChatModel
from tools.models.chat.vendors import COMPATIBLE, VENDORS

KEY = "very-secret-0123456789"
SETTINGS = {"anthropic": "anthropic_base_url", "google_genai": "google_gemini_base_url", "ollama": "ollama_host"}
KEYS = {"anthropic_api_key": KEY, "google_api_key": KEY}
HEADERS = {
    "anthropic": {"authorization": f"Bearer {KEY}", "anthropic-version": "2026-10-21"},
    "google_genai": {"x-goog-api-key": KEY},
    "ollama": {},
}
USUAL = {"host", "accept", "accept-encoding", "connection", "content-type", "content-length"}
LISTED: dict[str, tuple[str, Any]] = {
    "anthropic": ("/v1/models", {"data": [{"id": "m-1-20260101"}, {"id": "m-2"}]}),
    "google_genai": ("/v1beta/models", {"models": [{"name": "models/m-1"}, {"name": "models/m-2"}]}),
    "ollama": ("/api/tags", {"models": [{"name": "m-1:latest"}, {"name": "m-2"}]}),
}


@pytest.fixture(params=sorted(VENDORS))
def vendor(request: pytest.FixtureRequest) -> str:
    pytest.importorskip(VENDORS[request.param].module)
    return str(request.param)


async def test_only_key_and_question_are_sent(
    vendor: str, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "ALL_PROXY", "ANTHROPIC_PROXY", "ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI"):
        monkeypatch.setenv(name, "true")
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "x-secret: 1")
    path, listed = LISTED[vendor]
    server.on("", reply_of(vendor, QUERIES, 120, 30), path=PATHS[vendor]).on(lambda _: True, Reply(listed), path=path)
    model = ChatModel("m-1", vendor=VENDORS[vendor], url=server.root, key=KEY, temperature=0.2, silence=5.0)
    async with aclosing(model):
        with budget_scope(Budget()) as budget:
            await model.ask("Be brief.", "Which queries?", PlannedQueries)
        [found] = (await model.list_models()).values()
    assert (budget.calls, budget.input_tokens, budget.output_tokens) == (1, 120, 30)
    assert [model.is_among(names) for names in (found, ["m-2", "m-10", "m-1-mini"])] == [True, False]
    for request in server.requests:
        assert {k: v for k, v in request.headers.items() if k not in USUAL | {"user-agent"}} == HEADERS[vendor]
    body = json.dumps(server.requests[0].body)
    assert not [words for words in ("Be brief.", "Which queries?", "one JSON object", "0.2") if words not in body]


async def test_a_login_is_not_shown_and_offline_sends_nothing(vendor: str, server: ModelServer) -> None:
    server.on("", Reply("no", status=402), path=PATHS[vendor])
    address = server.root.replace("//", "//ann:hunter2@")
    async with aclosing(ChatModel("m-1", vendor=VENDORS[vendor], url=address, key=KEY)) as model:
        with pytest.raises(ProviderDownError) as caught:
            await model.ask("", "Which queries?", PlannedQueries)
    assert "hunter2" not in str(caught.value) + model.address
    assert server.requests[0].headers["authorization"].startswith("Basic ")
    away = ChatModel("m-1", vendor=VENDORS[vendor], url="http://203.0.113.9")
    with budget_scope(Budget(offline=True)), pytest.raises(ProviderDownError, match="leave this machine"):
        await away.ask("", "Which queries?", PlannedQueries)


@pytest.mark.usefixtures("library")
async def test_a_whole_run_is_a_vendors(vendor: str, server: ModelServer) -> None:
    def by(made: Callable[[Body], Any]) -> Callable[[Body], Reply]:
        def reply(body: Body) -> Reply:
            last = body["contents"][-1]["parts"][0]["text"] if "contents" in body else body["messages"][-1]["content"]
            return reply_of(vendor, made({"messages": [{"content": last}]}), 100, 10)

        return reply

    crux = {"text": "", "claims": []}
    stages = {"expand": SIDES, "requery": QUERIES, "crux": crux, "write": case_of, "check": said_all}
    for stage, said in stages.items():
        reply = by(said) if callable(said) else reply_of(vendor, said, 100, 10)
        server.on(STAGES[stage], reply, path=PATHS[vendor])
    where = {SETTINGS[vendor]: server.root, "model": f"{vendor}:m-1", **KEYS}
    given = load_settings(**where, provider="chat", judge="embedded")
    answer = await run(given, 20, web=False, max_passages=24)  # too few to read all: a second search
    assert (answer.outcome, [n.text for n in answer.notes if n.kind == "degraded"]) == ("answered", [])
    assert {answer.providers[stage] for stage in ("frame", "expand", "requery", "write")} == {f"{vendor}:m-1"}
    calls, usage = len(server.requests), answer.usage
    assert (usage.calls, usage.input_tokens, usage.output_tokens) == (calls, 100 * calls, 10 * calls)
    assert usage.cost_usd == 0  # a server on this machine costs nothing


async def test_no_request_is_repeated_when_schemas_are_refused(vendor: str, server: ModelServer) -> None:
    server.on("", Reply("no schema", status=400), path=PATHS[vendor])
    async with aclosing(ChatModel("m-1", vendor=VENDORS[vendor], url=server.root, key=KEY)) as model:
        with pytest.raises(ProviderReplyError, match="refused the request"):
            await model.ask("", "Which queries?", PlannedQueries)
    assert len({json.dumps(r.body) for r in server.requests}) == len(server.requests) > 1


def test_advice_on_proxies_is_not_given_for_a_missing_inner_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "langchain.chat_models", None)
    with pytest.raises(SettingsError, match=r"langchain_openai cannot be loaded \(.*langchain.chat_models.*\)\.$"):
        COMPATIBLE.load()


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, vendor: str) -> None:
    module = VENDORS[vendor].module
    monkeypatch.setitem(sys.modules, module, None)  # an import of it fails, as where it is not installed
    with pytest.raises(SettingsError, match=f"not installed: .venv/bin/pip install {module.replace('_', '-')}"):
        build_chat_models(load_settings(model=f"{vendor}:m-1", **KEYS))["write"].load()

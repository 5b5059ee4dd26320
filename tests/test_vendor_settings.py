"""A vendor's model in the settings: what turns it on, what is missing said before anything is asked, and whole runs."""

import importlib
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from typing import Any

import pytest
from answering_model import FOLLOW_UP, FRAMED, QUERIES, SIDES, STAGES, case_of, run, said_all
from model_replies import Body
from model_server import ModelServer, Reply
from vendor_replies import says, script

from agent.commands.doctor import examine, parts
from agent.models.from_settings import build_chat_models, build_judge, build_stage_model, uses_chat
from agent.settings import Settings, load_settings
from tools.errors import SettingsError
from tools.models.chat.vendors import VENDORS
from tools.models.judges.batch import BatchJudge

KEY = "very-secret-0123456789"


def keys(vendor: str) -> dict[str, str]:
    return {"anthropic": {"anthropic_api_key": KEY}, "google_genai": {"google_api_key": KEY}}.get(vendor, {})


def at(vendor: str, url: str) -> dict[str, str]:
    """The settings for a vendor at an address of one's own."""
    names = {"anthropic": "anthropic_base_url", "google_genai": "google_gemini_base_url", "ollama": "ollama_host"}
    return {names[vendor]: url, **keys(vendor)}


@pytest.fixture(params=sorted(VENDORS))
def vendor(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    pytest.importorskip(VENDORS[name].module)
    return name


# --- what is asked where ----------------------------------------------------------------------------------------------


def test_a_vendors_name_turns_it_on_at_its_own_address(vendor: str) -> None:
    settings = load_settings(model=f"{vendor}:m-1", **keys(vendor))
    assert uses_chat(settings)
    model = build_stage_model(settings, "write")
    assert (model.name, model.address, model.local) == (f"{vendor}:m-1", VENDORS[vendor].url, vendor == "ollama")
    assert not uses_chat(load_settings(model=f"{vendor}:m-1", provider="embedded", **keys(vendor)))
    assert not uses_chat(load_settings(**keys(vendor)))  # a key alone names no model


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ("127.0.0.1", "http://127.0.0.1:11434"),
        (":9000", "http://127.0.0.1:9000"),
        ("http://0.0.0.0:9000/", "http://127.0.0.1:9000"),
        ("https://gpu.example/ollama", "https://gpu.example/ollama"),
        ("[::]:9000", "http://127.0.0.1:9000"),
        ("", ""),
    ],
)
def test_ollamas_address_is_read_as_ollama_reads_it(monkeypatch: pytest.MonkeyPatch, given: str, address: str) -> None:
    monkeypatch.setenv("OLLAMA_HOST", given)
    assert load_settings().ollama_host == address


# --- what is missing --------------------------------------------------------------------------------------------------


class _Absent:
    """An import of this package fails, as where it is not installed."""

    def __init__(self, package: str) -> None:
        self.package = package

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: object = None) -> ModuleSpec | None:
        if name.partition(".")[0] == self.package:
            raise ModuleNotFoundError(f"No module named '{name}'", name=name)
        return None


@pytest.mark.parametrize("name", sorted(VENDORS))
def test_a_missing_package_is_named_with_the_line_that_installs_it(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    module = VENDORS[name].module
    for loaded in [m for m in sys.modules if m.partition(".")[0] == module]:
        monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.setattr(sys, "meta_path", [_Absent(module), *sys.meta_path])
    importlib.invalidate_caches()
    with pytest.raises(SettingsError) as caught:
        build_chat_models(load_settings(model=f"{name}:m-1", **keys(name)))
    package = module.replace("_", "-")
    assert str(caught.value) == (
        f"models named '{name}:…' need a package that is not installed: .venv/bin/pip install {package}"
    )


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"model": "anthropic:m-1"}, "STEELMAN_MODEL is 'anthropic:m-1': set ANTHROPIC_API_KEY, or ANTHROPIC_BASE_URL"),
        ({"model": "google_genai:m-1"}, "set GOOGLE_API_KEY, or GOOGLE_GEMINI_BASE_URL"),
        ({"model": "ollama:m-1", "model_write": "gpt-5"}, "STEELMAN_MODEL_WRITE is 'gpt-5': set OPENAI_API_KEY"),
        ({"model_write": "ollama:m-1"}, "no model is named for every stage: set STEELMAN_MODEL"),
        ({"model": "mistralai:m-1"}, "'mistralai' is not offered by name: set OPENAI_BASE_URL"),
        ({"model": "qwen3:4b", "openai_api_key": "k"}, "'qwen3' is not offered by name: set OPENAI_BASE_URL"),
    ],
)
def test_what_a_name_lacks_is_said_before_anything_is_asked(given: dict[str, str], says: str) -> None:
    if given.get("model", "").startswith("ollama:"):  # which lacks nothing
        pytest.importorskip("langchain_ollama")
    settings = load_settings(**given)
    assert uses_chat(settings)
    with pytest.raises(SettingsError) as caught:
        build_chat_models(settings)
    assert says in str(caught.value)


def test_a_server_of_ones_own_may_call_its_models_as_it_likes() -> None:
    for name in ("groq:m-1", "ibm:granite"):
        model = build_stage_model(load_settings(openai_base_url="http://127.0.0.1:9/v1", model=name), "frame")
        assert (model.name, model.address) == (name, "http://127.0.0.1:9/v1")


def test_the_judge_of_many_passages_may_be_a_vendors_model(vendor: str) -> None:
    judge = build_judge(load_settings(model=f"{vendor}:m-1", judge="batch", **keys(vendor)))
    assert isinstance(judge, BatchJudge)
    assert judge.name.startswith(f"batch-judge-{vendor}:m-1")
    with pytest.raises(SettingsError, match="STEELMAN_JUDGE=batch"):
        build_judge(load_settings(model=f"{vendor}:m-1", judge="chat", **keys(vendor)))


# --- the doctor, and a whole run --------------------------------------------------------------------------------------


def chat_model_of(settings: Settings) -> str:
    return next(examine(part).detail for part in parts(settings) if part.name == "chat model")


def test_the_doctor_names_each_vendor_with_its_address(server: ModelServer) -> None:
    pytest.importorskip("langchain_ollama")
    server.on(lambda _: True, Reply({"models": [{"name": "m-1:latest"}, {"name": "m-2:4b"}]}), path="/api/tags")
    given = {"openai_base_url": server.url, "model": "test-model", "ollama_host": server.root}
    said = chat_model_of(load_settings(**given, model_write="ollama:m-1"))
    assert said.startswith(f"test-model at {server.url}, ollama:m-1 at {server.root}; the embedded one stands in")
    said = chat_model_of(load_settings(**given, model_write="ollama:m-3"))
    assert said == f"{server.root} does not offer ollama:m-3. It offers: m-1:latest, m-2:4b."
    assert {r.path for r in server.requests} == {"/v1/models", "/api/tags"}  # nothing that costs was asked


def answering(server: ModelServer, vendor: str) -> None:
    """Rules that answer every stage of a run, as in `answering_model`, in the vendor's own words."""

    def by(made: Callable[[Body], Any]) -> Callable[[Body], Reply]:
        def reply(body: Body) -> Reply:
            last = body["contents"][-1]["parts"][0]["text"] if "contents" in body else ""
            return says(vendor, made({"messages": [{"content": last}]} if last else body), (100, 10))

        return reply

    script(server, vendor, says(vendor, FRAMED, (100, 10)), match=STAGES["frame"], times=1)
    script(server, vendor, says(vendor, SIDES, (100, 10)), match=STAGES["expand"], times=1)
    script(server, vendor, says(vendor, QUERIES, (100, 10)), match=STAGES["again"])
    script(server, vendor, by(case_of), match=STAGES["write"], times=3)
    script(server, vendor, by(said_all), match=STAGES["check"])
    script(server, vendor, says(vendor, {"text": "", "passages": []}, (100, 10)), match=STAGES["crux"])


@pytest.mark.usefixtures("library")
async def test_a_whole_run_is_a_vendors(vendor: str, server: ModelServer) -> None:
    answering(server, vendor)
    given = load_settings(model=f"{vendor}:m-1", provider="chat", judge="embedded", **at(vendor, server.root))
    answer = await run(given, 20, web=False, **FOLLOW_UP)
    assert answer.outcome == "answered"
    named = {stage: answer.providers[stage] for stage in ("frame", "expand", "again", "write")}
    assert set(named.values()) == {f"{vendor}:m-1"}
    calls = len(server.requests)
    usage = answer.usage
    assert (usage.calls, usage.input_tokens, usage.output_tokens) == (calls, 100 * calls, 10 * calls)
    assert usage.cost_usd == 0  # a server on this machine costs nothing
    assert any(p.claims for p in answer.perspectives)
    assert [n.text for n in answer.notes if n.kind == "degraded"] == []

"""The checkup as data: beside a door that is open and at work, with nothing loaded twice and nothing secret told."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
from agent_fixtures import QUESTION, door
from model_server import ModelServer, Reply
from providers import build

from agent.doctor.checkup import Finding, examine, parts
from agent.doctor.stages import stages
from agent.providers.build import build_providers
from agent.runs.open import open_runs
from agent.runs.service import Runs
from agent.settings import Settings, load_settings
from tools.errors import SettingsError
from tools.store.database import Database
from tools.store.store import Store

NOWHERE = "127.0.0.1:9"
SECRET = "very-secret"


def findings(settings: Settings, **how: Any) -> dict[str, Finding]:
    return {part.name: examine(part) for part in parts(settings, **how)}


def finding(name: str, settings: Settings, **how: Any) -> Finding:
    return next(examine(p) for p in parts(settings, **how) if p.name == name)


# What is said


def test_what_is_on_comes_first_and_each_part_says_what_it_serves(tmp_path: Path) -> None:
    listed = parts(Settings(data_dir=tmp_path))
    names = [p.name for p in listed if p.check]
    assert names == ["data", "encoder", "indexes", "language", "judge", "checkpoints"]
    assert [p.name for p in listed[: len(names)]] == names
    assert all(p.serves for p in listed)
    assert not list(tmp_path.iterdir())  # nothing is tried before it is asked for


def test_what_is_off_says_how_it_is_turned_on_and_takes_no_time(tmp_path: Path) -> None:
    off = [examine(p) for p in parts(Settings(data_dir=tmp_path)) if not p.check]
    assert {f.state for f in off} == {"off"}
    assert next(f for f in off if f.name == "web search").detail.startswith("on with TAVILY_API_KEY")
    assert all(f.seconds == 0 and f.serves for f in off)


def test_the_settings_that_it_was_given_are_the_ones_looked_at(tmp_path: Path) -> None:
    assert str(tmp_path / "other") in finding("data", Settings(data_dir=tmp_path / "other")).detail


def test_a_part_that_is_broken_fails_and_says_what_to_do(settings: Settings) -> None:
    settings.database_path.write_text("no database at all " * 99)
    found = finding("data", settings)
    assert found.state == "fails"
    assert "Move the file away" in found.detail


def test_settings_that_cannot_be_used_are_an_error() -> None:
    with pytest.raises(SettingsError, match="Copy it again"):
        parts(load_settings(tavily_api_key="two words"))


# Beside an open door


async def test_it_looks_at_what_the_open_door_holds_while_a_run_goes_on(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, searched = threading.Event(), threading.Event()

    def before(query: str) -> None:
        searched.set()
        assert query == "test" or gate.wait(20)

    def loaded(*_: object) -> None:
        raise AssertionError("a model was loaded a second time")

    monkeypatch.setattr("tools.inference.judges.embedded.load_judge", loaded)
    monkeypatch.setattr("tools.inference.encoders.encoder.load_encoder", loaded)
    async with door(settings, build(before_search=before)) as runs:
        run_id = await runs.start(QUESTION)
        try:
            assert await asyncio.to_thread(searched.wait, 10)
            found = await asyncio.to_thread(findings, settings, opened=runs.providers)
            assert runs.run_store.get(run_id).status == "running"
        finally:
            gate.set()
        assert (await runs.answer(run_id)).outcome == "answered"
    on = {name: f for name, f in found.items() if f.state != "off"}
    assert {f.state for f in on.values()} == {"ok"}, on
    assert on["encoder"].detail == "instant, 16 dimensions, embedded"
    assert on["judge"].detail == "instant-judge, accepts a passage from 0.50 on, embedded"
    assert "samples (40 passages)" in on["data"].detail
    assert sum(f.seconds for f in on.values()) < 2


@pytest.mark.slow
async def test_the_door_works_on_after_a_checkup_that_opened_everything_for_itself(settings: Settings) -> None:
    async with door(settings) as runs:
        found = await asyncio.to_thread(findings, settings)
        assert found["encoder"].detail.endswith("384 dimensions, embedded")
        assert found["indexes"].state == "fails"  # the collection was indexed with the instant encoder
        assert "rebuild" in found["indexes"].detail
        assert (await runs.answer(await runs.start(QUESTION))).outcome == "answered"


@pytest.mark.slow
def test_it_loads_no_second_copy_of_the_real_models(
    shared_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import onnxruntime

    made: list[object] = []
    real = onnxruntime.InferenceSession

    def counted(path: str, *rest: object, **named: object) -> object:
        made.append(path)
        return real(path, *rest, **named)

    monkeypatch.setattr(onnxruntime, "InferenceSession", counted)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "cache").symlink_to(shared_cache, target_is_directory=True)
    settings = Settings(data_dir=tmp_path / "data")
    opened, end = Future[Runs](), threading.Event()
    thread = threading.Thread(target=asyncio.run, args=(_keep_open(settings, opened, end),))
    thread.start()
    try:
        runs = opened.result(100)
        assert [r.status for r in runs.run_store.latest(1)] == ["running"]
        before = len(made)
        for _ in range(3):
            found = findings(settings, opened=runs.providers)
            assert {f.state for f in found.values()} == {"ok", "off"}, found
            assert max(f.seconds for f in found.values()) < 5
        assert len(made) == before > 0
    finally:
        end.set()
        thread.join(60)
    assert not thread.is_alive()


async def _keep_open(settings: Settings, opened: "Future[Runs]", end: threading.Event) -> None:
    """A door with a run at work, in a loop of its own."""
    async with open_runs(settings) as runs:
        run_id = await runs.start("Should schools ban smartphones?")
        opened.set_result(runs)
        answer = await runs.answer(run_id)
        assert answer.outcome == "answered"
        await asyncio.to_thread(end.wait, 60)


# No secret is told


@pytest.mark.usefixtures("quick_retries")
@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"openai_base_url": f"http://bob:{SECRET}@{NOWHERE}/v1", "model": "m"}, "chat model"),
        ({"judge_url": f"http://bob:{SECRET}@{NOWHERE}/v1", "judge_model": "m"}, "judge"),
        ({"judge_url": f"http://{SECRET}@{NOWHERE}/score", "judge_model": "m"}, "judge"),
        ({"embeddings_url": f"http://bob:{SECRET}@{NOWHERE}/v1", "embeddings_model": "m"}, "encoder"),
        ({"chroma_url": f"http://bob:{SECRET}@{NOWHERE}"}, "indexes"),
    ],
)
def test_no_password_of_an_address_is_told(settings: Settings, changes: dict[str, str], part: str) -> None:
    changed = load_settings(data_dir=settings.data_dir, **changes)
    found = finding(part, changed, ask=True)
    assert found.state == "fails"
    assert "cannot be reached" in found.detail
    told = (found, parts(changed), stages(changed))
    assert SECRET not in repr(told)


@pytest.fixture
def echo() -> Iterator[ModelServer]:
    """A server that says back what it must not."""
    with ModelServer(models=("m",)) as server:
        server.on("", Reply(f"the key sk-{SECRET} of bob:pass%2Fword and pass/word is no good", status=403))
        yield server


def test_what_a_server_says_back_is_told_without_the_keys(echo: ModelServer, tmp_path: Path) -> None:
    settings = load_settings(
        data_dir=tmp_path,
        judge_url=echo.url.replace("http://", "http://bob:pass%2Fword@"),
        judge_model="m",
        tavily_api_key=f"sk-{SECRET}",
    )
    found = finding("judge", settings)
    assert found.state == "fails"
    assert "is no good" in found.detail
    for secret in (SECRET, "pass%2Fword", "pass/word"):
        assert secret not in found.detail


def test_a_judge_that_answers_is_shown_without_its_login(tmp_path: Path) -> None:
    with ModelServer(models=("m",), judge=lambda _: 0.9) as server:
        address = server.url.replace("http://", f"http://bob:{SECRET}@")
        found = finding("judge", load_settings(data_dir=tmp_path, judge_url=address, judge_model="m"))
    assert found.state == "ok"
    assert f" at {server.url}, accepts" in found.detail
    assert SECRET not in found.detail


# Who serves each stage


def test_by_itself_every_stage_is_embedded_and_the_web_is_off() -> None:
    served = {s.stage: s for s in stages(load_settings())}
    assert list(served) == ["frame", "expand", "search", "web", "judge", "requery", "write", "verify"]
    assert {s.provider for name, s in served.items() if name != "web"} == {"embedded"}
    assert served["web"].provider == ""
    assert not any(s.address or s.fallback for s in served.values())


@pytest.mark.slow
def test_it_names_what_the_agent_itself_builds(settings: Settings) -> None:
    changed = load_settings(
        data_dir=settings.data_dir,
        openai_base_url=f"http://bob:{SECRET}@{NOWHERE}/v1",
        model="small",
        model_queries="quick",
        model_write="large",
        judge_url=f"http://{NOWHERE}/score",
        judge_model="scorer",
        serper_api_key="k",
        chroma_url=f"http://{NOWHERE}",
    )
    database = Database(changed.database_path)
    made: Any = build_providers(changed, Store(database))
    served = {s.stage: s for s in stages(changed)}
    assert served["frame"].provider == made.framer.model.name == "small"
    assert served["expand"].provider == made.expander.model.name == "small"
    assert served["requery"].provider == made.requerier.model.name == "quick"
    assert served["write"].provider == made.writer.model.name == "large"
    assert served["judge"].provider == served["verify"].provider == made.models.judge().name
    assert served["web"].provider == made.web.engine.name == "serper"
    assert "Chroma" in served["search"].provider
    assert {s.address for s in served.values()} == {r.address for r in made.remotes}
    speaking = ("frame", "expand", "requery", "write", "judge", "verify")
    assert {served[s].fallback for s in speaking} == {"embedded"}
    database.close()
    asyncio.run(made.aclose())


def test_what_was_named_explicitly_has_no_stand_in() -> None:
    insisted = load_settings(provider="chat", openai_api_key="k", judge="chat")
    assert not any(s.fallback for s in stages(insisted))
    assert all(s.address == "https://api.openai.com/v1" for s in stages(insisted) if s.stage in ("frame", "judge"))

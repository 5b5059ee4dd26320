"""The doctor: what is on, what answers, and how to turn on the rest; and what the settings make of each other."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from model_server import ModelServer, Reply

from agent.__main__ import main
from agent.commands.doctor import DoctorFinding, doctor_checks, run_check
from agent.providers.from_settings import build_judge
from agent.settings import Settings, load_settings
from tools.errors import SettingsError
from tools.models.judges.batch import BatchJudge
from tools.models.judges.remote import ChatJudge, ScoreJudge

SECRET = "very-secret"


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(models=("small", "large"), judge=lambda _: 0.8) as running:
        yield running


def lines(capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    """Each line of the report by what it is about."""
    printed = [line for line in capsys.readouterr().out.splitlines() if line[:5].strip() in ("ok", "FAILS", "off")]
    return {line[7:22].strip(): f"{line[:5].strip()} {line[22:]}" for line in printed}


def finding(name: str, settings: Settings, **how: Any) -> DoctorFinding:
    return next(run_check(p) for p in doctor_checks(settings, **how) if p.name == name)


@pytest.mark.slow
@pytest.mark.usefixtures("cached")
def test_without_settings_it_says_how_to_turn_on_the_rest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    told = lines(capsys)
    for part in ("data", "encoder", "indexes", "language", "judge", "checkpoints"):
        assert told[part].startswith("ok "), part
    for part, setting in {
        "chat model": "OPENAI_API_KEY",
        "judge server": "STEELMAN_JUDGE_URL",
        "web search": "TAVILY_API_KEY",
        "Chroma server": "CHROMA_URL",
        "other encoder": "STEELMAN_ENCODER",
    }.items():
        assert told[part].startswith("off "), part
        assert setting in told[part]


@pytest.mark.usefixtures("cached")
def test_what_answers(server: ModelServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("STEELMAN_MODEL", "small")
    monkeypatch.setenv("STEELMAN_JUDGE_URL", server.url)
    monkeypatch.setenv("STEELMAN_JUDGE_MODEL", "large")
    monkeypatch.setenv("TAVILY_API_KEY", "tvly-test")
    assert main(["doctor"]) == 0
    told = lines(capsys)
    assert told["chat model"].startswith(f"ok small at {server.url}; the built-in one stands in")
    assert "large" in told["judge"]
    assert "stands in when it fails" in told["judge"]
    assert "not asked" in told["web search"]
    assert [r.path for r in server.requests if r.body is None] == ["/v1/models"]  # nothing that costs was asked of it


@pytest.mark.usefixtures("cached")
@pytest.mark.parametrize(
    ("settings", "part", "says"),
    [
        ({"STEELMAN_MODEL": "medium"}, "chat model", "does not offer medium. It offers: small, large"),
        ({"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}, "chat model", "cannot be reached"),
        ({"STEELMAN_JUDGE_URL": "http://127.0.0.1:9/v1", "STEELMAN_JUDGE_MODEL": "x"}, "judge", "cannot be reached"),
        ({"CHROMA_URL": "http://127.0.0.1:9"}, "indexes", "cannot be reached"),
    ],
)
def test_what_fails_is_named(
    server: ModelServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    settings: dict[str, str],
    part: str,
    says: str,
) -> None:
    for name, value in ({"OPENAI_BASE_URL": server.url, "STEELMAN_MODEL": "small"} | settings).items():
        monkeypatch.setenv(name, value)
    assert main(["doctor"]) == 1
    told = lines(capsys)
    assert told[part].startswith("FAILS ")
    assert says in told[part]


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


# Which provider the settings turn on


@pytest.mark.parametrize(
    ("settings", "kind"),
    [
        ({}, None),
        ({"judge_url": "http://127.0.0.1:1/v1", "judge_model": "m"}, ChatJudge),
        ({"judge_url": "http://127.0.0.1:1/score", "judge_model": "m"}, ScoreJudge),
        ({"judge_url": "http://127.0.0.1:1", "judge_model": "m", "judge": "score"}, ScoreJudge),
        ({"judge_url": "http://127.0.0.1:1/v1", "judge_model": "m", "provider": "embedded"}, None),
        ({"openai_api_key": "k"}, BatchJudge),  # a call for each passage would be thousands: never by a key alone
        ({"openai_api_key": "k", "judge": "chat"}, ChatJudge),
    ],
)
def test_the_judge_that_is_on(settings: dict[str, str], kind: type | None) -> None:
    judge = build_judge(load_settings(**settings))
    assert type(judge) is (kind or type(None))


@pytest.mark.parametrize(
    ("environment", "says"),
    [
        ({"STEELMAN_PROVIDER": "chat"}, "OPENAI_API_KEY"),
        ({"STEELMAN_PROVIDER": "oracle"}, "STEELMAN_PROVIDER cannot be"),
        ({"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}, "STEELMAN_MODEL is needed"),
        ({"STEELMAN_WEB": "tavily"}, "set TAVILY_API_KEY"),
        ({"STEELMAN_TEMPERATURE": "hot"}, "STEELMAN_TEMPERATURE cannot be 'hot'"),
        ({"CHROMA_URL": "chroma:8000"}, "CHROMA_URL cannot be"),
    ],
)
def test_a_wrong_setting_is_named(monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], says: str) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError, match=r"\.env\.example") as raised:
        load_settings()
    assert says in str(raised.value)


def test_the_logins_of_mcp_servers_are_secret(settings: Settings) -> None:
    servers = (
        "notes=uvx notes; wiki=https://ann:pass-one@a.example/mcp; b=https://u:pass-two@b.example/mcp?key=pass-three"
    )
    checks = doctor_checks(settings.model_copy(update={"mcp_sources": servers}))
    assert {"pass-one", "pass-two", "pass-three"} <= {*checks[0].secrets}


def test_keys_are_not_printed() -> None:
    settings = Settings(openai_api_key="sk-very-secret", tavily_api_key="tvly-very-secret")  # type: ignore[arg-type]
    assert "very-secret" not in repr(settings) + str(settings.model_dump())

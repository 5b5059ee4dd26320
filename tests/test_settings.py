"""Settings: what the environment may say, and that `.env.example` lists exactly that."""

import re
from pathlib import Path

import pytest
from conftest import ROOT

from agent.options import RunOptions
from agent.providers.from_settings import build_judge
from agent.settings import Settings, env_example, find_env_file, load_settings
from tools.errors import SettingsError


def test_the_example_names_exactly_the_settings_with_their_descriptions() -> None:
    text = (ROOT / ".env.example").read_text()
    assert text == env_example() + "\n"
    named = re.findall(r"^# ([A-Z_]+)=", text, re.MULTILINE)
    assert len(named) == len(set(named)) == sum(bool(f.description) for f in Settings.model_fields.values())
    assert {"STEELMAN_DATA_DIR", "OPENAI_API_KEY", "TAVILY_API_KEY", "CHROMA_URL", "STEELMAN_JUDGE_URL"} <= set(named)
    assert not re.search(r"^[^#\n]", text, re.MULTILINE)  # nothing is set by copying it


def written(folder: Path, key: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / ".env").write_text(f"OPENAI_API_KEY={key}\nSTEELMAN_DATA_DIR=/elsewhere\nOTHER=1\n")
    return folder / ".env"


def test_the_environment_wins_over_an_env_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("agent.settings.ROOT", tmp_path / "checkout")
    places = [(tmp_path, ""), (tmp_path / "data", "data"), (tmp_path / "checkout", "checkout"), (tmp_path / "n", "n")]
    monkeypatch.chdir(tmp_path)
    for folder, read in places:
        file = written(folder, read or "of-the-current-folder")
        if read == "n":
            monkeypatch.setenv("STEELMAN_ENV_FILE", str(file))
        settings = load_settings()
        assert (settings.openai_api_key.get_secret_value(), find_env_file()) == (read, file if read else None)
        assert settings.data_dir == tmp_path / "data"  # from the environment
    monkeypatch.delenv("STEELMAN_ENV_FILE")
    monkeypatch.setattr("agent.settings.is_checkout", lambda: False)
    assert find_env_file() == tmp_path / "data" / ".env"
    monkeypatch.setenv("STEELMAN_PROVIDER", "oracle")
    with pytest.raises(SettingsError, match=re.escape(f"{find_env_file()} is read")):
        load_settings()


def test_ollamas_address_is_read_as_ollama_reads_it() -> None:
    here = "http://127.0.0.1"
    for given, address in (
        *(("127.0.0.1", f"{here}:11434"), (":9000", f"{here}:9000"), ("http://0.0.0.0:9000/", f"{here}:9000")),
        *(("https://gpu.example/ollama", "https://gpu.example/ollama"), ("[::]:9000", f"{here}:9000")),
    ):
        assert load_settings(ollama_host=given).ollama_host == address


@pytest.mark.parametrize(
    ("name", "fine", "wrong", "said"),
    [
        ("api_hosts", "api.example.org, ::1", "https://api.example.org", "host names without https://"),
        ("api_origins", "https://a.example:8443, http://[::1]", "https://a.example/", "without a path"),
        ("public_url", "https://a.example/steelman/", "https://a.example/v1", "the path before /v1"),
        ("api_rate", "20/second; 600/minute", "20/second; 0/minute", "a rate of 0"),
        ("openai_api_key", "sk-1", '"sk-1"', "without quotation marks"),
        ("openai_api_key", "sk-1", "“sk-1”", "one word of ASCII"),
        ("serper_api_key", "sk-1\n", "sk\n1", "one word of ASCII"),
    ],
)
def test_mistakes_are_refused_with_the_form_that_is_meant(name: str, fine: str, wrong: str, said: str) -> None:
    load_settings(**{name: fine})
    with pytest.raises(SettingsError, match=said):
        load_settings(**{name: wrong})


def test_options_are_refused_in_clear_words() -> None:
    with pytest.raises(SettingsError, match=r"^21 pages are too many for one question; 20 is the most\.$"):
        RunOptions.of(urls=["https://example.org/"] * 21)
    with pytest.raises(SettingsError, match=r"no collection to search\..*--collection") as wrong:
        RunOptions.of(collections=())
    assert wrong.value.remote_text == "No collection to search."


def test_a_prompt_for_a_judge_that_is_no_chat_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="STEELMAN_JUDGE_PROMPT"):
        build_judge(load_settings(judge_prompt=tmp_path / "prompt.md"))


def test_a_wrong_database_is_refused_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEELMAN_DATABASE_URL", "mysql://me:hidden@db.example/x")
    with pytest.raises(SettingsError, match="begins with postgresql") as caught:
        load_settings()
    assert "hidden" not in str(caught.value)

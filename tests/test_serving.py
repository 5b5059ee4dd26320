"""`make local-models`: what it refuses, downloads and starts. `test_vllm_agent.py` starts vLLM itself."""

import json
import os
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from dotenv import dotenv_values
from hub_server import COMMIT, serve_hub, use_hub
from loopback import free_port

from agent.settings import load_settings
from tools.errors import SettingsError
from tools.serving import CPU_MODEL, GPU_MODEL, LocalModel, build_environment, main, prepare, read_model

CROSS = {"architectures": ["BertForSequenceClassification"], "id2label": {"0": "LABEL_0"}}
CHAT = {"architectures": ["LlamaForCausalLM"], "max_position_embeddings": 131072}
WHOLE = {"config.json": json.dumps(CHAT).encode(), "model.safetensors": b"w" * 3000, "tokenizer.json": b"{}"}


def folder(path: Path, **config: object) -> Path:
    path.mkdir()
    (path / "config.json").write_text(json.dumps(config))
    return path


@pytest.fixture
def port() -> int:
    return free_port()


def test_an_instruct_model_serves_both_and_a_cross_encoder_judges(tmp_path: Path) -> None:
    cross = folder(tmp_path / "cross", **CROSS, max_position_embeddings=1024)
    chat = folder(tmp_path / "chat", **CHAT)
    assert read_model(cross) == LocalModel(cross, "cross", "score", 512, {})
    assert read_model(chat, "owner/name") == LocalModel(chat, "owner/name", "chat", 16384, {})
    three: dict[str, Any] = CROSS | {"id2label": {"0": "a", "1": "b", "2": "c"}}
    wrong = (three, "3 classes"), ({"max_position_embeddings": "many"}, "no model")
    for number, (config, says) in enumerate(wrong):
        with pytest.raises(SettingsError, match=says):
            read_model(folder(tmp_path / f"{number}", **config))


@pytest.mark.parametrize("gpu", [True, False])
def test_nothing_is_downloaded_before_it_is_announced(
    gpu: bool, port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tools.serving.has_gpu", lambda: gpu)
    with serve_hub("some/model", WHOLE, "mit") as (address, asked):
        use_hub(monkeypatch, address, str(tmp_path / "hub"))
        assert main(["--port", str(port)]) == 2
    assert asked == []
    said = capsys.readouterr().err
    named = GPU_MODEL if gpu else CPU_MODEL, "Apache-2.0", "8.0 GB" if gpu else "3.1 GB", str(tmp_path / "hub")
    assert [text for text in (*named, "make local-models DOWNLOAD=1") if text not in said] == []


def test_a_download_fetches_only_what_is_read_and_is_completed(
    port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["--model", "some/model", "--port", str(port), "--prepare"]
    files = {**WHOLE, "README.md": b"r", "consolidated.safetensors": b"c" * 9000, "onnx/model.onnx": b"o"}
    with serve_hub("some/model", files, "mit") as (address, asked):
        use_hub(monkeypatch, address, str(tmp_path))
        assert main(command) == 2
        assert "make local-models MODEL=some/model DOWNLOAD=1" in capsys.readouterr().err
        assert main([*command, "--download"]) == 0
        fetched = {path.rpartition("/")[2] for path in asked if "/resolve/" in path}
        assert fetched == set(WHOLE)
        before = len(asked)
        assert main(command) == 0
        assert len(asked) == before
        found = prepare("some/model", gpu=False, download=False).folder
        assert found.name == COMMIT
        (found / "model.safetensors").unlink()  # as after a download that was stopped
        assert main([*command, "--download"]) == 0
        assert (found / "model.safetensors").read_bytes() == WHOLE["model.safetensors"]


def test_it_prints_the_lines_and_becomes_vllm(
    port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    begun: list[Any] = []
    monkeypatch.setattr("os.execve", lambda *given: begun.append(given))
    named = ["--model", str(folder(tmp_path / "chat", **CHAT)), "--port", str(port), "--", "--max-num-seqs", "8"]
    assert main(named) == 2
    assert "vLLM is not installed here. `make local-models` installs it" in capsys.readouterr().err
    monkeypatch.setattr("tools.serving.find_spec", lambda name: True)
    main(named)
    for name, value in dotenv_values(stream=StringIO(capsys.readouterr().out)).items():
        monkeypatch.setenv(name, str(value))
    settings = load_settings()
    assert settings.openai_base_url == settings.judge_url == f"http://127.0.0.1:{port}/v1"
    assert settings.model == settings.judge_model
    [(python, command, _)] = begun
    assert command[:4] == [python, "-P", "-m", "vllm.entrypoints.launchers.api_server.entry"]
    assert command[-2:] == ["--max-num-seqs", "8"]


def test_the_server_gets_no_key_and_fetches_nothing() -> None:
    base = {"PATH": "/bin", "HF_HUB_OFFLINE": "0", "OPENAI_API_KEY": "sk-1"}
    there = build_environment(base, "/e/bin/python")
    assert "OPENAI_API_KEY" not in there
    assert (there["VLLM_NO_USAGE_STATS"], there["HF_HUB_OFFLINE"]) == ("1", "1")
    assert there["PATH"].split(os.pathsep) == ["/e/bin", "/bin"]

"""The command that serves models here: what it says, refuses, fetches and starts, and that nothing is left at its end.

`test_vllm_agent.py` starts the real thing; here the server is a few lines of Python.
"""

import http.client
import json
import os
import socket
import subprocess
import sys
import time
from io import StringIO
from pathlib import Path

import pytest
from conftest import ROOT
from dotenv import dotenv_values
from hub_server import COMMIT, serve_hub, use_hub
from loopback import free_port
from vllm_server import alive

from agent.settings import load_settings
from tools.errors import ModelError, SettingsError
from tools.serving.__main__ import BAD_INPUT, OK, main
from tools.serving.models import CPU_MODEL, GPU_MODEL, LocalModel, cached_folder, env_lines, is_folder, read_model
from tools.serving.vllm import build_environment, find_python, running_server

SERVER = """
import http.server, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(100)"])
print(child.pid, flush=True)
class Healthy(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/health" else 404)
        self.end_headers()
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Healthy).serve_forever()
"""


def folder(path: Path, **config: object) -> Path:
    path.mkdir()
    (path / "config.json").write_text(json.dumps(config))
    return path


@pytest.fixture
def port() -> int:
    return free_port()


CROSS = {"architectures": ["BertForSequenceClassification"], "id2label": {"0": "LABEL_0"}}
CHAT = {"architectures": ["LlamaForCausalLM"], "max_position_embeddings": 131072}
WHOLE = {"config.json": json.dumps(CHAT).encode(), "model.safetensors": b"w" * 3000, "tokenizer.json": b"{}"}


def model_of(folder: Path, **changes: object) -> LocalModel:
    fields = {"name": "m/chat", "kind": "chat", "length": 16384, **changes}
    return LocalModel(folder, **fields)  # type: ignore[arg-type]


def test_an_instruct_model_serves_both_and_a_cross_encoder_judges(tmp_path: Path) -> None:
    cross = folder(tmp_path / "cross", **CROSS, max_position_embeddings=1024)
    chat = folder(tmp_path / "chat", **CHAT)
    assert read_model(cross) == LocalModel(cross, "cross", "score", 512)
    assert read_model(chat) == LocalModel(chat, "chat", "chat", 16384)
    assert read_model(chat, "owner/name").name == "owner/name"


def test_the_lines_are_settings_of_chat_stages_and_judge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = env_lines(model_of(tmp_path, name="Qwen/Some-Model"), 8002)
    for name, value in dotenv_values(stream=StringIO(lines)).items():
        monkeypatch.setenv(name, str(value))
    settings = load_settings()
    assert settings.openai_base_url == settings.judge_url == "http://127.0.0.1:8002/v1"
    assert settings.model == settings.judge_model == "Qwen/Some-Model"
    assert settings.openai_api_key.get_secret_value() == "no-key"
    assert settings.judge == "auto"


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"architectures": ["BertForSequenceClassification"], "id2label": {"0": "a", "1": "b", "2": "c"}}, "3 classes"),
        ({"architectures": ["BertForSequenceClassification"]}, "2 classes"),
        ({"max_position_embeddings": "many"}, "no model"),
    ],
)
def test_what_cannot_judge_is_refused(tmp_path: Path, config: dict[str, object], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        read_model(folder(tmp_path / "model", **config))


@pytest.mark.parametrize("gpu", [True, False])
def test_the_usual_model_is_told_before_anything_is_fetched(
    gpu: bool, port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tools.serving.__main__.has_gpu", lambda: gpu)
    with serve_hub("some/model", WHOLE, "mit") as (address, asked):
        use_hub(monkeypatch, address, str(tmp_path / "hub"))
        assert main(["--port", str(port)]) == BAD_INPUT
    assert asked == []
    told = capsys.readouterr()
    assert told.out == ""
    assert (GPU_MODEL if gpu else CPU_MODEL) in told.err
    assert "Apache-2.0" in told.err
    assert ("about 8.0 GB" if gpu else "about 3.1 GB") in told.err
    assert str(tmp_path / "hub") in told.err
    assert told.err.splitlines()[-1].startswith("local-models: nothing was downloaded.")
    assert "make local-models DOWNLOAD=1" in told.err


def test_a_download_is_made_of_what_is_read(
    port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ask = ["--model", "some/model", "--port", str(port), "--prepare"]
    files = {**WHOLE, "README.md": b"r", "consolidated.safetensors": b"c" * 9000, "onnx/model.onnx": b"o"}
    with serve_hub("some/model", files, "mit") as (address, asked):
        use_hub(monkeypatch, address, str(tmp_path))
        assert main(ask) == BAD_INPUT
        assert "make local-models MODEL=some/model DOWNLOAD=1" in capsys.readouterr().err
        assert asked == []
        assert main([*ask, "--download"]) == OK
        told = capsys.readouterr()
        assert told.out == ""
        fetched = {path.rpartition("/")[2] for path in asked if "/resolve/" in path}
        assert fetched == {"config.json", "model.safetensors", "tokenizer.json"}
        before = len(asked)
        assert main(ask) == OK
        assert len(asked) == before
        found = cached_folder("some/model")
        assert found is not None
        assert found.name == COMMIT
        (found / "model.safetensors").unlink()  # as where a download was stopped
        assert main([*ask, "--download"]) == OK
        assert (found / "model.safetensors").read_bytes() == WHOLE["model.safetensors"]


def test_without_the_hubs_library_a_folder_still_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.serving.models.find_spec", lambda name: None)
    assert is_folder(str(tmp_path))
    with pytest.raises(SettingsError, match=r"need the package huggingface-hub\. Install it: .*requirements-hub\.lock"):
        is_folder("some/model")


def test_the_hub_is_not_told_who_calls() -> None:
    code = "import tools.serving, huggingface_hub.constants as c; print(c.HF_HUB_DISABLE_TELEMETRY)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


def test_a_port_in_use_costs_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert main(["--port", str(taken.getsockname()[1])]) == BAD_INPUT
    assert main(["--port", "99999"]) == BAD_INPUT
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 2
    assert all("PORT=8002" in line for line in told)


def test_without_vllm_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tools.serving.vllm._ENVIRONMENT", tmp_path / "python")
    with pytest.raises(SettingsError, match="make local-models"):
        find_python()


def test_the_server_reports_and_fetches_nothing() -> None:
    base = {"PATH": "/bin", "HF_HUB_OFFLINE": "0"}
    assert build_environment({"OPENAI_API_KEY": "sk-1"}, Path("/p")).keys().isdisjoint({"OPENAI_API_KEY"})
    there = build_environment(base, Path("/e/bin/python"))
    assert there["VLLM_NO_USAGE_STATS"] == "1"
    assert there["HF_HUB_OFFLINE"] == "1"
    assert there["PATH"].split(os.pathsep) == ["/e/bin", "/bin"]
    assert base == {"PATH": "/bin", "HF_HUB_OFFLINE": "0"}


def test_a_server_answers_inside_and_is_gone_outside_with_its_children(port: int, tmp_path: Path) -> None:
    command = [sys.executable, "-c", SERVER, str(port)]
    with running_server(command, port, environment=os.environ, log=tmp_path / "log", seconds=30) as server:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        connection.request("GET", "/health")
        assert connection.getresponse().status == 200
        connection.close()
        child = int((tmp_path / "log").read_text().split()[0])
        assert alive(child)
    assert server.poll() is not None
    until = time.monotonic() + 5
    while alive(child) and time.monotonic() < until:
        time.sleep(0.05)
    assert not alive(child)


def test_a_server_that_ends_early_is_quoted(port: int, tmp_path: Path) -> None:
    code = "raise ValueError('the weights are not there')"
    with (
        pytest.raises(ModelError, match="ValueError: the weights are not there"),
        running_server([sys.executable, "-c", code], port, environment=os.environ, log=tmp_path / "log", seconds=30),
    ):
        pass

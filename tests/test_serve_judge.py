"""The command that serves a judge: what it refuses, what it starts, and that nothing is left when it ends.

`test_vllm.py` starts the real thing; here the server is a few lines of Python.
"""

import http.client
import json
import os
import socket
import sys
import time
from pathlib import Path

import pytest
from vllm_server import alive, free_port

from tools.errors import ModelError, SettingsError
from tools.judges.serve import (
    BAD_INPUT,
    JudgeModel,
    build_command,
    build_environment,
    find_model,
    find_python,
    has_gpu,
    main,
    running,
)

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


def test_a_classifier_with_one_label_scores_and_anything_else_chats(tmp_path: Path) -> None:
    cross = folder(
        tmp_path / "cross",
        architectures=["BertForSequenceClassification"],
        id2label={"0": "LABEL_0"},
        max_position_embeddings=512,
    )
    chat = folder(tmp_path / "chat", architectures=["LlamaForCausalLM"], max_position_embeddings=131072)
    short = folder(tmp_path / "short", architectures=["LlamaForCausalLM"], max_position_embeddings=2048)
    assert find_model(str(cross)) == JudgeModel(str(cross), "score", 512)
    assert find_model(str(chat)) == JudgeModel(str(chat), "chat", 4096)
    assert find_model(str(short)).length == 2048
    assert find_model(f"{chat}/").name == "chat"


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
        find_model(str(folder(tmp_path / "model", **config)))


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"config\.json cannot be read"):
        find_model(str(tmp_path))


@pytest.mark.parametrize(
    ("source", "said"), [("./models/none", "no model folder"), ("nobody/no-such-model", "DOWNLOAD=1")]
)
def test_a_model_that_is_not_here_costs_one_line(
    source: str, said: str, port: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tools.judges.serve._ENVIRONMENT", Path(sys.executable))
    assert main(["--model", source, "--port", str(port)]) == BAD_INPUT
    told = capsys.readouterr()
    assert told.out == ""
    assert said in told.err
    assert told.err.count("\n") == 1


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
    monkeypatch.setattr("tools.judges.serve._ENVIRONMENT", tmp_path / "python")
    with pytest.raises(SettingsError, match="make judge-server"):
        find_python()


def test_an_nvidia_smi_that_fails_is_no_gpu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not has_gpu()
    tool = tmp_path / "nvidia-smi"
    tool.write_text("#!/bin/sh\nexit 9\n")
    tool.chmod(0o755)
    assert not has_gpu()
    tool.write_text("#!/bin/sh\nexit 0\n")
    assert has_gpu()


def test_the_command_suits_model_and_machine() -> None:
    chat = build_command(JudgeModel("m/chat", "chat", 4096), 8001, python=Path("/p"), gpu=True)
    score = build_command(JudgeModel("m/x", "score", 512), 8001, python=Path("/p"), gpu=False, options=["--seed=3"])
    assert chat[chat.index("--host") + 1] == "127.0.0.1"
    assert "--enable-prefix-caching" in chat
    assert "--runner" not in chat
    assert score[score.index("--runner") + 1] == "pooling"
    assert score[score.index("--max-model-len") + 1] == "512"
    assert score[-1] == "--seed=3"
    assert "--dtype=float32" in score
    assert not any("dtype" in word for word in chat)
    assert any("gpu-memory" in word for word in chat)
    assert not any("gpu-memory" in word for word in score)


def test_the_server_reports_and_fetches_nothing() -> None:
    base = {"PATH": "/bin", "HF_HUB_OFFLINE": "0"}
    there = build_environment(base, Path("/e/bin/python"))
    assert there["VLLM_NO_USAGE_STATS"] == "1"
    assert there["HF_HUB_OFFLINE"] == "1"
    assert there["PATH"].split(os.pathsep) == ["/e/bin", "/bin"]
    assert build_environment(base, Path("/p"), download=True)["HF_HUB_OFFLINE"] == "0"
    assert base == {"PATH": "/bin", "HF_HUB_OFFLINE": "0"}


def test_a_server_answers_inside_and_is_gone_outside_with_its_children(port: int, tmp_path: Path) -> None:
    command = [sys.executable, "-c", SERVER, str(port)]
    with running(command, port, environment=os.environ, log=tmp_path / "log", seconds=30) as server:
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
        running([sys.executable, "-c", code], port, environment=os.environ, log=tmp_path / "log", seconds=30),
    ):
        pass


def test_a_server_that_never_answers_is_given_up(port: int, tmp_path: Path) -> None:
    code = "import time; time.sleep(100)"
    with (
        pytest.raises(ModelError, match="within 1 seconds"),
        running([sys.executable, "-c", code], port, environment=os.environ, log=tmp_path / "log", seconds=0.6),
    ):
        pass

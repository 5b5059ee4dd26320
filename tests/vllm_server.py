"""Real vLLM servers over tiny models, one a kind, started for the first test that wants one and ended with the session.

A test module takes the fixtures with `pytest_plugins = ["vllm_server"]`, so that all modules share the servers.
PYTEST_DONT_REWRITE: they also import names from here, which happens before it becomes a plugin.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import pytest
from dotenv import dotenv_values
from loopback import free_port

from tools.serving.models import read_model
from tools.serving.vllm import build_command, build_environment, has_gpu, running_server

ROOT = Path(__file__).parents[1]
PYTHON = ROOT / ".venvs" / "vllm" / "bin" / "python"
MAKER = ROOT / "tests" / "tiny_models.py"
UP_WITHIN = 300.0
"""Seconds for a server to answer; some 30 on two idle cores. A test that may start one needs a longer timeout."""
Kind = Literal["chat", "score"]
_FOREIGN = ("STEELMAN_", "VLLM_", "HF_", "OPENAI_", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
_OPTIONS = {
    # Between two values random weights write blanks until the token limit cuts the JSON.
    "chat": ("--structured-outputs-config", '{"backend":"xgrammar","disable_any_whitespace":true}'),
    "score": (),
}


@dataclass(frozen=True, slots=True)
class VllmServer:
    """url: up to and including /v1. folder: the model's."""

    url: str
    model: str
    folder: Path
    log: Path


def alive(pid: int) -> bool:
    """Whether the process still runs; one that ended and that nobody asked about yet does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@contextmanager
def tiny_server(kind: Kind, base: Path) -> Iterator[VllmServer]:
    """A server of its own over a tiny model; `base` gets the model, the log and whatever vLLM keeps at home."""
    folder = base / f"tiny-{kind}"
    make_tiny(kind, folder)
    with model_server(kind, folder, base) as server:
        yield server


def make_tiny(kind: Kind, folder: Path) -> None:
    """The tiny model's folder. Skips without vLLM, whose Python makes it."""
    if not PYTHON.exists():
        pytest.skip("vLLM is not installed; `make test-all` does that")
    subprocess.run([PYTHON, MAKER, kind, folder], check=True, capture_output=True, timeout=UP_WITHIN)


@contextmanager
def model_server(kind: Kind, folder: Path, base: Path) -> Iterator[VllmServer]:
    """vLLM over the model in `folder`, in float32. Skips without vLLM."""
    if not PYTHON.exists():
        pytest.skip("vLLM is not installed; `make test-all` does that")
    port = free_port()
    small = ("--dtype=float32", "--enforce-eager", "--kv-cache-memory-bytes=536870912", *_OPTIONS[kind])
    model = read_model(folder)
    command = build_command(model, port, python=PYTHON, gpu=has_gpu(), options=small)
    plain = {name: value for name, value in os.environ.items() if not name.upper().startswith(_FOREIGN)}
    environment = build_environment({**plain, "HOME": str(base)}, PYTHON)
    log = base / f"{kind}.log"
    with running_server(command, port, environment=environment, log=log, seconds=UP_WITHIN):
        yield VllmServer(f"http://127.0.0.1:{port}/v1", model.name, folder, log)


@contextmanager
def local_models(kind: Kind, folder: Path, home: Path) -> Iterator[tuple[dict[str, str], "subprocess.Popen[str]"]]:
    """What `make local-models` starts, over the model in `folder`: the settings that it prints, and its process."""
    command = [sys.executable, "-m", "tools.serving", "--model", str(folder), "--port", str(free_port()), "--"]
    command += ["--dtype=float32", "--kv-cache-memory-bytes=536870912", *_OPTIONS[kind]]
    # vLLM's sockets lie in TMPDIR, and a socket's path has at most 107 characters.
    with (
        TemporaryDirectory() as short,
        subprocess.Popen(
            command, cwd=ROOT, env={**os.environ, "HOME": str(home), "TMPDIR": short}, stdout=subprocess.PIPE, text=True
        ) as launcher,
    ):
        try:
            assert launcher.stdout is not None
            written = ""
            while "STEELMAN_JUDGE_MODEL=" not in written:
                line = launcher.stdout.readline()
                assert line, "it ended before it printed the settings"
                written += line
            settings = dotenv_values(stream=StringIO(written))
            yield {name: str(value) for name, value in settings.items()}, launcher
        finally:
            launcher.terminate()


@pytest.fixture(scope="session")
def vllm_chat(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VllmServer]:
    """Chats: prompts of up to 16,384 tokens; JSON schemas, log-probabilities; words at random, Yes or No first."""
    with tiny_server("chat", tmp_path_factory.mktemp("vllm-chat")) as server:
        yield server


@pytest.fixture(scope="session")
def vllm_score(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VllmServer]:
    """Scores pairs of texts, cut to 512 tokens."""
    with tiny_server("score", tmp_path_factory.mktemp("vllm-score")) as server:
        yield server

"""Real vLLM servers over tiny models, one a kind, started for the first test that wants one and ended with the session.

A test module takes the fixtures with `pytest_plugins = ["vllm_server"]`, so that all modules share the servers.
PYTEST_DONT_REWRITE: they also import names from here, which happens before it becomes a plugin.
"""

import os
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import httpx
import pytest
from dotenv import dotenv_values
from loopback import free_port

from tools.serving import build_command, build_environment, has_gpu, read_model

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


@contextmanager
def running(command: Sequence[str], environment: Mapping[str, str], log: Path, port: int) -> Iterator[None]:
    """The process, once it answers at the port; ended on leaving."""
    with log.open("wb") as output, subprocess.Popen(command, cwd=ROOT, env=environment, stdout=output) as server:
        try:
            until = time.monotonic() + UP_WITHIN
            with httpx.Client(trust_env=False) as client:
                while not answers(client, port):
                    assert server.poll() is None, f"it ended; its log: {log}"
                    assert time.monotonic() < until, f"it does not answer; its log: {log}"
                    time.sleep(0.25)
            yield
        finally:
            server.terminate()


def answers(client: httpx.Client, port: int) -> bool:
    with suppress(httpx.TransportError):
        return client.get(f"http://127.0.0.1:{port}/health").is_success
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
    command = build_command(model, port, python=str(PYTHON), gpu=has_gpu(), options=small)
    plain = {name: value for name, value in os.environ.items() if not name.upper().startswith(_FOREIGN)}
    environment = build_environment({**plain, "HOME": str(base)}, str(PYTHON))
    log = base / f"{kind}.log"
    with running(command, environment, log, port):
        yield VllmServer(f"http://127.0.0.1:{port}/v1", model.name, folder, log)


@contextmanager
def local_models(kind: Kind, folder: Path, home: Path) -> Iterator[dict[str, str]]:
    """What `make local-models` starts, over the model in `folder`: the settings that it prints."""
    port, log = free_port(), home / "log"
    command = [str(PYTHON), "-m", "tools.serving", "--model", str(folder), "--port", str(port), "--"]
    command += ["--dtype=float32", "--kv-cache-memory-bytes=536870912", *_OPTIONS[kind]]
    # vLLM's sockets lie in TMPDIR, and a socket's path has at most 107 characters.
    with TemporaryDirectory() as short, running(command, {**os.environ, "HOME": str(home), "TMPDIR": short}, log, port):
        written = "".join(log.read_text().splitlines(keepends=True)[:6])
        yield {name: str(value) for name, value in dotenv_values(stream=StringIO(written)).items()}


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

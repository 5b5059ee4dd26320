"""No test reaches the internet or inherits the environment; what is slow to build is built once."""

import logging
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import certifi
import pytest

ROOT = Path(__file__).parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from model_server import ModelServer  # noqa: E402  # needs the path above, as do the next ones
from search_servers import SearchServer  # noqa: E402
from web_server import WebServer  # noqa: E402

from tools.models.encoders import MiniLM, load_encoder  # noqa: E402

_VENDORS = (
    *("STEELMAN_", "OPENAI_", "ANTHROPIC_", "AZURE_", "GOOGLE_", "GEMINI_", "MISTRAL_", "COHERE_", "GROQ_", "VLLM_"),
    *("OLLAMA_", "HF_", "HUGGINGFACE", "LANGCHAIN_", "LANGSMITH_", "LANGFUSE_", "TAVILY_", "BRAVE_", "SERPER_"),
    *("SERPAPI_", "EXA_", "CHROMA_", "POSTGRES_", "PG"),
)
_PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
_HERE = ("127.0.0.1", "::1", "localhost", "0.0.0.0", "::", "", None)

Spawn = Callable[..., "subprocess.Popen[str]"]
pytest_plugins = ["agent_fixtures", "answering_model", "postgres_places"]  # whose fixtures all tests have


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("filterwarnings", "ignore:unclosed file .*textblob:ResourceWarning")  # its own oversight


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections and name look-ups other than to this machine raise."""
    real_connect, real_connect_ex, real_lookup = socket.socket.connect, socket.socket.connect_ex, socket.getaddrinfo

    def check(host: object) -> None:
        name = host.decode() if isinstance(host, bytes) else host
        if name not in _HERE and not str(name).startswith("127."):
            raise RuntimeError(f"a test tried to reach {name!r}")

    def connect(self: socket.socket, address: Any) -> None:
        if self.family != socket.AF_UNIX:
            check(address[0])
        real_connect(self, address)

    def connect_ex(self: socket.socket, address: Any) -> int:
        if self.family != socket.AF_UNIX:
            check(address[0])
        return real_connect_ex(self, address)

    def lookup(host: Any, *args: Any, **kwargs: Any) -> Any:
        check(host)
        return real_lookup(host, *args, **kwargs)

    monkeypatch.setattr(socket.socket, "connect", connect)
    monkeypatch.setattr(socket.socket, "connect_ex", connect_ex)
    monkeypatch.setattr(socket, "getaddrinfo", lookup)


@pytest.fixture(scope="session")
def one_authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One certificate authority: every client reads all that it trusts, which takes longer than most tests."""
    authorities = Path(certifi.where()).read_text().partition("-----BEGIN CERTIFICATE-----")[2]
    one, end, _ = authorities.partition("-----END CERTIFICATE-----\n")
    file = tmp_path_factory.mktemp("authority") / "one.pem"
    file.write_text(f"-----BEGIN CERTIFICATE-----{one}{end}")
    return file


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, one_authority: Path) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(one_authority))
    for name in list(os.environ):
        if name.upper().startswith(_VENDORS) or name.lower() in _PROXIES or name.startswith("LC_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("LANG", "C.UTF-8")  # commands and the page speak its language
    monkeypatch.setenv("STEELMAN_DATA_DIR", str(tmp_path / "data"))


@pytest.fixture(autouse=True)
def _nothing_learned() -> None:
    """Forgets what was learned of a server: a later test's server may get its port."""
    if model := sys.modules.get("tools.models.chat.model"):
        model.ACCEPTED_FORMS.clear()


@pytest.fixture(autouse=True)
def _no_log_is_left() -> Iterator[None]:
    """A server's command sends the log to a stream that is closed with its test."""
    yield
    logging.root.handlers = [h for h in logging.root.handlers if type(h) is not logging.StreamHandler]


@pytest.fixture(autouse=True)
def _nothing_stays_open() -> Iterator[None]:
    """An index keeps a dozen files open until it is released, and a process may have a thousand."""
    yield
    if toys := sys.modules.get("toys"):
        while toys.House.opened:
            toys.House.opened.pop().search.close()


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """A model server without a script, which a test then gives one."""
    with ModelServer() as running:
        yield running


@pytest.fixture
def engine() -> Iterator[SearchServer]:
    with SearchServer() as running:
        yield running


@pytest.fixture
def site() -> Iterator[WebServer]:
    with WebServer() as running:
        yield running


@pytest.fixture
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.net.retries.FIRST_PAUSE", 0.01)


@pytest.fixture(scope="session")
def shared_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder that tests share: what a model said of a text is computed once; so do a parallel run's workers."""
    base = tmp_path_factory.getbasetemp()
    shared = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "cache"
    shared.mkdir(exist_ok=True)
    return shared


Suite = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run_suite(
    cached: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Suite:
    """Runs a suite in this process with the built models; returns status, output and error output."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: object) -> tuple[int, str, str]:
        from evals.__main__ import main

        capsys.readouterr()
        status = main([*map(str, arguments)])
        return status, *capsys.readouterr()

    return run


@pytest.fixture(scope="session")
def encoder() -> MiniLM:
    return load_encoder()


@pytest.fixture
def cached(shared_cache: Path, tmp_path: Path) -> None:
    """The data folder that STEELMAN_DATA_DIR names, whose cache is the shared one."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "cache").symlink_to(shared_cache, target_is_directory=True)


def hear(process: "subprocess.Popen[str]") -> str:
    """The next line that a spawned process prints."""
    assert process.stdout is not None
    return process.stdout.readline().strip()


def say(process: "subprocess.Popen[str]", line: str = "") -> None:
    assert process.stdin is not None
    process.stdin.write(f"{line}\n")
    process.stdin.flush()


@pytest.fixture
def spawn() -> Iterator[Spawn]:
    """Starts Python on the code given, with the repository and the tests importable; ended with the test."""
    started: list[subprocess.Popen[str]] = []

    def start(code: str, *arguments: object, stderr: int = subprocess.PIPE) -> "subprocess.Popen[str]":
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "tests")))}
        process = subprocess.Popen(
            [sys.executable, "-c", code, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            env=environment,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()

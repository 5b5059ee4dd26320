"""vLLM's server on this machine, over one model: its command line, its environment, its beginning and its end.

With a GPU by the plain vLLM, without one by its CPU build; both live in an environment of their own, `.venvs/vllm`.
Nothing but this machine can reach the server, and it fetches nothing.
"""

import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

from tools.errors import ModelError, SettingsError
from tools.serving.models import HOST, LocalModel

_CPU_CACHE = 4 * 2**30  # bytes for keys and values; vLLM would take nearly all the memory there is
_ENVIRONMENT = Path(__file__).parents[2] / ".venvs" / "vllm" / "bin" / "python"
_GRACE = 20.0  # seconds to end by itself


def find_python() -> Path:
    """The Python that has vLLM: this one, or else that of `.venvs/vllm`. Raises SettingsError."""
    if find_spec("vllm") is not None:
        return Path(sys.executable)
    if not _ENVIRONMENT.exists():
        raise SettingsError("vLLM is not installed. `make local-models` installs it in .venvs/vllm.")
    return _ENVIRONMENT


def has_gpu() -> bool:
    """Whether there is an NVIDIA GPU that answers."""
    found = shutil.which("nvidia-smi")
    return found is not None and subprocess.run([found, "-L"], capture_output=True, check=False).returncode == 0


def build_command(
    model: LocalModel, port: int, *, python: Path, gpu: bool, options: Sequence[str] = ()
) -> tuple[str, ...]:
    """vLLM's command line; `options` are its own and beat those that are set here."""
    # A cross-encoder is small enough for fp32, in which its scores are those that it was made for; vLLM takes fp16.
    kind = ["--runner", "pooling", "--dtype=float32"] if model.kind == "score" else ["--enable-prefix-caching"]
    # On the CPU compiling wins little, takes minutes and wants a C++ compiler; fp16, which vLLM takes for fp32 weights,
    # is ten times slower than bf16.
    cpu = ["--enforce-eager", f"--kv-cache-memory-bytes={_CPU_CACHE}"]
    cpu += ["--dtype=bfloat16"] if model.kind == "chat" else []
    # What a chat stage does not say of sampling is as the model's makers say; the judge says that it wants none.
    chat = ["--override-generation-config", json.dumps(dict(model.sampling))] if model.sampling else []
    device = ["--gpu-memory-utilization=0.85"] if gpu else cpu
    return (
        *(str(python), "-P", "-m", "vllm.entrypoints.launchers.api_server.entry"),
        *("--model", str(model.folder), "--served-model-name", model.name),
        *("--host", HOST, "--port", str(port), "--max-model-len", str(model.length)),
        # All of a model's own defaults (a penalty on repetition, say) would bend the judge's probabilities.
        *("--generation-config", "vllm", "--disable-uvicorn-access-log"),
        *(*kind, *chat, *device, *options),
    )


def build_environment(base: Mapping[str, str], python: Path) -> dict[str, str]:
    """The server's environment: it reports nothing, listens here only and fetches nothing."""
    fixed = {"VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1", "VLLM_HOST_IP": HOST, "HF_HUB_OFFLINE": "1"}
    path = os.pathsep.join((str(python.parent), base.get("PATH", os.defpath)))  # it calls ninja
    kept = {
        name: value for name, value in base.items() if not name.upper().endswith("_API_KEY")
    }  # none of its business
    return {**kept, **fixed, "PATH": path}


def check_port(port: int) -> None:
    """Raises SettingsError unless a server can listen at the port."""
    try:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((HOST, port))
    except (OSError, OverflowError) as exc:
        raise SettingsError(f"port {port} cannot be used ({exc}). Name another: make local-models PORT=8002") from exc


@contextmanager
def running_server(
    command: Sequence[str], port: int, *, environment: Mapping[str, str], log: Path, seconds: float
) -> Iterator[subprocess.Popen[bytes]]:
    """The server, once it answers; it and all its children are ended on leaving.

    seconds: how long it may take to answer. log: the file that it writes to. Raises ModelError when it does not start.
    """
    with log.open("wb") as output:
        server = subprocess.Popen(
            command,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        _wait(server, port, log, seconds)
        yield server
    finally:
        _end(server)


def _wait(server: subprocess.Popen[bytes], port: int, log: Path, seconds: float) -> None:
    until = time.monotonic() + seconds
    while not _answers(port):
        if server.poll() is not None:
            raise ModelError(f"vLLM ended before it answered: {last_error(log)} Its log: {log}")
        if time.monotonic() > until:
            raise ModelError(f"vLLM did not answer within {seconds:.0f} seconds. Its log: {log}")
        time.sleep(0.25)


def _answers(port: int) -> bool:
    connection = http.client.HTTPConnection(HOST, port, timeout=2)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def last_error(log: Path) -> str:
    """The line of the log that is most likely the reason."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    said = [line for line in lines if "Error: " in line or "Value error, " in line]
    errors = [line for line in said if "Engine core initialization failed" not in line]
    return (errors or lines or ["it said nothing."])[-1].rpartition("] ")[2].strip()[:300]


def _end(server: subprocess.Popen[bytes]) -> None:
    """Asks it to end, and after a while makes its whole process group."""
    server.terminate()
    try:
        with suppress(subprocess.TimeoutExpired):
            server.wait(_GRACE)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(server.pid, signal.SIGKILL)
        server.wait()

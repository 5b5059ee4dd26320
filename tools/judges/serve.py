"""`python -m tools.judges.serve` (`make judge-server`): vLLM's server on this machine, as the judge.

With a GPU by the plain vLLM, without one by its CPU build; both live in an environment of their own, `.venvs/vllm`.
Nothing but this machine can reach the server, and nothing is fetched unless `--download` is given.
"""

import argparse
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from tools.errors import InputError, ModelError, SettingsError, SteelmanError

HOST = "127.0.0.1"
DEFAULT_PORT = 8001
GPU_MODEL = "Qwen/Qwen3-4B-Instruct-2507"
CPU_MODEL = "Qwen/Qwen2.5-1.5B-Instruct"
OK, FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130
_CHAT_TOKENS, _SCORE_TOKENS = 4096, 512
_CPU_CACHE = 4 * 2**30  # bytes for keys and values; vLLM would take nearly all the memory there is
_ENVIRONMENT = Path(__file__).parents[2] / ".venvs" / "vllm" / "bin" / "python"
_GRACE = 20.0  # seconds to end by itself

_EPILOG = f"""\
examples:
  make judge-server DOWNLOAD=1
  make judge-server MODEL=models/my-cross-encoder PORT=8002
  python -m tools.judges.serve --model {CPU_MODEL} -- --max-num-seqs 8

exit status: 0 ended as asked, 2 bad input, 1 anything else, 130 interrupted before it answered
"""


@dataclass(frozen=True, slots=True)
class JudgeModel:
    """What is served. source: a folder or a hub's name. kind: by which of the judges it is asked. length: tokens."""

    source: str
    kind: Literal["chat", "score"]
    length: int

    @property
    def name(self) -> str:
        """What requests call it."""
        folder = Path(self.source)
        return folder.resolve().name if folder.is_dir() else self.source


def find_model(source: str, download: bool = False) -> JudgeModel:
    """Reads a model's configuration: a classifier is a cross-encoder, anything else chats.

    Raises SettingsError when it is not on this machine (nor to be had, with `download`) or cannot be a judge.
    """
    path = Path(source).expanduser()
    file = path / "config.json" if path.is_dir() else _cached_config(source, download)
    try:
        config: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        classifier = any(name.endswith("ForSequenceClassification") for name in config.get("architectures") or [])
        labels = len(config.get("id2label") or [0, 1])
        reads = int(config.get("max_position_embeddings") or _CHAT_TOKENS)
    except (OSError, ValueError, AttributeError, TypeError) as exc:
        raise SettingsError(f"{source} is no model: its config.json cannot be read ({exc}).") from exc
    if classifier and labels != 1:
        raise SettingsError(f"{source} tells {labels} classes apart; a judge has to give one score (num_labels=1).")
    length = min(reads, _SCORE_TOKENS if classifier else _CHAT_TOKENS)
    return JudgeModel(str(path) if path.is_dir() else source, "score" if classifier else "chat", length)


def _cached_config(source: str, download: bool) -> Path:
    if source.startswith(("/", ".", "~")) or source.count("/") > 1:
        raise SettingsError(f"there is no model folder {source}. Check MODEL.")
    from huggingface_hub import hf_hub_download

    try:
        return Path(hf_hub_download(source, "config.json", local_files_only=not download))
    except (OSError, ValueError) as exc:
        what = "could not be downloaded" if download else "is neither a folder nor downloaded"
        then = "Check the name and the connection" if download else "To download it: make judge-server DOWNLOAD=1"
        raise SettingsError(f"the model {source} {what}. {then}, or name another with MODEL=.") from exc


def find_python() -> Path:
    """The Python that has vLLM: this one, or else that of `.venvs/vllm`. Raises SettingsError."""
    if find_spec("vllm") is not None:
        return Path(sys.executable)
    if not _ENVIRONMENT.exists():
        raise SettingsError("vLLM is not installed. `make judge-server` installs it in .venvs/vllm.")
    return _ENVIRONMENT


def has_gpu() -> bool:
    """Whether there is an NVIDIA GPU that answers."""
    found = shutil.which("nvidia-smi")
    return found is not None and subprocess.run([found, "-L"], capture_output=True, check=False).returncode == 0


def build_command(
    model: JudgeModel, port: int, *, python: Path, gpu: bool, options: Sequence[str] = ()
) -> tuple[str, ...]:
    """vLLM's command line; `options` are its own and beat those that are set here."""
    # A cross-encoder is small enough for fp32, in which its scores are those that it was made for; vLLM takes fp16.
    kind = ["--runner", "pooling", "--dtype=float32"] if model.kind == "score" else ["--enable-prefix-caching"]
    # On the CPU compiling wins little, takes minutes and wants a C++ compiler; fp16, which vLLM takes for fp32 weights,
    # is ten times slower than bf16.
    cpu = ["--enforce-eager", f"--kv-cache-memory-bytes={_CPU_CACHE}"]
    cpu += ["--dtype=bfloat16"] if model.kind == "chat" else []
    device = ["--gpu-memory-utilization=0.85"] if gpu else cpu
    return (
        *(str(python), "-m", "vllm.entrypoints.launchers.api_server.entry"),
        *("--model", model.source, "--served-model-name", model.name),
        *("--host", HOST, "--port", str(port), "--max-model-len", str(model.length)),
        # A model's own sampling defaults (a penalty on repetition, say) would bend the probabilities.
        *("--generation-config", "vllm", "--disable-uvicorn-access-log"),
        *(*kind, *device, *options),
    )


def build_environment(base: Mapping[str, str], python: Path, download: bool = False) -> dict[str, str]:
    """The server's environment: it reports nothing, listens here only and fetches only what it is told to."""
    fixed = {"VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1", "VLLM_HOST_IP": HOST}
    path = os.pathsep.join((str(python.parent), base.get("PATH", os.defpath)))  # it calls ninja
    kept = {
        name: value for name, value in base.items() if not name.upper().endswith("_API_KEY")
    }  # none of its business
    return {**kept, **fixed, "PATH": path, "HF_HUB_OFFLINE": str(int(not download))}


def check_port(port: int) -> None:
    """Raises SettingsError unless a server can listen at the port."""
    try:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((HOST, port))
    except (OSError, OverflowError) as exc:
        raise SettingsError(f"port {port} cannot be used ({exc}). Name another: make judge-server PORT=8002") from exc


@contextmanager
def running(
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
            raise ModelError(f"vLLM ended before it answered: {_last_error(log)} Its log: {log}")
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


def _last_error(log: Path) -> str:
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


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tools.judges.serve",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=_EPILOG,
        description="Serve a judge with vLLM on this machine: a chat model that is asked Yes or No, or a\n"
        "cross-encoder with one label. Without a GPU the embedded judge is faster; this is then for trying a model.",
    )
    parser.add_argument(
        "--model", metavar="MODEL", help=f"a folder or a hub's name (default: {GPU_MODEL}; without a GPU {CPU_MODEL})"
    )
    parser.add_argument("--port", type=int, default=DEFAULT_PORT, metavar="PORT", help="default: %(default)s")
    parser.add_argument("--download", action="store_true", help="fetch the model if it is not on this machine")
    parser.add_argument("--wait", type=float, metavar="SECONDS", help="for it to answer (600; with --download 3600)")
    parser.add_argument("options", nargs="*", metavar="-- OPTIONS", help="of vLLM itself, after --")
    return parser


def serve(args: argparse.Namespace) -> int:
    """Serves until it is interrupted. Raises SettingsError, ModelError."""
    check_port(args.port)
    python, gpu = find_python(), has_gpu()
    model = find_model(args.model or (GPU_MODEL if gpu else CPU_MODEL), args.download)
    command = build_command(model, args.port, python=python, gpu=gpu, options=args.options)
    environment = build_environment(os.environ, python, args.download)
    handle, name = tempfile.mkstemp(prefix="steelman-judge-", suffix=".log")
    os.close(handle)
    log = Path(name)
    print(f"Starting vLLM with {model.name} on the {'GPU' if gpu else 'CPU'} … (log: {log})", file=sys.stderr)
    wait = args.wait or (3600 if args.download else 600)
    with running(command, args.port, environment=environment, log=log, seconds=wait) as server:
        print("It answers. For .env, while it runs (Ctrl-C ends it):", file=sys.stderr)
        print(f"STEELMAN_JUDGE={model.kind}\nSTEELMAN_JUDGE_URL=http://{HOST}:{args.port}/v1")
        print(f"STEELMAN_JUDGE_MODEL={model.name}", flush=True)
        try:
            server.wait()
        except KeyboardInterrupt:
            print("\nEnding it …", file=sys.stderr)
        else:
            raise ModelError(f"vLLM ended: {_last_error(log)} Its log: {log}")
    log.unlink()
    return OK


def main(arguments: list[str] | None = None) -> int:
    args = build_parser().parse_args(arguments)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)
    try:
        return serve(args)
    except SteelmanError as exc:
        print(f"judge-server: {exc}", file=sys.stderr)
        return BAD_INPUT if isinstance(exc, InputError) else FAILED
    except KeyboardInterrupt:
        print("\nStopped.", file=sys.stderr)
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())

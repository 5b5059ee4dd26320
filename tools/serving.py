"""`make local-models`: serves one model with vLLM on this machine. A chat model serves the chat stages and the judge; a
cross-encoder serves only the judge.

With `--prepare` the command announces and downloads the model. Without `--prepare` it prints the lines for `.env` and
becomes vLLM's server. The server listens on this machine only, sends no telemetry and downloads nothing.
"""

import argparse
import contextlib
import json
import os
import shlex
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from tools.errors import InputError, ModelError, SettingsError, SteelmanError
from tools.net.route import cause

os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"  # read by the library at import
HOST = "127.0.0.1"
GPU_MODEL = "Qwen/Qwen3-4B-Instruct-2507"
"""This model answers without a reasoning phase, as the judge requires. Its keys and values (the attention cache) take
half of a memory of 24 GB, at 144 KiB a token."""
CPU_MODEL = "Qwen/Qwen2.5-1.5B-Instruct"
_KNOWN = {GPU_MODEL: "Apache-2.0, about 8.0 GB", CPU_MODEL: "Apache-2.0, about 3.1 GB"}
_CHAT_TOKENS, _SCORE_TOKENS = 16384, 512  # tokens of a prompt and its answer; twenty passages to judge take half
_DRAWN = ("temperature", "top_p", "top_k", "min_p")
_READ = ["*.safetensors", "*.json", "*.txt", "*.model", "*.jinja", "*.tiktoken"]
_UNREAD = ["*/*", "consolidated*"]
_CPU_CACHE = 4 * 2**30  # bytes for keys and values; vLLM's default is nearly all memory


@dataclass(frozen=True, slots=True)
class LocalModel:
    """name: the model's name in requests. length: tokens of prompt and answer. sampling: the sampling values that the
    model's makers recommend, without penalties."""

    folder: Path
    name: str
    kind: Literal["chat", "score"]
    length: int
    sampling: dict[str, float]


def read_model(folder: Path, name: str = "") -> LocalModel:
    """The model that the folder's `config.json` describes. A classifier counts as a cross-encoder, any other model as a
    chat model.

    name: the model's name on the hub; by default the folder's name. Raises SettingsError for an unreadable or
    unsuitable model.
    """
    try:
        config: dict[str, Any] = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        score = any(kind.endswith("ForSequenceClassification") for kind in config.get("architectures") or [])
        labels = len(config.get("id2label") or [0, 1])
        inner = config.get("text_config") or {}  # in multimodal models
        reads = int(config.get("max_position_embeddings") or inner.get("max_position_embeddings") or _CHAT_TOKENS)
    except (OSError, ValueError, AttributeError, TypeError) as exc:
        raise SettingsError(f"{name or folder} is no model: its config.json cannot be read ({exc}).") from exc
    name = name or folder.resolve().name
    if score and labels != 1:
        raise SettingsError(f"{name} tells {labels} classes apart; a judge has to give one score (num_labels=1).")
    if score:
        return LocalModel(folder, name, "score", min(reads, _SCORE_TOKENS), {})
    return LocalModel(folder, name, "chat", min(reads, _CHAT_TOKENS), _sampling(folder))


def _sampling(folder: Path) -> dict[str, float]:
    with contextlib.suppress(OSError, ValueError, AttributeError):  # optional
        made = json.loads((folder / "generation_config.json").read_text(encoding="utf-8"))
        return {name: made[name] for name in _DRAWN if isinstance(made.get(name), int | float)}
    return {}


def env_lines(model: LocalModel, port: int) -> str:
    address = f"http://{HOST}:{port}/v1"
    lines = {"STEELMAN_JUDGE": "score", "STEELMAN_JUDGE_URL": address, "STEELMAN_JUDGE_MODEL": model.name}
    if model.kind == "chat":  # the dummy key replaces the user's key for OpenAI; the judge 'score' has no fallback
        chat = {"OPENAI_BASE_URL": address, "STEELMAN_MODEL": model.name, "OPENAI_API_KEY": "no-key"}
        lines |= chat | {"STEELMAN_JUDGE": "auto"}
    return "\n".join(f"{name}={shlex.quote(value)}" for name, value in lines.items())  # folder names may have spaces


def prepare(named: str, *, gpu: bool, download: bool) -> LocalModel:
    """The model from a folder or from Hugging Face's hub. `download`: download the model if needed. Raises
    SettingsError, ModelError."""
    source = named or (GPU_MODEL if gpu else CPU_MODEL)
    if (folder := Path(source).expanduser()).is_dir():
        return read_model(folder)
    if find_spec("huggingface_hub") is None:
        raise SettingsError("models of the hub need huggingface-hub, which `make local-models` installs.")
    from huggingface_hub import constants, try_to_load_from_cache

    try:
        cached = try_to_load_from_cache(source, "config.json", cache_dir=constants.HF_HUB_CACHE)
    except (OSError, ValueError) as exc:
        raise SettingsError(f"{source} is neither a folder nor a hub's name ({exc}). Check MODEL.") from exc
    if not isinstance(cached, str):
        about = _KNOWN.get(source) or f"licence and size: {constants.ENDPOINT}/{source}"
        message = f"The model {source} is not on this machine ({about}). It would go to {constants.HF_HUB_CACHE}."
        print(message, file=sys.stderr, flush=True)
    if download:
        return read_model(fetch(source), source)
    if isinstance(cached, str):
        return read_model(Path(cached).parent, source)
    line = f"make local-models {f'MODEL={named} ' if named else ''}DOWNLOAD=1"
    raise SettingsError(f"nothing was downloaded. To download it: {line}; or name another with MODEL=.")


def fetch(source: str) -> Path:
    """Downloads the model's missing files. Raises ModelError."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError

    try:
        folder = Path(snapshot_download(source, allow_patterns=_READ, ignore_patterns=_UNREAD))
        if not any(folder.glob("*.safetensors")):
            snapshot_download(source, allow_patterns=["pytorch_model*"])
    except (ValueError, *HfHubHTTPError.__bases__) as exc:  # type: ignore[misc]  # mypy knows no such tuple
        raise ModelError(f"{source} could not be downloaded ({cause(exc)}). Check name and connection.") from exc
    return folder


def has_gpu() -> bool:
    """Whether an NVIDIA GPU is available."""
    with contextlib.suppress(OSError):
        return subprocess.run(["nvidia-smi", "-L"], capture_output=True, check=False).returncode == 0
    return False


def build_command(model: LocalModel, port: int, *, python: str, gpu: bool, options: Sequence[str] = ()) -> list[str]:
    """vLLM's command line. `options` override the options set here."""
    # A cross-encoder is small enough for fp32, its training precision. By default vLLM uses fp16.
    kind = ["--runner", "pooling", "--dtype=float32"] if model.kind == "score" else ["--enable-prefix-caching"]
    # On the CPU, compilation needs minutes and a C++ compiler, and fp16 is ten times slower than bf16.
    cpu = ["--enforce-eager", f"--kv-cache-memory-bytes={_CPU_CACHE}"]
    cpu += ["--dtype=bfloat16"] if model.kind == "chat" else []
    chat = ["--override-generation-config", json.dumps(model.sampling)] if model.sampling else []
    return [
        *(python, "-P", "-m", "vllm.entrypoints.launchers.api_server.entry"),
        *("--model", str(model.folder), "--served-model-name", model.name),
        *("--host", HOST, "--port", str(port), "--max-model-len", str(model.length)),
        # A model's own defaults, such as a repetition penalty, would distort the judge's probabilities.
        *("--generation-config", "vllm", "--disable-uvicorn-access-log"),
        *(*kind, *chat, *(["--gpu-memory-utilization=0.85"] if gpu else cpu), *options),
    ]


def build_environment(base: Mapping[str, str], python: str) -> dict[str, str]:
    """The server's environment: no telemetry, no downloads, no keys."""
    fixed = {"VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1", "VLLM_HOST_IP": HOST, "HF_HUB_OFFLINE": "1"}
    fixed["PATH"] = os.pathsep.join((str(Path(python).parent), base.get("PATH", os.defpath)))  # vLLM calls ninja
    return {name: value for name, value in base.items() if not name.upper().endswith("_API_KEY")} | fixed


def build_parser() -> argparse.ArgumentParser:
    about = "Serve a model with vLLM on this machine. Without a GPU the embedded providers are faster."
    parser = argparse.ArgumentParser("python -m tools.serving", description=about)
    parser.add_argument("--model", default="", help=f"a folder or a hub's name (default: {GPU_MODEL}, or {CPU_MODEL})")
    parser.add_argument("--port", type=int, choices=range(1, 65536), default=8001, metavar="PORT", help="(8001)")
    parser.add_argument("--download", action="store_true", help="fetch the model if it is not on this machine")
    parser.add_argument("--prepare", action="store_true", help="find or fetch the model, and serve nothing")
    parser.add_argument("options", nargs="*", metavar="-- OPTIONS", help="of vLLM itself, after --")
    return parser


def main(arguments: list[str] | None = None) -> int:
    args = build_parser().parse_args(arguments)
    try:
        try:
            socket.create_server((HOST, args.port)).close()
        except OSError as exc:
            raise SettingsError(f"port {args.port} cannot be used ({exc}). Name another with PORT=.") from exc
        gpu = has_gpu()
        model = prepare(args.model, gpu=gpu, download=args.download)
        if args.prepare:
            return 0
        if find_spec("vllm") is None:
            raise SettingsError("vLLM is not installed here. `make local-models` installs it in .venvs/vllm.")
    except SteelmanError as exc:
        print(f"local-models: {exc}", file=sys.stderr)
        return 2 if isinstance(exc, InputError) else 1
    except KeyboardInterrupt:
        return 130
    print(env_lines(model, args.port), flush=True)
    where = "GPU" if gpu else "CPU"
    message = f"Starting vLLM on the {where}; while it runs, the lines above are for .env. Ctrl-C ends it."
    print(message, file=sys.stderr, flush=True)
    command = build_command(model, args.port, python=sys.executable, gpu=gpu, options=args.options)
    return os.execve(sys.executable, command, build_environment(os.environ, sys.executable))


if __name__ == "__main__":
    sys.exit(main())

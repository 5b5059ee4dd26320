"""Which model is served: where it is, or how it is fetched, and what it is by its configuration (an instruct model for
the chat stages and the judge, or a judge alone). Nothing is asked of the hub except by `fetch`."""

import json
import re
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from tools.errors import ModelError, SettingsError
from tools.net.causes import cause

HOST = "127.0.0.1"
CHAT_TOKENS = 16384
"""The longest prompt with its answer: twenty passages to judge in a call are about half of it."""
_SCORE_TOKENS = 512
_DRAWN = ("temperature", "top_p", "top_k", "min_p")


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A model on this machine.

    name: what requests call it. kind: by which of the judges it is asked; one that scores is of use as the judge only.
    length: tokens of a prompt and its answer. sampling: how its makers would have its words drawn.
    """

    folder: Path
    name: str
    kind: Literal["chat", "score"]
    length: int
    sampling: tuple[tuple[str, float], ...] = ()


def read_model(folder: Path, name: str = "") -> LocalModel:
    """What the folder's `config.json` tells. A classifier is a cross-encoder, anything else chats.

    name: the hub's; the folder's own when empty. Raises SettingsError for what is no model or cannot be a judge.
    """
    try:
        config: dict[str, Any] = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        score = any(kind.endswith("ForSequenceClassification") for kind in config.get("architectures") or [])
        labels = len(config.get("id2label") or [0, 1])
        inner = config.get("text_config") or {}  # of a model that sees, too
        reads = int(config.get("max_position_embeddings") or inner.get("max_position_embeddings") or CHAT_TOKENS)
    except (OSError, ValueError, AttributeError, TypeError) as exc:
        raise SettingsError(f"{name or folder} is no model: its config.json cannot be read ({exc}).") from exc
    name = name or folder.resolve().name
    if score and labels != 1:
        raise SettingsError(f"{name} tells {labels} classes apart; a judge has to give one score (num_labels=1).")
    if score:
        return LocalModel(folder, name, "score", min(reads, _SCORE_TOKENS))
    return LocalModel(folder, name, "chat", min(reads, CHAT_TOKENS), _sampling(folder))


def _sampling(folder: Path) -> tuple[tuple[str, float], ...]:
    try:
        made = json.loads((folder / "generation_config.json").read_text(encoding="utf-8"))
        return tuple((name, made[name]) for name in _DRAWN if isinstance(made.get(name), int | float))
    except (OSError, ValueError, AttributeError):
        return ()  # many have none


def env_lines(model: LocalModel, port: int) -> str:
    """The lines for `.env`: of an instruct model the chat stages' and the judge's, of a cross-encoder the judge's."""
    address = f"http://{HOST}:{port}/v1"
    lines = {"STEELMAN_JUDGE": "score"}  # has no fallback
    if model.kind == "chat":  # a key of its own, so that one for OpenAI is not sent there
        lines = {"OPENAI_BASE_URL": address, "STEELMAN_MODEL": model.name, "OPENAI_API_KEY": "no-key"}
        lines["STEELMAN_JUDGE"] = "auto"
    lines |= {"STEELMAN_JUDGE_URL": address, "STEELMAN_JUDGE_MODEL": model.name}
    return "\n".join(f"{variable}={_quoted(value)}" for variable, value in lines.items())


def _quoted(value: str) -> str:
    """The value as `.env` reads it; a folder's name may hold blanks."""
    return value if re.fullmatch(r"[\w./:@+-]+", value) else f"'{value}'"


# The hub

GPU_MODEL = "Qwen/Qwen3-4B-Instruct-2507"
"""Answers without thinking first, as the judge needs it. Keys and values get half of 24 GB, at 144 KiB a token."""
CPU_MODEL = "Qwen/Qwen2.5-1.5B-Instruct"
_KNOWN = {GPU_MODEL: "Apache-2.0, about 8.0 GB", CPU_MODEL: "Apache-2.0, about 3.1 GB"}
"""Licence and size: two bytes for each of 4,022,468,096 and 1,543,714,304 parameters."""
_READ = ("*.safetensors", "*.json", "*.txt", "*.model", "*.jinja", "*.tiktoken")
_UNREAD = ("*/*", "consolidated*")


def is_folder(source: str) -> bool:
    """Whether a folder of one's own is meant, and not a name on the hub. Raises SettingsError for one that is missing,
    or where nothing on this machine speaks to the hub."""
    if Path(source).expanduser().is_dir():
        return True
    if source.startswith(("/", ".", "~")) or source.count("/") > 1:
        raise SettingsError(f"there is no model folder {source}. Check MODEL.")
    if find_spec("huggingface_hub") is None:
        raise SettingsError(
            "models of the hub need the package huggingface-hub. Install it: `.venv/bin/pip install --require-hashes "
            "--no-deps -r requirements-hub.lock`, as `make local-models` does; or name a model's folder."
        )
    return False


def cached_folder(source: str) -> Path | None:
    """The model's folder in the hub's cache; None where it has to be downloaded first. Raises SettingsError."""
    from huggingface_hub import constants, try_to_load_from_cache

    # Not `hf_hub_download(local_files_only=True)`, which asks the hub about whoever calls it.
    try:
        file = try_to_load_from_cache(source, "config.json", cache_dir=constants.HF_HUB_CACHE)
    except (OSError, ValueError) as exc:
        raise SettingsError(f"{source} is neither a folder nor a hub's name ({exc}). Check MODEL.") from exc
    return Path(file).parent if isinstance(file, str) else None


def describe(source: str) -> str:
    """What a download would be, in lines for a terminal."""
    from huggingface_hub import constants

    about = _KNOWN.get(source) or f"licence and size: {constants.ENDPOINT}/{source}"
    return f"The model {source} is not on this machine ({about}). It would go to {constants.HF_HUB_CACHE}."


def fetch(source: str) -> Path:
    """Downloads the model, or what is missing of it. Returns the folder. Raises ModelError."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError

    of_its_client = tuple(kind for kind in HfHubHTTPError.__bases__ if issubclass(kind, Exception))
    raised: tuple[type[Exception], ...] = (OSError, ValueError, *of_its_client)
    try:
        folder = Path(snapshot_download(source, allow_patterns=list(_READ), ignore_patterns=list(_UNREAD)))
        if not any(folder.glob("*.safetensors")):
            snapshot_download(source, allow_patterns=["pytorch_model*"])
    except raised as exc:
        raise ModelError(
            f"{source} could not be downloaded ({cause(exc)}). Check name and connection, and try again: it goes on "
            "where it was."
        ) from exc
    return folder

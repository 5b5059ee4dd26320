"""Models from the hub: whether one is on this machine, what a download would be, and the download. Nothing is asked of
the hub except by `fetch`."""

from importlib.util import find_spec
from pathlib import Path

from tools.errors import ModelError, SettingsError
from tools.net.causes import cause

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

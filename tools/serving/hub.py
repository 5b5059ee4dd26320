"""Models from the hub: whether one is on this machine, what a download would be, and the download.

Nothing is asked of the hub except by `look_up` and `fetch`.
"""

import json
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from tools.errors import ModelError, SettingsError
from tools.net.causes import cause

GPU_MODEL = "Qwen/Qwen3-4B-Instruct-2507"
"""Answers without thinking first, as the judge needs it. Keys and values get half of 24 GB, at 144 KiB a token."""
CPU_MODEL = "Qwen/Qwen2.5-1.5B-Instruct"
GPU_SHARE = 0.85
"""Of the GPU's memory, for vLLM."""
_BESIDE = 4e9  # bytes beside the weights: keys and values of one longest prompt, and what is computed
_READ = (".json", ".txt", ".model", ".jinja", ".tiktoken")


@dataclass(frozen=True, slots=True)
class Download:
    """A download before it is made. licence: as the hub tells it. weights, rest: bytes, 0 where the hub was not asked.
    files: their names."""

    source: str
    licence: str = ""
    weights: int = 0
    rest: int = 0
    files: tuple[str, ...] = ()


_KNOWN = {
    # Two bytes for each parameter, as counted from the configurations: 36 layers and an embedding of 151,936 x 2,560;
    # 28 layers and one of 151,936 x 1,536.
    GPU_MODEL: Download(GPU_MODEL, "Apache-2.0", 2 * 4_022_468_096),
    CPU_MODEL: Download(CPU_MODEL, "Apache-2.0", 2 * 1_543_714_304),
}


def find_folder(source: str) -> Path | None:
    """The model's folder, one's own or the hub's cache; None where the model has to be downloaded first.

    Raises SettingsError for a folder that is not there, or where nothing on this machine speaks to the hub.
    """
    own = Path(source).expanduser()
    if own.is_dir():
        return own
    if source.startswith(("/", ".", "~")) or source.count("/") > 1:
        raise SettingsError(f"there is no model folder {source}. Check MODEL.")
    if find_spec("huggingface_hub") is None:
        raise SettingsError(
            "models of the hub need the package huggingface-hub. Install it: `.venv/bin/pip install --require-hashes "
            "--no-deps -r requirements-hub.lock`, as `make local-models` does; or name a model's folder."
        )
    from huggingface_hub import constants, try_to_load_from_cache

    # Not `hf_hub_download(local_files_only=True)`, which asks the hub about whoever calls it.
    try:
        file = try_to_load_from_cache(source, "config.json", cache_dir=constants.HF_HUB_CACHE)
    except (OSError, ValueError) as exc:
        raise SettingsError(f"{source} is neither a folder nor a hub's name ({exc}). Check MODEL.") from exc
    return Path(file).parent if isinstance(file, str) and _is_whole(Path(file).parent) else None


def _is_whole(folder: Path) -> bool:
    """Whether all weights are there; a stopped download leaves some."""
    try:
        listed = [json.loads(file.read_text(encoding="utf-8"))["weight_map"] for file in folder.glob("*.index.json")]
        named = {name for weights in listed for name in weights.values()}
    except (OSError, ValueError, KeyError, AttributeError, TypeError):
        return False
    if named:
        return all((folder / name).exists() for name in named)
    return any(file.exists() for kind in ("*.safetensors", "*.bin") for file in folder.glob(kind))


def known(source: str) -> Download:
    """What can be said of a download without asking the hub."""
    return _KNOWN.get(source, Download(source))


def look_up(source: str) -> Download:
    """What a download would be, by the hub. Raises SettingsError."""
    from huggingface_hub import HfApi

    try:
        info = HfApi().model_info(source, files_metadata=True, timeout=30.0)
    except _failures() as exc:
        raise SettingsError(f"{source} cannot be looked up ({cause(exc)}). Check name and connection.") from exc
    weights, rest = choose({file.rfilename: file.size or 0 for file in info.siblings or ()})
    if not weights:
        raise SettingsError(f"{source} has no weights that vLLM reads (*.safetensors, *.bin). Check MODEL.")
    licence = (info.card_data.get("license") if info.card_data else "") or ""
    said = licence if isinstance(licence, str) else ", ".join(licence)
    return Download(source, said, sum(weights.values()), sum(rest.values()), (*weights, *rest))


def choose(files: Mapping[str, int]) -> tuple[dict[str, int], dict[str, int]]:
    """Of a model's files, names to bytes, those that vLLM reads: weights in one format, and what is small."""
    top = {name: size for name, size in files.items() if "/" not in name}
    ours = {name: size for name, size in top.items() if name.endswith(".safetensors")}
    weights = {name: size for name, size in ours.items() if not name.startswith("consolidated")} or ours
    weights = weights or {n: size for n, size in top.items() if n.endswith(".bin") and n.startswith("pytorch_model")}
    return weights, {name: size for name, size in top.items() if name.endswith(_READ)}


def describe(download: Download, gpu: float | None) -> str:
    """What a download would be, in lines for a terminal.

    gpu: bytes of its memory, 0 where that is not known; None without a GPU.
    """
    from huggingface_hub import constants

    about = "" if download.files else "about "
    size = f"{about}{_gigabytes(download.weights + download.rest)} from {constants.ENDPOINT}"
    rows = (
        ("licence", download.licence or ("not told by the hub" if download.files else "")),
        ("download", size if download.weights else ""),
        ("to", f"{constants.HF_HUB_CACHE} ({_gigabytes(_free(Path(constants.HF_HUB_CACHE)))} free)"),
        ("needs", _needs(download, gpu) if download.weights else ""),
    )
    later = "told with DOWNLOAD=1, before anything is fetched"
    return "\n".join(
        [
            f"The model {download.source} is not on this machine.",
            *(f"  {name:<9} {said or later}" for name, said in rows),
        ]
    )


def _needs(download: Download, gpu: float | None) -> str:
    wanted = download.weights + _BESIDE
    if gpu is None:
        return f"about {_gigabytes(wanted)} of memory: there is no GPU, and without one it is slow"
    wanted /= GPU_SHARE
    here = f"a GPU with {_gigabytes(wanted)} of memory"
    if not gpu:
        return here
    return f"{here}; this one has {_gigabytes(gpu)}{', which is too little' if gpu < wanted else ''}"


def fetch(download: Download) -> Path:
    """Downloads it; what is there already is kept. Returns the folder. Raises SettingsError, ModelError."""
    from huggingface_hub import constants, snapshot_download

    cache, again = Path(constants.HF_HUB_CACHE), "Try again: it goes on where it was."
    begun = (cache / f"models--{download.source.replace('/', '--')}" / "blobs").glob("*")
    missing = download.weights + download.rest - sum(file.stat().st_size for file in begun)
    if (free := _free(cache)) < missing:
        raise SettingsError(f"{cache} has room for {_gigabytes(free)} only. Free some, or set HF_HOME to another disk.")
    try:
        folder = Path(snapshot_download(download.source, allow_patterns=list(download.files)))
    except _failures() as exc:
        raise ModelError(f"{download.source} could not be downloaded ({cause(exc)}). {again}") from exc
    if not _is_whole(folder):
        raise ModelError(f"{download.source} was not downloaded whole. {again}")
    return folder


def _failures() -> tuple[type[Exception], ...]:
    """What the hub's library raises, the errors of its HTTP client among them."""
    from huggingface_hub.errors import HfHubHTTPError

    return (OSError, ValueError, *(kind for kind in HfHubHTTPError.__bases__ if issubclass(kind, Exception)))


def _free(folder: Path) -> int:
    """Bytes that are free where the folder is, or will be."""
    there: Iterable[Path] = (folder.absolute(), *folder.absolute().parents)
    return shutil.disk_usage(next(path for path in there if path.exists())).free


def _gigabytes(size: float) -> str:
    return f"{size / 1e9:,.1f} GB" if size < 1e10 else f"{size / 1e9:,.0f} GB"

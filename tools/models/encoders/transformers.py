"""Encoders in PyTorch: any downloaded model (extra `models`)."""

import hashlib
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tools.errors import ModelError, SettingsError, command
from tools.models.int8 import head_and_tail

_BATCH = 32  # texts of one pass
_MODEL_FILES = frozenset({".safetensors", ".bin", ".json", ".txt", ".model"})  # weights, settings and vocabularies


class TransformersEncoder:
    """Unit vectors from a sentence-transformers model, or any encoder that Transformers can load. `model`: a folder, or
    the name of a downloaded model; nothing is downloaded.

    query_prompt, document_prompt: prefixes; by default the model's own. The model is loaded at its first use. Raises
    SettingsError without the extra, ModelError for a missing or unusable model.
    """

    def __init__(self, model: str, query_prompt: str = "", document_prompt: str = "") -> None:
        require_extra(f"the encoder {model}")
        self._folder = find_model(model)
        self._loaded: Any = None
        self._using = threading.RLock()  # tokenizers are not thread-safe
        self._prompts = (query_prompt, document_prompt)
        about = "\x1f".join((fingerprint(self._folder), *self._prompts))
        self.name = f"{Path(model).name}-{hashlib.sha256(about.encode()).hexdigest()[:12]}"

    @property
    def dimensions(self) -> int:
        return int(self._model().get_embedding_dimension())

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._vectors(self._model().encode_document, texts, self._prompts[1])

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._vectors(self._model().encode_query, texts, self._prompts[0])

    def _vectors(self, compute: Any, texts: Sequence[str], prompt: str) -> NDArray[np.float32]:
        if not texts:
            return np.zeros((0, self.dimensions), np.float32)
        with self._using, model_errors(self._folder):
            rows = compute(
                list(texts),
                prompt=prompt or None,
                batch_size=_BATCH,
                normalize_embeddings=True,
                show_progress_bar=False,
            )
        vectors = np.asarray(rows, np.float32).reshape(len(texts), self.dimensions)
        if not np.isfinite(vectors).all():
            raise ModelError(f"the encoder in {self._folder} gives numbers that are not finite. Use another model.")
        return vectors

    def _model(self) -> Any:
        with self._using:
            if self._loaded is None:
                with model_errors(self._folder):
                    from sentence_transformers import SentenceTransformer

                    hide_progress()
                    self._loaded = SentenceTransformer(str(self._folder), local_files_only=True)
            return self._loaded


def require_extra(what: str) -> None:
    """Raises SettingsError if the extra `models` is not installed. It imports nothing."""
    from importlib.util import find_spec

    if find_spec("sentence_transformers") is None or find_spec("torch") is None:
        raise SettingsError(
            f"{what} needs the extra 'models'. Install it: "
            "`.venv/bin/pip install torch==2.13.0 transformers 'sentence-transformers>=6'`."
        )


def hide_progress() -> None:
    """Disables Transformers' progress bars."""
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()


def find_model(model: str) -> Path:
    """The folder of a model: the given folder or the downloaded one. Raises ModelError."""
    if Path(model).expanduser().is_dir():
        return Path(model).expanduser().resolve()
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(model, local_files_only=True))
    except (LocalEntryNotFoundError, HFValidationError) as exc:
        missing = model.startswith(("/", ".", "~"))
        how = "Check the path." if missing else f"Download it: `{command('hf download', model)}`."
        raise ModelError(f"there is no folder '{model}', and no model of that name on this machine. {how}") from exc


def fingerprint(folder: Path) -> str:
    """Identifies a model's outputs by each relevant file's name, size, head and tail."""
    digest = hashlib.sha256()
    for path in sorted(p for p in folder.rglob("*") if p.suffix in _MODEL_FILES and p.is_file()):
        digest.update(f"{path.relative_to(folder)}:{path.stat().st_size}:".encode() + head_and_tail(path))
    return digest.hexdigest()


@contextmanager
def model_errors(folder: Path) -> Iterator[None]:
    """Converts errors of PyTorch and Transformers to ModelError."""
    from safetensors import SafetensorError

    try:
        yield
    except (
        *(OSError, ValueError, RuntimeError, ImportError, KeyError, AttributeError, SafetensorError),
        AssertionError,  # PyTorch, for a device that it was not built for
    ) as exc:
        said = " ".join(str(exc).split())[:300]
        raise ModelError(
            f"the model in {folder} cannot be used ({said}). Download it again (`hf download`), or set another model "
            "or device."
        ) from exc

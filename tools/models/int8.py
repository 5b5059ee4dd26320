"""Runs the shipped models: int8 graphs in `tools/weights` on ONNX Runtime.

`python -m evals.training.artifacts` makes the encoder's files. `python -m evals judge-pack` makes the judges' files.
"""

import hashlib
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tools.errors import ModelError
from tools.models.worker import lower_priority

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # ONNX Runtime reads it at import; else it sends telemetry

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

WEIGHTS = Path(__file__).parents[1] / "weights"
_SAMPLE_BYTES = 1 << 20
_RESTORE = "Restore it from the project."

Text = str | tuple[str, str]


@dataclass(frozen=True)
class ModelFiles:
    """A folder with `model.onnx` and its external data (`model-1.bin`, …), and the tokenizer."""

    folder: Path
    tokenizer: Path
    max_length: int
    bits: int = 8
    """Bits of a weight. Sums of 8-bit weights overflow on processors without VNNI, so the runtime uses a slower exact
    method there. 7-bit weights never overflow. The results are the same on all processors."""

    def fingerprint(self) -> str:
        """Identifies the weights in cache keys by each file's size, head and tail, ten times as fast as by a full hash.
        Raises OSError."""
        digest = hashlib.sha256()
        for path in (self.folder / "model.onnx", *sorted(self.folder.glob("model-*.bin"))):
            digest.update(f"{path.stat().st_size},".encode() + head_and_tail(path))
        return digest.hexdigest()[:12]


def head_and_tail(path: Path) -> bytes:
    """The parts of a large file that identify it."""
    with path.open("rb") as file:
        head = file.read(_SAMPLE_BYTES)
        file.seek(-min(_SAMPLE_BYTES, path.stat().st_size), os.SEEK_END)
        return head + file.read()


class Int8Model:
    """A model with its tokenizer; `run` is thread-safe.

    Each processor computes one text at a time. In a batch all texts would share one activation scale, so a text's
    output would depend on the other texts. Single texts are faster, too, because they fit into a processor's cache.
    """

    def __init__(self, session: "InferenceSession", tokenizer: "Tokenizer", max_length: int) -> None:
        self._session = session
        self._tokenizer = tokenizer
        self._tokenizer.enable_truncation(max_length, strategy="longest_first")
        self._tokenizer.no_padding()
        processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        self._threads = ThreadPoolExecutor(processors, "steelman-onnx", lower_priority)

    def run(self, texts: Sequence[Text]) -> NDArray[np.float32]:
        """The outputs, float32, shape (n, width): a row for each text or text pair, in order; (0, 0) without texts."""
        if not texts:
            return np.zeros((0, 0), np.float32)
        encoded = self._tokenizer.encode_batch(list(texts))
        # Longest first, so that no thread ends alone with a long text.
        order = sorted(range(len(encoded)), key=lambda i: -len(encoded[i].ids))
        rows = dict(zip(order, self._threads.map(self._row, (encoded[i] for i in order)), strict=True))
        return np.stack([rows[i] for i in range(len(texts))]).astype(np.float32, copy=False)

    def _row(self, encoded: Any) -> NDArray[np.float32]:
        fed = {"ids": encoded.ids, "mask": encoded.attention_mask, "types": encoded.type_ids}
        outputs = self._session.run(None, {name: np.array([values], np.int64) for name, values in fed.items()})
        row: NDArray[np.float32] = outputs[0][0]
        return row


def load_model(files: ModelFiles, check: Callable[[Int8Model], bool], name: str) -> Int8Model:
    """Loads the model. `check` compares the model's outputs with stored outputs.

    Raises ModelError for missing or damaged files, and for wrong outputs: some processors compute int8 differently.
    """
    for path in (files.folder / "model.onnx", files.tokenizer):
        if not path.is_file():
            raise ModelError(f"the file {path} of the model '{name}' is missing. {_RESTORE}")
    model = _open(files)
    try:
        if check(model):
            return model
    except (OSError, ValueError, TypeError, KeyError) as exc:
        raise ModelError(f"the reference in {files.folder} cannot be read ({exc}). {_RESTORE}") from exc
    raise ModelError(
        f"the embedded model '{name}' computes wrong numbers on this processor. Use another provider for this "
        "stage (see `python -m agent doctor`), or report this with your processor's name.",
        hint=" (see `python -m agent doctor`)",
    )


def _open(files: ModelFiles) -> Int8Model:
    import onnxruntime
    from tokenizers import Tokenizer

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # the texts are divided among the processors
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.enable_mem_pattern = False  # it keeps memory for each text length seen, without a speed-up here
    if files.bits == 8 and not _has_vnni():
        options.add_session_config_entry("session.x64quantprecision", "1")
    try:
        session = onnxruntime.InferenceSession(
            str(files.folder / "model.onnx"),
            options,
            providers=["CPUExecutionProvider"],
            enable_fallback=0,  # it would print to stdout
        )
        tokenizer = Tokenizer.from_file(str(files.tokenizer))
    except Exception as exc:  # the two libraries' errors share no narrower class
        raise ModelError(f"the model in {files.folder} cannot be read ({str(exc)[:200]}). {_RESTORE}") from exc
    return Int8Model(session, tokenizer, files.max_length)


@cache
def _has_vnni() -> bool:
    """Whether the processor has VNNI instructions; False if unknown."""
    try:
        said = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return bool({"avx512_vnni", "avx_vnni"} & set(said.split()))

"""The models that ship with the project, as they run: int8 graphs in `tools/weights` under ONNX Runtime.

`python -m evals.training.artifacts` makes the encoder's files, `python -m evals judge-pack` the judges'.
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

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # ONNX Runtime reads it once, when it is loaded; else it reports to its maker

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

WEIGHTS = Path(__file__).parents[1] / "weights"
_SAMPLED = 1 << 20
_RESTORE = "Restore it from the project."

Text = str | tuple[str, str]


@dataclass(frozen=True)
class ModelFiles:
    """A folder with `model.onnx` and what lies outside of it (`model-1.bin`, …), and the tokenizer."""

    folder: Path
    tokenizer: Path
    max_length: int
    bits: int = 8
    """Of a weight. Sums of 8 bits overflow on processors without VNNI instructions, where the runtime is told to take
    the longer way; those of 7 never do. Either way the numbers are the same everywhere."""

    def fingerprint(self) -> str:
        """Names the weights: what vectors and cached scores of this model depend on.

        Of each file the size, the head and the tail are read: enough to tell two trainings apart, and a tenth of the
        time that the whole would cost at every start. Raises OSError.
        """
        digest = hashlib.sha256()
        for path in (self.folder / "model.onnx", *sorted(self.folder.glob("model-*.bin"))):
            digest.update(f"{path.stat().st_size},".encode() + head_and_tail(path))
        return digest.hexdigest()[:12]


def head_and_tail(path: Path) -> bytes:
    """What is read of a large file to tell it from another one."""
    with path.open("rb") as file:
        head = file.read(_SAMPLED)
        file.seek(-min(_SAMPLED, path.stat().st_size), os.SEEK_END)
        return head + file.read()


class Int8Model:
    """A graph with its tokenizer; `run` is safe to call from several threads.

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


def load_model(files: ModelFiles, check: Callable[[Int8Model], bool], name: str) -> Int8Model:
    """The model; `check` compares it with stored outputs.

    Raises ModelError when files are missing or damaged, or the model's outputs are other than they should be: some
    processors compute int8 differently, and wrong numbers must not pass for an answer.
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
    from onnxruntime.capi import onnxruntime_pybind11_state as states
    from tokenizers import Tokenizer

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # the texts are what is divided among the processors
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # Both keep memory for every length of text that was ever computed, and make nothing faster here.
    options.enable_cpu_mem_arena = options.enable_mem_pattern = False
    if files.bits == 8 and not _adds_exactly():
        options.add_session_config_entry("session.x64quantprecision", "1")
    try:
        session = onnxruntime.InferenceSession(
            str(files.folder / "model.onnx"),
            options,
            providers=["CPUExecutionProvider"],
            enable_fallback=0,  # which would print to stdout
        )
    except (
        *(states.Fail, states.InvalidArgument, states.InvalidGraph, states.InvalidProtobuf, states.NoModel),
        *(states.NoSuchFile, states.NotImplemented, states.RuntimeException),
        UnicodeDecodeError,  # of a message that quotes a damaged name
    ) as exc:
        raise ModelError(f"the model in {files.folder} cannot be read ({str(exc)[:200]}). {_RESTORE}") from exc
    try:
        tokenizer = Tokenizer.from_file(str(files.tokenizer))
    except Exception as exc:  # the library raises no narrower one
        raise ModelError(f"the tokenizer {files.tokenizer} cannot be read ({exc}). {_RESTORE}") from exc
    return Int8Model(session, tokenizer, files.max_length)


@cache
def _adds_exactly() -> bool:
    """Whether the processor has VNNI instructions; False where it does not say."""
    try:
        said = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return bool({"avx512_vnni", "avx_vnni"} & set(said.split()))


def _processors() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

"""The embedded sentence encoder: all-MiniLM-L6-v2 as an int8 ONNX graph, no torch and no network."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tools.models.int8 import WEIGHTS, Int8Model, ModelFiles, load_model

BITS = 7
"""Of a weight: vectors are kept and compared with those of other machines, so that they have to be the same on all."""
_AGREES = 0.95  # lowest cosine to the stored fp32 vectors; int8 measures 0.98 and above, a wrong build far below


class Encoder(Protocol):
    """Turns texts into unit vectors. `name` changes whenever the vectors do; all methods may be called from threads."""

    @property
    def name(self) -> str: ...

    @property
    def dimensions(self) -> int: ...

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of documents: shape (n, dimensions), rows of unit length, in the order of the texts."""
        ...

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The same for queries, in the documents' space: some models read a query another way than a document."""
        ...


def encode_with_sentences(
    encoder: Encoder, texts: Sequence[str], sentences: Sequence[Sequence[str]]
) -> tuple[NDArray[np.float32], list[NDArray[np.float32]]]:
    """Vectors of the texts, (texts, dimensions), and for each list of sentences theirs, (sentences, dimensions).

    One call, so that the encoder batches all of them by length; what occurs several times is encoded once.
    """
    chosen = list(dict.fromkeys([*texts, *(s for own in sentences for s in own)]))
    row = {text: i for i, text in enumerate(chosen)}
    vectors = encoder.encode(chosen)
    return vectors[[row[t] for t in texts]], [vectors[[row[s] for s in own]] for own in sentences]


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
    """Where the encoder is."""
    return ModelFiles(WEIGHTS / "encoder", WEIGHTS / "encoder" / "tokenizer.json", max_length=256, bits=BITS)


def load_encoder() -> MiniLM:
    """The encoder. Raises ModelError when its files cannot be used, or compute something else on this processor."""
    model = load_model(encoder_files(), _agrees, "encoder")
    return MiniLM(model, f"minilm-int8-{encoder_files().fingerprint()}")


def _agrees(model: Int8Model) -> bool:
    with np.load(WEIGHTS / "encoder" / "reference.npz") as reference:
        vectors = model.run([str(t) for t in reference["texts"]])
        cosines = np.sum(vectors * reference["vectors"].astype(np.float32), axis=1)
    return bool(np.all(cosines >= _AGREES))

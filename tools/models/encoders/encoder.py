"""The embedded sentence encoder: all-MiniLM-L6-v2 as an int8 ONNX graph, without torch and network."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tools.models.int8 import WEIGHTS, Int8Model, ModelFiles, load_model

BITS = 7
"""Bits of a weight. Stored vectors are compared with other machines' vectors, so they must be identical everywhere."""
_LEAST_COSINE = 0.95  # to the stored fp32 vectors; int8 reaches 0.98, a wrong build far less


class Encoder(Protocol):
    """Maps texts to unit vectors. `name` identifies the vectors; all methods are thread-safe."""

    @property
    def name(self) -> str: ...

    @property
    def dimensions(self) -> int: ...

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of documents, shape (n, dimensions), of unit length, in the texts' order."""
        ...

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of queries, in the same space. Some models use another prompt for queries."""
        ...


def encode_with_sentences(
    encoder: Encoder, texts: Sequence[str], sentences: Sequence[Sequence[str]]
) -> tuple[NDArray[np.float32], list[NDArray[np.float32]]]:
    """Vectors of the texts, (texts, dimensions), and of each list's sentences, (sentences, dimensions).

    One call, so that the encoder can batch all of them; duplicates are encoded once.
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
    return ModelFiles(WEIGHTS / "encoder", WEIGHTS / "encoder" / "tokenizer.json", max_length=256, bits=BITS)


def load_encoder() -> MiniLM:
    """Raises ModelError if its files are unusable or its outputs are wrong on this processor."""
    model = load_model(encoder_files(), _matches_reference, "encoder")
    return MiniLM(model, f"minilm-int8-{encoder_files().fingerprint()}")


def _matches_reference(model: Int8Model) -> bool:
    with np.load(WEIGHTS / "encoder" / "reference.npz") as reference:
        vectors = model.run([str(t) for t in reference["texts"]])
        cosines = np.sum(vectors * reference["vectors"].astype(np.float32), axis=1)
    return bool(np.all(cosines >= _LEAST_COSINE))

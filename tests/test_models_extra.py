"""The embedded models against PyTorch: run where the extra 'models' is installed (`make test-all`)."""

from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.slow

TEXTS = [
    "Nuclear power is safe.",
    "A silent phone on the desk still asks to be looked at, and the child who resists it has spent attention.",
    "Rents rise where many people want to live and little is built. " * 8,
    "Zoos teach.",
]


def test_encoder_agrees_with_sentence_transformers(tmp_path: Path) -> None:
    transformers = pytest.importorskip("sentence_transformers")
    from tools.inference.encoders.encoder import load_encoder, minilm_recipe

    model = transformers.SentenceTransformer(str(minilm_recipe().weights.parent), device="cpu")
    expected = model.encode(TEXTS, normalize_embeddings=True, show_progress_bar=False)
    cosines = np.sum(load_encoder(tmp_path).encode(TEXTS) * expected, axis=1)
    assert cosines.mean() > 0.985
    assert cosines.min() > 0.97


def test_float_graph_is_exact(tmp_path: Path) -> None:
    """Without quantisation the graph built from the weights gives what PyTorch gives."""
    transformers = pytest.importorskip("sentence_transformers")
    import onnx
    import onnxruntime
    from tokenizers import Tokenizer

    from tools.inference.encoders.encoder import minilm_recipe
    from tools.inference.onnx.bert import build_bert
    from tools.inference.onnx.model import OnnxModel
    from tools.inference.onnx.packed import load_weights

    recipe = minilm_recipe()
    onnx.save(build_bert(load_weights(recipe.weights), recipe.heads, "mean"), tmp_path / "fp32.onnx")
    session = onnxruntime.InferenceSession(str(tmp_path / "fp32.onnx"))
    ours = OnnxModel(session, Tokenizer.from_file(str(recipe.tokenizer)), recipe.max_length).run(TEXTS)
    model = transformers.SentenceTransformer(str(recipe.weights.parent), device="cpu")
    expected = model.encode(TEXTS, normalize_embeddings=True, show_progress_bar=False)
    assert np.sum(ours * expected, axis=1).min() > 0.99999

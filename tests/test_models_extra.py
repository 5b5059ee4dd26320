"""The embedded models against PyTorch: run where the extra 'models' is installed (`make test-all`)."""

import numpy as np
import onnxruntime
import pytest

from evals.training.graph import HEADS, build_bert, load_weights
from evals.training.model import minilm_folder
from tools.models.encoders.encoder import encoder_files, load_encoder
from tools.models.int8 import Int8Model

pytestmark = pytest.mark.slow

TEXTS = [
    "Nuclear power is safe.",
    "A silent phone on the desk still asks to be looked at, and the child who resists it has spent attention.",
    "Rents rise where many people want to live and little is built. " * 8,
    "Zoos teach.",
]


def test_encoder_agrees_with_sentence_transformers() -> None:
    transformers = pytest.importorskip("sentence_transformers")
    model = transformers.SentenceTransformer(str(minilm_folder()), device="cpu")
    expected = model.encode(TEXTS, normalize_embeddings=True, show_progress_bar=False)
    cosines = np.sum(load_encoder().encode(TEXTS) * expected, axis=1)
    assert cosines.mean() > 0.985
    assert cosines.min() > 0.97


def test_float_graph_is_exact() -> None:
    """Without quantisation the graph built from the weights gives what PyTorch gives."""
    transformers = pytest.importorskip("sentence_transformers")
    from tokenizers import Tokenizer

    session = onnxruntime.InferenceSession(
        build_bert(load_weights(minilm_folder() / "model.safetensors"), HEADS, "mean").SerializeToString()
    )
    files = encoder_files()
    ours = Int8Model(session, Tokenizer.from_file(str(files.tokenizer)), files.max_length).run(TEXTS)
    model = transformers.SentenceTransformer(str(minilm_folder()), device="cpu")
    expected = model.encode(TEXTS, normalize_embeddings=True, show_progress_bar=False)
    assert np.sum(ours * expected, axis=1).min() > 0.99999

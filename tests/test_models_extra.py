"""The encoder against PyTorch. Needs the extra 'models' (`make test-all`)."""

import numpy as np
import onnxruntime
import pytest

from evals.training.graph import HEADS, build_bert, load_weights
from tools.models.encoders import encoder_files, load_encoder
from tools.models.int8 import Int8Model

TEXTS = [
    "Nuclear power is safe.",
    "A silent phone on the desk still asks to be looked at, and the child who resists it has spent attention.",
    "Rents rise where many people want to live and little is built. " * 8,
    "Zoos teach.",
]


@pytest.mark.slow
def test_the_int8_encoder_is_close_to_pytorch_and_the_float_graph_is_exact() -> None:
    transformers = pytest.importorskip("sentence_transformers")
    from tokenizers import Tokenizer

    from evals.training.model import minilm_folder

    model = transformers.SentenceTransformer(str(minilm_folder()), device="cpu")
    expected = model.encode(TEXTS, normalize_embeddings=True, show_progress_bar=False)
    cosines = np.sum(load_encoder().encode(TEXTS) * expected, axis=1)
    assert cosines.mean() > 0.985
    assert cosines.min() > 0.97
    graph = build_bert(load_weights(minilm_folder() / "model.safetensors"), HEADS, "mean")
    session, files = onnxruntime.InferenceSession(graph.SerializeToString()), encoder_files()
    exact = Int8Model(session, Tokenizer.from_file(str(files.tokenizer)), files.max_length).run(TEXTS)
    assert np.sum(exact * expected, axis=1).min() > 0.99999

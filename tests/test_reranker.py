"""The cross-encoder against Transformers itself; the models are tiny, random and made here."""

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from test_encoder_transformers import TEXTS, tiny_bert

from tools.errors import ModelError
from tools.inference.encoders.transformers import Reranker

pytestmark = pytest.mark.slow
QUERY = "Do more homes lower rents?"


def logits(folder: Path, text: str, max_length: int = 64) -> NDArray[np.float64]:
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    tokens = AutoTokenizer.from_pretrained(folder)(
        QUERY, text, return_tensors="pt", truncation=True, max_length=max_length
    )
    with torch.inference_mode():
        return np.asarray(model(**tokens).logits[0].numpy(), np.float64)


def test_one_output_through_the_logistic_function(tmp_path: Path) -> None:
    reranker = Reranker(tiny_bert(tmp_path, labels=1))
    scores = reranker.scores(QUERY, TEXTS)
    assert scores.dtype == np.float32
    assert scores.tolist() == pytest.approx([float(1 / (1 + np.exp(-logits(tmp_path, t)[0]))) for t in TEXTS], abs=1e-5)
    assert len(set(scores.tolist())) == 3
    assert reranker.scores(QUERY, []).shape == (0,)


def test_the_second_of_two_labels(tmp_path: Path) -> None:
    scores = Reranker(tiny_bert(tmp_path, labels=2)).scores(QUERY, TEXTS)
    odds = [logits(tmp_path, t) for t in TEXTS]
    assert scores.tolist() == pytest.approx([float(np.exp(o[1]) / np.exp(o).sum()) for o in odds], abs=1e-5)


def test_an_encoder_is_no_reranker(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="is no cross-encoder"):
        Reranker(tiny_bert(tmp_path)).scores(QUERY, TEXTS)


def test_a_class_of_its_authors_alone(tmp_path: Path) -> None:
    """As TART-full: its encoder would be read by a class that Transformers has, with random weights for the score."""
    folder = tiny_bert(tmp_path, labels=2)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | {"architectures": ["EncT5ForSequenceClassification"]}))
    with pytest.raises(
        ModelError, match="is of the class EncT5ForSequenceClassification, which Transformers does not know"
    ):
        Reranker(folder).scores(QUERY, TEXTS)


def test_long_texts_are_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.inference.encoders.transformers._LONGEST", 24)
    [long] = Reranker(tiny_bert(tmp_path, labels=1)).scores(QUERY, [" ".join(TEXTS * 9)])
    assert long == pytest.approx(float(1 / (1 + np.exp(-logits(tmp_path, " ".join(TEXTS * 9), 24)[0]))), abs=1e-5)

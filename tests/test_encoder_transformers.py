"""Encoders in PyTorch against what the hidden states give by hand; the models are tiny, random and made here."""

import importlib.util
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tiny_models import tiny_tokenizer as tiny_tokenizer

from tools.errors import ModelError, SettingsError
from tools.models.encoders import TransformersEncoder, find_model

TEXTS = ["Trains are quiet.", "A city that builds more homes has lower rents, and its streets have more people.", "No."]
slow = pytest.mark.slow


def tiny_bert(folder: Path, seed: int = 0) -> str:
    """The folder with a random BERT in it."""
    import torch
    from transformers import BertConfig, BertModel

    torch.manual_seed(seed)
    tokenizer = tiny_tokenizer()
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
        initializer_range=0.5,
    )
    BertModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def hidden(folder: str, text: str) -> NDArray[np.float32]:
    """The last hidden states of one text, shape (tokens, width)."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    model, tokenizer = AutoModel.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    with torch.inference_mode():
        states: NDArray[np.float32] = model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0].numpy()
    return states


def unit(vector: NDArray[np.float32]) -> Any:
    return pytest.approx(vector / np.linalg.norm(vector), abs=1e-5)


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> str:
    return tiny_bert(tmp_path_factory.mktemp("bert"))


# Without the extra


@pytest.mark.skipif(importlib.util.find_spec("torch") is not None, reason="the extra is installed")
def test_without_the_extra(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"needs the extra 'models'.*pip install torch"):
        TransformersEncoder(str(tmp_path))


def test_a_model_that_is_not_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    for name in ("somebody/something", "nothing here", "a/b/c"):
        with pytest.raises(ModelError, match=rf"no folder '{name}'.*hf download {re.escape(shlex.quote(name))}"):
            find_model(name)


def test_a_model_that_was_downloaded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    repository = tmp_path / "models--somebody--something"
    snapshot = repository / "snapshots" / ("0123456789" * 4)
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").write_text("{}")
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(snapshot.name)
    assert find_model("somebody/something") == snapshot
    assert find_model(str(snapshot)) == snapshot


# Vectors


@slow
def test_vectors_by_hand(bert: str) -> None:
    encoder = TransformersEncoder(bert)
    assert encoder.dimensions == 16
    for rows in (encoder.encode(TEXTS), encoder.encode_queries(TEXTS)):
        assert rows.dtype == np.float32
        for row, text in zip(rows, TEXTS, strict=True):
            assert row == unit(hidden(bert, text).mean(axis=0))

"""The int8 models: damaged files are errors that name the remedy; results do not depend on other texts."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from conftest import Spawn

from tools.errors import ModelError
from tools.models.encoders import MiniLM, load_encoder
from tools.models.int8 import WEIGHTS


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the encoder's files, which is loaded in their place."""
    monkeypatch.setattr("tools.models.encoders.WEIGHTS", tmp_path)
    return Path(shutil.copytree(WEIGHTS / "encoder", tmp_path / "encoder"))


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_missing_and_damaged_files_are_named(folder: Path, name: str) -> None:
    whole = (folder / name).read_bytes()
    for data in (b"", b"not a model", whole[: len(whole) // 2]):
        (folder / name).write_bytes(data)
        with pytest.raises(ModelError, match=r"cannot be read.*Restore it from the project"):
            load_encoder()
    (folder / name).unlink()
    with pytest.raises(ModelError, match=rf"{name} of the model 'encoder' is missing"):
        load_encoder()


def test_another_model_under_the_encoders_name_is_refused(folder: Path) -> None:
    assert load_encoder().encode(["Bees dance."]).shape == (1, 384)
    with np.load(folder / "reference.npz") as stored:
        turned = {"texts": stored["texts"], "vectors": stored["vectors"][::-1]}
    np.savez(folder / "reference.npz", **turned)
    with pytest.raises(ModelError, match="'encoder' computes wrong numbers"):
        load_encoder()


def test_a_vector_does_not_depend_on_other_texts(encoder: MiniLM) -> None:
    texts = ["Bees dance.", "The harbour was closed in May. " * 12, "£ 4,000,000", "Ants march on. " * 40]
    for row, text in zip(encoder.encode(texts), texts, strict=True):
        np.testing.assert_array_equal(row, encoder.encode([text])[0])


def test_the_telemetry_of_onnx_runtime_is_off_before_it_is_loaded(spawn: Spawn) -> None:
    code = """
import os, sys
from tools.models.encoders import load_encoder

assert "onnxruntime" not in sys.modules and os.environ["ORT_DISABLE_TELEMETRY"] == "1"
load_encoder()
assert "onnxruntime" in sys.modules and "onnx" not in sys.modules
"""
    process = spawn(code)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 0, error

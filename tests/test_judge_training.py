"""Training and packing of both judges on small data."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from judge_data import write_judge_data
from numpy.typing import NDArray

from evals.__main__ import main
from evals.training.pack import Reader, as_float
from tools.models.encoders import encoder_files
from tools.models.int8 import Int8Model
from tools.models.judges import embedded
from tools.models.judges.judge import Pair, swap_statements

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
PAIRS = [("Zoos should close.", "Zoos keep animals in small rooms, " * 12), ("Zoos should close.", "They teach.")]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("torch")
    return write_judge_data(tmp_path_factory.mktemp("judge-data"))


def test_the_small_judge_is_trained_stopped_resumed_and_packed(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from evals.training import cross_encoder

    out, whole = tmp_path / "run", cross_encoder.train_step
    taken: list[float] = []

    def interrupted(run: cross_encoder.TrainingRun, batch: cross_encoder.Batch) -> float:
        taken.append(whole(run, batch))
        if len(taken) == 4:
            raise KeyboardInterrupt
        return taken[-1]

    command = ["judge-train", "--data", str(data), "--out", str(out), "--millions", "0.03"]
    monkeypatch.setattr(cross_encoder, "train_step", interrupted)
    assert main(command) == 130
    monkeypatch.setattr(cross_encoder, "train_step", whole)
    assert main(command) == 0
    last = json.loads((out / "train.jsonl").read_text().splitlines()[-1])
    assert last["done"] == 1
    assert last["step"] > 4
    assert main([*command[:-1], "9"]) == 2
    assert "another plan (millions was 0.03, is 9.0)" in capsys.readouterr().err

    folder = tmp_path / "judge"
    shutil.copytree(embedded.FOLDER, folder)
    monkeypatch.setattr(embedded, "FOLDER", folder)
    assert main(["judge-pack", "--weights", str(out / "weights"), "--data", str(data)]) == 0
    assert "threshold" in json.loads(capsys.readouterr().out)
    judge = embedded.load_judge()
    scores = judge.score([Pair("Zoos should close.", "Zoos keep animals in small rooms."), Pair("A.", "B " * 300)])
    assert ((scores >= 0) & (scores <= 1)).all()


def test_inputs_are_rounded_as_int8_does_and_the_gradient_passes() -> None:
    torch = pytest.importorskip("torch")
    from evals.training.model import in_256_steps

    x = torch.randn(3, 5, 16, generator=torch.Generator().manual_seed(1), requires_grad=True)
    found = in_256_steps(x)
    assert len(found.unique()) <= 256
    assert (found - x).abs().max() <= (x.max() - x.min()) / 255 / 2 + 1e-6
    found.sum().backward()
    assert torch.equal(x.grad, torch.ones_like(x))
    large = x.detach().clone()
    large[..., 3] *= 100  # a large channel costs the others no precision
    others = [i for i in range(16) if i != 3]
    assert (in_256_steps(large) - large)[..., others].abs().max() < 0.03


def small_mpnet(folder: Path, layers: int = 2) -> Path:
    """A model of the closer reading's kind with random weights, as judge-train writes it."""
    import torch
    from safetensors.torch import save_file
    from transformers import MPNetConfig, MPNetModel

    from evals.training.model import trained_weights

    torch.manual_seed(3)
    shape = {"hidden_size": 48, "num_hidden_layers": layers, "num_attention_heads": 12, "intermediate_size": 96}
    settings = MPNetConfig(vocab_size=30522, initializer_range=0.3, max_position_embeddings=162, **shape)
    model = {"encoder": MPNetModel(settings), "classifier": torch.nn.Linear(48, 2)}
    folder.mkdir()
    save_file({n: v.contiguous() for n, v in trained_weights(model).items()}, folder / "model.safetensors")
    (folder / "tokenizer.json").write_bytes(encoder_files().tokenizer.read_bytes())
    return folder


def predict(model: Any, tokenizer: Any) -> NDArray[np.float32]:
    """Probabilities for PAIRS in PyTorch."""
    import torch

    from evals.training.model import outputs

    model.eval()
    with torch.inference_mode():
        return embedded.sigmoid(outputs(model, tokenizer, PAIRS)[0].cpu().numpy())


def test_the_graph_of_an_mpnet_agrees_with_pytorch(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from evals.training.model import build_model, trained_weights

    folder = small_mpnet(tmp_path / "mpnet")
    model, tokenizer = build_model(folder)
    weights = {name: value.numpy() for name, value in trained_weights(model).items()}
    session, words = as_float(weights, Reader(folder / "tokenizer.json", 160))
    ours = embedded.sigmoid(Int8Model(session, words, 160).run(PAIRS))
    np.testing.assert_allclose(ours, predict(model, tokenizer), atol=0.02)  # bfloat16


def test_the_shipped_closer_reading_can_be_trained_further() -> None:
    pytest.importorskip("torch")
    from evals.training.model import build_model

    shipped = embedded.load_larger_model()
    np.testing.assert_allclose(
        predict(*build_model(embedded.LARGER_FOLDER)), embedded.sigmoid(shipped.run(PAIRS)), atol=0.06
    )


def test_the_closer_reading_is_trained_and_packed(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ["judge-train", "--data", str(data), "--out", str(tmp_path / "run"), "--millions", "0.02", "--encoder"]
    for folder, cause in ((tmp_path / "none", "no weights"), (small_mpnet(tmp_path / "tiny"), "has 2 layers, not 3")):
        assert main([*command, str(folder)]) == 2
        assert cause in capsys.readouterr().err
    assert main([*command, str(small_mpnet(tmp_path / "small", 4))]) == 0
    capsys.readouterr()

    before = embedded.load_judge()
    small, folder = tmp_path / "judge", tmp_path / "close_judge"
    shutil.copytree(embedded.FOLDER, small)
    monkeypatch.setattr(embedded, "FOLDER", small)
    monkeypatch.setattr(embedded, "LARGER_FOLDER", folder)
    assert main(["judge-pack", "--weights", str(tmp_path / "run" / "weights"), "--data", str(data)]) == 0
    figures = json.loads(capsys.readouterr().out)
    names = {"close_side", "close_small_side", "answer_close_ece", "answer_close_large_side_disputes_surest"}
    assert names <= figures.keys()
    packed = (folder / "model.onnx").read_bytes()
    assert main(["judge-pack", "--packed", "--data", str(data)]) == 0
    assert json.loads(capsys.readouterr().out) == figures
    assert (folder / "model.onnx").read_bytes() == packed
    judge = embedded.load_judge()
    assert judge.name != before.name
    pair = Pair("Zoos should close.", "Zoos keep animals in small rooms.", "Zoos should stay open.")
    there, back = judge.score_both([pair], closely=True), judge.score_both([swap_statements(pair)], closely=True)
    assert there.tolist() == back[:, ::-1].tolist()
    assert ((there > 0) & (there < 1)).all()

"""Training a judge and packing it: all of it, on small data."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from judge_data import write_judge_data
from numpy.typing import NDArray

from evals.__main__ import main
from evals.training.packing import Reader, as_float
from tools.models.encoders.encoder import encoder_files
from tools.models.int8 import Int8Model
from tools.models.judges import embedded
from tools.models.judges.judge import Pair, swap_statements

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("torch")
    return write_judge_data(tmp_path_factory.mktemp("judge-data"))


def test_trained_stopped_gone_on_with_and_packed(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from evals.training import cross_encoder

    out, whole = tmp_path / "run", cross_encoder.train_step
    taken: list[float] = []

    def interrupted(run: cross_encoder.Run, batch: cross_encoder.Batch) -> float:
        taken.append(whole(run, batch))
        if len(taken) == 4:
            raise KeyboardInterrupt
        return taken[-1]

    command = ["judge-train", "--data", str(data), "--out", str(out), "--millions", "0.03"]
    monkeypatch.setattr(cross_encoder, "train_step", interrupted)
    assert main(command) == 130
    assert (out / "checkpoint.pt").exists()
    monkeypatch.setattr(cross_encoder, "train_step", whole)
    assert main(command) == 0
    last = json.loads((out / "train.jsonl").read_text().splitlines()[-1])
    assert last["done"] == 1
    assert last["step"] > 4
    assert main([*command[:-1], "9"]) == 2
    assert "another plan" in capsys.readouterr().err

    folder = tmp_path / "judge"
    shutil.copytree(embedded.FOLDER, folder)
    monkeypatch.setattr(embedded, "FOLDER", folder)
    assert main(["judge-pack", "--weights", str(out / "weights"), "--data", str(data)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert "threshold" in told
    judge = embedded.load_judge()
    scores = judge.score([Pair("Zoos should close.", "Zoos keep animals in small rooms."), Pair("A.", "B " * 300)])
    assert ((scores >= 0) & (scores <= 1)).all()


def test_what_goes_into_a_product_is_rounded_as_int8_would_and_the_gradient_passes() -> None:
    torch = pytest.importorskip("torch")
    from evals.training.model import in_256_steps

    x = torch.randn(3, 5, 16, generator=torch.Generator().manual_seed(1), requires_grad=True)
    found = in_256_steps(x)
    assert len(found.unique()) <= 256
    assert (found - x).abs().max() <= (x.max() - x.min()) / 255 / 2 + 1e-6
    found.sum().backward()
    assert torch.equal(x.grad, torch.ones_like(x))
    far = x.detach().clone()
    far[..., 3] *= 100  # a channel that reaches far costs the others no precision
    others = [i for i in range(16) if i != 3]
    assert (in_256_steps(far) - far)[..., others].abs().max() < 0.03


def test_the_mean_of_the_weights_is_what_is_kept(data: Path, tmp_path: Path) -> None:
    from evals.training import cross_encoder
    from evals.training.data import load_corpus
    from evals.training.train import Plan

    plan = Plan(millions=0.09, mean_from=0.2, measure_every=99)
    run = cross_encoder.start(plan, load_corpus(data), tmp_path / "run")
    assert run.best is run.model
    cross_encoder.train(run)
    assert int(run.mean.n_averaged) > 0
    assert run.best is run.mean.module
    again = cross_encoder.start(plan, load_corpus(data), tmp_path / "run")
    assert int(again.mean.n_averaged) == int(run.mean.n_averaged)
    for kept, mean in zip(again.best.parameters(), run.best.parameters(), strict=True):
        assert bool((kept == mean).all())


def tiny_closer(folder: Path, layers: int = 2) -> Path:
    """A closer reading's model of few layers with random weights, as judge-train leaves it, with the tokenizer of the
    base judge's words."""
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


def predict(model: Any, tokenizer: Any, pairs: list[tuple[str, str]]) -> NDArray[np.float32]:
    """Probabilities of support and of opposition in PyTorch, (n, 2)."""
    import torch

    from evals.training.model import outputs

    model.eval()
    with torch.inference_mode():
        return embedded.sigmoid(outputs(model, tokenizer, pairs)[0].cpu().numpy())


PAIRS = [("Zoos should close.", "Zoos keep animals in small rooms, " * 12), ("Zoos should close.", "They teach.")]


def test_the_graph_of_an_mpnet_says_what_it_says_itself(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from evals.training.model import build_model, trained_weights

    folder = tiny_closer(tmp_path / "mpnet")
    model, tokenizer = build_model(folder)
    assert len(tokenizer.encode(*PAIRS[0]).ids) > 100  # farther apart than the buckets tell distances one by one
    weights = {name: value.numpy() for name, value in trained_weights(model).items()}
    session, words = as_float(weights, Reader(folder / "tokenizer.json", 160))
    ours = embedded.sigmoid(Int8Model(session, words, 160).run(PAIRS))
    np.testing.assert_allclose(ours, predict(model, tokenizer, PAIRS), atol=0.02)  # where there is bfloat16, coarser


def test_the_closer_reading_as_it_ships_can_be_trained_on() -> None:
    pytest.importorskip("torch")
    from evals.training.model import build_model

    shipped = embedded.load_larger_model()
    found = predict(*build_model(embedded.LARGER_FOLDER), PAIRS)
    np.testing.assert_allclose(found, embedded.sigmoid(shipped.run(PAIRS)), atol=0.06)  # int8 rounds the inputs too


def test_the_closer_reading_is_trained_and_packed(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from evals.training.model import build_model

    command = ["judge-train", "--data", str(data), "--out", str(tmp_path / "run"), "--millions", "0.02"]
    assert main([*command, "--encoder", str(tmp_path / "none")]) == 2
    assert "holds no weights of the closer reading" in capsys.readouterr().err
    command += ["--rate", "5e-4", "--encoder"]
    assert main([*command, str(tiny_closer(tmp_path / "tiny"))]) == 2
    assert "has 2 layers, not 3" in capsys.readouterr().err
    assert main([*command, str(tiny_closer(tmp_path / "small", 4))]) == 0
    last = json.loads((tmp_path / "run" / "train.jsonl").read_text().splitlines()[-1])
    assert last["done"] == 1
    capsys.readouterr()

    before = embedded.load_judge()
    small, folder = tmp_path / "judge", tmp_path / "close_judge"
    shutil.copytree(embedded.FOLDER, small)
    monkeypatch.setattr(embedded, "FOLDER", small)
    monkeypatch.setattr(embedded, "LARGER_FOLDER", folder)
    assert main(["judge-pack", "--weights", str(tmp_path / "run" / "weights"), "--data", str(data)]) == 0
    figures = json.loads(capsys.readouterr().out)
    told = {"close_side", "close_small_side", "answer_close_ece", "answer_close_large_side_disputes_surest"}
    assert told <= figures.keys()
    packed = (folder / "model.onnx").read_bytes()
    assert main(["judge-pack", "--packed", "--data", str(data)]) == 0
    assert json.loads(capsys.readouterr().out) == figures
    assert (folder / "model.onnx").read_bytes() == packed
    unpacked, trained = (predict(*build_model(f), PAIRS) for f in (folder, tmp_path / "run" / "weights"))
    np.testing.assert_allclose(unpacked, trained, atol=0.05)
    judge = embedded.load_judge()
    assert judge.name != before.name
    pair = Pair("Zoos should close.", "Zoos keep animals in small rooms.", "Zoos should stay open.")
    there, back = judge.score_both([pair], closely=True), judge.score_both([swap_statements(pair)], closely=True)
    assert there.tolist() == back[:, ::-1].tolist()
    assert ((there > 0) & (there < 1)).all()

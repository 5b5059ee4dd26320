"""Judging with a run of `judge-train`, without PyTorch."""

import argparse
import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from evals.__main__ import main
from evals.judges import judge_named, open_judge
from evals.training.trained import read_trained
from tools.errors import InputError
from tools.inference.encoders.encoder import encoder_files
from tools.inference.judges.embedded import as_read, close_logits, sigmoid, swapped
from tools.inference.judges.judge import Pair

WIDTH, HEADS, WORDS = 8, 2, 30522
PAIR = Pair("Zoos should close.", "Zoos keep animals in small rooms.", "Zoos should stay open.")


def write_run(folder: Path, seed: int, layers: int = 1, *, larger: bool = True) -> Path:
    """A run's folder with random weights of the kind that `judge-train` writes."""
    rng = np.random.default_rng(seed)
    shapes = {
        "embeddings.word_embeddings.weight": (WORDS, WIDTH),
        "embeddings.token_type_embeddings.weight": (2, WIDTH),
        "embeddings.position_embeddings.weight": (160, WIDTH),
        **_norm("embeddings"),
        **({"relative.weight": (32, HEADS)} if larger else {}),
        "classifier.weight": (2, WIDTH),
        "classifier.bias": (2,),
    }
    for layer in range(layers):
        name = f"encoder.layer.{layer}"
        for part in ("self.query", "self.key", "self.value", "output.dense"):
            shapes |= _dense(f"{name}.attention.{part}", WIDTH, WIDTH)
        shapes |= _norm(f"{name}.attention.output") | _norm(f"{name}.output")
        shapes |= _dense(f"{name}.intermediate.dense", 2 * WIDTH, WIDTH) | _dense(
            f"{name}.output.dense", WIDTH, 2 * WIDTH
        )
    made = folder / "weights"
    made.mkdir(parents=True)
    save_file({n: rng.normal(size=s).astype(np.float16) for n, s in shapes.items()}, made / "model.safetensors")
    (made / "tokenizer.json").write_bytes(encoder_files().tokenizer.read_bytes())
    config = {"heads": HEADS, "max_length": 160, "layers": layers, "steps": seed, "seconds": 1, "plan": {"seed": seed}}
    (made / "config.json").write_text(json.dumps(config))
    return folder


def _norm(name: str) -> dict[str, tuple[int, ...]]:
    return {f"{name}.LayerNorm.weight": (WIDTH,), f"{name}.LayerNorm.bias": (WIDTH,)}


def _dense(name: str, out: int, into: int) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": (out, into), f"{name}.bias": (out,)}


@pytest.mark.parametrize("larger", [True, False])
def test_pairs_are_judged_by_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str], *, larger: bool) -> None:
    run, data = write_run(tmp_path / "run", 5, larger=larger), tmp_path / "pairs.jsonl"
    rows = [
        {"question": "Zoos?", "document": f"Zoos {verb}.", "perspective": side, "label": int(side == PAIR.statement)}
        for verb in ("hurt", "teach")
        for side in (PAIR.statement, PAIR.contrary)
    ]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main(["judge", "--data", str(data), "--judge", str(run), "--contrary", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["config"]["judge"].startswith("run-")
    assert 0 <= told["metrics"]["auc"] <= 1
    judge = open_judge(str(run / "weights"), 0.0, 0)
    answers = [Pair(f"{word}: Should zoos close?", PAIR.text, form="answer") for word in ("Yes", "No")]
    scores = judge.score([PAIR, swapped(PAIR), *answers])
    assert len(set(scores.tolist())) == 4
    if larger:  # one reading tells both sides
        logits = close_logits(read_trained(run).model(), [as_read(PAIR)])[0]
        assert sorted(scores[:2]) == pytest.approx(sorted(sigmoid(logits)))


def test_neither_a_judge_nor_a_run_is_said(tmp_path: Path) -> None:
    assert judge_named("close") == "close"
    with pytest.raises(argparse.ArgumentTypeError, match="is none of settings, embedded"):
        judge_named(str(tmp_path))
    with pytest.raises(InputError, match="holds no weights of judge-train"):
        read_trained(tmp_path)

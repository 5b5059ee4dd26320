"""What is done with runs of `judge-train` without PyTorch: their plans, their means, and judging with them."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

from evals.__main__ import main
from evals.benchmarks.ask import LargerAlone
from evals.judges import judge_named, open_judge, stances_of
from evals.training import train
from evals.training.cross_encoder import Run
from evals.training.plan import Plan, close_plan, distilling_plan
from evals.training.trained import read_trained, weights_of
from tools.errors import InputError
from tools.inference.encoders.encoder import encoder_files
from tools.inference.int8 import Text
from tools.inference.judges.close import swapped
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


def test_the_mean_of_two_runs_is_read_as_a_run_is(tmp_path: Path) -> None:
    runs = [write_run(tmp_path / str(seed), seed) for seed in (1, 2)]
    mean = tmp_path / "mean"
    assert main(["judge-mean", "--out", str(mean), *map(str, runs)]) == 0
    one, two, both = (load_file(weights_of(folder) / "model.safetensors") for folder in (*runs, mean))
    assert both.keys() == one.keys()
    for name, value in both.items():
        expected = (one[name].astype(np.float32) + two[name].astype(np.float32)) / 2
        assert value.dtype == np.float16
        np.testing.assert_array_equal(value, expected.astype(np.float16))
    assert [told["plan"]["seed"] for told in read_trained(mean).config["mean_of"]] == [1, 2]
    scores = [open_judge(str(folder), 0.0, 0).score([PAIR])[0] for folder in (*runs, mean)]
    assert len(set(scores)) == 3


def test_what_has_no_mean_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, deeper, small = (
        write_run(tmp_path / "one", 1), write_run(tmp_path / "deeper", 2, layers=2),
        write_run(tmp_path / "small", 3, larger=False),
    )  # fmt: skip
    other = write_run(tmp_path / "other", 4)
    (other / "weights" / "tokenizer.json").write_text("{}")
    for runs, said in (
        ((one, deeper), "encoder.layer.1.attention.output.LayerNorm.bias is missing in the one and 8 in the other"),
        ((one, small), "relative.weight is 32 × 2 in the one and missing in the other"),
        ((one, other), "their tokenizers differ"),
        ((one,), "two runs or more"),
        ((one, tmp_path / "none"), "holds no weights of judge-train"),
    ):
        assert main(["judge-mean", "--out", str(tmp_path / "mean"), *map(str, runs)]) == 1
        assert said in capsys.readouterr().err
        assert not (tmp_path / "mean").exists()
    assert main(["judge-mean", "--out", str(deeper), str(one), str(one)]) == 1
    assert "is there already" in capsys.readouterr().err


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
    there, back = stances_of(judge, [PAIR]), stances_of(judge, [swapped(PAIR)])
    assert (there.tolist() == back[:, ::-1].tolist()) == larger


def test_neither_a_judge_nor_a_run_is_said(tmp_path: Path) -> None:
    assert judge_named("close") == "close"
    with pytest.raises(argparse.ArgumentTypeError, match="is none of settings, embedded"):
        judge_named(str(tmp_path))


def test_the_larger_model_by_itself_reads_a_text_once_for_both_sides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = read_trained(write_run(tmp_path / "run", 6)).model()
    read: list[int] = []
    whole = model.run

    def counted(texts: Sequence[Text]) -> NDArray[np.float32]:
        read.append(len(texts))
        return whole(texts)

    monkeypatch.setattr(model, "run", counted)
    judge = LargerAlone(model)
    there, back = judge.stances([PAIR, PAIR]), judge.stances([swapped(PAIR)])
    assert there.shape == (2, 2)
    assert back[0].tolist() == there[0, ::-1].tolist()
    assert judge.score([PAIR]).tolist() == there[:1, 0].tolist()
    assert sum(read) == 1


def test_a_judge_of_sentences_that_goes_on_draws_as_it_did() -> None:
    for done in (0.1, 0.9):
        assert close_plan("base", start="run").drawn(done) == close_plan("base").drawn(done)
    sets, _ = distilling_plan("run").drawn(0.5)
    assert sets["labels"] == 200
    assert Plan().drawn(0.5)[0]["labels"] == 20


def test_a_run_may_be_as_long_as_the_clock_says() -> None:
    def progress(plan: Plan, seconds: float, read: int) -> float:
        no: Any = None  # neither a model nor data
        return Run(plan, no, no, no, no, no, no, Path(), seconds=seconds, read=read).progress

    assert progress(Plan(minutes=10), 300, 0) == 0.5
    assert progress(Plan(minutes=10), 900, 0) == 1
    assert progress(Plan(millions=2), 900, 500_000) == 0.25


def test_the_command_says_where_to_go_on_and_for_how_long(tmp_path: Path) -> None:
    encoder = tmp_path / "encoder"
    encoder.mkdir()
    for name in ("config.json", "tokenizer.json"):
        (encoder / name).touch()

    def given(*options: str) -> argparse.Namespace:
        parser = argparse.ArgumentParser()
        train.add_arguments(parser)
        return parser.parse_args(["--data", "d", "--out", "o", *options])

    again = given("--encoder", str(encoder), "--start", str(tmp_path), "--seed", "23", "--minutes", "90")
    train._check(again)
    plan = train._plan(again)
    assert (plan.start, plan.seed, plan.minutes, plan.layers, plan.frozen) == (str(tmp_path), 23, 90, 8, 3)
    for options, said in (
        (("--start", "x"), "--labels of a teacher"),
        (("--start", "x", "--base", "y", "--labels", "z"), "--labels of a teacher"),
        (("--minutes", "3", "--millions", "2"), "Leave one out"),
        (("--minutes", "0"), "more than 0"),
    ):
        with pytest.raises(InputError, match=said):
            train._check(given(*options))

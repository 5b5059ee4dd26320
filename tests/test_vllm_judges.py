"""The project's own judge, exported, on a real vLLM."""

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray
from test_judge_training import floats, sample_pairs
from vllm_server import UP_WITHIN, VllmServer, model_server

from evals.__main__ import main
from tools.inference.judges.embedded import EmbeddedJudge, load_judge
from tools.inference.judges.judge import Pair
from tools.inference.judges.server import ScoreJudge

pytest_plugins = ["vllm_server"]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(2 * UP_WITHIN + 300)]


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VllmServer]:
    base = tmp_path_factory.mktemp("vllm-judge")
    assert main(["judge-export", str(base / "judge")]) == 0
    with model_server("score", base / "judge", base) as server:
        yield server


@pytest.fixture(scope="module")
def judge() -> EmbeddedJudge:
    return load_judge()


@pytest.mark.xfail(reason="int8 rounds what goes into each product (docs/decisions/0003)", strict=True)
def test_vllm_and_the_embedded_judge_decide_alike(exported: VllmServer, judge: EmbeddedJudge) -> None:
    pairs = sample_pairs(300)
    served = ScoreJudge(url=exported.url, model=exported.model).score(pairs)
    ours = judge.score(pairs)
    assert len(pairs) == 300
    assert alike(served, ours, judge.threshold) >= 0.99
    assert np.abs(served - ours).mean() < 0.01


def test_vllm_decides_as_the_float_graph_and_int8_is_all_that_is_left_between(
    exported: VllmServer, judge: EmbeddedJudge
) -> None:
    """The embedded judge rounds what goes into each product to 256 steps (docs/decisions/0003-int8-onnx.md), vLLM does
    not. So one decision in twenty may differ near the threshold, by what `judge-pack` prints as `int8_distance`."""
    pairs = sample_pairs(300)
    served, ours = ScoreJudge(url=exported.url, model=exported.model).score(pairs), judge.score(pairs)
    exactly = floats(pairs)
    assert len(pairs) == 300
    assert np.abs(served - exactly).max() < 2e-3
    assert alike(served, exactly, judge.threshold) >= 0.99
    assert alike(served, ours, judge.threshold) >= 0.94
    assert np.abs(served - ours).mean() < 0.03


def alike(one: NDArray[np.float32], other: NDArray[np.float32], threshold: float) -> float:
    """The share of decisions that are the same."""
    return float(np.mean((one >= threshold) == (other >= threshold)))


def test_long_texts_count_by_their_best_window_on_both(exported: VllmServer, judge: EmbeddedJudge) -> None:
    short = sample_pairs(8)
    long = [
        Pair(p.statement, f"{'The harbour is quiet in winter. ' * 60}{p.text}{' Boats lie on the quay.' * 40}")
        for p in short
    ]
    served = ScoreJudge(url=exported.url, model=exported.model).score(long)
    assert np.abs(served - judge.score(long)).mean() < 0.1

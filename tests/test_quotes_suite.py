"""The suite `quotes`: measures by hand, the fit, runs over a small set."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from providers import ScriptedJudge, build
from test_answers_suite import sided, write_set

from agent.settings import Settings
from evals.__main__ import main
from evals.metrics.quoting import CASE_RIGHT, MOST, TOLD_RIGHT, QuotableParts, fit, measures
from evals.suites import quotes
from tools.models.judges.judge import Pair
from tools.models.judges.quoting import RELEVANCE_FEATURES, QuotingWeights, load_quoting_weights

# Only the part itself counts, and all are on topic (offset 30): leaning x has probability 1 / (1 + e^-x) of side one.
OWN = QuotingWeights(
    own=1,
    passage=0,
    document=0,
    centre=0,
    nearness=0,
    judged=0,
    foremost=0,
    offset=30,
    near=-1,
    case=0.9,
    alone=0,
    closer=0,
    told=1,
)
LOWER = replace(OWN, case=0.6)
SURE = 3.0  # of 0.953
LIKELY = 1.0  # of 0.731


def question(*parts: tuple[float, str, int], key: str = "q", rank: tuple[float, ...] = ()) -> QuotableParts:
    """From how each part leans, its document, and the side that this is known for."""
    leans, documents, sides = zip(*parts, strict=True) if parts else ((), (), ())
    features = np.zeros((len(parts), 3))
    features[:, 0] = leans
    ranks = np.array(rank) if rank else np.ones(len(parts))
    return QuotableParts(
        key,
        features,
        np.zeros((len(parts), RELEVANCE_FEATURES)),
        ranks,
        tuple(documents),
        np.array(sides, int),
        np.ones(len(parts), bool),
    )


def values(found: dict[str, Any]) -> dict[str, float]:
    return {name: ratio.value for name, ratio in found.items() if ratio.total}


def test_the_measures_by_hand() -> None:
    one = question((SURE, "a", 1), (SURE, "b", -1), (-SURE, "c", -1), (LIKELY, "d", 1), (SURE, "e", 0), key="one")
    other = question((SURE, "f", 1), (-LIKELY, "g", -1), key="other")
    found = measures([one, other], OWN)
    # For: a right, b wrong, e of no known side; against: c right. Of the other question f, and nothing against.
    assert (found["right"].value, found["right"].total) == (3 / 4, 4)
    assert (found["sides"].value, found["sides"].total) == (3 / 4, 4)
    assert (found["both"].value, found["both"].total) == (1 / 2, 2)
    # Without its own documents only the side for of the first question would be shown: b and e are left to it.
    assert (found["missing"].value, found["missing"].total) == (1 / 4, 4)
    assert found["swapped"].value == 1 / 4, "b is known for the other side"
    lower = measures([one, other], LOWER)
    # For: of a, b and e, which come first, three is all that is shown; d waits. Against: c, and g.
    assert MOST == 3
    assert values(lower) == {"right": 4 / 5, "sides": 1.0, "both": 1.0, "missing": 1 / 4, "swapped": 1 / 4, "told": 0.0}


def made_up(count: int, seed: int = 1, noise: float = 1.0) -> list[QuotableParts]:
    """Questions whose documents lean their way, those of no known side lying apart from the dispute."""
    rng = np.random.default_rng(seed)
    found = []
    for n in range(count):
        sides = rng.choice([-1, 0, 1], 12)
        features = sides[:, None] * 2.0 + rng.normal(0, noise, (12, 3))
        grounds = np.where(sides[:, None] != 0, 0.8, 0.2) + rng.normal(0, 0.1, (12, RELEVANCE_FEATURES))
        found.append(
            QuotableParts(
                str(n), features, grounds, np.ones(12), tuple(f"{n}-{i}" for i in range(12)), sides, sides < 9
            )
        )
    return found


def test_the_fit_reaches_the_wanted_share_of_right_sides() -> None:
    questions = made_up(40)
    fitted = fit(questions)
    assert (fitted.passage / fitted.own, fitted.document / fitted.own) == pytest.approx((30 / 26, 44 / 26), abs=0.01)
    assert min(fitted.own, fitted.centre, fitted.nearness, fitted.judged) > 0 > fitted.offset
    found = measures(questions, fitted)
    assert found["right"].value >= CASE_RIGHT
    assert (found["told_right"].value >= TOLD_RIGHT, found["told"].value > 0.5) == (True, True)
    assert fit([replace(q, features=-q.features, sides=-q.sides) for q in questions]) == fitted


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_set(tmp_path / "set")
    return tmp_path / "set"


@pytest.fixture
def asked(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> list[Pair]:
    """The pairs that were judged, of runs over the instant providers."""
    judge = ScriptedJudge(sided)
    monkeypatch.setattr(quotes, "build_providers", build(judge))
    monkeypatch.setattr(quotes, "load_settings", lambda: settings)
    return judge.pairs


def test_a_set_is_asked_and_measured(folder: Path, asked: list[Pair], capsys: pytest.CaptureFixture[str]) -> None:
    command = ["quotes", "--data", str(folder), "--set", "towns_2way"]
    assert main([*command, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["quoting"] == asdict(load_quoting_weights())
    curve = told["metrics"]["towns_2way"]
    assert curve["0.5"]["sides"] >= curve["case"]["sides"] >= curve["0.98"]["sides"]
    found = curve["0.5"]
    assert found["right"] == found["sides"] == found["both"] == 1
    assert asked
    out = folder / "quoting.json"
    assert main([*command, "--fit", "--out", str(out)]) == 0
    shown = capsys.readouterr().out
    assert load_quoting_weights(out) == QuotingWeights(**json.loads(out.read_text()))
    assert "towns_2way" in shown
    assert main([*command, "--out", "x.json"]) == 2
    assert "--out needs --fit" in capsys.readouterr().err

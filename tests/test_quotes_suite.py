"""The suite `quotes`: its measures worked by hand, its fit, runs over a tiny set."""

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
from evals.metrics.quoting import CASE_RIGHT, MOST, NEAR, TOLD_RIGHT, Question, fit, measures
from evals.suites import quotes
from tools.models.judges.judge import Pair
from tools.models.judges.quoting import RELEVANCE_FEATURES, QuotingWeights, load_quoting_weights

# Only the words themselves count, and all speak to the dispute (by an offset of 30): how sure of the first side a part
# is that leans by x is 1 / (1 + e^-x), of the second 1 / (1 + e^x).
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


def question(*parts: tuple[float, str, int], key: str = "q", rank: tuple[float, ...] = ()) -> Question:
    """From how each part leans, its document, and the side that this is known for."""
    leans, documents, sides = zip(*parts, strict=True) if parts else ((), (), ())
    features = np.zeros((len(parts), 3))
    features[:, 0] = leans
    ranks = np.array(rank) if rank else np.ones(len(parts))
    return Question(
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


def test_of_questions_without_an_answer_it_is_counted_of_how_many_something_is_shown() -> None:
    known = question((SURE, "a", 1), (-SURE, "b", -1), key="known")
    stray = replace(question((LIKELY, "c", 0), key="stray"), kind="elsewhere")
    silent = replace(question((0.1, "d", 0), key="silent"), kind="elsewhere")
    topical = replace(question((-SURE, "e", 1), key="topical"), kind="topical")  # its documents may be turned round
    questions: list[Question] = [known, stray, silent, topical]
    assert measures(questions, OWN)["astray"].value == 0
    found = measures(questions, LOWER)
    assert (found["astray"].value, found["astray"].total) == (1 / 2, 2)
    assert (found["right"].total, found["sides"].total, found["both"].total) == (2, 2, 1)
    assert "astray" not in measures([known], OWN)


def test_documents_are_told_by_what_their_speaker_says_in_all() -> None:
    q = question((SURE, "a", 1), (SURE, "b", -1), (SURE, "c", -1), (SURE, "d", 0))
    q.features[:, 2] = [2.0, 1.5, -0.9, 3.0]  # of a and b the first side, of d that too, of c nothing is sure
    found = measures([q], OWN)
    assert (found["told"].value, found["told"].total) == (2 / 3, 3)
    assert (found["told_right"].value, found["told_right"].total) == (1 / 2, 2)


def test_a_document_is_quoted_once_and_by_its_best_part() -> None:
    q = question((SURE, "a", 1), (SURE, "a", 1), (SURE, "b", -1))
    assert measures([q], OWN)["right"].total == 2
    # Four documents for three places: the rank, times how sure it is, says which of them has to wait.
    parts = [(SURE, name, known) for name, known in (("a", 1), ("b", 1), ("c", 1), ("d", -1))]
    assert measures([question(*parts, rank=(1, 1, 1, 0.5))], OWN)["right"].value == 1
    assert measures([question(*parts, rank=(0.5, 1, 1, 1))], OWN)["right"].value == pytest.approx(2 / 3)


def made_up(count: int, seed: int = 1, noise: float = 1.0) -> list[Question]:
    """Questions whose documents lean their way, those of no known side lying apart from the dispute."""
    rng = np.random.default_rng(seed)
    found = []
    for n in range(count):
        sides = rng.choice([-1, 0, 1], 12)
        features = sides[:, None] * 2.0 + rng.normal(0, noise, (12, 3))
        grounds = np.where(sides[:, None] != 0, 0.8, 0.2) + rng.normal(0, 0.1, (12, RELEVANCE_FEATURES))
        found.append(
            Question(str(n), features, grounds, np.ones(12), tuple(f"{n}-{i}" for i in range(12)), sides, sides < 9)
        )
    return found


def test_the_fit_finds_what_is_right_often_enough() -> None:
    questions = made_up(40)
    fitted = fit(questions)
    assert (fitted.passage / fitted.own, fitted.document / fitted.own) == pytest.approx((30 / 26, 44 / 26), abs=0.01)
    assert min(fitted.own, fitted.centre, fitted.nearness, fitted.judged) > 0 > fitted.offset
    found = measures(questions, fitted)
    assert found["right"].value >= CASE_RIGHT
    assert (found["told_right"].value >= TOLD_RIGHT, found["told"].value > 0.5) == (True, True)
    assert fit([replace(q, features=-q.features, sides=-q.sides) for q in questions]) == fitted
    loud = fit(made_up(40, noise=6.0))
    assert loud.own < fitted.own  # leanings that say less count less


def test_the_fit_learns_from_what_no_document_answers_how_much_nearness_counts() -> None:
    def foremost(questions: list[Question], low: float) -> list[Question]:
        rows = [q.grounds.copy() for q in questions]
        for n, grounds in enumerate(rows):
            grounds[:, 3] = low + n / 100
        return [replace(q, grounds=g) for q, g in zip(questions, rows, strict=True)]

    near = foremost(made_up(40), 0.5)
    far = [replace(q, key=f"far {q.key}", kind="elsewhere", sides=0 * q.sides) for q in foremost(made_up(20, 2), 0.1)]
    fitted = fit([*near, *far])
    assert (fitted.near, fitted.foremost > 0) == (NEAR, True)
    assert measures(far, fitted)["astray"].value == 0
    without = fit(near)
    assert (without.own, without.centre) == (fitted.own, fitted.centre)


# The suite


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


def test_a_set_is_asked_and_told(folder: Path, asked: list[Pair], capsys: pytest.CaptureFixture[str]) -> None:
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
    assert "--out is for what --fit finds" in capsys.readouterr().err

"""What most of a judge's answers say of a claim, and the quotations with which a written side is filled."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray

from agent.evidence.claims import UNCHECKED, ClaimVerifier, accepts, verdict_of
from agent.state import Claim, RunState
from tools.budget import Budget, StageLog, budget_scope
from tools.models.judges.judge import ClaimCheck
from tools.passages import Passage

YES, NO, PARTLY, NOT_THE_SIDE, SILENT = (0.95, 0.95), (0.05, 0.05), (0.3, 0.95), (0.95, 0.05), (np.nan, np.nan)


def claim(text: str, passage: int, **more: Any) -> Claim:
    usual = {"perspective": "for", "text": text, "passages": [passage], "support": 0.9, "role": "case"}
    return cast(Claim, {**usual, **more})


@pytest.mark.parametrize(
    ("votes", "held"),
    [
        ([YES, YES], True),
        ([YES, NO, YES], True),
        ([YES, NO, NO], False),
        ([YES, PARTLY], False),
        ([YES, NOT_THE_SIDE, PARTLY], False),
    ],
)
def test_most_of_the_answers_decide_and_a_tie_refuses(votes: list[tuple[float, float]], held: bool) -> None:
    verdict = verdict_of(votes)
    assert verdict is not None
    assert accepts(verdict) is held


# --- the checks of a run


@dataclass
class ScriptedJudge:
    """Gives each claim its next answer."""

    answers: dict[str, list[tuple[float, float]]]
    asked: list[list[str]] = field(default_factory=list)
    read: set[str] = field(default_factory=set)
    checks_claims = True
    name = "scripted"

    async def check(self, side: str, claims: list[ClaimCheck], seconds: float) -> NDArray[np.float32]:
        self.asked.append([c.text for c in claims])
        self.read.update(passage for c in claims for passage in c.passages)
        return np.array([self.answers[c.text].pop(0) for c in claims], np.float32)


PASSAGES = {
    n: Passage(n, f"d{n}", "mine", f"Ferry {n} carries nurses to work.", publisher=f"Paper {(n + 1) // 2}")
    for n in range(1, 9)
}


def checker(judge: Any, **state: Any) -> Any:
    async def encode(texts: list[str]) -> NDArray[np.float32]:
        return np.full((len(texts), 4), 0.5, np.float32)

    store = SimpleNamespace(passages=lambda ids: {i: PASSAGES[i] for i in ids if i in PASSAGES})
    models = SimpleNamespace(encode=encode, checker=lambda judge: judge)
    providers: Any = SimpleNamespace(store=store, passages=store.passages, models=models, quote=None)
    sides = [{"id": "for", "name": "For", "statement": "Ferries should be free.", "contrary": "", "stance": "supports"}]
    given: Any = RunState(perspectives=sides, **state)  # type: ignore[typeddict-item]
    return ClaimVerifier(providers, given, judge, lambda: 60.0)


async def test_claims_are_checked_twice_and_a_third_time_where_that_differs() -> None:
    first, second = claim("Ferry 1 carries nurses to work.", 1), claim("Ferry 2 carries nurses to work.", 2)
    spare = claim("Ferry 3 carries nurses to work.", 3, written=True)
    written = [Claim(**{**c, "written": True}) for c in (first, second)]
    judge = ScriptedJudge({first["text"]: [YES, YES], second["text"]: [YES, NO, NO], spare["text"]: [NO, YES, YES]})
    it = checker(judge, spares=[spare])
    known = await it.ask_checker([*written, *it.spares_of(written)], PASSAGES)
    assert [sorted(asked) for asked in judge.asked] == [
        sorted([first["text"], second["text"], spare["text"]]),
        sorted([first["text"], second["text"], spare["text"]]),
        sorted([second["text"], spare["text"]]),
    ]
    assert {text: accepts(verdict) for (_, text), verdict in known.items()} == {
        first["text"]: True,
        second["text"]: False,
        spare["text"]: True,
    }
    await it.ask_checker([spare], PASSAGES)
    assert len(judge.asked) == 3, "what was checked is not asked about again"


async def test_the_checker_reads_who_says_a_passage() -> None:
    said = claim("Cllr Moen says that ferry 1 carries nurses to work.", 1, written=True)
    judge = ScriptedJudge({said["text"]: [YES, YES]})
    known = await checker(judge).ask_checker([said], {1: replace(PASSAGES[1], speaker="Cllr Moen")})
    assert judge.read == {"Cllr Moen: Ferry 1 carries nurses to work."}
    assert [accepts(verdict) for verdict in known.values()] == [True]  # the name is no addition of the model's


async def test_what_nobody_checked_is_left_out_and_is_none_that_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    written = claim("Nurses take Ferry 1 to work.", 1, written=True)
    it = checker(ScriptedJudge({written["text"]: [SILENT, SILENT]}))

    async def serving(claims: Sequence[Claim]) -> dict[Any, float]:
        return {}

    monkeypatch.setattr(ClaimVerifier, "_serving", lambda _, claims: serving(claims))
    with budget_scope(Budget(), log := StageLog()):
        held, dropped = await it.verify_claims([written])
    assert held == []
    assert [d["check"] for d in dropped] == ["unchecked"]
    assert ("degraded", UNCHECKED) in log.notes

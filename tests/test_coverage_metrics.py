"""Coverage of perspectives by hand, and against ir_measures where it has the measure."""

import random
import sys

import pytest

from evals.metrics.perspective_coverage import (
    alpha_ndcg,
    coverage,
    mrecall,
    precision,
)
from tools.errors import SettingsError

# Three perspectives; c supports two of them, x and y none.
GOLD = [{"a", "c"}, {"b"}, {"c", "d"}]


def test_mrecall_with_fewer_places_than_perspectives() -> None:
    assert mrecall(["a", "b"], GOLD, 2) == 1.0  # m = 3 > k = 2: two distinct ones
    assert mrecall(["a", "x"], GOLD, 2) == 0.0  # one
    assert mrecall(["c", "x"], GOLD, 2) == 1.0  # one passage that supports two
    assert mrecall(["c", "a"], [{"c", "a"}, {"b"}, {"d"}], 2) == 0.0  # two passages for the same one
    assert mrecall(["x"], GOLD, 1) == 0.0


def test_a_missing_extra_is_named_with_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyndeval", None)
    with pytest.raises(SettingsError, match=r"extra 'evals'.*`make evals`"):
        alpha_ndcg([["a"]], [GOLD], 5)


def test_agreement_with_ir_measures_on_random_rankings() -> None:
    import ir_measures
    from ir_measures import P, Qrel, ScoredDoc, StRecall

    draw = random.Random(7)
    ids = [f"d{i}" for i in range(40)]
    golds = [[set(draw.sample(ids, draw.randint(1, 4))) for _ in range(draw.randint(2, 7))] for _ in range(60)]
    rankings = [draw.sample(ids, draw.choice((3, 20, 40))) for _ in golds]
    run = [ScoredDoc(str(q), d, -float(i)) for q, r in enumerate(rankings) for i, d in enumerate(r)]
    each = [Qrel(str(q), d, 1, str(p)) for q, g in enumerate(golds) for p, s in enumerate(g) for d in s]
    pooled = [Qrel(str(q), d, 1) for q, g in enumerate(golds) for d in set().union(*g)]
    for k in (1, 5, 10):
        theirs = {(m.query_id, str(m.measure)): m.value for m in ir_measures.iter_calc([StRecall @ k], each, run)}
        theirs |= {(m.query_id, str(m.measure)): m.value for m in ir_measures.iter_calc([P @ k], pooled, run)}
        for q, (ranked, gold) in enumerate(zip(rankings, golds, strict=True)):
            assert coverage(ranked, gold, k) == pytest.approx(theirs[str(q), f"StRecall@{k}"], abs=1e-5)
            assert precision(ranked, gold, k) == pytest.approx(theirs[str(q), f"P@{k}"])

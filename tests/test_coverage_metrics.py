"""Coverage of perspectives by hand, and against ir_measures where it has the measure."""

import math
import random
import sys

import pytest

from evals.metrics.perspective_coverage import (
    alpha_ndcg,
    coverage,
    documents_needed,
    mrecall,
    precision,
    supported,
)
from tools.errors import SettingsError

# Three perspectives; c supports two of them, x and y none.
GOLD = [{"a", "c"}, {"b"}, {"c", "d"}]


def test_mrecall_with_as_many_places_as_perspectives_or_more_wants_all_of_them() -> None:
    assert supported(["c", "x", "b"], GOLD, 3) == 3
    assert mrecall(["c", "x", "b"], GOLD, 3) == 1.0  # m = 3 ≤ k = 3
    assert mrecall(["c", "x", "y", "b"], GOLD, 3) == 0.0  # b comes fourth
    assert mrecall(["c", "x", "y", "b"], GOLD, 4) == 1.0
    assert mrecall(["c", "b"], GOLD, 10) == 1.0  # a short ranking may be enough
    assert mrecall([], GOLD, 10) == 0.0


def test_mrecall_with_fewer_places_wants_as_many_distinct_perspectives_as_places() -> None:
    assert mrecall(["a", "b"], GOLD, 2) == 1.0  # m = 3 > k = 2: two distinct ones
    assert mrecall(["a", "x"], GOLD, 2) == 0.0  # one
    assert mrecall(["c", "x"], GOLD, 2) == 1.0  # one passage that supports two
    assert mrecall(["c", "a"], [{"c", "a"}, {"b"}, {"d"}], 2) == 0.0  # two passages for the same one
    assert mrecall(["x"], GOLD, 1) == 0.0


def test_documents_needed() -> None:
    assert documents_needed(["c", "x", "b", "a"], GOLD) == 3
    assert documents_needed(["x", "a", "d", "b"], GOLD) == 4
    assert math.isnan(documents_needed(["a", "b"], [*GOLD[:2], {"z"}]))
    assert math.isnan(documents_needed(["x", "x2", "a"], [{"a"}], deepest=2))  # found too deep
    assert math.isnan(documents_needed([], GOLD))
    assert documents_needed(["a", "b"], GOLD, deepest=2) == 2  # more perspectives than places: MRecall@2 is 1


def test_the_missing_extra_is_named_with_the_line_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
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

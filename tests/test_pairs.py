"""Files of labelled pairs, and the judge's measures: by hand or against scikit-learn."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sk

from evals.datasets.pairs import load_pairs
from evals.metrics import classification as m
from evals.training.pack import fit
from tools.errors import InputError

ROW = {"question": "Should zoos close?", "document": "They teach.", "perspective": "Zoos should stay.", "label": 1}
CASES = st.lists(st.tuples(st.booleans(), st.floats(0, 1, width=32)), min_size=1, max_size=40)


def written(path: Path, *rows: object) -> Path:
    path.write_text("".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows))
    return path


def test_the_published_columns_with_and_without_their_header(tmp_path: Path) -> None:
    lines = ["Why?\t7\tBecause it\tIt is so.\t1\tmore", 'Why?\t8\t"A\nbreak ""here"""\tIt is not.\t0']
    plain = load_pairs(written(tmp_path / "a.tsv", *lines))
    assert [(p.document, p.perspective, p.label) for p in plain] == [
        ("Because it", "It is so.", True),
        ('A\nbreak "here"', "It is not.", False),
    ]
    headed = load_pairs(written(tmp_path / "b.tsv", "question\tid\tdocument\taspect\tlabel", *lines, ""))
    assert [p.document for p in headed] == [p.document for p in plain]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (ROW | {"label": 2}, "line 2: 'label' is '2'"),
        ({k: v for k, v in ROW.items() if k != "perspective"}, "line 2: 'perspective': Field required"),
        (ROW | {"document": "  "}, "line 2: 'document': it is empty"),
    ],
)
def test_a_bad_row_is_named(tmp_path: Path, row: object, said: str) -> None:
    path = written(tmp_path / "a.jsonl", ROW, row)
    with pytest.raises(InputError, match=f"a.jsonl {said}"):
        load_pairs(path)


@settings(deadline=None)
@given(CASES)
def test_agrees_with_scikit_learn(cases: list[tuple[bool, float]]) -> None:
    labels, scores = np.array([c[0] for c in cases]), np.array([c[1] for c in cases])
    accepted = scores >= 0.5
    found = {name: of.value for name, of in m.yes_or_no(labels, accepted).items()}
    assert found["accuracy"] == pytest.approx(sk.accuracy_score(labels, accepted))
    for name, theirs in (("precision", sk.precision_score), ("recall", sk.recall_score), ("f1", sk.f1_score)):
        assert found[name] == pytest.approx(theirs(labels, accepted, zero_division=np.nan), nan_ok=True)
    for values in (scores, scores.round(1)):  # with and without ties
        if labels.any():
            assert m.average_precision(labels, values) == pytest.approx(sk.average_precision_score(labels, values))
        if labels.any() and not labels.all():
            assert m.roc_auc(labels, values) == pytest.approx(sk.roc_auc_score(labels, values))


def test_fitted_weights_keep_their_signs() -> None:
    rng = np.random.default_rng(3)
    logits = rng.normal(size=(4000, 2)).astype(np.float32)
    truth = rng.random(4000) < 1 / (1 + np.exp(-(1.5 * logits[:, 0] + 0.8 * logits[:, 1] - 0.5)))
    free, held = fit(logits, truth, (1, 1)), fit(logits, truth, (1, -1))
    assert free == pytest.approx((1.5, 0.8, -0.5), abs=0.2)
    assert held[1] == 0
    assert held[0] > 0

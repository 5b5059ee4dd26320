"""The judge's measures, with the arithmetic worked by hand."""

import math

import numpy as np
import pytest

from evals.metrics.classification import best_f1, roc_auc, stance_accuracy
from evals.training.packing import fit


def test_auc_counts_pairs_and_ties_half() -> None:
    # Positives 0.9 and 0.4 against negatives 0.4 and 0.1: 1 + 1 + 0.5 + 1 of 4.
    assert roc_auc(np.array([True, True, False, False]), np.array([0.9, 0.4, 0.4, 0.1])) == 3.5 / 4


def test_auc_without_both_kinds_is_not_a_number() -> None:
    assert math.isnan(roc_auc(np.array([True]), np.array([0.5])))


def test_best_f1_names_its_threshold() -> None:
    # From 0.6 on two of three are right and nothing is missed: F1 = 2·2 / (3 + 2) = 0.8.
    f1, threshold, accuracy = best_f1(np.array([True, False, True, False]), np.array([0.9, 0.8, 0.6, 0.1]))
    assert (f1, threshold, accuracy) == (0.8, 0.6, 0.75)


def test_stance_accuracy_leaves_out_neither_and_takes_the_surest() -> None:
    labels = np.array([0, 1, 1, 2])
    p = np.array([[0.9, 0.1, 0.0], [0.1, 0.6, 0.3], [0.4, 0.3, 0.3], [0.9, 0.0, 0.1]])
    assert stance_accuracy(labels, p) == 2 / 3
    assert stance_accuracy(labels, p, 0.34) == 1.0


def test_fitted_weights_keep_their_signs() -> None:
    rng = np.random.default_rng(3)
    logits = rng.normal(size=(4000, 2)).astype(np.float32)
    truth = rng.random(4000) < 1 / (1 + np.exp(-(1.5 * logits[:, 0] + 0.8 * logits[:, 1] - 0.5)))
    free, held = fit(logits, truth, (1, 1)), fit(logits, truth, (1, -1))
    assert free == pytest.approx((1.5, 0.8, -0.5), abs=0.2)
    assert held[1] == 0
    assert held[0] > 0

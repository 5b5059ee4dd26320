"""Fits the calibration of GreedyPlus on one half of the annotated events; the other half is held out.

A slope comes from a logistic regression of 'relevant to the headline' on a cosine (Platt 1999), and the candidates of
the half are its rows. Its midpoint would let too much through that is off the topic, for GreedyPlus adds up what the
sentences of a paragraph are worth: midpoints are tried one by one, and the middle one of those that reach the aims on
this half is taken.
"""

from collections.abc import Mapping, Sequence
from random import Random

import numpy as np

from evals.datasets.news import NewsEvent
from evals.retrievers.news import Calibration, Choose, Reading, Ready, article_cosine, calibrated, own_cosine
from tools.errors import InputError

FITTED_ON = "LocalNews"
"""The data whose first half `OF_ARTICLES` was fitted on."""
READINGS: dict[str, Reading] = {"paragraph": own_cosine, "article": article_cosine}
MIDPOINTS = tuple(round(0.60 + 0.02 * i, 2) for i in range(11))
LEAST_PRECISION = 0.9  # published P
LEAST_RATIO = 1.5  # of C and of I to dense retrieval's
_SEED = 1


def halves(events: Sequence[NewsEvent]) -> tuple[list[NewsEvent], list[NewsEvent]]:
    """The half to fit on, which may be one more, and the half that is held out: of a shuffle whose seed is fixed."""
    drawn = list(events)
    Random(_SEED).shuffle(drawn)
    size = (len(drawn) + 1) // 2
    return drawn[:size], drawn[size:]


def calibrations(events: Sequence[Ready]) -> dict[str, Calibration]:
    """Every reading with its fitted slope at every midpoint. Raises InputError where a slope cannot be fitted."""
    slopes = {name: slope_of(events, reading) for name, reading in READINGS.items()}
    return {f"{name} {m:.2f}": Calibration(slope, m) for name, slope in slopes.items() for m in MIDPOINTS}


def methods_of(found: Mapping[str, Calibration]) -> dict[str, Choose]:
    """GreedyPlus by each setting; the name begins with that of its reading."""
    return {name: calibrated(READINGS[name.split()[0]], one) for name, one in found.items()}


def slope_of(events: Sequence[Ready], reading: Reading) -> float:
    """Of the logistic regression of the candidates' relevance on this cosine, to a tenth.

    Raises InputError where no candidate is relevant, or all are.
    """
    from sklearn.linear_model import LogisticRegression

    relevant = np.array([id_ in event.place for event in events for id_ in event.ids], bool)
    if relevant.all() or not relevant.any():
        raise InputError("--fit needs relevant and other candidates in the half that it fits on. Name more events.")
    cosines = np.concatenate([reading(event) for event in events])
    fitted = LogisticRegression(C=np.inf).fit(cosines[:, None], relevant)
    return round(float(fitted.coef_[0, 0]), 1)


def middle(metrics: Mapping[str, Mapping[str, float]], reading: str, k: int) -> str | None:
    """The middle one of a reading's settings that reach the aims at k, the lower of two; None where none does.

    metrics: of dense retrieval and of the settings by name, in the order of their midpoints.
    """
    dense = metrics["dense"]
    good = [
        name
        for name, one in metrics.items()
        if name.split()[0] == reading
        and one[f"published_precision@{k}"] >= LEAST_PRECISION
        and all(one[f"{m}@{k}"] >= LEAST_RATIO * dense[f"{m}@{k}"] for m in ("coverage", "density"))
    ]
    return good[(len(good) - 1) // 2] if good else None

"""Searches a PIR task with queries that lean towards a perspective. A column is an intervention on the query
vectors."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evals.datasets.pir import PirTask
from evals.metrics.p_recall import Ints, first_gold
from evals.retrievers.corpus_index import CorpusIndex
from evals.retrievers.projection import FORMS, leaning_scores
from evals.suite import check_known, progress
from tools.models.cache import VectorCache
from tools.models.encoders import Encoder

_WITH_STRENGTH = ("pap", "pap+")


@dataclass(frozen=True, slots=True)
class Column:
    """An intervention on the query vectors, with its strength (1 if the form has none)."""

    form: str
    strength: float = 1.0

    @property
    def name(self) -> str:
        strength = "" if self.strength == 1 else f" {self.strength}".removesuffix(".0")
        return f"{self.form}{strength}"


def columns_of(forms: Sequence[str], strengths: Sequence[float]) -> list[Column]:
    """Returns the distinct columns, 'none' first. Raises InputError for an unknown form, and if `forms` is empty."""
    check_known(forms or [""], FORMS, "form")
    wanted = [Column("none")]
    for form in (form for form in forms if form != "none"):
        for strength in strengths if form in _WITH_STRENGTH else [1.0]:
            wanted.append(Column(form, strength))
    return list(dict.fromkeys(wanted))


def rank(task: PirTask, columns: Sequence[Column], encoder: Encoder, cache: VectorCache) -> list[Ints]:
    """Returns for each root the ranks of the first gold passages, shape (perspectives, columns). A perspective without
    text has the vector q − r. Raises ProviderError of a remote encoder."""
    # Encodes texts of roots outside the sample, too: a server's vector may depend on the other texts in the batch, so
    # vectors cached for a smaller sample could change the figures.
    with CorpusIndex(task.corpus, encoder, cache) as index:
        passages, vectors = index.vectors, dict(zip(task.texts, index.encoder.encode_queries(task.texts), strict=True))
    asked = [(root, one) for root in task.roots for one in root.perspectives]
    ranks = np.zeros((len(asked), len(columns)), np.int64)
    for row, (root, one) in enumerate(progress(asked, desc=task.name, unit="query")):
        for place, column in enumerate(columns):
            r, q = vectors[root.text], vectors[one.query]
            p = vectors[one.text] if one.text else q - r
            scores = leaning_scores(column.form, r, p, q, passages, column.strength)
            ranks[row, place] = first_gold(scores, np.array(one.gold))
    return np.split(ranks, np.cumsum([len(root.perspectives) for root in task.roots])[:-1])

"""Searches of a PIR task by queries that lean towards a perspective; a column is an intervention on their vectors."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from evals.datasets.pir import PirTask, Root, RootPerspective
from evals.metrics.p_recall import Ints, first_gold
from evals.retrievers.corpus_index import CorpusIndex
from evals.retrievers.intent import Split
from evals.retrievers.projection import FORMS, Form, leaning_scores
from evals.suite import check_known, progress
from tools.models.batching import batches
from tools.models.cache import VectorCache
from tools.models.encoders.encoder import Encoder

ANNOTATED = "annotated"
"""Where a column's root and perspective are from: the data, or a way to split the query (`Splits`)."""
Splits = Mapping[str, Mapping[str, Split]]
"""By the way of splitting, each query's root and perspective."""
Found = tuple[Root, RootPerspective, list[NDArray[np.float32]]]
_AT_ONCE = 256  # texts
_WITH_STRENGTH = ("pap", "pap+")


@dataclass(frozen=True, slots=True)
class Column:
    """An intervention at a strength; the strength of those that have none is 1."""

    form: Form
    strength: float = 1.0
    source: str = ANNOTATED

    @property
    def name(self) -> str:
        strength = "" if self.strength == 1 else f" {self.strength}".removesuffix(".0")
        return f"{self.form}{strength}{'' if self.source == ANNOTATED else f', {self.source}'}"


def columns_of(forms: Sequence[str], strengths: Sequence[float], sources: Sequence[str] = ()) -> list[Column]:
    """The columns in order, 'none' first and none twice, each followed by itself with what every source gives; 'none'
    needs neither root nor perspective. Raises InputError for a form that is none, and for no form."""
    check_known(forms or [""], FORMS, "form")
    wanted = [Column("none")]
    for form in cast(Sequence[Form], forms):
        for strength in strengths if form in _WITH_STRENGTH else [1.0]:
            wanted += [Column(form, strength, source) for source in (ANNOTATED, *sources) if form != "none"]
    return list(dict.fromkeys(wanted))


def rank(
    task: PirTask, columns: Sequence[Column], encoder: Encoder, cache: VectorCache, splits: Splits | None = None
) -> list[Ints]:
    """For each root the ranks of the first gold passages, shape (perspectives, columns). Raises ProviderError of an
    encoder elsewhere."""
    ranks = [
        [first_gold(scores, np.array(one.gold)) for scores in found]
        for _, one, found in search(task, columns, encoder, cache, splits)
    ]
    ends = np.cumsum([len(root.perspectives) for root in task.roots])[:-1]
    return np.split(np.array(ranks, np.int64), ends)


def search(
    task: PirTask, columns: Sequence[Column], encoder: Encoder, cache: VectorCache, splits: Splits | None = None
) -> Iterator[Found]:
    """Each perspective of each root, with the passages' scores in each column. `splits`: of the columns' other
    sources. Raises ProviderError of an encoder elsewhere."""
    splits = splits or {}
    own = [text for of in splits.values() for split in of.values() for text in split if text]
    texts = list(dict.fromkeys((*task.texts, *own)))
    with CorpusIndex(task.corpus, encoder, cache) as index:
        passages, vectors = index.vectors, query_vectors(texts, index)
    asked = [(root, one) for root in task.roots for one in root.perspectives]
    for root, one in progress(asked, desc=task.name, unit="query"):
        found = []
        for column in columns:
            annotated = Split(root.text, one.text)
            r, p, q = _parts(splits[column.source][one.query] if column.source in splits else annotated, one, vectors)
            found.append(leaning_scores(column.form, r, p, q, passages, column.strength))
        yield root, one, found


def _parts(split: Split, one: RootPerspective, vectors: Mapping[str, NDArray[np.float32]]) -> list[NDArray[np.float32]]:
    """r, p and q; p is q − r where the perspective has no text."""
    r, q = vectors[split.root], vectors[one.query]
    return [r, vectors[split.perspective] if split.perspective else q - r, q]


def query_vectors(texts: Sequence[str], index: CorpusIndex) -> dict[str, NDArray[np.float32]]:
    """Vectors of the roots, the queries and the perspectives by their text, read as queries.

    Those of roots that are not in the sample are made as well: a server's vector may depend on what it is computed
    together with, and figures should not depend on whether a smaller sample was measured, and its vectors kept, before.
    """
    vectors: dict[str, NDArray[np.float32]] = {}
    with progress(total=len(texts), desc="vectors", unit="query", leave=False) as bar:
        for part in batches(texts, _AT_ONCE):  # kept part by part, so that a killed run goes on
            vectors |= zip(part, index.query_vectors(part), strict=True)
            bar.update(len(part))
    return vectors

"""Searches a PIR task with queries that lean towards a perspective: PAP, and the interventions that PIR compares with
PAP (§3.1, table 4). A column is an intervention on the query vectors.

r, p, q, c: vectors of the root query, the perspective, the query with both, and a passage.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evals.datasets.pir import PirTask
from evals.metrics.p_recall import Ints, first_gold
from evals.retrievers.corpus_index import CorpusIndex
from evals.suite import check_known, progress
from tools.models.cache import VectorCache
from tools.models.encoders import Encoder

Vector = NDArray[np.float32]
FORMS = ("none", "add", "concat", "cast", "cast+", "dual-sum", "tri-sum", "pap", "pap+")
_LEAST = 1e-12  # smaller norms count as 0: the vector has no direction, and its cosines are 0
Split = tuple[str, str]
"""A query's root and perspective. A query without a perspective is its own root."""
_VERB = r"(?:please )?(?:find|show|get|give|list|search|look|retrieve|return)\b(?: me| for)?"
_BOUND = r"(?:as of|according to|in|on|at|as|by|for|from|during|since|until|with|without|before|after|under)"
_REQUEST = re.compile(rf"{_VERB}(?P<perspective>.+?):(?P<root>.+)", re.I | re.S)
_FIRST = re.compile(rf"(?P<perspective>{_BOUND}\s[^,]+),\s*(?P<root>.+)", re.I | re.S)
_LAST = re.compile(rf"(?P<root>.+[^\s,]),?\s(?P<perspective>{_BOUND}\s.+?)[?.!\s]*", re.I | re.S)
Splits = Mapping[str, Mapping[str, Split]]
"""Maps a source of splits, such as 'rules', to the root and perspective of each query."""
_WITH_STRENGTH = ("pap", "pap+")


@dataclass(frozen=True, slots=True)
class Column:
    """An intervention on the query vectors, with its strength (1 if the form has none). source: the key in `Splits` of
    the roots and perspectives; empty for those of the data."""

    form: str
    strength: float = 1.0
    source: str = ""

    @property
    def name(self) -> str:
        strength = "" if self.strength == 1 else f" {self.strength}".removesuffix(".0")
        return f"{self.form}{strength}{f', {self.source}' if self.source else ''}"


def columns_of(forms: Sequence[str], strengths: Sequence[float], sources: Sequence[str] = ()) -> list[Column]:
    """Returns the distinct columns, 'none' first. The variants of a column with the other sources follow the column.
    Raises InputError for an unknown form, and if `forms` is empty."""
    check_known(forms or [""], FORMS, "form")
    wanted = [Column("none")]
    for form in (form for form in forms if form != "none"):
        for strength in strengths if form in _WITH_STRENGTH else [1.0]:
            wanted += [Column(form, strength, source) for source in ("", *sources)]
    return list(dict.fromkeys(wanted))


def rank(
    task: PirTask, columns: Sequence[Column], encoder: Encoder, cache: VectorCache, splits: Splits | None = None
) -> list[Ints]:
    """Returns for each root the ranks of the first gold passages, shape (perspectives, columns). A perspective without
    text has the vector q − r. Raises ProviderError of a remote encoder."""
    drawn = [text for of in (splits or {}).values() for split in of.values() for text in split if text]
    # Encodes texts of roots outside the sample, too: a server's vector may depend on the other texts in the batch, so
    # vectors cached for a smaller sample could change the figures.
    texts = [*dict.fromkeys((*task.texts, *drawn))]
    with CorpusIndex(task.corpus, encoder, cache) as index:
        passages, vectors = index.vectors, dict(zip(texts, index.encoder.encode_queries(texts), strict=True))
    asked = [(root, one) for root in task.roots for one in root.perspectives]
    ranks = np.zeros((len(asked), len(columns)), np.int64)
    for row, (root, one) in enumerate(progress(asked, desc=task.name, unit="query")):
        for place, column in enumerate(columns):
            of_root, of_perspective = (splits or {}).get(column.source, {}).get(one.query, (root.text, one.text))
            r, q = vectors[of_root], vectors[one.query]
            p = vectors[of_perspective] if of_perspective else q - r
            scores = leaning_scores(column.form, r, p, q, passages, column.strength)
            ranks[row, place] = first_gold(scores, np.array(one.gold))
    return np.split(ranks, np.cumsum([len(root.perspectives) for root in task.roots])[:-1])


def split_by_rules(query: str) -> Split:
    """Splits a query into root and perspective. In 'Find a claim that opposes: …', the text before the colon is the
    perspective, and the rest is the root. In a question, the perspective is a phrase with a preposition (such as
    'according to …'), before the first comma or at the end."""
    for form in (_REQUEST, _FIRST, _LAST):
        if found := form.fullmatch(query.strip()):
            return found["root"].strip(), found["perspective"].strip()
    return query, ""


def leaning_scores(
    form: str, root: Vector, perspective: Vector, query: Vector, passages: Vector, strength: float = 1.0
) -> NDArray[np.float32]:
    """Returns the passages' scores under an intervention, float32 of shape (n,).

    none: cos(q, c). add: cos(r + p, c). concat: cos([r; p], [c; p]). cast: cos(q − p, c). cast+: cos(q − p, c − p).
    dual-sum: cos(r, c) + cos(p, c). tri-sum: dual-sum + cos(q, c). pap: cos(q − s · proj, c), where proj is q's
    component along p. pap+: like pap, and c loses its component in the same way.

    root, perspective, query: shape (dimensions,). passages: shape (n, dimensions). strength: s of pap and pap+; 1
    removes the component, a negative value adds to it, as in the released code.
    """
    r, p, q = (np.asarray(v, np.float64) for v in (root, perspective, query))
    scores: dict[str, Callable[[], NDArray[np.float64]]] = {
        "none": lambda: _cosines(passages, q),
        "add": lambda: _cosines(passages, r + p),
        "concat": lambda: _cosines(np.hstack([passages, np.tile(p, (len(passages), 1))]), np.concatenate([r, p])),
        "cast": lambda: _cosines(passages, q - p),
        "cast+": lambda: _cosines(passages - p, q - p),
        "dual-sum": lambda: _cosines(passages, r) + _cosines(passages, p),
        "tri-sum": lambda: _cosines(passages, r) + _cosines(passages, p) + _cosines(passages, q),
        "pap": lambda: _cosines(passages, without(q, p, strength)),
        "pap+": lambda: _cosines(without(passages, p, strength), without(q, p, strength)),
    }
    return np.asarray(scores[form](), np.float32)


def without(
    vectors: NDArray[np.floating], direction: NDArray[np.floating], strength: float = 1.0
) -> NDArray[np.float64]:
    """Returns v − s · (v·p / ‖p‖²) p, for a vector or for rows, or v if p is 0."""
    length = float(direction @ direction)
    if length < _LEAST:
        return np.asarray(vectors, np.float64)
    share = np.asarray(vectors @ direction / length, np.float64)
    return np.asarray(vectors - strength * np.multiply.outer(share, direction), np.float64)


def _cosines(rows: NDArray[np.floating], vector: NDArray[np.floating]) -> NDArray[np.float64]:
    return np.asarray(_unit(rows) @ _unit(vector), np.float64)


def _unit(vectors: NDArray[Any]) -> NDArray[Any]:
    norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.where(norms > _LEAST, norms, np.inf))

"""Searches a PIR task with queries that lean towards a perspective. A column is an intervention on the query
vectors."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evals.datasets.pir import PirTask
from evals.metrics.p_recall import Ints, first_gold
from evals.retrievers.corpus_index import CorpusIndex
from evals.retrievers.projection import FORMS, leaning_scores
from evals.suite import check_known, progress
from tools.models.cache import VectorCache
from tools.models.encoders import Encoder

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

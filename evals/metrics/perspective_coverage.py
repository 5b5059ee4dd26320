"""Coverage of a question's perspectives by the first k passages of a ranking, and a method's figures over a set.

`ranked`: passage ids, best first, without repetition. `gold`: for each of m perspectives the ids of supporting
passages. Undefined measures are NaN.
"""

from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from itertools import chain
from typing import Any, Literal

import numpy as np

from evals.datasets.retrieval import GoldQuestion
from evals.metrics.measure import Chosen, Figure, figures, mean, ratio
from tools.errors import SettingsError

Gold = Sequence[AbstractSet[str]]
Leaning = Literal["supporting_only", "opposing_only", "both", "neither"]

LEANINGS: tuple[Leaning, ...] = ("supporting_only", "opposing_only", "both", "neither")
DEEPEST = 100  # depth of the published 'documents needed'
ALPHA_CUTOFF = 20  # ndeval's limit
TOP_FIVE = 5


def supported(ranked: Sequence[str], gold: Gold, k: int) -> int:
    """Returns the number of perspectives that the top k support."""
    top = set(ranked[:k])
    return sum(not top.isdisjoint(ids) for ids in gold)


def mrecall(ranked: Sequence[str], gold: Gold, k: int) -> float:
    """Returns MRecall@k (BERDS §3, after Min et al. 2021): 1 if the top k support min(m, k) of the m perspectives, else
    0."""
    return float(supported(ranked, gold, k) >= min(len(gold), k))


def coverage(ranked: Sequence[str], gold: Gold, k: int) -> float:
    """Returns perspectives that the top k support / m: subtopic recall (Zhai et al. 2003). NaN without perspectives."""
    return ratio(supported(ranked, gold, k), len(gold))


def precision(ranked: Sequence[str], gold: Gold, k: int) -> float:
    """Returns passages of the top k that support a perspective / k (BERDS §3). Missing ranks count as misses. BERDS'
    code divides by the length of its first record, which is k for complete rankings."""
    return hits(ranked, frozenset().union(*gold), k) / k


def hits(ranked: Sequence[str], ids: AbstractSet[str], k: int) -> int:
    """Returns the number of passages of the top k in `ids`."""
    return sum(i in ids for i in ranked[:k])


def documents_needed(ranked: Sequence[str], gold: Gold) -> float:
    """Returns the smallest k whose top k support all perspectives, or 100 perspectives if the question has more (BERDS,
    table 17). NaN unless MRecall@100 is 1."""
    wanted = min(len(gold), DEEPEST)
    depths = range(1, min(len(ranked), DEEPEST) + 1)
    return next((float(k) for k in depths if supported(ranked, gold, k) >= wanted), float("nan"))


def leaning(ranked: Sequence[str], supporting: AbstractSet[str], opposing: AbstractSet[str], k: int = 5) -> Leaning:
    """Returns which of two perspectives the top k support (BERDS, figure 2)."""
    supported, opposed = hits(ranked, supporting, k) > 0, hits(ranked, opposing, k) > 0
    if supported == opposed:
        return "both" if supported else "neither"
    return "supporting_only" if supported else "opposing_only"


def alpha_ndcg(rankings: Sequence[Sequence[str]], golds: Sequence[Gold], k: int) -> list[float]:
    """Returns α-nDCG@k of each question (Clarke et al. 2008), computed by ir_measures with ndeval.

    The gain at rank r is Σ (1 − α)^(earlier passages on the perspective) over supported perspectives, divided by log₂(1
    + r), with α = 0.5. α-nDCG divides the sum of gains by the sum for a greedy ideal ranking. k is at most 20, ndeval's
    limit. Raises SettingsError without the extra `evals`.
    """
    measures = require_ir_measures()
    judged = [
        measures.Qrel(str(q), passage, 1, str(p))
        for q, gold in enumerate(golds)
        for p, ids in enumerate(gold)
        for passage in sorted(ids)
    ]
    found = [
        measures.ScoredDoc(str(q), passage, float(-rank))
        for q, ranked in enumerate(rankings)
        for rank, passage in enumerate(ranked[:k])
    ]
    calculated = measures.iter_calc([measures.alpha_nDCG(alpha=0.5) @ k], judged, found) if judged and found else ()
    values = {value.query_id: float(value.value) for value in calculated}
    return [values.get(str(q), 0.0) for q in range(len(rankings))]


def require_ir_measures() -> Any:
    """Returns the module `ir_measures`. Raises SettingsError with the command that installs the module."""
    try:
        import ir_measures
        import pyndeval  # noqa: F401  # ir_measures would only say 'not available'
    except ImportError as exc:
        raise SettingsError(f"α-nDCG needs the extra 'evals' ({exc}). Install it: `make evals`.") from exc
    return ir_measures


def measures(
    questions: Sequence[GoldQuestion],
    rankings: Sequence[Sequence[str]],
    cutoffs: Sequence[int],
    ndcg: bool = True,
    deep: bool = True,
) -> dict[str, Figure]:
    """Returns the figures of one method. A failed question has an empty ranking. A question that does not count in a
    measure has NaN. ndcg: include α-nDCG. deep: include measures of the top 100."""
    qids, golds = [q.qid for q in questions], [[p.gold for p in q.perspectives] for q in questions]

    def each(of: Callable[..., float], *k: int) -> list[float]:
        return [of(ranked, gold, *k) for ranked, gold in zip(rankings, golds, strict=True)]

    rows = {f"{of.__name__}@{k}": each(of, k) for k in cutoffs for of in (mrecall, coverage, precision)}
    compared = [*rows]
    rows |= {f"alpha_ndcg@{k}": alpha_ndcg(rankings, golds, k) for k in cutoffs if ndcg and k <= ALPHA_CUTOFF}
    rows["precision@1"] = each(precision, 1)
    if deep:
        rows |= {"documents_needed": each(documents_needed), "documents_needed_share": each(mrecall, DEEPEST)}
    sided = [(ranked, q.sides) for ranked, q in zip(rankings, questions, strict=True)]
    leanings = [sides and leaning(ranked, sides[0].gold, sides[1].gold, TOP_FIVE) for ranked, sides in sided]
    for kind in LEANINGS:
        rows[f"{kind}@{TOP_FIVE}"] = [float(found == kind) if found else float("nan") for found in leanings]
    found = {name: mean(values, qids) for name, values in rows.items()}
    found = {name: figure if name in compared else replace(figure, rows=()) for name, figure in found.items()}
    return found | {f"sycophancy@{TOP_FIVE}": _sycophancy(questions, rankings)}


def union(questions: Sequence[GoldQuestion], methods: Iterable[Sequence[Sequence[str]]], seed: int) -> dict[str, Any]:
    """Returns an upper bound for any choice among the results of all methods (BERDS §5). methods: the rankings of each
    method. covered: share of questions whose pooled results support all perspectives. passages: mean size of the
    pool."""
    pools = [sorted({*chain(*rankings)}) for rankings in zip(*methods, strict=True)]
    golds = [[p.gold for p in q.perspectives] for q in questions]
    shares = [coverage(pool, gold, len(pool)) for pool, gold in zip(pools, golds, strict=True)]
    rows = {"covered": [float(s == 1) for s in shares], "coverage": shares, "passages": [float(len(p)) for p in pools]}
    told = figures({name: mean(values, [q.qid for q in questions]) for name, values in rows.items()}, seed)
    return told["metrics"] | {"intervals": told["intervals"]}


def _sycophancy(questions: Sequence[GoldQuestion], rankings: Sequence[Sequence[str]]) -> Figure:
    """Returns Δ = (p − n) / p (BERDS §5, figure 3). p and n: the numbers of supporting and of opposing passages, over
    all questions. A passage that supports both perspectives counts in p and in n. NaN at p = 0."""
    pairs = zip(questions, rankings, strict=True)
    counts = np.array([[hits(r, side.gold, TOP_FIVE) for side in q.sides] if q.sides else [0, 0] for q, r in pairs])

    def delta(chosen: Chosen) -> float:
        supporting, opposing = counts[chosen].sum(axis=0)
        return ratio(supporting - opposing, supporting)

    return Figure(delta, [q.qid for q in questions])

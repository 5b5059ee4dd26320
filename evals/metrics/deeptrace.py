"""The eight measures of DeepTRACE (Narayanan Venkit et al. 2025, https://arxiv.org/abs/2509.04499).

The definitions are those of the authors' code (https://github.com/SalesforceAIResearch/answer-engine-eval:
`populate_scores.py`, `Answer_Engine_Eval.ipynb`). Of the paper only the abstract was read.
"""

import math

import numpy as np
from numpy.typing import NDArray

from evals.metrics.measure import ratio

Flags = NDArray[np.bool_]


def audit_sides(agree: int, disagree: int, confidence: int) -> dict[str, float]:
    """Returns the measures of an answer to a debate question, from its numbers of agreeing and disagreeing statements
    and the confidence of its language, 1 to 5.

    one_sided: 1 without an agreeing or without a disagreeing statement. overconfident: 1 if one-sided with a confidence
    of 5; the code averages the confidence instead, so this reading is that of reimplementations. smaller_side_share
    (own): min / (agree + disagree), 0 without either. One token sentence avoids one_sided, but leaves this share low.
    """
    one_sided = not (agree and disagree)
    share = min(agree, disagree) / max(agree + disagree, 1)
    overconfident = float(one_sided and confidence == 5)
    return {"one_sided": float(one_sided), "overconfident": overconfident, "smaller_side_share": share}


def audit_sources(statements: int, listed: int, uncited: int, cites: Flags, supports: Flags) -> dict[str, float]:
    """Returns the measures of an answer's statements and sources, NaN if undefined.

    statements, listed, uncited: numbers of statements, of listed sources, and of listed sources that no statement
    cites. cites, supports: the citation matrix and the factual-support matrix, shape (relevant statements, readable
    sources).

    relevant_statements: relevant statements / statements. uncited_sources: uncited / listed. unsupported_statements:
    relevant statements without support / relevant statements; 1 without listed sources, undefined if none of them is
    readable. source_necessity: `fewest_sources` / readable sources; undefined without a relevant statement.
    citation_accuracy: citations with support / citations. citation_thoroughness: citations with support / supporting
    pairs. The code counts an answer without citations as accurate, and an answer without support as not thorough; here
    both are undefined.
    """
    rows, readable = supports.shape
    both, unsupported = (cites & supports).sum(), (~supports.any(axis=1)).sum()
    return {
        "relevant_statements": ratio(rows, statements),
        "uncited_sources": ratio(uncited, listed),
        "unsupported_statements": math.nan if listed and not readable else ratio(unsupported, rows),
        "source_necessity": ratio(fewest_sources(supports), readable) if rows else math.nan,
        "citation_accuracy": ratio(both, cites.sum()),
        "citation_thoroughness": ratio(both, supports.sum()),
    }


def fewest_sources(supports: Flags) -> int:
    """Returns the size of a smallest set of sources that supports every supported statement: a minimum set cover, exact
    by integer programming.

    The code finds a set cover greedily. Reimplementations say that the paper names a minimum vertex cover of the graph
    of statements and sources. That cover may contain statements, so this function takes the code's reading.
    """
    from scipy.optimize import LinearConstraint, milp

    needed = supports[supports.any(axis=1)].astype(float)
    if not len(needed):
        return 0
    ones = np.ones(needed.shape[1])
    cover: float = milp(ones, integrality=ones, constraints=LinearConstraint(needed, lb=1)).fun
    return round(cover)

"""Measures of DebateQA (Xu et al. 2026, https://aclanthology.org/2026.findings-eacl.44), as the authors' repository
defines them (https://github.com/pillowsofwind/DebateQA: README and `scripts`). Of the paper only the abstract was read.

Perspective Diversity: the perplexity of a partial answer, given the answer; the mean over a question's partial answers,
then over questions. Lower is better. The README sums over partial answers; the released script takes the mean, which
does not depend on their number. The script also divides by the tokens of answer and partial answer together, so its
figures are lower. Dispute Awareness: answers that say that the question is in dispute / answers.
"""

import math
from collections.abc import Sequence

Loss = tuple[float, int]
"""The negative log-likelihood of a text's tokens in nats, summed, and the number of these tokens."""


def mean_perplexity(losses: Sequence[Loss]) -> float:
    """Returns the mean of PPL(Y | X) = exp(−1/N · Σ log P(y_i | X, y_<i)) over the texts Y of N tokens each. (The
    README omits the minus sign.)"""
    return sum(math.exp(loss / tokens) for loss, tokens in losses) / len(losses)

"""Stance alignment: does the text of a side agree with the side? A judge's measure in place of PIR's (§3.3), which
correlates TextBlob's polarities and is undefined for most topics."""

from collections.abc import Sequence
from itertools import product

import numpy as np

from evals.datasets.cases import SIDES
from evals.metrics.answers import AgentReply
from evals.metrics.measure import Ratio
from tools.models.judges.judge import Judge, Pair


async def judged_alignment(replies: Sequence[AgentReply], judge: Judge) -> Ratio:
    """Returns the mean over claims of P(supports the side's statement) − P(supports the opposing side's statement),
    from −1 to 1. Only claims of a for or against side with an opposing side count. Raises JudgeError."""
    found, pairs = list[str](), list[Pair]()
    for reply in replies:
        statements = {s.id: s.statement for s in reply.sides}
        for side in (s for s in reply.sides if s.stance in SIDES and s.contrary in statements):
            found += [reply.question] * len(side.claims)
            texts = product(side.claims, (side.statement, statements[side.contrary]))
            pairs += [Pair(statement, claim.text) for claim, statement in texts]
    own, contrary = np.asarray(await judge.support(pairs), float).reshape(-1, 2).T
    return Ratio.of((q, float(a - b), 1) for q, a, b in zip(found, own, contrary, strict=True))

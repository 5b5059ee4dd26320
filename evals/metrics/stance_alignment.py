"""Stance alignment: does the text of a side agree with the side? The published measure and two alternatives.

Zhao et al. (PIR, §3.3) correlate the TextBlob polarity of a text with the polarity of 'topic, stance'. TextBlob gives
the words Support and Oppose the polarity 0. So both sides of a topic have the same second polarity, and the correlation
is undefined if TextBlob knows no word of any topic. The two alternatives here are the correlation with +1 or −1 for the
stance, and a measure by the judge.
"""

from collections.abc import Sequence
from itertools import product

import numpy as np

from evals.datasets.cases import SIDES
from evals.metrics.answers import AgentReply
from evals.metrics.measure import Chosen, Figure, Ratio
from tools.models.judges.judge import Judge, Pair

_TOLD = {"supports": ("Support", 1.0), "opposes": ("Oppose", -1.0)}


def correlation(points: Sequence[tuple[str, float, float]]) -> Figure:
    """Returns Pearson's r over points of (question, x, y). NaN for fewer than two points or if x or y is constant."""
    values = np.array([(x, y) for _, x, y in points], float).reshape(-1, 2)

    def pearson(chosen: Chosen) -> float:
        drawn = values[chosen]
        if len(drawn) < 2 or np.ptp(drawn[:, 0]) == 0 or np.ptp(drawn[:, 1]) == 0:
            return float("nan")
        return float(np.corrcoef(drawn[:, 0], drawn[:, 1])[0, 1])

    return Figure(pearson, [question for question, *_ in points])


def stance_alignment(replies: Sequence[AgentReply]) -> dict[str, Figure]:
    """Correlates the polarity of each side's claims (joined to one text) with a value for the side's stance. Covers all
    for and against sides that have claims.

    alignment_textblob: Pearson's r with the polarity of 'topic, Support' or 'topic, Oppose' (PIR §3.3, literally).
    alignment_sign: Pearson's r with +1 for supports and −1 for opposes.
    """
    shown = [
        (reply.question, reply.answer.neutral_question, *_TOLD[side.stance], " ".join(c.text for c in side.claims))
        for reply in replies
        for side in reply.sides
        if reply.answer and side.stance in SIDES and side.claims
    ]
    told = [(q, polarity(text), polarity(f"{topic}, {word}"), sign) for q, topic, word, sign, text in shown]
    literal, signed = ([(q, p, pair[i]) for q, p, *pair in told] for i in (0, 1))
    return {"alignment_textblob": correlation(literal), "alignment_sign": correlation(signed)}


def polarity(text: str) -> float:
    """Returns TextBlob's polarity, from −1 to 1."""
    from textblob.en import sentiment

    return float(sentiment(text)[0])


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

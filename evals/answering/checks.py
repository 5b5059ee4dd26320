"""Checks the claims of stored answers: does a citation contain the claim, and is the claim on its side?

The checks are independent of the agent's own verification.
"""

from collections.abc import Sequence

from agent.answer.model import AnswerClaim, Citation
from agent.models.inference import Models
from evals.metrics.answers import SIDES, AgentReply, stands
from tools.language.grounding import is_denied, word_hints
from tools.models.judges.judge import Pair

Checked = list[tuple[str, list[list[bool]]]]


def check_claims(replies: Sequence[AgentReply]) -> Checked:
    """For each answer its question, and for each of its claims whether each citation contains it.

    A quoted claim must occur verbatim in a passage of the citation. The words of another claim must not contradict the
    passages of one citation, or of all citations together.
    """
    found: Checked = []
    for reply, answer in ((r, r.answer) for r in replies if r.answer is not None):
        cited = {c.number: c for c in answer.citations}
        claims = [c for side in answer.perspectives for c in side.all_claims] + answer.also
        found.append((reply.question, [_contained(c, [cited[n] for n in c.citations], reply) for c in claims]))
    return found


def _contained(claim: AnswerClaim, cited: Sequence[Citation], reply: AgentReply) -> list[bool]:
    ids = [(c.passage_id, *(q.passage_id for q in c.more)) for c in cited]
    texts = [[reply.passages[i] for i in dict.fromkeys(of) if i in reply.passages] for of in ids]
    if claim.quoted:
        return [any(stands(claim.text, text) for text in of) for of in texts]
    headings = (f"{c.title}. {c.publisher}. {c.speaker}. {c.date}." for c in cited)
    whole = ["\n".join([heading, *of]) for heading, of in zip(headings, texts, strict=True)]
    joint, *each = (not word_hints(claim.text, t) and not is_denied(claim.text, t) for t in ("\n".join(whole), *whole))
    alone = [bool(of) and says for of, says in zip(texts, each, strict=True)]
    return alone if any(alone) else [joint and bool(of) for of in texts]


async def judge_claims(replies: Sequence[AgentReply], models: Models) -> list[tuple[str, float, float]]:
    """(question, P(its side's statement), P(the contrary)) of each claim on a side for or against that has a contrary
    side. Raises JudgeError."""
    found = [(reply.question, *pair) for reply in replies for pair in _pairs(reply)]
    scores = await models.judge().support([p for _, own, contrary in found for p in (own, contrary)])
    return [(q, float(scores[2 * i]), float(scores[2 * i + 1])) for i, (q, *_) in enumerate(found)]


def _pairs(reply: AgentReply) -> list[tuple[Pair, Pair]]:
    statements = {s.id: s.statement for s in reply.sides}
    return [
        (Pair(side.statement, claim.text), Pair(statements[side.contrary], claim.text))
        for side in reply.sides
        if side.stance in SIDES and side.contrary in statements
        for claim in side.claims
    ]

"""What of a stored answer's measures reads claims again: do they agree with what they cite, as far as words tell, and
does the judge find each claim on its own side? The agent's own verification is not asked; its verdicts are not stored.
"""

from collections.abc import Sequence

from agent.answer.model import AnswerClaim, Citation
from agent.models.inference import Models
from evals.metrics.answers import SIDES, Reply, stands
from tools.language.grounding import is_denied, word_hints
from tools.models.judges.judge import Pair

Checked = list[tuple[str, list[list[bool]]]]


def check_claims(replies: Sequence[Reply]) -> Checked:
    """For each reply with an answer its question, and for each of its claims whether each of its citations says it.

    A quoted claim has to stand word for word in a passage of the citation. Of a written one its words must not speak
    against it, in the passages of the citation or in those of all its citations together.
    """
    found: Checked = []
    for reply, answer in ((r, r.answer) for r in replies if r.answer is not None):
        cited = {c.number: c for c in answer.citations}
        claims = [c for side in answer.perspectives for c in side.all_claims] + answer.also
        found.append((reply.question, [_saying(c, [cited[n] for n in c.citations], reply) for c in claims]))
    return found


def _saying(claim: AnswerClaim, cited: Sequence[Citation], reply: Reply) -> list[bool]:
    """Of each citation of the claim whether it says it."""
    ids = [(c.passage_id, *(q.passage_id for q in c.more)) for c in cited]
    texts = [[reply.passages[i] for i in dict.fromkeys(of) if i in reply.passages] for of in ids]
    if claim.quoted:
        return [any(stands(claim.text, text) for text in of) for of in texts]
    headings = (f"{c.title}. {c.publisher}. {c.speaker}. {c.date}." for c in cited)
    told = ["\n".join([heading, *of]) for heading, of in zip(headings, texts, strict=True)]
    together, *each = (not word_hints(claim.text, t) and not is_denied(claim.text, t) for t in ("\n".join(told), *told))
    alone = [bool(of) and says for of, says in zip(texts, each, strict=True)]
    return alone if any(alone) else [together and bool(of) for of in texts]


async def judge_claims(replies: Sequence[Reply], models: Models) -> list[tuple[str, float, float]]:
    """(question, P(its side's statement), P(the contrary one)) of each claim under a for or against side whose contrary
    side is planned too. Raises JudgeError."""
    found = [(reply.question, *pair) for reply in replies for pair in _pairs(reply)]
    pairs = [p for _, own, contrary in found for p in (own, contrary)]
    scores = await models.judge().support(pairs)
    return [(q, float(scores[2 * i]), float(scores[2 * i + 1])) for i, (q, *_) in enumerate(found)]


def _pairs(reply: Reply) -> list[tuple[Pair, Pair]]:
    statements = {s.id: s.statement for s in reply.sides}
    return [
        (Pair(side.statement, claim.text), Pair(statements[side.contrary], claim.text))
        for side in reply.sides
        if side.stance in SIDES and side.contrary in statements
        for claim in side.claims
    ]

"""What of a stored answer's measures needs the encoder and the judge: do written claims agree with what they cite, as
far as that can be looked up, and does the judge find each claim on its own side? The agent's own verification is not
asked; its verdicts are not stored.
"""

from collections.abc import Sequence

from agent.answer.model import Answer, AnswerClaim, Citation
from agent.evidence.claims import check_grounding
from agent.models.inference import Models
from agent.state import Claim
from evals.metrics.answers import SIDES, Reply, stands
from tools.models.judges.judge import Pair
from tools.passages import Passage

Checked = list[tuple[str, list[list[bool]]]]


async def check_claims(replies: Sequence[Reply], models: Models) -> Checked:
    """For each reply with an answer its question, and for each of its claims whether each of its citations says it.

    A quoted claim has to stand word for word in a passage of the citation; a written one has to have its facts there,
    to be like it and to deny none of it: what a model's word cannot mend.
    """
    return [(r.question, await _checked(r, r.answer, models)) for r in replies if r.answer is not None]


async def _checked(reply: Reply, answer: Answer, models: Models) -> list[list[bool]]:
    citations = {c.number: c for c in answer.citations}
    claims = [c for side in answer.perspectives for c in side.claims] + answer.also
    written = [_claim(c, citations) for c in claims if not c.quoted]
    texts = {c["text"]: 1.0 for c in written}
    said = await check_grounding(models, written, _passages(reply, answer), texts) if written else {}
    verdicts = []
    for claim in claims:
        saying = (said.get(claim.text) or {"passages": []})["passages"]
        if claim.quoted:
            saying = [i for i, text in reply.passages.items() if stands(claim.text, text)]
        verdicts.append([any(i in saying for i in _ids(citations[n])) for n in claim.citations])
    return verdicts


def _ids(citation: Citation) -> list[int]:
    """The passages of the cited document that the answer stands on."""
    return list(dict.fromkeys([citation.passage_id, *(q.passage_id for q in citation.more)]))


def _claim(claim: AnswerClaim, citations: dict[int, Citation]) -> Claim:
    ids = [i for n in claim.citations for i in _ids(citations[n])]
    return Claim(perspective="", text=claim.text, passages=ids, support=0.0, role=claim.role, written=True)


def _passages(reply: Reply, answer: Answer) -> dict[int, Passage]:
    cited = {i: c for c in answer.citations for i in _ids(c)}
    return {
        i: Passage(i, c.document_id, c.collection, reply.passages[i], title=c.title)
        for i, c in cited.items()
        if i in reply.passages
    }


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

"""Measures of stored answers to questions with two sides and known documents.

A reply without an answer counts as failed. A failed reply counts in every mean over questions; it has no claims and no
citations. The measures of for and against leave out the alternatives of a choice ('X or Y?'). The measures of two sides
(both_sides_known, one_sided) include the alternatives.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from agent.answer.model import Answer, AnswerClaim, AnswerPerspective, Citation
from evals.datasets.cases import SIDES, Gold
from evals.metrics.measure import Ratio
from tools.language.grounding import is_denied, verbatim, word_hints

_OTHER = {"supports": "opposes", "opposes": "supports"}
VERDICTS = ("right", "wrong", "unknown")


@dataclass(frozen=True, slots=True)
class AgentReply:
    """The agent's reply to a question. answer: None if the reply failed. gold: documents by side. passages: the cited
    texts by id."""

    question: str
    gold: Gold
    answer: Answer | None = None
    passages: dict[int, str] = field(default_factory=dict)

    @property
    def answered(self) -> bool:
        return self.answer is not None and self.answer.outcome == "answered"

    @property
    def sides(self) -> list[AnswerPerspective]:
        return list(self.answer.perspectives) if self.answer else []

    @property
    def documents(self) -> dict[int, str]:
        """Returns the cited documents by citation number."""
        return {c.number: c.document_id for c in self.answer.citations} if self.answer else {}


def answer_measures(replies: Sequence[AgentReply]) -> dict[str, Ratio]:
    """Computes the measures that need neither judge nor encoder. answered: answers with at least one side /
    questions."""
    answered = _share(replies, lambda r: r.answered)
    return {"answered": answered, **both_sides_known(replies), **citations(replies), **one_sided(replies)}


def _share(replies: Iterable[AgentReply], holds: Callable[[AgentReply], float]) -> Ratio:
    return Ratio.of((r.question, float(holds(r)), 1) for r in replies)


def citations(replies: Sequence[AgentReply]) -> dict[str, Ratio]:
    """Compares the cited document's side with the claim's side, over (claim, citation) pairs. Not in a paper.

    right: the document is gold for the claim's side. wrong: the document is gold for the other side only. unknown: the
    document is gold for neither side, since gold is not exhaustive. citations_X = X / all citations on a for or against
    side. wrong_of_known = wrong / (right + wrong). A sentence may argue against its document's side, so `wrong` is
    overestimated.
    """
    counts = [(r.question, Counter(_verdicts(r))) for r in replies]
    shares = {f"citations_{v}": Ratio.of((q, c[v], c.total()) for q, c in counts) for v in VERDICTS}
    wrong = Ratio.of((q, c["wrong"], c["wrong"] + c["right"]) for q, c in counts)
    return shares | {"wrong_of_known": wrong}


def _verdicts(reply: AgentReply) -> Iterator[str]:
    """Yields the verdict on each citation of a for or against side."""
    documents = reply.documents
    for side in (side for side in reply.sides if side.stance in SIDES):
        for number in (number for claim in side.claims for number in claim.citations):
            right = documents[number] in reply.gold[side.stance]
            wrong = documents[number] in reply.gold[_OTHER[side.stance]]
            yield "right" if right else "wrong" if wrong else "unknown"


def both_sides_known(replies: Sequence[AgentReply]) -> dict[str, Ratio]:
    """Computes both_sides_known: questions where each side quotes a document that is gold for that side / questions
    with gold on both sides. No paper has this measure. The alternatives of a choice may match the gold sides in either
    order."""
    both = [r for r in replies if all(r.gold[side] for side in SIDES)]
    return {"both_sides_known": _share(both, _both_known)}


def _both_known(reply: AgentReply) -> bool:
    documents = reply.documents
    sides = [{documents[n] for claim in side.claims for n in claim.citations} for side in _two_sides(reply)]
    if len(sides) != len(SIDES):
        return False
    golds = [reply.gold[side] for side in SIDES]
    choice = any(s.stance == "other" for s in _two_sides(reply))
    ways = [golds, golds[::-1]] if choice else [golds]
    return any(all(cited & gold for cited, gold in zip(sides, way, strict=True)) for way in ways)


def one_sided(replies: Sequence[AgentReply]) -> dict[str, Ratio]:
    """Computes DeepTRACE's one-sided answers: answers without claims (DeepTRACE: core statements) for at least one
    side.

    one_sided: one-sided answers / questions. Failed and empty answers count as one-sided. one_sided_of_answered:
    one-sided answers with content / answers with content. smaller_side_share: mean of min(for, against) / (for +
    against) claims, at best 0.5, and 0 without claims. A single sentence for the other side is enough to avoid
    one_sided, but then smaller_side_share is low.
    """
    return {
        "one_sided": _share(replies, lambda r: min(_rooms(r)) == 0),
        "one_sided_of_answered": _share((r for r in replies if r.answered), lambda r: min(_rooms(r)) == 0),
        "smaller_side_share": _share(replies, lambda r: min(_rooms(r)) / max(sum(_rooms(r)), 1)),
    }


def _rooms(reply: AgentReply) -> list[int]:
    """Returns the number of claims of each of the two sides."""
    return [*(len(side.claims) for side in _two_sides(reply)), 0, 0][:2]


def _two_sides(reply: AgentReply) -> list[AnswerPerspective]:
    """Returns the sides for and against, or the two alternatives of a choice."""
    by_id, stances = {s.id: s for s in reply.sides}, {s.stance: s for s in reversed(reply.sides)}
    if found := [stances[stance] for stance in SIDES if stance in stances]:
        return found
    return next(([s, by_id[s.contrary]] for s in reply.sides if s.contrary in by_id), [])


def supported(replies: Sequence[AgentReply]) -> dict[str, Ratio]:
    """Computes how many claims are supported, and how many citations support: citation recall and precision of ALCE
    (Gao et al. 2023).

    The checks differ from ALCE's, and do not depend on the agent's own verification. claims_supported: claims that a
    citation contains / claims. citations_supporting: citations that contain their claim / citations. A quoted claim
    must occur verbatim in a passage of the citation. A claim in the agent's words passes if the passages of one
    citation, or of all citations together, do not contradict the claim.
    """
    checked: list[tuple[str, list[list[bool]]]] = []
    for reply, answer in ((r, r.answer) for r in replies if r.answer is not None):
        cited = {c.number: c for c in answer.citations}
        claims = [c for side in answer.perspectives for c in side.all_claims] + answer.also
        checked.append((reply.question, [_contained(c, [cited[n] for n in c.citations], reply) for c in claims]))
    return {
        "claims_supported": Ratio.of((q, sum(map(any, claims)), len(claims)) for q, claims in checked),
        "citations_supporting": Ratio.of((q, sum(map(sum, claims)), sum(map(len, claims))) for q, claims in checked),
    }


def _contained(claim: AnswerClaim, cited: Sequence[Citation], reply: AgentReply) -> list[bool]:
    """Returns for each citation whether the citation contains the claim."""
    ids = [(c.passage_id, *(q.passage_id for q in c.more)) for c in cited]
    texts = [[reply.passages[i] for i in dict.fromkeys(of) if i in reply.passages] for of in ids]
    if claim.quoted:
        return [any(verbatim(claim.text, text) for text in of) for of in texts]
    headings = (f"{c.title}. {c.publisher}. {c.speaker}. {c.date}." for c in cited)
    whole = ["\n".join([heading, *of]) for heading, of in zip(headings, texts, strict=True)]
    joint, *each = (not word_hints(claim.text, t) and not is_denied(claim.text, t) for t in ("\n".join(whole), *whole))
    alone = [bool(of) and says for of, says in zip(texts, each, strict=True)]
    return alone if any(alone) else [joint and bool(of) for of in texts]

"""Measures of stored answers to questions with two sides whose documents are known.

Every function is over replies and asks nobody. A reply without an answer failed: it counts in every mean over
questions as what the agent did not do, and has no citations or claims to count among those. Where a choice ('X or Y?')
was answered, its two sides have no for and against: they count where only two sides are needed, not where it matters
which is which.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from agent.answer.model import Answer, AnswerPerspective
from evals.metrics.measure import Ratio

SIDES = ("supports", "opposes")
_OTHER = {"supports": "opposes", "opposes": "supports"}
VERDICTS = ("right", "wrong", "unknown")


@dataclass(frozen=True, slots=True)
class Reply:
    """What the agent said to one ask. `answer` is None where it failed; `gold`: side to its gold documents.

    `left_out` is the side whose gold documents were not in the collection, or empty; `passages` are the stored texts
    of those that the answer cites, by id.
    """

    question: str
    gold: dict[str, frozenset[str]]
    variant: str = "plain"
    answer: Answer | None = None
    left_out: str = ""
    passages: dict[int, str] = field(default_factory=dict)
    either_way: bool = False
    """Whether what is gold for the question may stand against it: it may be worded from either pole."""

    @property
    def answered(self) -> bool:
        return self.answer is not None and self.answer.outcome == "answered"

    @property
    def sides(self) -> list[AnswerPerspective]:
        return list(self.answer.perspectives) if self.answer else []

    def side(self, stance: str) -> AnswerPerspective | None:
        return next((s for s in self.sides if s.stance == stance), None)


def of_plain(replies: Sequence[Reply]) -> dict[str, Ratio]:
    """All that needs neither judge nor encoder, over what was asked with all documents. answered: answers that show at
    least one side / questions; all_sides_cited: questions of which every side with gold documents is shown with a cited
    claim / questions."""
    found = {"answered": _share(replies, lambda r: r.answered), "all_sides_cited": _share(replies, _all_cited)}
    return {**found, **both_sides_known(replies), **citations(replies), **documents_told(replies), **one_sided(replies)}


def _share(replies: Iterable[Reply], holds: Callable[[Reply], float]) -> Ratio:
    """The mean over replies."""
    return Ratio.of((r.question, float(holds(r)), 1) for r in replies)


def citations(replies: Sequence[Reply]) -> dict[str, Ratio]:
    """The side of the cited documents against the side that they stand under, over (claim, citation) pairs.

    right: the document is gold for the side it stands under. wrong: for the other side only. unknown: for neither, and
    gold is not exhaustive. `citations_X` = X / all citations under a for or against side; `wrong_of_known` = wrong /
    (right + wrong). No paper's measure. The side of an essay is not that of each of its sentences, so that wrong ones
    are counted too often rather than too seldom. A question that may be worded from either pole has no such verdicts.
    """
    found = [(r.question, list(judged_citations(r))) for r in replies if not r.either_way]
    counts = [(q, Counter(verdict for verdict, _ in cited)) for q, cited in found]
    shares = {f"citations_{v}": Ratio.of((q, c[v], c.total()) for q, c in counts) for v in VERDICTS}
    wrong = Ratio.of((q, c["wrong"], c["wrong"] + c["right"]) for q, c in counts)
    return shares | {"wrong_of_known": wrong}


def judged_citations(reply: Reply) -> Iterator[tuple[str, str]]:
    """Each citation under a for or against side: the verdict on it, and that side."""
    documents = {c.number: c.document_id for c in reply.answer.citations} if reply.answer else {}
    for side in reply.sides:
        if side.stance == "other":
            continue
        for claim in side.claims:
            for number in claim.citations:
                right = documents[number] in reply.gold[side.stance]
                wrong = documents[number] in reply.gold[_OTHER[side.stance]]
                yield "right" if right else "wrong" if wrong else "unknown", side.stance


def documents_told(replies: Sequence[Reply]) -> dict[str, Ratio]:
    """Of the documents that are gold for one side and that the answer lists: the share that is told to argue for one
    side (`documents_told`), and of these the share that is told for its side (`documents_right`)."""
    told, right = [], []
    for reply in (r for r in replies if r.answer and not r.either_way):
        sides = {side.id: side.stance for side in reply.sides}
        known = {d: side for side in SIDES for d in reply.gold[side] - reply.gold[_OTHER[side]]}
        listed = [d for d in reply.answer.documents if d.id in known] if reply.answer else []
        for_one = [(known[d.id], sides[d.stances[0].perspective]) for d in listed if len(d.stances) == 1]
        told.append((reply.question, len(for_one), len(listed)))
        right.append((reply.question, sum(gold == said for gold, said in for_one), len(for_one)))
    return {"documents_told": Ratio.of(told), "documents_right": Ratio.of(right)}


def _all_cited(reply: Reply) -> bool:
    cited = [s for s in _two_sides(reply) if any(c.citations for c in s.claims)]
    if any(s.stance == "other" for s in cited):
        return len(cited) == len(SIDES)
    return {s.stance for s in cited} >= {side for side in SIDES if reply.gold[side]}


def both_sides_known(replies: Sequence[Reply]) -> dict[str, Ratio]:
    """Questions with gold documents on both sides of which each side quotes one that is gold for it
    (`both_sides_known`) / such questions. No paper's measure. Of a choice's two sides, and of those of a question that
    may be worded from either pole, one has to quote the one gold side and the other the other, whichever way round."""
    both = [r for r in replies if all(r.gold[side] for side in SIDES)]
    return {"both_sides_known": _share(both, _both_known)}


def _both_known(reply: Reply) -> bool:
    documents = {c.number: c.document_id for c in reply.answer.citations} if reply.answer else {}
    sides = [{documents[n] for claim in side.claims for n in claim.citations} for side in _two_sides(reply)]
    if len(sides) != len(SIDES):
        return False
    golds = [reply.gold[side] for side in SIDES]
    choice = reply.either_way or any(s.stance == "other" for s in _two_sides(reply))
    ways = [golds, golds[::-1]] if choice else [golds]
    return any(all(cited & gold for cited, gold in zip(sides, way, strict=True)) for way in ways)


def one_sided(replies: Sequence[Reply]) -> dict[str, Ratio]:
    """DeepTRACE's one-sided answers: those without an agreeing or without a disagreeing core statement.

    `one_sided` = such answers / questions, one that failed or found nothing among them, since it shows no two sides;
    `one_sided_of_answered` over the answers that show something. The claims of a side are its core statements. A single
    token sentence passes, so `smaller_side_share` is told beside it: the mean over questions of
    min(for, against) / (for + against) claims, 0 where there are none, 0.5 at best.
    """
    return {
        "one_sided": _share(replies, lambda r: min(_rooms(r)) == 0),
        "one_sided_of_answered": _share((r for r in replies if r.answered), lambda r: min(_rooms(r)) == 0),
        "smaller_side_share": _share(replies, lambda r: min(_rooms(r)) / max(sum(_rooms(r)), 1)),
    }


def _rooms(reply: Reply) -> list[int]:
    """How many claims each of the two sides has."""
    return [*(len(side.claims) for side in _two_sides(reply)), 0, 0][:2]


def _two_sides(reply: Reply) -> list[AnswerPerspective]:
    """For and against; of a choice the two alternatives that are each other's contrary."""
    if found := [s for stance in SIDES if (s := reply.side(stance))]:
        return found
    by_id = {s.id: s for s in reply.sides}
    return next(([s, by_id[s.contrary]] for s in reply.sides if s.contrary in by_id), [])


def missing_side(replies: Sequence[Reply]) -> dict[str, Ratio]:
    """What is said of a side whose gold documents were taken out of the collection. No paper's measure.

    missing_admitted: the side is shown without a claim, as not found or thin, or not at all, in an answer that was
    given / questions. missing_admitted_other_kept: that, while the other side is shown with claims; an answer that
    finds nothing admits everything. missing_shown: something is shown for the side. missing_shown_wrong: one of it
    that cites a document that is gold for the other side only, which is certainly no evidence; others may stand on
    documents that nobody labelled. An answer that weighs alternatives instead of for and against is left out.
    """
    asked = [r for r in replies if r.left_out and (not r.answered or any(s.stance in SIDES for s in r.sides))]

    def admitted(reply: Reply) -> bool:
        side = reply.side(reply.left_out)
        told = side is None or side.status in ("not_found", "thin")
        return reply.answer is not None and not _shown(reply, reply.left_out) and told

    return {
        "missing_admitted": _share(asked, admitted),
        "missing_admitted_other_kept": _share(asked, lambda r: admitted(r) and _shown(r, _OTHER[r.left_out])),
        "missing_shown": _share(asked, lambda r: _shown(r, r.left_out)),
        "missing_shown_wrong": _share(asked, lambda r: ("wrong", r.left_out) in judged_citations(r)),
    }


def _shown(reply: Reply, stance: str) -> bool:
    side = reply.side(stance)
    return bool(side and side.claims)


def supported(checked: Sequence[tuple[str, Sequence[Sequence[bool]]]]) -> dict[str, Ratio]:
    """Claims that are in what they cite (the citation recall and precision of Gao et al. 2023, ALCE, by other checks).

    checked: question, and for each of its claims whether each of its citations says it. claims_supported = claims that
    at least one citation says / claims; citations_supporting = citations that say their claim / citations.
    """
    return {
        "claims_supported": Ratio.of((q, sum(map(any, claims)), len(claims)) for q, claims in checked),
        "citations_supporting": Ratio.of((q, sum(map(sum, claims)), sum(map(len, claims))) for q, claims in checked),
    }


def stands(claim: str, passage: str) -> bool:
    """Whether the claim's words stand in the passage one after the other; white space may differ."""
    words = claim.split()
    return bool(words) and " ".join(words) in " ".join(passage.split())

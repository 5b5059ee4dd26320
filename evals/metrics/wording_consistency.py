"""Does the wording of a question change the answer? Replies to one question in several wordings, compared by twos."""

import re
from collections.abc import Callable, Collection, Sequence
from itertools import combinations

from evals.metrics.answers import SIDES, Reply
from evals.metrics.ratio import Ratio


def framing_sameness(replies: Sequence[Reply], neutral: str, topical: Collection[str] = ()) -> dict[str, Ratio]:
    """Means over pairs of wordings of one question of |A ∩ B| / |A ∪ B| (Jaccard). No paper's measure.

    same_sides: A and B are the sides as (stance, statement), the statements folded. same_statements: the statements
    alone, so that For and Against may change places. same_evidence: the documents that are cited. The pairs are the
    neutral wording with each leading one but the topical, which ask about the topic at large, and the two directions of
    one leading wording with each other; 'same_sides (why)' is over the pairs of the wording 'why' alone. A pair of
    which one failed or showed nothing counts 0; one of which both did, though neither failed, has nothing to compare
    and is left out.
    """
    pairs = [(a, b, name) for group in _by_question(replies) for a, b, name in _pairs(group, neutral, topical)]
    measures: dict[str, Callable[[Reply], frozenset[object]]] = {
        "same_sides": sides_of,
        "same_statements": lambda r: frozenset(text for _, text in sides_of(r)),
        "same_evidence": lambda r: frozenset(c.document_id for c in r.answer.citations) if r.answer else frozenset(),
    }
    wordings = dict.fromkeys(name for *_, name in pairs)
    found = {name: _mean([(a, b) for a, b, _ in pairs], what) for name, what in measures.items()}
    for wording in wordings:
        chosen = [(a, b) for a, b, name in pairs if name == wording]
        found |= {f"{name} ({wording})": _mean(chosen, what) for name, what in measures.items()}
    return found


def sides_of(reply: Reply) -> frozenset[tuple[str, str]]:
    """The for and against sides, or the alternatives, as (stance, folded statement)."""
    planned = [s for s in reply.sides if s.stance in SIDES] or reply.sides
    return frozenset((s.stance, folded(s.statement)) for s in planned)


def folded(text: str) -> str:
    """Lower case, without punctuation."""
    return " ".join(re.findall(r"\w+", text.casefold()))


def _by_question(replies: Sequence[Reply]) -> list[list[Reply]]:
    groups: dict[str, list[Reply]] = {}
    for reply in replies:
        groups.setdefault(reply.question, []).append(reply)
    return list(groups.values())


def _pairs(group: Sequence[Reply], neutral: str, topical: Collection[str]) -> list[tuple[Reply, Reply, str]]:
    """Two replies to one question, and the leading wording that is at issue."""
    found = []
    for a, b in combinations(group, 2):
        if b.variant == neutral:
            a, b = b, a
        first, second = a.variant.rpartition(" ")[0], b.variant.rpartition(" ")[0]
        if first == second or (a.variant == neutral and second not in topical):
            found.append((a, b, second))
    return found


def _mean(pairs: Sequence[tuple[Reply, Reply]], what: Callable[[Reply], frozenset[object]]) -> Ratio:
    rows = []
    for a, b in pairs:
        either = what(a) | what(b)
        if either or a.answer is None or b.answer is None:
            rows.append((a.question, len(what(a) & what(b)) / len(either) if either else 0.0, 1.0))
    return Ratio.of(rows)

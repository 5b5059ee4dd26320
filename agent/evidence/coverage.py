"""How well a perspective is covered: its supporting passages, copies counted once, and their independent sources."""

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from agent.seams import Reading
from agent.state import Coverage, CoverageStatus
from tools.language.copies import copy_groups
from tools.passages import Passage

ENOUGH_PASSAGES = 2
ENOUGH_SOURCES = 2


def originals_of(passages: dict[int, Passage]) -> dict[int, int]:
    """Passage id to the id of the passage that it is a copy of; copies are judged and counted as one."""
    ids = sorted(passages)
    return {ids[i]: ids[group] for i, group in enumerate(copy_groups([passages[i].text for i in ids]))}


def coverage_of(
    ids: Sequence[int],
    passages: dict[int, Passage],
    *,
    leaning: Sequence[int] = (),
    strongest: float = 0.0,
    copies: int = 0,
    reworded: int = 0,
) -> Coverage:
    """The coverage by these passages; `leaning` are those that hold words which may speak for the perspective."""
    sources = len({passages[i].source for i in ids if i in passages})
    enough = len(ids) >= ENOUGH_PASSAGES and sources >= ENOUGH_SOURCES
    status: CoverageStatus = "supported" if enough else "thin" if ids else "leaning" if leaning else "not_found"
    return Coverage(
        status=status,
        passages=len(ids),
        sources=sources,
        strongest=strongest,
        ids=list(ids),
        copies=copies,
        leaning=list(leaning),
        reworded=reworded,
    )


def not_outweighed(support: dict[int, float], contrary: dict[int, float]) -> dict[int, float]:
    """The passages that support a perspective at least as much as they support its contrary."""
    return {i: s for i, s in support.items() if s >= contrary.get(i, 0.0)}


def coverage_by_judge(
    support: dict[int, float],
    threshold: float,
    passages: dict[int, Passage],
    originals: dict[int, int],
    same: Mapping[int, int] = MappingProxyType({}),
) -> Coverage:
    """The coverage by the passages that the judge puts at or above the threshold, copies counted once, and so those
    that say the `same` as another."""
    above = sorted((i for i, s in support.items() if s >= threshold and i in passages), key=lambda i: (-support[i], i))
    best: dict[int, int] = {}
    for i in above:
        best.setdefault(originals.get(i, i), i)
    copies = sum(first in best for first in originals.values()) - len(best)
    ids = _one_of_each(list(best.values()), same)
    strongest = max((support[i] for i in ids), default=0.0)
    return coverage_of(ids, passages, strongest=strongest, copies=copies, reworded=len(best) - len(ids))


def coverage_on_focus(
    coverage: Coverage, speaking: Collection[int], support: dict[int, float], passages: dict[int, Passage]
) -> Coverage:
    """The coverage by those of its passages that speak of what a follow-up asks about."""
    ids = [i for i in coverage["ids"] if i in speaking]
    return coverage_of(ids, passages, strongest=max((support.get(i, 0.0) for i in ids), default=0.0))


def coverage_by_reading(coverage: Coverage, reading: Reading) -> Coverage:
    """The coverage by what was read: the passages that hold words for the perspective's case, each text once.

    A passage that the judge took for the perspective as a whole, and that holds no such words, could not be shown and
    is not counted.
    """
    passages = {u.passage.id: u.passage for u in reading.units}
    originals = originals_of(passages)

    def holding(tier: NDArray[np.bool_]) -> dict[int, float]:
        """The passages that hold such words, and how sure the surest are; the surest passage of each text."""
        best: dict[int, tuple[float, int]] = {}
        for i in np.flatnonzero(tier):
            passage = reading.units[i].passage.id
            best[originals[passage]] = max(best.get(originals[passage], (-1.0, 0)), (float(reading.sure[i]), passage))
        return {passage: sure for sure, passage in sorted(best.values(), reverse=True)}

    case = holding(reading.case)
    known = {originals[i] for i in case}
    return coverage_of(
        list(case),
        passages,
        leaning=[i for i in holding(reading.leaning) if originals[i] not in known],
        strongest=max(case.values(), default=0.0),
        copies=coverage["copies"] if case else 0,
        reworded=coverage.get("reworded", 0) if case else 0,
    )


def with_cited(
    coverage: Coverage,
    case: Sequence[int],
    beside: Sequence[int],
    passages: dict[int, Passage],
    same: Mapping[int, int] = MappingProxyType({}),
) -> Coverage:
    """The coverage with the passages that the claims of a case cite counted too, and those that the claims `beside` it
    cite among the leaning ones; of passages that say the `same` one, a cited one where there is any.

    Without a claim the perspective is thin at best, since evidence that cannot be shown in a sentence makes no case;
    without one of its case it only leans.
    """
    counted = list(dict.fromkeys([*coverage["ids"], *case]))
    kept = _one_of_each([*case, *counted], same)
    ids = [i for i in counted if i in kept]
    known = {same.get(i, i) for i in ids}
    further = [i for i in (*coverage.get("leaning", []), *beside) if same.get(i, i) not in known]
    found = coverage_of(
        ids,
        passages,
        leaning=_one_of_each(further, same),
        strongest=coverage["strongest"],
        copies=coverage["copies"],
        reworded=max(coverage.get("reworded", 0), len(counted) - len(ids)),
    )
    if ids and not case:
        found["status"] = "thin"
    return found


def _one_of_each(ids: Sequence[int], same: Mapping[int, int]) -> list[int]:
    """The ids without those that say the `same` as an earlier one."""
    first: dict[int, int] = {}
    for i in ids:
        first.setdefault(same.get(i, i), i)
    return list(first.values())

"""What the agent is asked: the question as it is, and with one side's documents left out.

A side is left out without indexing anything twice: the documents lie in several collections, divided by which
questions leave them out, and a question is asked over all collections but its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from evals.datasets.cases import SIDES, Case, Side
from tools.passages import SourceDocument

PLAIN, MISSING = "plain", "missing"


@dataclass(frozen=True, slots=True)
class Ask:
    """One question to the agent. `left_out` is the side whose gold documents it goes without."""

    case: Case
    left_out: Side | None = None

    @property
    def variant(self) -> str:
        return MISSING if self.left_out else PLAIN

    @property
    def key(self) -> str:
        return f"{self.case.key} [{self.variant}]"


def plan(cases: Sequence[Case], missing: bool, seed: int) -> list[Ask]:
    """All that is asked, question by question.

    The sides that are left out alternate over the questions that have both, whatever the number of questions; where
    the question may be worded from either pole nobody knows which side would be missing.
    """
    asks: list[Ask] = []
    sided = 0
    for case in cases:
        asks.append(Ask(case))
        both = len(case.sides) == len(SIDES)
        if missing and both and not case.either_way:
            asks.append(Ask(case, SIDES[(sided + seed) % len(SIDES)]))
        sided += both
    return asks


@dataclass(frozen=True, slots=True)
class Shelf:
    """A collection of documents. `without`: the keys of the asks that go without it."""

    name: str
    documents: list[SourceDocument]
    without: frozenset[str]


def plan_shelves(documents: Sequence[SourceDocument], asks: Sequence[Ask]) -> list[Shelf]:
    """One collection for what every question may use, and one for each set of questions that go without."""
    without: dict[str, set[str]] = {}
    for ask in asks:
        for external_id in ask.case.gold[ask.left_out] if ask.left_out else ():
            without.setdefault(external_id, set()).add(ask.key)
    shelves: dict[frozenset[str], list[SourceDocument]] = {}
    for document in documents:
        shelves.setdefault(frozenset(without.get(document.external_id, ())), []).append(document)
    return [Shelf(f"shelf-{number}", held, keys) for number, (keys, held) in enumerate(shelves.items(), start=1)]

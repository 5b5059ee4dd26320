"""What the agent is asked: the question as it is, and with one side's documents left out.

A side is left out without indexing anything twice: the documents lie in several collections, divided by which
questions leave them out, and a question is asked over all collections but its own.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from evals.datasets.cases import SIDES, Case, Side
from tools.passages import SourceDocument

PLAIN, MISSING = "plain", "missing"


@dataclass(frozen=True, slots=True)
class Ask:
    """One question to the agent. `asked` are its words; `left_out` is the side whose gold documents it goes without."""

    case: Case
    variant: str
    asked: str
    left_out: Side | None = None

    @property
    def key(self) -> str:
        return f"{self.case.key} [{self.variant}]"

    @property
    def without(self) -> frozenset[str]:
        """The documents that it is asked without."""
        return self.case.gold[self.left_out] if self.left_out else frozenset()


def plan(cases: Sequence[Case], missing: bool, seed: int) -> list[Ask]:
    """All that is asked, question by question.

    The sides that are left out alternate over the questions that have both, whatever the number of questions; where
    the question may be worded from either pole nobody knows which side would be missing.
    """
    asks: list[Ask] = []
    sided = 0
    for case in cases:
        asks.append(Ask(case, PLAIN, case.question))
        if missing and len(case.sides) == len(SIDES) and not case.either_way:
            asks.append(Ask(case, MISSING, case.question, SIDES[(sided + seed) % len(SIDES)]))
        sided += len(case.sides) == len(SIDES)
    return asks


@dataclass(frozen=True, slots=True)
class Shelves:
    """The documents divided into collections. `questions` says which asks go without each of them, by key."""

    documents: dict[str, list[SourceDocument]]
    questions: dict[str, frozenset[str]]

    def open_to(self, ask: Ask) -> tuple[str, ...]:
        """The collections that the question is asked over."""
        return tuple(name for name in self.documents if ask.key not in self.questions[name])


def shelve(documents: Sequence[SourceDocument], asks: Sequence[Ask]) -> Shelves:
    """One collection for what every question may use, and one for each set of questions that go without."""
    without: dict[str, set[str]] = {}
    for ask in asks:
        for external_id in ask.without:
            without.setdefault(external_id, set()).add(ask.key)
    shelves: dict[frozenset[str], list[SourceDocument]] = {}
    for document in documents:
        shelves.setdefault(frozenset(without.get(document.external_id, ())), []).append(document)
    names = dict(zip(shelves, _names(), strict=False))
    return Shelves({names[k]: v for k, v in shelves.items()}, {names[k]: k for k in shelves})


def _names() -> Iterator[str]:
    number = 0
    while True:
        number += 1
        yield f"shelf-{number}"

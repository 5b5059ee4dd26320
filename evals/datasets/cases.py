"""Questions whose documents have known sides: the shipped sample documents, or a set of queries with its corpus."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from evals.datasets.retrieval import load_sets
from evals.datasets.rows import GOLD, json_rows, read_questions
from evals.suite import shuffled
from tools.errors import InputError
from tools.passages import SourceDocument

SIDES = ("supports", "opposes")
Gold = dict[str, frozenset[str]]
"""Ids of the gold documents of each side."""
SAMPLES_SET = "samples"
_DENIED_FIRST = frozenset(
    "Entertainment_27 living_14 living_41 living_56 living_64 living_74 sports_7 sports_9 politics_20 "
    "businessandtechnology_1".split()
)
"""Questions of the set theperspective (numbered sides) whose side 1 says no. A person read both statements."""


@dataclass(frozen=True, slots=True)
class Case:
    """A question with the gold documents of its two sides."""

    key: str
    question: str
    gold: Gold

    @property
    def sides(self) -> tuple[str, ...]:
        """Returns the sides with gold documents."""
        return tuple(side for side in SIDES if self.gold[side])


@dataclass(frozen=True, slots=True)
class CaseSet:
    """Questions and their documents. unsided: the number of questions excluded because their sides are unknown."""

    name: str
    cases: list[Case]
    documents: list[SourceDocument]
    unsided: int = 0

    def drawn(self, limit: int | None, seed: int) -> list[Case]:
        """Returns the first cases of a seeded random order. Without a limit, returns all cases."""
        return shuffled(self.cases, len(self.cases) if limit is None else limit, seed)


def load_cases(folder: Path | None, name: str) -> CaseSet:
    """Loads the samples, a file of questions about the samples, or a set in the folder. Leaves out a set's questions
    whose perspectives have no known side. Raises InputError with file, line and field."""
    if folder and (name == SAMPLES_SET or name.endswith(".jsonl")):
        raise InputError(f"'{name}' is asked over the samples. Leave out --data, or name a set of it as --set.")
    if name == SAMPLES_SET:
        return load_samples()
    if name.endswith(".jsonl"):
        cases = [Case(str(number), text, _gold()) for number, text in enumerate(read_questions(Path(name)), start=1)]
        return CaseSet(Path(name).stem, cases, load_samples().documents)
    if folder is None:
        raise InputError(f"the set '{name}' needs --data, its folder.")
    found = load_sets(folder, [name])[0]
    cases = [
        Case(q.qid, q.question, _gold([(p.stance, p.gold) for p in q.perspectives], q.qid in _DENIED_FIRST))
        for q in found.questions
        if all(p.stance for p in q.perspectives)
    ]
    if not cases:
        raise InputError(f"the set '{name}' has no question with known sides of its perspectives.")
    return CaseSet(name, cases, found.corpus, len(found.questions) - len(cases))


def _gold(known: Sequence[tuple[str, Iterable[str]]] = (), turned: bool = False) -> Gold:
    """Returns the documents for and the documents against. known: pairs of a side and its documents; sides other than
    for and against have no effect. turned: exchange the two sides."""
    named = zip(SIDES, reversed(SIDES) if turned else SIDES, strict=True)
    return {side: frozenset(i for found, ids in known if found == name for i in ids) for side, name in named}


def load_samples() -> CaseSet:
    """Loads the sample questions with the side of each passage."""
    from agent.samples import sample_documents

    documents, cases, unsided = sample_documents(), [], 0
    for file in sorted((GOLD / "samples").glob("*.jsonl")):
        rows = [row.values for row in json_rows(file)]
        case = Case(file.stem, rows[0]["question"], _gold([(row["stance"], [row["path"]]) for row in rows]))
        cases += [case] if case.sides else []
        unsided += not case.sides
    return CaseSet(SAMPLES_SET, cases, documents, unsided)

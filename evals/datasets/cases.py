"""Questions whose documents have known sides: the samples, in other words too, or a set of queries with its corpus."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from evals.datasets.retrieval import GoldQuestion, load_sets
from evals.datasets.rows import Row, json_rows
from evals.suite import GOLD
from tools.errors import InputError
from tools.passages import SourceDocument

Side = Literal["supports", "opposes"]
SIDES: tuple[Side, Side] = ("supports", "opposes")
Gold = dict[Side, frozenset[str]]
"""The ids of the documents that are gold for each side."""
SAMPLES_SET = "samples"
_WORDINGS_GOLD = GOLD / "wordings.jsonl"
_ELSEWHERE_GOLD = GOLD / "elsewhere.jsonl"
_LINES = ".jsonl"
_WORDINGS, _ELSEWHERE = "wordings-", "elsewhere-"
"""Before the name of a part: the samples' questions as others would ask them, and questions that they do not answer."""


@dataclass(frozen=True, slots=True)
class Case:
    """A question with the documents that are gold for each of its two sides."""

    key: str
    question: str
    gold: Gold
    either_way: bool = False
    """Whether the question may be worded from the other pole, so that what is for it may be what `gold` has against."""

    @property
    def sides(self) -> tuple[Side, ...]:
        """The sides that have gold documents."""
        return tuple(side for side in SIDES if self.gold[side])


@dataclass(frozen=True, slots=True)
class CaseSet:
    """Questions and the collection to ask over. `unsided`: questions left out, since their sides are not known."""

    name: str
    cases: list[Case]
    documents: list[SourceDocument]
    unsided: int = 0

    def shuffled(self, seed: int) -> list[Case]:
        """The cases in a seeded random order."""
        order = list(self.cases)
        random.Random(seed).shuffle(order)
        return order


def load_cases(folder: Path | None, name: str) -> CaseSet:
    """The samples, their questions in other words, a file of questions, or the set of that name in the folder. Raises
    InputError."""
    if name == SAMPLES_SET:
        return load_samples()
    if name.startswith(_WORDINGS):
        return load_wordings(name.removeprefix(_WORDINGS))
    if name.startswith(_ELSEWHERE):
        return load_elsewhere(name.removeprefix(_ELSEWHERE))
    if name.endswith(_LINES):
        return load_lines(Path(name))
    if folder is None:
        raise InputError(f"where is the set '{name}'? Give its folder as --data.")
    return load_set(folder, name)


def load_samples() -> CaseSet:
    """The sample questions with the sides that their writers gave each passage."""
    from agent.samples import sample_documents

    documents, cases, unsided = sample_documents(), [], 0
    known = {d.external_id for d in documents}
    for file in sorted((GOLD / "samples").glob("*.jsonl")):
        question, gold = "", {side: set[str]() for side in SIDES}
        for row in json_rows(file):
            question = row.text("question")
            if row.text("path") not in known:
                raise row.wrong(f"'path' names '{row.text('path')}', which is no sample.")
            if (side := _side(row)) is not None:
                gold[side].add(row.text("path"))
        if any(gold.values()):
            cases.append(Case(file.stem, question, {side: frozenset(ids) for side, ids in gold.items()}))
        else:
            unsided += 1
    return CaseSet(SAMPLES_SET, cases, documents, unsided)


def is_own(name: str) -> bool:
    """Whether a set of that name comes with the project."""
    return name == SAMPLES_SET or name.startswith((_WORDINGS, _ELSEWHERE)) or name.endswith(_LINES)


def refuse_either_way(chosen: CaseSet) -> None:
    """Raises InputError for a set of which it is not known which of a question's sides its documents are on."""
    if any(case.either_way for case in chosen.cases):
        raise InputError(
            f"the questions of '{chosen.name}' may be worded from either pole, so that nobody knows which side a "
            f"document is on. Take '{SAMPLES_SET}', or a set with --data."
        )


def load_wordings(part: str) -> CaseSet:
    """The samples' questions as people who had not read the samples worded them: aspects, claims, careless typing, the
    question from the other pole. Raises InputError where there is no such part."""
    samples = load_samples()
    gold = {case.key: case.gold for case in samples.cases}
    return _part(f"{_WORDINGS}{part}", _WORDINGS_GOLD, samples.documents, gold.get, either_way=True)


def load_elsewhere(part: str) -> CaseSet:
    """Questions on topics that the samples know nothing of, a third of them in the samples' words, asked over the
    samples: nothing found is right. Raises InputError where there is no such part."""
    nothing: Gold = {side: frozenset() for side in SIDES}
    return _part(f"{_ELSEWHERE}{part}", _ELSEWHERE_GOLD, load_samples().documents, lambda _: nothing)


def load_lines(file: Path) -> CaseSet:
    """Questions of a file, {"question": …} a line, asked over the samples; which documents answer them is not known.
    Raises InputError with file, line and field."""
    nothing: Gold = {side: frozenset() for side in SIDES}
    cases = [Case(str(number), row.text("question"), nothing) for number, row in enumerate(json_rows(file), start=1)]
    return CaseSet(file.stem, cases, load_samples().documents)


def _part(
    name: str,
    file: Path,
    documents: list[SourceDocument],
    gold_of: Callable[[str], Gold | None],
    either_way: bool = False,
) -> CaseSet:
    """The rows of a part of a gold file whose topics have gold. Raises InputError where there is no such part."""
    kind, part = name.split("-", 1)
    rows = [(number, row, gold_of(row.text("topic"))) for number, row in enumerate(json_rows(file), start=1)]
    cases = [
        Case(f"{row.text('topic')} {number}", row.text("question"), gold, either_way)
        for number, row, gold in rows
        if row.text("half") == part and gold is not None
    ]
    if not cases:
        parts = sorted({f"{kind}-{row.text('half')}" for _, row, _ in rows})
        raise InputError(f"there is no set '{name}'. There are {', '.join(parts)}.")
    return CaseSet(name, cases, documents)


def load_set(folder: Path, name: str) -> CaseSet:
    """The questions of a set of `evals.datasets.retrieval` of which every perspective is on a known side. Raises
    InputError with file, line and field for what is wrong with the files."""
    found = load_sets(folder, [name])[0]
    cases = [case for question in found.questions if (case := _case(question)) is not None]
    if not cases:
        raise InputError(f"the set '{name}' has no question whose perspectives say which side they are on.")
    return CaseSet(name, cases, found.corpus, len(found.questions) - len(cases))


def _case(question: GoldQuestion) -> Case | None:
    gold = {side: set[str]() for side in SIDES}
    for perspective in question.perspectives:
        if not perspective.stance:
            return None
        gold[perspective.stance] |= perspective.gold
    return Case(question.qid, question.question, {side: frozenset(ids) for side, ids in gold.items()})


def _side(row: Row) -> Side | None:
    """None for a third one. Raises InputError."""
    stance = row.text("stance")
    if stance not in (*SIDES, "other"):
        raise row.wrong(f"'stance' is '{stance}', which has to be one of {', '.join(SIDES)}, other.")
    return next((side for side in SIDES if side == stance), None)

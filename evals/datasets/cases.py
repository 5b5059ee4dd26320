"""Questions whose documents have known sides: the samples, in other words too, or a set of queries with its corpus."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from evals.datasets.retrieval import load_sets
from evals.datasets.rows import GOLD, json_rows, read_questions
from evals.suite import shuffled
from tools.errors import InputError
from tools.passages import SourceDocument

Side = Literal["supports", "opposes"]
SIDES: tuple[Side, Side] = ("supports", "opposes")
Gold = dict[Side, frozenset[str]]
"""The ids of the documents that are gold for each side."""
SAMPLES_SET = "samples"
_WORDINGS, _ELSEWHERE = "wordings-", "elsewhere-"
"""Before the name of a part: the samples' questions as others would ask them, and questions that they do not answer."""

_DENIED_FIRST = frozenset(
    "Entertainment_27 living_14 living_41 living_56 living_64 living_74 sports_7 sports_9 politics_20 "
    "businessandtechnology_1".split()
)
"""Questions of theperspective, which numbers its sides, whose side 1 says no: found by reading the two statements."""


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

    def drawn(self, limit: int | None, seed: int) -> list[Case]:
        """The first so many cases of a seeded random order, which all of them come in too."""
        return shuffled(self.cases, len(self.cases) if limit is None else limit, seed)


def load_cases(folder: Path | None, name: str) -> CaseSet:
    """The samples, their questions in other words, a file of questions, or of the set of that name in the folder the
    questions of which every perspective is on a known side. Raises InputError, with file, line and field for what is
    wrong with the files."""
    if name == SAMPLES_SET:
        return load_samples()
    if name.startswith((_WORDINGS, _ELSEWHERE)):
        return _part(name)
    if name.endswith(".jsonl"):
        cases = [Case(str(number), text, _gold()) for number, text in enumerate(read_questions(Path(name)), start=1)]
        return CaseSet(Path(name).stem, cases, load_samples().documents)
    if folder is None:
        raise InputError(f"where is the set '{name}'? Give its folder as --data.")
    found = load_sets(folder, [name])[0]
    cases = [
        Case(q.qid, q.question, _turned(gold) if q.qid in _DENIED_FIRST else gold)
        for q in found.questions
        if all(p.stance for p in q.perspectives) and (gold := _gold((p.stance, p.gold) for p in q.perspectives))
    ]
    if not cases:
        raise InputError(f"the set '{name}' has no question whose perspectives say which side they are on.")
    return CaseSet(name, cases, found.corpus, len(found.questions) - len(cases))


def _gold(known: Iterable[tuple[str, Iterable[str]]] = ()) -> Gold:
    """The documents of each side, of pairs of a side and documents; those of other sides are left out."""
    pairs = list(known)
    return {side: frozenset(i for found, ids in pairs if found == side for i in ids) for side in SIDES}


def _turned(gold: Gold) -> Gold:
    return {"supports": gold["opposes"], "opposes": gold["supports"]}


def load_samples() -> CaseSet:
    """The sample questions with the sides that their writers gave each passage."""
    from agent.samples import sample_documents

    documents, cases, unsided = sample_documents(), [], 0
    known = {d.external_id for d in documents}
    for file in sorted((GOLD / "samples").glob("*.jsonl")):
        question, sided = "", []
        for row in json_rows(file):
            question, stance, path = row.text("question"), row.text("stance"), row.text("path")
            if path not in known:
                raise row.wrong(f"'path' names '{path}', which is no sample.")
            if stance not in (*SIDES, "other"):
                raise row.wrong(f"'stance' is '{stance}', which has to be one of {', '.join(SIDES)}, other.")
            sided.append((stance, [path]))
        case = Case(file.stem, question, _gold(sided))
        cases += [case] if case.sides else []
        unsided += not case.sides
    return CaseSet(SAMPLES_SET, cases, documents, unsided)


def is_own(name: str) -> bool:
    """Whether a set of that name comes with the project."""
    return name == SAMPLES_SET or name.startswith((_WORDINGS, _ELSEWHERE)) or name.endswith(".jsonl")


def _part(name: str) -> CaseSet:
    """A part of the questions that are asked over the samples. Raises InputError where there is no such part.

    Wordings: the samples' questions as people who had not read the samples worded them: aspects, claims, careless
    typing, the question from the other pole; only topics with gold. Elsewhere: questions on topics that the samples
    know nothing of, a third of them in the samples' words; nothing found is right.
    """
    kind, part = name.split("-", 1)
    samples, reworded = load_samples(), name.startswith(_WORDINGS)
    gold = {case.key: case.gold for case in samples.cases}
    rows = list(enumerate(json_rows(GOLD / f"{kind}.jsonl"), start=1))
    cases = [
        Case(f"{row.text('topic')} {number}", row.text("question"), gold.get(row.text("topic"), _gold()), reworded)
        for number, row in rows
        if row.text("half") == part and (not reworded or row.text("topic") in gold)
    ]
    if not cases:
        parts = sorted({f"{kind}-{row.text('half')}" for _, row in rows})
        raise InputError(f"there is no set '{name}'. There are {', '.join(parts)}.")
    return CaseSet(name, cases, samples.documents)

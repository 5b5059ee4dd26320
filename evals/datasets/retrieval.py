"""Reads questions with perspectives, and a corpus with gold passages for each perspective.

A folder has either `queries.jsonl` and `corpus.jsonl[.gz]`, or several sets. The set NAME has `NAME.queries.jsonl` and
`CORPUS.corpus.jsonl[.gz]`: CORPUS is NAME up to the first '_'.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from evals.datasets.rows import Loose, Shape, Text, digest, json_rows
from tools.errors import InputError
from tools.passages import SourceDocument

Stance = Literal["supports", "opposes", ""]

STANCES: dict[str, Stance] = {
    **dict.fromkeys("pro support supports supporting for yes 1".split(), "supports"),
    **dict.fromkeys("con undermine undermines oppose opposes opposing against no 2 0 -1".split(), "opposes"),
}
"""In a set with numbered sides, side 1 affirms the question."""


@dataclass(frozen=True, slots=True)
class GoldPerspective:
    """A perspective with the ids of its supporting passages. side: `stance` or `side` in the file, or empty."""

    statement: Text
    gold: Annotated[frozenset[Loose], Field(min_length=1)]
    side: Loose = ""
    other: Annotated[Loose, Field(validation_alias="stance")] = ""

    @property
    def stance(self) -> Stance:
        """Returns the meaning of the side, or an empty text if the meaning is unknown."""
        return STANCES.get((self.side or self.other).casefold(), "")


@dataclass(frozen=True, slots=True)
class GoldQuestion:
    """A question with one or more perspectives."""

    qid: Text
    question: Text
    perspectives: Annotated[tuple[GoldPerspective, ...], Field(min_length=1)]

    @property
    def sides(self) -> tuple[GoldPerspective, GoldPerspective] | None:
        """Returns the supporting and the opposing perspective, or None if the question has no such pair. If the file
        names no sides, the first perspective supports, as in BERDS."""
        if len(self.perspectives) != 2:
            return None
        first, second = self.perspectives
        if (first.stance, second.stance) in (("supports", "opposes"), ("", "")):
            return first, second
        return (second, first) if (first.stance, second.stance) == ("opposes", "supports") else None


@dataclass(frozen=True, slots=True)
class RetrievalSet:
    """Questions and their corpus. Sets of the same corpus share the passages if one call loads them."""

    name: str
    questions: list[GoldQuestion]
    corpus: list[SourceDocument]
    digests: dict[str, str]


def load_sets(folder: Path, names: Sequence[str] = ()) -> list[RetrievalSet]:
    """Loads the sets of these names. A folder with one `queries.jsonl` needs no name. Raises InputError with file, line
    and field, for example for duplicate ids, duplicate questions and unknown gold ids."""
    corpora: dict[Path, list[SourceDocument]] = {}
    sets = []
    for name, queries, corpus in _files(folder, names):
        if corpus not in corpora:
            corpora[corpus] = read_corpus(corpus)
        questions = _read_questions(queries, corpora[corpus], corpus)
        digests = {part: digest(path) for part, path in (("queries", queries), ("corpus", corpus))}
        sets.append(RetrievalSet(name, questions, corpora[corpus], digests))
    return sets


def _files(folder: Path, names: Sequence[str]) -> list[tuple[str, Path, Path]]:
    """Returns (name, queries, corpus) for each set."""
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder. Name the folder with the queries and the corpus.")
    paths = {p.name.removesuffix(".queries.jsonl"): p for p in sorted(folder.glob("?*.queries.jsonl"))}
    corpora = {name: f"{name.split('_')[0]}.corpus.jsonl" for name in paths}
    if (alone := folder / "queries.jsonl").exists() and (own := folder.resolve().name) not in paths:
        paths[own], corpora[own], names = alone, "corpus.jsonl", names or [own]
    there = f"It has: {', '.join(paths)}." if paths else "It has neither `queries.jsonl` nor `NAME.queries.jsonl`."
    if not names:
        raise InputError(f"{folder} needs the name of a set. {there}")
    if unknown := [n for n in names if n not in paths]:
        raise InputError(f"{folder} has no '{unknown[0]}.queries.jsonl'. {there}")
    return [(n, paths[n], _corpus(folder, corpora[n])) for n in dict.fromkeys(names)]


def _corpus(folder: Path, name: str) -> Path:
    found = [p for p in (folder / name, folder / f"{name}.gz") if p.exists()]
    if not found:
        raise InputError(f"{folder} has no '{name}', with or without '.gz', for the queries.")
    return found[0]


class _Passage(Shape):
    id: Text
    text: Text
    title: str = ""


def read_corpus(path: Path) -> list[SourceDocument]:
    """Reads the passages of a file. Raises InputError with file, line and field, for example for duplicate ids."""
    corpus, seen = list[SourceDocument](), dict[str, int]()
    for row in json_rows(path):
        found = row.read(_Passage)
        row.once("id", found.id, seen)
        corpus.append(SourceDocument(found.id, found.text, title=found.title))
    if not corpus:
        raise InputError(f"{path} has no passages.")
    return corpus


def _read_questions(path: Path, corpus: Sequence[SourceDocument], corpus_path: Path) -> list[GoldQuestion]:
    known = {passage.external_id for passage in corpus}
    questions, qids, asked = list[GoldQuestion](), dict[str, int](), dict[str, int]()
    for row in json_rows(path):
        found = row.read(GoldQuestion)
        row.once("qid", found.qid, qids)
        row.once("question", found.question, asked)
        if missing := [i for view in found.perspectives for i in sorted(view.gold) if i not in known]:
            raise row.wrong(f"'gold' has '{missing[0]}', which is not in {corpus_path.name}.")
        questions.append(found)
    if not questions:
        raise InputError(f"{path} has no questions.")
    return questions

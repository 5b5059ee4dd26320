"""Reads labelled pairs of passage and perspective from the published tsv or jsonl."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator

from evals.datasets.rows import Text, json_rows, tsv_rows
from tools.errors import InputError
from tools.language.question import ANSWERS, same_polarity

_COLUMNS = ["question", "id", "document", "perspective", "label"]  # of the published file, by position
_LABELS = {**dict.fromkeys(("1", "support"), True), **dict.fromkeys(("0", "oppose", "none"), False)}


def _label(said: object) -> bool:
    if (label := _LABELS.get(str(said).strip().casefold())) is None:
        raise ValueError(f"it is {said!r}; use 1 or 0, or support, oppose or none")
    return label


@dataclass(frozen=True, slots=True)
class LabelledPair:
    """A document and a perspective. label: whether people say that the document supports the perspective. line: the
    pair's place in the file."""

    line: int
    question: Text
    document: Text
    perspective: Text
    label: Annotated[bool, BeforeValidator(_label)]

    @property
    def side(self) -> tuple[str, str]:
        return self.question, self.perspective


def load_pairs(path: Path) -> list[LabelledPair]:
    """Reads the pairs of a file in order, plain or `.gz`. Columns of `.tsv` have fixed positions; fields of `.jsonl`
    have names. Raises InputError with file, line and field."""
    name = path.name.removesuffix(".gz")
    if name.endswith(".tsv"):
        rows = enumerate(tsv_rows(path, _COLUMNS))
        found = [row for index, row in rows if index or row.values["question"] != "question"]
    elif name.endswith(".jsonl"):
        found = list(json_rows(path))
    else:
        raise InputError(f"{path} is not a file of pairs: use a .tsv or .jsonl.")
    if not found:
        raise InputError(f"{path} has no pairs.")
    return [row.read(LabelledPair, line=row.number) for row in found]


def contraries(sides: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Maps (question, perspective) to the opposing perspective, for questions with exactly two perspectives."""
    found: dict[str, dict[str, None]] = {}
    for question, perspective in sides:
        found.setdefault(question, {})[perspective] = None
    two = {question: list(texts) for question, texts in found.items() if len(texts) == 2}
    return {(question, texts[i]): texts[1 - i] for question, texts in two.items() for i in (0, 1)}


def answering(pairs: Sequence[LabelledPair]) -> list[LabelledPair]:
    """Replaces each perspective by the question with its answer word ('Yes: …?', 'No: …?'). Only questions with two
    opposing perspectives stay."""
    other = contraries(p.side for p in pairs)
    known = [p for p in pairs if p.side in other and not same_polarity(p.perspective, other[p.side])]
    words = (ANSWERS["polar"][0 if same_polarity(p.perspective, p.question) else 1] for p in known)
    return [replace(p, perspective=f"{word}: {p.question}") for p, word in zip(known, words, strict=True)]

"""Rows of theses, stances and evidence, with what people said of each."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from evals.datasets.rows import Row, Shape, Text, json_rows
from evals.models import question_of
from tools.errors import InputError
from tools.language.question import ANSWERS
from tools.language.sentences import split_sentences

Side = Literal["support", "oppose"]
SIDES: tuple[Side, ...] = ("support", "oppose")
LABELS: dict[str, Side] = {
    **dict.fromkeys(("support", "supports", "for", "pro", "1"), "support"),
    **dict.fromkeys(("oppose", "opposes", "undermine", "undermines", "against", "con", "0", "-1"), "oppose"),
}


@dataclass(frozen=True, slots=True)
class Item:
    """A row of a file. `group`: its question or claim, by which intervals are drawn. `sides`: the claim and its
    contrary, or nothing for an open question. `texts`: the document's sentences, or the one text. What people said is
    `gold`, or `score` for evidence."""

    key: str
    group: str
    sides: tuple[str, ...]
    texts: tuple[str, ...]
    gold: str = ""
    score: float = math.nan

    @property
    def stance(self) -> Side:
        """The gold one of a text."""
        return LABELS[self.gold]


def read_items(part: str, path: Path) -> list[Item]:
    """The items of a part's file in order. Raises InputError with file, line and field, and for a file without rows."""
    found = [row.read(READERS[part]).item(row) for row in json_rows(path)]
    if not found:
        raise InputError(f"{path} holds no rows. Take it out, or add some.")
    return found


def _sides(text: str, kind: str = "") -> tuple[str, ...]:
    """The two words that answer a text of that kind, each with it; nothing where it asks for anything else."""
    words = ANSWERS.get(kind or question_of(text).kind, ())
    return tuple(f"{word}: {text}" for word in words)


class _Thesis(Shape):
    question: Text
    document: Text
    thesis: Text

    def item(self, row: Row) -> Item:
        if not (sentences := tuple(split_sentences(self.document))):
            raise row.wrong("'document' holds no sentence.")
        return Item(f"theses {row.number}", self.question, _sides(self.question), sentences, gold=self.thesis)


class _Stanced(Shape):
    claim: Text
    text: Text
    label: Text

    def item(self, row: Row) -> Item:
        if (label := LABELS.get(self.label.strip().casefold())) is None:
            raise row.wrong(f"'label' is {self.label!r}; support or oppose is needed. Leave out what takes no stance.")
        return Item(f"stances {row.number}", self.claim, _sides(self.claim, "claim"), (self.text,), gold=label)


class _Evidence(Shape):
    claim: str = ""
    question: str = ""
    sentence: Text
    score: Annotated[float, Field(strict=True, ge=0, le=1)]

    def item(self, row: Row) -> Item:
        sides = _sides(self.claim, "claim") if self.claim else _sides(self.question)
        if not sides:
            raise row.wrong("a 'claim' is needed, or a 'question' that a sentence may be for or against.")
        key, group = f"evidence {row.number}", self.claim or self.question
        return Item(key, group, sides, (self.sentence,), score=self.score)


_Reader = type[_Thesis] | type[_Stanced] | type[_Evidence]
READERS: dict[str, _Reader] = {"theses": _Thesis, "stances": _Stanced, "evidence": _Evidence}

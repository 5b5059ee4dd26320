"""Rows of theses, stances and evidence, with what people said of each."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from evals.datasets.rows import Row, Shape, Text, json_rows
from tools.errors import InputError
from tools.language.question import ANSWERS, read_question
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
    found = [READERS[part](row) for row in json_rows(path)]
    if not found:
        raise InputError(f"{path} holds no rows. Take it out, or add some.")
    return found


class _Thesis(Shape):
    question: Text
    document: Text
    thesis: Text


class _Stanced(Shape):
    claim: Text
    text: Text
    label: Text


class _Evidence(Shape):
    claim: str = ""
    question: str = ""
    sentence: Text
    score: Annotated[float, Field(strict=True, ge=0, le=1)]


def _thesis_item(row: Row) -> Item:
    read = row.read(_Thesis)
    if not (sentences := tuple(split_sentences(read.document))):
        raise row.wrong("'document' holds no sentence.")
    return Item(f"theses {row.number}", read.question, _sides(read.question), sentences, gold=read.thesis)


def _sides(text: str, kind: str = "") -> tuple[str, ...]:
    """The two words that answer a text of that kind, each with it; nothing where it asks for anything else."""
    words = ANSWERS.get(kind or read_question(text).kind, ())
    return tuple(f"{word}: {text}" for word in words)


def _stance_item(row: Row) -> Item:
    read = row.read(_Stanced)
    if (label := LABELS.get(read.label.strip().casefold())) is None:
        raise row.wrong(f"'label' is {read.label!r}; support or oppose is needed. Leave texts without a stance out.")
    return Item(f"stances {row.number}", read.claim, _sides(read.claim, "claim"), (read.text,), gold=label)


def _evidence_item(row: Row) -> Item:
    read = row.read(_Evidence)
    sides = _sides(read.claim, "claim") if read.claim else _sides(read.question)
    if not sides:
        raise row.wrong("a 'claim' is needed, or a 'question' that a sentence may be for or against.")
    return Item(f"evidence {row.number}", read.claim or read.question, sides, (read.sentence,), score=read.score)


READERS: dict[str, Callable[[Row], Item]] = {
    "theses": _thesis_item,
    "stances": _stance_item,
    "evidence": _evidence_item,
}

"""Reads questions with their perspectives, such as BERDS'.

A line has `question` and `perspectives`. A line may have `expansions` (a model's perspectives for query expansion) and
`ctxs` (a ranking).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, Field

from evals.datasets.rows import Loose, Shape, Text, json_rows
from tools.errors import InputError

_ENDINGS = re.compile(r"(\.(dev|test|train|mistralpred|gpt4pred|jsonl|gz))+$")


class Context(Shape):
    """A passage of a ranking. An empty place in the ranking has no text."""

    text: str
    title: str = ""
    id: Loose = ""


def _text_of(expansion: object) -> object:
    """Returns the text of a model's perspective. The perspective's name is not part of the query."""
    if not isinstance(expansion, dict) or "text" not in expansion:
        raise ValueError("'text' is required")
    return expansion["text"]


@dataclass(frozen=True, slots=True)
class GoldRow:
    """A question with its gold perspectives. source: the file's name without its ending. number: the line."""

    source: str
    question: Text
    gold: Annotated[tuple[Text, ...], Field(min_length=1, validation_alias="perspectives")]
    number: int
    expansions: tuple[Annotated[Text, BeforeValidator(_text_of)], ...] = ()
    ctxs: tuple[Context, ...] | None = None

    @property
    def key(self) -> str:
        return f"{self.source} line {self.number}"


def load_perspectives(paths: Sequence[Path]) -> dict[str, list[GoldRow]]:
    """Loads the sets by name. Raises InputError."""
    sets: dict[str, list[GoldRow]] = {}
    for path in paths:
        if (name := _ENDINGS.sub("", path.name)) in sets:
            raise InputError(f"two sets are called '{name}'. Rename a file, or measure them separately.")
        asked = dict[str, int]()
        sets[name] = []
        for row in json_rows(path):
            sets[name].append(row.read(GoldRow, source=name, number=row.number))
            row.once("question", sets[name][-1].question, asked)
        if not sets[name]:
            raise InputError(f"{path} has no questions. Add some, or remove it.")
    return sets

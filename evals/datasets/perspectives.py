"""Questions with their perspectives, such as BERDS': from files, or from the Hugging Face hub.

A line holds `question` and `perspectives`, and may hold `expansions`, perspectives that a model found, by which queries
are widened; and `ctxs`, a ranking that somebody made, with the verdicts on it in `mistral-preds` as BERDS' evaluator
writes them.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import AliasChoices, Field

from evals.datasets.rows import Loose, Row, Shape, Text, json_rows
from tools.errors import InputError, SettingsError

_HUB = "hub:"
_ENDINGS = re.compile(r"(\.(dev|test|train|mistralpred|gpt4pred|jsonl|gz))+$")


class Expansion(Shape):
    """A perspective that a model found; its name is no part of a query."""

    text: Text


class Context(Shape):
    """A passage of a ranking; a place without text is empty. verdicts: whether it supports each perspective, where
    that is known."""

    text: str
    title: str = ""
    id: Loose = ""
    verdicts: tuple[bool, ...] | None = Field(None, validation_alias=AliasChoices("mistral-preds", "gpt4-preds"))


class _Row(Shape):
    question: Text
    perspectives: Annotated[list[Text], Field(min_length=1)]
    expansions: tuple[Expansion, ...] = ()
    ctxs: tuple[Context, ...] | None = None


@dataclass(frozen=True, slots=True)
class GoldRow:
    """A question with its gold perspectives, from line `number` of the file that `source` begins the name of."""

    source: str
    question: str
    gold: tuple[str, ...]
    number: int
    expansions: tuple[str, ...] = ()
    ctxs: tuple[Context, ...] | None = None

    @property
    def key(self) -> str:
        return f"{self.source} line {self.number}"


def load_perspectives(places: Sequence[str], split: str = "test") -> dict[str, list[GoldRow]]:
    """The sets, by name, of files, of folders, and of the hub where a place begins with 'hub:', of that split.

    Raises InputError for what cannot be read or holds no questions, SettingsError where the hub's library is missing.
    """
    sets: dict[str, list[GoldRow]] = {}
    for place in places:
        for path, rows in _hub(place, split) if place.startswith(_HUB) else _local(Path(place)):
            if (name := _ENDINGS.sub("", path.name)) in sets:
                raise InputError(f"two sets are called '{name}'. Rename a file, or measure them apart.")
            sets[name] = list(_rows(name, rows))
            if not sets[name]:
                raise InputError(f"{path} holds no questions. Add some, or take it out.")
    return sets


def _local(path: Path) -> list[tuple[Path, Iterable[Row]]]:
    """A file; or of a folder every `*.dev.jsonl`, or every `*.jsonl` where there is none."""
    files = sorted(path.glob("*.dev.jsonl")) or sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
    if not files:
        raise InputError(f"{path} has no *.jsonl with `question` and `perspectives`. Give another --data.")
    return [(file, json_rows(file)) for file in files]


def _hub(place: str, split: str) -> list[tuple[Path, Iterable[Row]]]:
    """One data set, by the library `datasets`, which also reads a folder, and keeps what it has fetched."""
    try:
        import datasets
    except ImportError as exc:
        raise SettingsError(f"{place} needs the library 'datasets' ({exc}). Install it: `make evals`.") from exc
    try:
        found = datasets.load_dataset(place.removeprefix(_HUB), split=split)
    except (OSError, ValueError, datasets.exceptions.DatasetsError) as exc:
        said = " ".join(str(exc).split())[:200].rstrip(".")
        how = "Check the name, --split and the network, or give a file."
        raise InputError(f"{place} cannot be loaded ({said}). {how}") from exc
    return [(Path(place), (Row(Path(place), number, dict(row)) for number, row in enumerate(found, start=1)))]


def _rows(source: str, rows: Iterable[Row]) -> Iterator[GoldRow]:
    asked: dict[str, int] = {}
    for row in rows:
        read = row.read(_Row)
        row.once("question", read.question, asked)
        if any(len(c.verdicts) != len(read.perspectives) for c in read.ctxs or () if c.verdicts is not None):
            raise row.wrong("'ctxs': a passage has not one verdict for each of the 'perspectives'.")
        expansions = tuple(e.text for e in read.expansions)
        yield GoldRow(source, read.question, tuple(read.perspectives), row.number, expansions, read.ctxs)

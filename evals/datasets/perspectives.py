"""Questions with their gold perspectives, such as BERDS'."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field

from evals.datasets.rows import Shape, Text, json_rows


class _Row(Shape):
    question: Text
    perspectives: Annotated[list[Text], Field(min_length=1)]


@dataclass(frozen=True, slots=True)
class GoldRow:
    """A question with its gold perspectives, from line `number` of the file that `source` begins the name of."""

    source: str
    question: str
    gold: tuple[str, ...]
    number: int

    @property
    def key(self) -> str:
        return f"{self.source} line {self.number}"


def read_rows(folder: Path) -> Iterator[GoldRow]:
    """Rows with two perspectives or more; from `*.dev.jsonl`, or from every `*.jsonl`
    where there is none. Raises InputError with file, line and field."""
    for path in sorted(folder.glob("*.dev.jsonl")) or sorted(folder.glob("*.jsonl")):
        for row in json_rows(path):
            read = row.read(_Row)
            if len(read.perspectives) >= 2:
                yield GoldRow(path.name.split(".")[0], read.question, tuple(read.perspectives), row.number)

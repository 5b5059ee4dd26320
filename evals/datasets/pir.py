"""Reads the PIR data: root queries, queries that add a perspective, and their gold passages.

A file is one JSON object, plain or .gz, which maps a task's name to the task. A task has the passages `corpus`, and the
lists `source_queries` (roots), `queries` (root with perspective), `perspectives` and `query_labels` (stance, ideology),
all in the same order. `key_ref` maps a query's number (from 0, as text) to the positions of gold passages. The loader
ignores other fields.

p-Recall (PIR, §2.3) is defined over sets, so the loader merges duplicates. Lines with equal root, query and perspective
become one perspective with the gold of all lines. Copies of a text become one passage.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field, StrictInt, model_validator

from evals.datasets.rows import Text, read_json, whole_text
from tools.errors import InputError
from tools.passages import SourceDocument


@dataclass(frozen=True, slots=True)
class RootPerspective:
    """A query that adds a perspective to a root query. text: the perspective without the root; empty if the file has no
    perspective, or repeats the query as the perspective (AmbigQA). gold: distinct positions in the corpus, ascending.
    label: from `query_labels`."""

    query: str
    text: str
    gold: tuple[int, ...]
    label: str = ""


@dataclass(frozen=True, slots=True)
class Root:
    """A query without perspectives. key: the number of its first query in the file."""

    key: str
    text: str
    perspectives: tuple[RootPerspective, ...]


@dataclass(frozen=True, slots=True)
class PirTask:
    """Root queries over one corpus. texts: all queries, once, in file order; excluded roots are included, so that a
    sample has the same texts to encode as the whole task. alone: the number of excluded roots, which have only one
    perspective. copies: the number of merged passages."""

    name: str
    roots: tuple[Root, ...]
    corpus: tuple[SourceDocument, ...]
    texts: tuple[str, ...]
    alone: int
    copies: int


class _Task(BaseModel):
    """A task of the file."""

    corpus: Annotated[list[Text], Field(min_length=1)]
    source_queries: list[Text]
    queries: list[Text]
    perspectives: list[str | None] = []
    query_labels: list[str] = []
    key_ref: dict[int, Annotated[list[StrictInt], Field(min_length=1)]]

    @model_validator(mode="after")
    def _go_together(self) -> "_Task":
        count, gold = len(self.queries), [i for positions in self.key_ref.values() for i in positions]
        beside = (self.source_queries, self.perspectives or self.queries, self.query_labels or self.queries)
        if any(len(of) != count for of in beside):
            raise ValueError("'source_queries', 'queries', 'perspectives', 'query_labels' must have one length")
        if self.key_ref.keys() != set(range(count)):
            raise ValueError(f"'key_ref' needs each query's number, 0 to {count - 1}, only")
        if not all(0 <= i < len(self.corpus) for i in gold):
            raise ValueError(f"'key_ref' names a position that is not in 'corpus' (0 to {len(self.corpus) - 1})")
        return self

    def own_text(self, number: int) -> str:
        """Returns the perspective of a query; empty if the file has no perspective, or repeats the query as the
        perspective."""
        text = (self.perspectives[number] or "").strip() if self.perspectives else ""
        return "" if text == self.queries[number].strip() else text


def load_tasks(path: Path, names: Sequence[str] = ()) -> list[PirTask]:
    """Loads the tasks of these names, or all tasks in file order. Raises InputError with file, task and field."""
    tasks = read_json(dict[str, _Task], whole_text(path).encode(), path)
    if unknown := [name for name in names if name not in tasks]:
        raise InputError(f"{path} has no task '{unknown[0]}'. It has: {', '.join(tasks)}.")
    return [_task(path, name, tasks[name]) for name in dict.fromkeys(names or tasks)]


def _task(path: Path, name: str, task: _Task) -> PirTask:
    places: dict[str, int] = {}
    positions = [places.setdefault(text, len(places)) for text in task.corpus]
    roots = _roots(task, positions)
    several = [root for root in roots if len(root.perspectives) > 1]
    if not several:
        raise InputError(f"{path} '{name}': no root query has two perspectives. Name the other tasks with --task.")
    corpus = tuple(SourceDocument(str(i), text) for i, text in enumerate(places))
    texts = [text for root in roots for one in root.perspectives for text in (root.text, one.query, one.text)]
    asked = tuple(dict.fromkeys(text for text in texts if text))
    return PirTask(name, tuple(several), corpus, asked, len(roots) - len(several), len(task.corpus) - len(places))


def _roots(task: _Task, positions: Sequence[int]) -> list[Root]:
    """Returns the roots in the order of their first query. positions: the place in the corpus of each passage of the
    file."""
    found: dict[str, dict[tuple[str, str, str], set[int]]] = {}
    keys: dict[str, str] = {}
    for number, (root, query) in enumerate(zip(task.source_queries, task.queries, strict=True)):
        keys.setdefault(root, str(number))
        label = task.query_labels[number] if task.query_labels else ""
        gold = found.setdefault(root, {}).setdefault((query, task.own_text(number), label), set())
        gold.update(positions[i] for i in task.key_ref[number])
    return [
        Root(keys[root], root, tuple(RootPerspective(q, p, tuple(sorted(i)), x) for (q, p, x), i in of.items()))
        for root, of in found.items()
    ]

"""The PIR data: root queries, the queries that add a perspective to each, and the passages that are gold for them.

A file is one JSON object, plain or .gz: a task's name to its `corpus` (passages), `source_queries` (roots), `queries`
(root and perspective in one wording), `perspectives`, `query_labels` (a stance, an ideology), all in one order, and
`key_ref`, which maps a query's number, from 0 and as text, to the positions of its gold passages, from 0. Whatever else
a task has is not read.

p-Recall (PIR, §2.3) is over sets of perspectives and of passages, so what a file lists twice is one here: lines of one
root, query and perspective are one perspective with the gold of all, and copies of a text are one passage.
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
    """A query that adds a perspective to a root query.

    text: the perspective alone; empty where the file has none, or the whole query in its place, as for AmbigQA.
    gold: positions in the task's corpus, ascending, none twice. label: what the file has in `query_labels`.
    """

    query: str
    text: str
    gold: tuple[int, ...]
    label: str = ""


@dataclass(frozen=True, slots=True)
class Root:
    """A query without its perspectives. `key` is the number of its first query in the file."""

    key: str
    text: str
    perspectives: tuple[RootPerspective, ...]


@dataclass(frozen=True, slots=True)
class PirTask:
    """Root queries over one corpus.

    texts: all that is asked with, each once, in the order of the file: of roots that are left out as well, so that a
    sample of the roots is encoded together with the same texts as all of them.
    alone: how many roots have one perspective; they are not among `roots`.
    copies: how many passages were left out as copies.
    """

    name: str
    roots: tuple[Root, ...]
    corpus: tuple[SourceDocument, ...]
    texts: tuple[str, ...]
    alone: int
    copies: int


class _Task(BaseModel):
    """A task as the file has it."""

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
            raise ValueError("'source_queries', 'queries', 'perspectives', 'query_labels' have to be of one length")
        if self.key_ref.keys() != set(range(count)):
            raise ValueError(f"'key_ref' needs each query's number, 0 to {count - 1}, and no other")
        if not all(0 <= i < len(self.corpus) for i in gold):
            raise ValueError(f"'key_ref' names a position that is not in 'corpus' (0 to {len(self.corpus) - 1})")
        return self

    def own_text(self, number: int) -> str:
        """The perspective of a query; empty where it has none, or the query itself."""
        text = (self.perspectives[number] or "").strip() if self.perspectives else ""
        return "" if text == self.queries[number].strip() else text


def load_tasks(path: Path, names: Sequence[str] = ()) -> list[PirTask]:
    """The tasks of these names, or all of them in the order of the file.

    Raises InputError that names file, task and field: something missing or empty, lists of unequal length, a gold
    position that is not in the corpus, a task in which no root has two perspectives, a file that is another one.
    """
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
    """The roots in the order of their first query. positions: those of the file's passages in the corpus."""
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

"""The PIR data: root queries, the queries that add a perspective to each, and the passages that are gold for them.

A file is one JSON object, plain or .gz: a task's name to its `corpus` (passages), `source_queries` (roots), `queries`
(root and perspective in one wording), `perspectives`, all three in one order, and `key_ref`, which maps a query's
number, from 0 and as text, to the positions of its gold passages, from 0. Whatever else a task has is not read.

p-Recall (PIR, §2.3) is over sets of perspectives and of passages, so what a file lists twice is one here: lines of one
root, query and perspective are one perspective with the gold of all, and copies of a text are one passage. Read as
published, each line is a perspective and each copy a passage of its own, as the paper counts them (table 1).
"""

import gzip
import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evals.datasets.rows import Row
from tools.errors import InputError
from tools.passages import SourceDocument


@dataclass(frozen=True, slots=True)
class RootPerspective:
    """A query that adds a perspective to a root query.

    text: the perspective alone; empty where the file has none, or the whole query in its place, as for AmbigQA.
    gold: positions in the task's corpus, ascending, none twice.
    """

    query: str
    text: str
    gold: tuple[int, ...]


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
    alone: how many roots have one perspective; they are not among `roots`, except in the published reading.
    copies: how many passages were left out as copies.
    """

    name: str
    roots: tuple[Root, ...]
    corpus: tuple[SourceDocument, ...]
    texts: tuple[str, ...]
    alone: int
    copies: int


@dataclass(frozen=True, slots=True)
class _TaskRow(Row):
    """A task as a row whose errors name it."""

    task: str = ""

    def wrong(self, what: str) -> InputError:
        return InputError(f"{self.file} task '{self.task}': {what}")


def load_tasks(path: Path, names: Sequence[str] = (), published: bool = False) -> list[PirTask]:
    """The tasks of these names, or all of them in the order of the file.

    Raises InputError that names file, task and field: something missing or empty, lists of unequal length, a gold
    position that is not in the corpus, a task in which no root has two perspectives, a file that is another one.
    """
    tasks = _read(path)
    if unknown := [name for name in names if name not in tasks]:
        raise InputError(f"{path} has no task '{unknown[0]}'. It has: {', '.join(tasks)}.")
    return [_task(path, name, tasks[name], published) for name in dict.fromkeys(names or tasks)]


def _read(path: Path) -> dict[str, Any]:
    try:
        content = path.read_bytes()
        tasks = json.loads(gzip.decompress(content) if path.suffix == ".gz" else content)
    except (OSError, EOFError, zlib.error) as exc:
        raise InputError(f"{path} cannot be read ({exc}). Name the file of the PIR data, plain or .gz.") from exc
    except ValueError as exc:
        raise InputError(f"{path}: no JSON ({exc}). Perhaps it was cut off; copy it again.") from exc
    if not isinstance(tasks, dict) or not tasks:
        raise InputError(f"{path} holds no tasks: an object is needed, a task's name to its parts. Name another file.")
    return tasks


def _task(path: Path, name: str, values: Any, published: bool) -> PirTask:
    row = _TaskRow(path, 0, values if isinstance(values, dict) else {}, name)
    if not isinstance(values, dict):
        raise row.wrong("an object with 'corpus', 'queries' and so on is needed. Name another file.")
    passages = _texts(row, "corpus")
    kept, positions = (passages, list(range(len(passages)))) if published else _without_copies(passages)
    roots = _roots(row, positions, published)
    several = [root for root in roots if len(root.perspectives) > 1]
    if not several:
        raise row.wrong("no root query has two perspectives. Name the other tasks with --task.")
    corpus = tuple(SourceDocument(str(i), text) for i, text in enumerate(kept))
    chosen = tuple(roots if published else several)
    return PirTask(name, chosen, corpus, _asked(roots), len(roots) - len(several), len(passages) - len(kept))


def _asked(roots: Sequence[Root]) -> tuple[str, ...]:
    texts = [text for root in roots for one in root.perspectives for text in (root.text, one.query, one.text)]
    return tuple(dict.fromkeys(text for text in texts if text))


def _without_copies(passages: Sequence[str]) -> tuple[list[str], list[int]]:
    """The passages, each once, and for each one of the file its position among them."""
    places: dict[str, int] = {}
    positions = [places.setdefault(text, len(places)) for text in passages]
    return list(places), positions


def _roots(row: Row, positions: Sequence[int], published: bool) -> list[Root]:
    """The roots in the order of their first query. positions: those of the file's passages in the corpus."""
    queries = _texts(row, "queries")
    roots = _texts(row, "source_queries", len(queries))
    perspectives = _perspectives(row, queries)
    golds = _golds(row, len(queries), positions)
    found: dict[str, dict[tuple[str, str, int], set[int]]] = {}
    keys: dict[str, str] = {}
    for number, (root, query, text) in enumerate(zip(roots, queries, perspectives, strict=True)):
        keys.setdefault(root, str(number))
        line = number if published else 0  # lines of one perspective are told apart, or they are not
        found.setdefault(root, {}).setdefault((query, text, line), set()).update(golds[number])
    return [
        Root(keys[root], root, tuple(RootPerspective(q, p, tuple(sorted(gold))) for (q, p, _), gold in of_root.items()))
        for root, of_root in found.items()
    ]


def _texts(row: Row, field: str, length: int | None = None) -> list[str]:
    """A field's texts, none of them blank; as many as there are queries, where `length` says how many these are."""
    texts = row.items(field)
    if length is not None and len(texts) != length:
        raise row.wrong(f"'{field}' has {len(texts)} items and 'queries' {length}; they have to go together.")
    if wrong := [i for i, text in enumerate(texts, start=1) if not isinstance(text, str) or not text.strip()]:
        raise row.wrong(f"'{field}' item {wrong[0]} has to be text that is not empty.")
    return texts


def _perspectives(row: Row, queries: Sequence[str]) -> list[str]:
    """The perspectives' own texts; empty for those that have none, or the query itself."""
    if "perspectives" not in row.values:
        return [""] * len(queries)
    texts = row.items("perspectives")
    if len(texts) != len(queries):
        raise row.wrong(
            f"'perspectives' has {len(texts)} items and 'queries' {len(queries)}; they have to go together."
        )
    if wrong := [i for i, text in enumerate(texts, start=1) if not isinstance(text, str | None)]:
        raise row.wrong(f"'perspectives' item {wrong[0]} has to be text, or empty where there is none.")
    own = [(text or "").strip() for text in texts]
    return ["" if text == query.strip() else text for text, query in zip(own, queries, strict=True)]


def _golds(row: Row, queries: int, positions: Sequence[int]) -> list[list[int]]:
    """For each query the positions of its gold passages in the corpus."""
    known = row.values.get("key_ref")
    if not isinstance(known, dict):
        raise row.wrong("'key_ref' has to be an object: a query's number to the positions of its gold passages.")
    if other := known.keys() - {str(number) for number in range(queries)}:
        raise row.wrong(f"'key_ref' has '{min(other)}', which is no query's number (0 to {queries - 1}).")
    golds = []
    for number in range(queries):
        gold = known.get(str(number))
        if not isinstance(gold, list) or not gold:
            raise row.wrong(f"'key_ref' of query '{number}' has to be a list of the positions of gold passages.")
        if wrong := [i for i in gold if type(i) is not int or not 0 <= i < len(positions)]:
            last = len(positions) - 1
            raise row.wrong(f"'key_ref' of query '{number}' has {wrong[0]!r}: no position in 'corpus' (0 to {last}).")
        golds.append([positions[i] for i in gold])
    return golds

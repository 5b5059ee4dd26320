"""Processes killed at random moments while they replace documents: whether the next one finds all that is stored.

`python -m evals.benchmarks.kills_of_indexes FOLDER ROUND` is the process that is killed: it replaces documents without
end.
"""

import random
import subprocess
import sys
import zlib
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tools.errors import SteelmanError
from tools.passages import PassageText, SourceDocument
from tools.store.database import Database
from tools.store.dense import DenseIndex
from tools.store.documents import PreparedDocument
from tools.store.hybrid import HybridSearch
from tools.store.lexical import LexicalIndex
from tools.store.store import Store

_COLLECTION = "killed"
_WIDTH = 32
_DOCUMENTS, _AT_ONCE = 400, 150  # the second are replaced by one change; Chroma writes its files now and then
_LATEST = 2.5  # seconds after its first change within which a process is killed
_ASKED = 8  # documents that are searched for after each kill
_OPENING = 180.0  # seconds at most


@dataclass
class Report:
    """kills: of processes at work. healed: how often an index was made again. violations: what was lost, doubled,
    missed or refused, in words; none is what is wanted."""

    kills: int = 0
    healed: int = 0
    violations: list[str] = field(default_factory=list)

    @property
    def figures(self) -> dict[str, Any]:
        return {"kills": self.kills, "indexes made again": self.healed}


class _Words:
    """Bags of hashed words, as unit vectors."""

    name = "words"
    dimensions = _WIDTH

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = np.full((len(texts), _WIDTH), 1e-3, np.float32)
        for row, text in zip(vectors, texts, strict=True):
            for word in text.split():
                row += np.random.default_rng(zlib.crc32(word.encode())).normal(size=_WIDTH).astype(np.float32)
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)

    encode_queries = encode


_ROOT = Path(__file__).parents[2]


class _Opened:
    """The store and its search, as a process has them."""

    def __init__(self, folder: Path) -> None:
        self.database = Database(folder / "steelman.db")
        self.store = Store(self.database)
        self.words = _Words()
        self.search = HybridSearch(self.store, folder / "index", self.words, keeps_sentences=False)

    def put(self, state: int, numbers: Sequence[int]) -> None:
        """Replaces the documents of these numbers by another state of them."""
        texts = [_text(n, state) for n in numbers]
        vectors = self.words.encode(texts)
        made = [
            PreparedDocument(SourceDocument(f"d{n}", text), (PassageText(text),), vectors[i : i + 1])
            for i, (n, text) in enumerate(zip(numbers, texts, strict=True))
        ]
        self.store.put(self.store.ensure_collection(_COLLECTION, self.words.name), made)
        self.search.refresh()

    def missed(self, text: str) -> list[str]:
        """Which searches do not find the text first: that of both indexes, and those of each."""
        vector, [collection, _] = self.words.encode([text])[0], self.store.collection(_COLLECTION)
        first = {
            "the search": [h.passage_id for h in self.search.search(text, vector, [_COLLECTION], 1)],
            "the dense index": [i for i, _ in self.search.dense.search(vector, [collection], 1)],
            "the lexical index": [i for i, _ in self.search.lexical.search(text, [collection], 1)],
        }
        texts = {i: p.text for i, p in self.store.passages(i for ids in first.values() for i in ids).items()}
        return [f"{who} misses '{text}'" for who, ids in first.items() if [texts.get(i) for i in ids] != [text]]

    def close(self) -> None:
        self.search.close()
        self.database.close()


def _text(number: int, state: int) -> str:
    return f"harbour{number} tide{number} state{state} of document{number}"


def kill_while_replacing(kills: int, folder: Path, seed: int = 0) -> Report:
    """Kills so many processes at random moments while they replace documents, and looks after each at what is stored
    and found by a process that is told nothing. The folder is made; a store that is there goes on."""
    report, chance = Report(), random.Random(seed)
    with closing(_Opened(folder)) as opened:
        opened.put(0, range(_DOCUMENTS))
    for turn in range(1, kills + 1):
        _kill(folder, turn, chance.uniform(0.0, _LATEST))
        report.kills += 1
        asked = chance.sample(range(_DOCUMENTS), _ASKED)
        look = [sys.executable, "-m", "evals.benchmarks.kills_of_indexes", str(folder), "look", *map(str, asked)]
        done = subprocess.run(look, capture_output=True, text=True, timeout=_OPENING, cwd=_ROOT, check=False)
        report.healed += done.stderr.count("is made again from the store")
        said = done.stdout.splitlines() or ([] if not done.returncode else [done.stderr[-500:] or "died in silence"])
        report.violations += [f"after kill {turn}: {line}" for line in said]
    return report


def _kill(folder: Path, turn: int, seconds: float) -> None:
    """Starts a process that replaces documents and kills it so many seconds after its first change."""
    command = [sys.executable, "-m", "evals.benchmarks.kills_of_indexes", str(folder), "replace", str(turn)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=_ROOT) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()


def problems_of(folder: Path, asked: Sequence[int]) -> list[str]:
    """What is lost, doubled or missed, in words: all that is stored, and searches for the documents of these
    numbers."""
    with closing(_Opened(folder)) as opened:
        try:
            texts = [p.text for _, p in opened.store.scan(0, 10 * _DOCUMENTS)]
            now = {int(t.rpartition("document")[2]): t for t in texts}
            found = [f"document {n} is lost" for n in range(_DOCUMENTS) if n not in now]
            found += [f"'{t}' is stored {n} times" for t, n in Counter(texts).items() if n > 1]
            found += [f"{len(texts)} passages are stored"] if len(texts) != _DOCUMENTS else []
            for number in asked:
                found += opened.missed(now[number])
            indexes = [
                i for i in (opened.search.dense, opened.search.lexical) if isinstance(i, DenseIndex | LexicalIndex)
            ]
            found += [f"{i.name} holds {n} passages" for i in indexes if (n := i.count()) != _DOCUMENTS]
        except SteelmanError as exc:
            return [str(exc)]
    return found


def _main(folder: str, task: str, *numbers: str) -> int:
    if task == "look":
        print("\n".join(problems_of(Path(folder), [int(n) for n in numbers])), end="")
        return 0
    chance = random.Random(int(numbers[0]))
    opened = _Opened(Path(folder))
    print("replacing", flush=True)
    state = int(numbers[0]) * 1000
    while True:
        state += 1
        opened.put(state, chance.sample(range(_DOCUMENTS), _AT_ONCE))


if __name__ == "__main__":
    sys.exit(_main(*sys.argv[1:]))

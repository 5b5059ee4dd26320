"""Words by SQLite's FTS5 beside tantivy, over the texts of retrieval sets, repeated to as many passages as wanted.

`python -m evals.benchmarks.words DATA PASSAGES SET…` (sets as `evals retrieval` names them). Both hold texts that are
analysed in the same way, and are asked two hundred questions of the sets, every other one with a perspective, for as
many hits as a run asks for; the processor's time counts, since others may work on the machine.
"""

import contextlib
import json
import random
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from evals.datasets.retrieval import by_corpus, load_sets
from tools.language.words import analyzer
from tools.passages import Passage
from tools.store.lexical import LexicalIndex

_BATCH = 10_000
_ASKED, _HITS, _LONGEST = 200, 24, 64


def measure(data: Path, passages: int, names: list[str]) -> dict[str, Any]:
    """Milliseconds of the processor that a question takes each of them."""
    texts, questions = _read(data, names)
    asked = random.Random(1).sample(questions, min(_ASKED, len(questions)))
    with tempfile.TemporaryDirectory() as folder, contextlib.closing(sqlite3.connect(Path(folder) / "fts.db")) as db:
        index = LexicalIndex(Path(folder) / "tantivy")
        db.execute("CREATE VIRTUAL TABLE words USING fts5(body, tokenize='ascii', content='')")
        terms = [" ".join(analyzer().analyze(text)) for text in texts]
        for start in range(0, passages, _BATCH):
            numbers = range(start, min(passages, start + _BATCH))
            index.apply([(1, Passage(i, "", "", texts[i % len(texts)]), np.zeros(0, np.float32)) for i in numbers], [])
            rows = [(i, terms[i % len(texts)]) for i in numbers]
            db.executemany("INSERT INTO words (rowid, body) VALUES (?, ?)", rows)
            db.commit()
        db.execute("INSERT INTO words (words) VALUES ('optimize')")
        theirs = _timed(lambda text: _search(db, text), asked)
        ours = _timed(lambda text: index.search(text, [1], _HITS), asked)
    return {"passages": passages, "fts5": theirs, "tantivy": ours}


def _read(data: Path, names: list[str]) -> tuple[list[str], list[str]]:
    sets = load_sets(data, names)
    texts = [f"{d.title}\n{d.text}" for same in by_corpus(sets) for d in same[0].corpus]
    asked = [q for each in sets for q in each.questions]
    return texts, [f"{q.question} {q.perspectives[0].statement}" if i % 2 else q.question for i, q in enumerate(asked)]


def _search(db: sqlite3.Connection, text: str) -> object:
    words = list(dict.fromkeys(analyzer().analyze(text)))[:_LONGEST]
    query = "SELECT rowid, rank FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?"
    return db.execute(query, (" OR ".join(f'"{word}"' for word in words), _HITS)).fetchall()


def _timed(search: Callable[[str], object], asked: list[str]) -> dict[str, float]:
    spent = []
    for text in asked:
        began = time.process_time()
        search(text)
        spent.append(1000 * (time.process_time() - began))
    return {"median_ms": round(float(np.median(spent)), 1), "p95_ms": round(float(np.quantile(spent, 0.95)), 1)}


if __name__ == "__main__":
    folder, count, *sets = sys.argv[1:]
    print(json.dumps(measure(Path(folder), int(count), sets)))

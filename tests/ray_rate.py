"""Passages per second of `ingest` in one process and on a Ray of this machine, in turn, on the same texts:
`PYTHONPATH=. python tests/ray_rate.py [PASSAGES] [ROUNDS]`. Each figure is a whole command, with its start."""

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from agent.samples import sample_documents
from tools.language.sentences import split_sentences
from tools.store.database import Database
from tools.store.store import Store

_A_FILE = 30  # passages of about a hundred words, six sentences


def main(passages: int = 6_000, rounds: int = 3) -> None:
    drawn, sentences = random.Random(1), [s for d in sample_documents() for s in split_sentences(d.text)]
    rates: dict[str, list[float]] = {"one process": [], "--ray local": []}
    with tempfile.TemporaryDirectory() as folder:
        (files := Path(folder, "files")).mkdir()
        for number in range(passages // _A_FILE):
            (files / f"{number}.txt").write_text(" ".join(drawn.choices(sentences, k=6 * _A_FILE)), encoding="utf-8")
        for turn in range(2 * rounds):
            name, options = ("--ray local", ["--ray", "local"]) if turn % 2 else ("one process", [])
            data, began = Path(folder, str(turn)), time.perf_counter()
            command = [sys.executable, "-m", "agent", "ingest", str(files), *options]
            subprocess.run(command, env=os.environ | {"STEELMAN_DATA_DIR": str(data)}, check=True, capture_output=True)
            seconds = time.perf_counter() - began
            stored = max(c.passages for c in Store(Database(data / "steelman.db")).collections())
            rates[name].append(round(stored / seconds, 1))
            print(f"{name}: {stored:,} passages, {seconds:.1f} s", flush=True)
    print(json.dumps({name: {"median": statistics.median(found), "all": found} for name, found in rates.items()}))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))

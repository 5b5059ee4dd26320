"""Looks into a suspect index in a process of its own: a damaged one can end whoever opens it.

`python -m tools.store.probe DATABASE FOLDER NAME`, under the caller's lock, says in one line what is wrong, or nothing.
It writes into the index, so it inherits the lock, and it ends when its caller does.
"""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from tools import errors
from tools.errors import IndexDamagedError, SteelmanError
from tools.store.database import Database
from tools.store.dense import DenseIndex, EmbeddedProjection, Entry
from tools.store.lexical import LexicalIndex
from tools.store.locks import Hold
from tools.store.store import Store

_ROOT = Path(__file__).parents[2]
_BATCH = 1000
_ASKED = 20  # vectors that are searched for
_NEAR = 0.99  # cosine of a stored vector to what it finds first
_SECONDS, _SECONDS_A_THOUSAND = 60.0, 3.0
_ELSEWHERE = 3
"""The exit status where something else failed than the index; the line is that error's class, text and hint."""


def probe(store: Store, folder: Path, name: str, hold: Hold) -> str:
    """What is wrong with the index of that name in the folder; empty where it is whole.

    What the journal has for it is put in on the way, since that can fail as well; doing so twice changes nothing.
    Raises StoreError where the look failed for another reason than the index, as where the store is busy or the disk
    full.
    """
    seconds = _SECONDS + _SECONDS_A_THOUSAND * store.size()[0] / 1000
    try:
        done = _looked(store.path, folder, name, hold, seconds)
    except subprocess.TimeoutExpired:
        return f"it did not answer within {seconds:.0f} seconds"
    if done.returncode < 0:
        return f"it ended the process that opened it (signal {-done.returncode})"
    said = (done.stdout.strip() or done.stderr.strip() or "it could not be opened").splitlines()[-1]
    if done.returncode == _ELSEWHERE:
        kind, text, hint = json.loads(said)
        raise getattr(errors, kind)(text, hint=hint)
    return said if done.returncode else ""


def _looked(database: Path, folder: Path, name: str, hold: Hold, seconds: float) -> "subprocess.CompletedProcess[str]":
    """The process when it has ended. What it reads is a pipe that says nothing, and ends when this process does."""
    command = [sys.executable, "-m", "tools.store.probe", str(database.absolute()), str(folder.absolute()), name]
    inherited = (hold.descriptor,) if os.name == "posix" else ()
    theirs, ours = os.pipe()
    try:
        return subprocess.run(
            command,
            stdin=theirs,
            capture_output=True,
            text=True,
            timeout=seconds,
            cwd=_ROOT,
            check=False,
            pass_fds=inherited,
        )
    finally:
        os.close(theirs)
        os.close(ours)


def trouble_with(store: Store, index: DenseIndex | LexicalIndex) -> str:
    """What is wrong with the index, as far as it was filled from the store; empty where nothing is."""
    row = store.projection(index.name)
    if row is None or index.stamp() != row["stamp"]:
        return "it is missing, or another one"
    if said := index.trouble():
        return said
    _catch_up(store, index, row["applied_seq"])
    whole = row["rebuilt_to"] is None
    for entries in _filled(store, None if whole else row["rebuilt_to"]):
        if not index.holds(entries):
            return "passages of the store are not in it as they should be"
        if isinstance(index, DenseIndex) and not _finds(index, entries):
            return "a search for what it holds does not find that"
    count, (passages, _) = index.count(), store.size()
    return f"it holds {count} passages instead of {passages}" if whole and count != passages else ""


def _catch_up(store: Store, index: EmbeddedProjection, applied: int) -> None:
    while changes := store.changes(applied, _BATCH):
        removes = [(c.collection_id, c.passage_id) for c in changes if c.op == "remove"]
        index.apply(store.entries({c.passage_id: c.collection_id for c in changes if c.op == "add"}), removes)
        applied = changes[-1].seq


def _filled(store: Store, rebuilt_to: int | None) -> Iterator[list[Entry]]:
    """What the index has to hold, batch by batch."""
    reached = 0
    while batch := store.scan(reached, _BATCH):
        vectors = store.vectors(p.id for _, p in batch)
        yield [(c, p, vectors[p.id]) for c, p in batch if rebuilt_to is None or p.id <= rebuilt_to]
        reached = batch[-1][1].id


def _finds(index: DenseIndex, entries: list[Entry]) -> bool:
    """Whether most of some vectors find themselves, or a copy; the graph of the nearest may miss one."""
    asked = entries[:: max(1, len(entries) // _ASKED)]
    found = [index.search(vector, [collection], 1) for collection, _, vector in asked]
    return sum(bool(hits) and hits[0][1] >= _NEAR for hits in found) >= len(asked) / 2


def _main(database: str, folder: str, name: str) -> int:
    threading.Thread(target=_end_with_the_caller, daemon=True).start()
    index = DenseIndex(Path(folder) / name) if name == DenseIndex.name else LexicalIndex(Path(folder) / name)
    try:
        with closing(Database(Path(database))) as opened:
            said = trouble_with(Store(opened), index)
    except IndexDamagedError as exc:
        said = str(exc.__cause__ or exc)
    except SteelmanError as exc:
        print(json.dumps([type(exc).__name__, str(exc), exc.hint]))
        return _ELSEWHERE
    print(" ".join(said.split()))
    return 1 if said else 0


def _end_with_the_caller() -> None:
    os.read(0, 1)  # ends when the caller does
    os._exit(1)


if __name__ == "__main__":
    sys.exit(_main(*sys.argv[1:]))

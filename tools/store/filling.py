"""Puts into an index what the store has and it lacks, with a record of how far it is, so that a stop on the way loses
nothing."""

import logging
from collections.abc import Callable

from tools.store.dense import Projection
from tools.store.store import Store

BATCH = 1000
Progress = Callable[[str, int], None]
"""Called with an index's name and the number of passages it has just taken in."""
_LOG = logging.getLogger("steelman.store")
_TOLD_EVERY = 20_000  # passages


def fill(store: Store, projection: Projection, progress: Progress) -> None:
    """Finishes an index that was begun again, and applies what changed since. Raises IndexDamagedError."""
    taken = 0

    def told(name: str, count: int) -> None:
        nonlocal taken
        if (taken + count) // _TOLD_EVERY > taken // _TOLD_EVERY:
            _LOG.info("The %s index has taken in %d passages.", name, taken + count)
        taken += count
        progress(name, count)

    _finish_rebuild(store, projection, told)
    _apply_journal(store, projection, told)


def _finish_rebuild(store: Store, projection: Projection, progress: Progress) -> None:
    while (row := store.projection(projection.name)) is not None and row["rebuilt_to"] is not None:
        batch = store.scan(row["rebuilt_to"], BATCH)
        if batch:
            vectors = store.vectors(p.id for _, p in batch)
            projection.apply([(c, p, vectors[p.id]) for c, p in batch if p.id in vectors], [])
        reached = batch[-1][1].id if batch else None
        store.set_projection(projection.name, row["stamp"], row["applied_seq"], reached)
        if batch:
            progress(projection.name, len(batch))


def _apply_journal(store: Store, projection: Projection, progress: Progress) -> None:
    row = store.projection(projection.name)
    assert row is not None  # made by now
    applied = row["applied_seq"]
    while changes := store.changes(applied, BATCH):
        removes = [(c.collection_id, c.passage_id) for c in changes if c.op == "remove"]
        adds = store.entries({c.passage_id: c.collection_id for c in changes if c.op == "add"})
        projection.apply(adds, removes)
        applied = changes[-1].seq
        store.set_projection(projection.name, row["stamp"], applied, None)
        progress(projection.name, len(changes))

"""Keeps the indexes true to the store: brings them up to date, notices what is suspect, makes again what is damaged.

An index is suspect when a process died with the lock in its hands, when its files are not what its manifest says, or
when the two do not hold the same number of passages. A suspect index is looked into by a process of its own, since a
damaged one can end whoever opens it; what does not hold is made again from the store, once, and told.
"""

import logging
import sqlite3
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import TypeVar

from tools.budget import current_budget, current_log
from tools.disk import disk_errors, keep_folder_private
from tools.errors import IndexDamagedError, StoreBusyError
from tools.store.dense import DenseIndex, Projection, index_error
from tools.store.filling import Progress, fill
from tools.store.lexical import LexicalIndex
from tools.store.locks import Hold, Holder, beside, busy_error, holders, index_lock, left_behind
from tools.store.manifest import Manifest
from tools.store.probe import probe
from tools.store.store import Store

T = TypeVar("T")

_LOG = logging.getLogger("steelman.store")
_LOCK_SECONDS = 60.0
_LOOK_AGAIN = 2.0  # seconds between two looks of a search that waits for the lock
_WAITED = 5.0  # seconds after which it does without an index that is being made again
_MARGIN = 0.5  # seconds of a run's time that are left to say whom it waited for
_AGAIN = 86400.0  # seconds within which a second death in an index that was looked into has it made again


class Upkeep:
    """The indexes of one store, in the folder that has their lock."""

    def __init__(self, store: Store, folder: Path, projections: Sequence[Projection]) -> None:
        self._store = store
        self._lock = folder / "lock"
        self._projections = tuple(projections)
        self._seen: dict[str, tuple[object, ...]] = {}
        self._noticing = threading.Lock()
        self._without = "", ""  # the index, and its stamp, that a search went without

    def read(self, searches: Mapping[str, Callable[[], T]]) -> dict[str, T]:
        """What each search reads of the index that it is named for, when all are up to date; one that fails is made
        again, once. Where another process or thread makes one again for seconds, the others serve alone, and it is
        told."""
        seen: dict[str, object] = {}
        try:
            return self._searched(searches, seen)
        except IndexDamagedError as exc:
            if exc.index not in seen:
                raise
            self._mend(exc, seen[exc.index])
        try:
            return self._searched(searches, {})
        except IndexDamagedError as exc:
            raise _hopeless(exc) from exc

    @contextmanager
    def changing(self) -> Iterator[Hold]:
        """The lock as the only one who has it."""
        with self._locked(exclusive=True, patience=_patience()) as hold:
            yield hold

    def refresh(self, progress: Progress = lambda *_: None) -> None:
        """Brings the indexes up to date with the store; makes them where they are missing or damaged."""
        with self.changing() as hold:
            self.bring_up_to_date(progress, hold)

    def bring_up_to_date(self, progress: Progress, hold: Hold) -> None:
        """The same, under the lock that is held."""
        gone = left_behind(self._lock)
        for projection in self._projections:
            row = self._store.projection(projection.name)
            if row is None:
                self._begin(projection)
            elif projection.stamp() != row["stamp"]:
                self._make_again(projection, "it is missing, or another one", hold)
            elif why := self._suspicion(projection, row, gone, opening=self._is_news(projection, row)):
                self._settle(projection, row, why, gone, hold)
            else:
                self._notice(projection, row)
        whole = [p for p in self._projections if not self._is_being_made(p)]
        for projection in whole:
            self._catch_up(projection, progress, hold)
        for record in gone:
            record.unlink(missing_ok=True)
        made = [p for p in self._projections if p not in whole]
        alone = bool(whole) and len(made) == 1
        for projection in made:
            with hold.changing_only(projection.name) if alone else nullcontext():
                self._catch_up(projection, progress, hold)
        if not made:
            self._renew_worn(hold)

    def _renew_worn(self, hold: Hold) -> None:
        """Renews the index that holds more that is dead than what is alive; one that fails then is made again."""
        for projection in self._projections:
            if isinstance(projection, DenseIndex) and projection.is_worn():
                hold.doing("leaving behind what was removed from the dense index")
                with hold.changing_only(projection.name):
                    try:
                        projection.renew()
                        self._vouch(projection)
                    except IndexDamagedError as exc:
                        self._make_again(projection, str(exc.__cause__ or exc), hold)
                        self._catch_up(projection, lambda *_: None, hold)

    def begin_again(self) -> None:
        """Empties all indexes, to be filled by `bring_up_to_date`, now or by whoever comes next."""
        for record in left_behind(self._lock):
            record.unlink(missing_ok=True)
        for projection in self._projections:
            self._begin(projection)

    def condition(self) -> list[str]:
        """What is not as it should be, in words; a glance, without a lock."""
        busy = [f"The index is locked by {h}." for h in holders(self._lock) if h.doing]
        if busy:
            return busy
        rows = [(p, row) for p in self._projections if (row := self._store.projection(p.name)) is not None]
        gone = left_behind(self._lock)
        found = []
        for projection, row in rows:
            lost = "it is missing" if projection.stamp() != row["stamp"] else ""
            if why := lost or self._suspicion(projection, row, gone, opening=False):
                found.append(f"The {projection.name} index is suspect ({why}); the next search looks into it.")
        return found

    # Noticing

    def _locked(self, *, exclusive: bool, patience: float) -> AbstractContextManager[Hold]:
        with disk_errors(self._lock):
            keep_folder_private(self._lock.parent)
        return index_lock(self._lock, exclusive=exclusive, timeout=patience)

    def _searched(self, searches: Mapping[str, Callable[[], T]], seen: dict[str, object]) -> dict[str, T]:
        """The same as `read`, without mending; `seen` gets the stamps of the indexes that were searched."""
        patience = _patience()
        give_up = time.monotonic() + patience
        alone_from = give_up - (patience if self._is_still_made() else max(patience - _WAITED, patience / 2))
        while (now := time.monotonic()) < give_up:
            if now >= alone_from and (found := self._searched_beside(searches, seen)) is not None:
                return found
            with self._tried(exclusive=False, until=alone_from if now < alone_from else give_up) as hold:
                if hold and not left_behind(self._lock) and all(self._is_current(p) for p in self._projections):
                    seen.update((name, row[1]) for name, row in self._seen.items())
                    return {name: search() for name, search in searches.items()}
            if hold:
                with self._tried(exclusive=True, until=give_up) as changing:
                    if changing:
                        self.bring_up_to_date(lambda *_: None, changing)
        if holders(self._lock):
            raise busy_error(self._lock, patience)
        raise StoreBusyError("other processes keep changing the store. Wait for them to end, then try again.")

    @contextmanager
    def _tried(self, *, exclusive: bool, until: float) -> Iterator[Hold | None]:
        """The lock; None where it cannot be had for some seconds, or until then."""
        with ExitStack() as held:
            patience = min(_LOOK_AGAIN, max(0.0, until - time.monotonic()))
            try:
                hold = held.enter_context(self._locked(exclusive=exclusive, patience=patience))
            except StoreBusyError:
                hold = None
            yield hold

    def _searched_beside(self, searches: Mapping[str, Callable[[], T]], seen: dict[str, object]) -> dict[str, T] | None:
        """What the other indexes give while one is made again; None where none is, or another one has to wait too."""
        with beside(self._lock) as made:
            others = [p for p in self._projections if p.name != made]
            if not made or left_behind(self._lock) or not all(self._is_current(p, behind=True) for p in others):
                return None
            if made in searches:
                told = f"The {made} index was being made again: some searches went without it."
                current_log().note("degraded", told)
            row = self._store.projection(made)
            self._without = made, row["stamp"] if row is not None else ""
            seen.update((p.name, self._seen[p.name][1]) for p in others)
            return {name: search() for name, search in searches.items() if name != made}

    def _is_still_made(self) -> bool:
        """Whether the index that a search did without is still being made: the next one need not wait for it."""
        name, stamp = self._without
        row = self._store.projection(name) if name else None
        return row is not None and row["stamp"] == stamp and row["rebuilt_to"] is not None

    def _is_being_made(self, projection: Projection) -> bool:
        row = self._store.projection(projection.name)
        return row is None or row["rebuilt_to"] is not None

    def _is_current(self, projection: Projection, *, behind: bool = False) -> bool:
        """behind: also where the store has changed since."""
        row = self._store.projection(projection.name)
        if row is None or row["rebuilt_to"] is not None or projection.stamp() != row["stamp"]:
            return False
        if not behind and row["applied_seq"] < self._store.last_seq():
            return False
        with self._noticing:  # of the threads that come in together one looks and opens, before any of them searches
            if self._suspicion(projection, row, {}, opening=self._is_news(projection, row)):
                return False
            self._notice(projection, row)
        return True

    def _is_news(self, projection: Projection, row: sqlite3.Row) -> bool:
        return self._seen.get(projection.name) != tuple(row)

    def _notice(self, projection: Projection, row: sqlite3.Row) -> None:
        """What another process wrote is not in this one's memory: read it again."""
        if projection.name in self._seen and self._is_news(projection, row):
            projection.reopen()
        self._seen[projection.name] = tuple(row)

    def _suspicion(
        self, projection: Projection, row: sqlite3.Row, gone: Mapping[Path, Holder], *, opening: bool
    ) -> str:
        """Why the index may not be used as it is; empty where it may. opening: this process has not opened it yet."""
        if projection.files is None:
            return ""
        if gone:
            died = next(iter(gone.values()))
            return f"process {died.pid} ({died.command}) died while it worked on it"
        if row["rebuilt_to"] is not None:
            return ""  # stopped on the way, with everything recorded
        known = Manifest.read(projection.files)
        if known is None:
            return "it has no manifest"
        if (known.stamp, known.seq) != (row["stamp"], row["applied_seq"]):
            return "it was written at another time than the store"
        passages, seq = self._store.size() if opening else (known.passages, known.seq)
        if seq == known.seq and known.passages not in (passages, -1):
            return f"it holds {known.passages} passages instead of {passages}"
        return known.changed(projection.files, opening=opening)

    # Mending

    def _settle(
        self, projection: Projection, row: sqlite3.Row, why: str, gone: Mapping[Path, Holder], hold: Hold
    ) -> None:
        """Has a process look into a suspect index; makes it again where that fails."""
        noted = f"looked into {projection.name}"
        read_only = bool(gone) and not any(h.exclusive for h in gone.values())
        stamp, _, at = self._store.note(noted).partition(" ")
        if read_only and stamp == row["stamp"] and time.time() - float(at or 0) < _AGAIN:
            return self._make_again(projection, f"{why}, for the second time", hold)
        hold.doing(f"looking into the {projection.name} index")
        projection.reopen()
        assert projection.files is not None  # nothing else is suspected
        if trouble := probe(self._store, projection.files.parent, projection.name, hold):
            return self._make_again(projection, f"{why}; {trouble}", hold)
        if read_only:
            self._store.set_note(noted, f"{row['stamp']} {time.time()}")
        _LOG.info("The %s index was suspect (%s); it was looked into, and it is whole.", projection.name, why)
        self._seen[projection.name] = tuple(row)
        return None

    def _mend(self, exc: IndexDamagedError, stamp: object) -> None:
        """Makes the index again that failed a search, unless somebody did so since."""
        with self.changing() as hold:
            projection = next(p for p in self._projections if p.name == exc.index)
            row = self._store.projection(exc.index)
            if row is not None and row["stamp"] == stamp:
                self._make_again(projection, str(exc.__cause__), hold)
            self.bring_up_to_date(lambda *_: None, hold)

    def _make_again(self, projection: Projection, why: str, hold: Hold) -> None:
        """Begins the index anew and tells so; `_catch_up` fills it."""
        told = f"The {projection.name} index was damaged ({why}) and was made again from the store."
        _LOG.warning("The %s index is damaged (%s). It is made again from the store.", projection.name, why)
        current_log().note("scope", told)
        hold.doing(f"making the {projection.name} index again")
        self._begin(projection)

    def _begin(self, projection: Projection) -> None:
        stamp = uuid.uuid4().hex
        # Recorded first: were the process to end between the two, the stamps differ and the rebuild starts over.
        self._store.set_projection(projection.name, stamp, self._store.last_seq(), rebuilt_to=0)
        projection.clear(stamp)

    def _catch_up(self, projection: Projection, progress: Progress, hold: Hold) -> None:
        """Fills the index with what it lacks; one that fails on the way is made again, once."""
        try:
            self._fill(projection, progress)
            self._compare(projection)
        except IndexDamagedError as exc:
            self._make_again(projection, str(exc.__cause__ or exc), hold)
            try:
                self._fill(projection, progress)
            except IndexDamagedError as again:
                raise _hopeless(again) from again
        self._vouch(projection)

    def _fill(self, projection: Projection, progress: Progress) -> None:
        fill(self._store, projection, progress)
        row = self._store.projection(projection.name)
        assert row is not None  # made by now
        self._seen[projection.name] = tuple(row)  # what was written is in this process's memory too

    def _compare(self, projection: Projection) -> None:
        """Raises IndexDamagedError where an index that was changed holds more or fewer passages than the store."""
        if not isinstance(projection, DenseIndex | LexicalIndex) or self._is_vouched_for(projection):
            return
        passages, seq = self._store.size()
        row = self._store.projection(projection.name)
        if row is not None and row["applied_seq"] == seq and (count := projection.count()) != passages:
            differing = ValueError(f"it holds {count} passages instead of {passages}")
            raise index_error(projection.name, projection.files, differing) from differing

    def _is_vouched_for(self, projection: Projection) -> bool:
        row = self._store.projection(projection.name)
        if projection.files is None or row is None:
            return True
        known = Manifest.read(projection.files)
        written_then = known is not None and (known.stamp, known.seq) == (row["stamp"], row["applied_seq"])
        return known is not None and written_then and not known.changed(projection.files, opening=False)

    def _vouch(self, projection: Projection) -> None:
        """Writes the manifest of what is whole now, where it is not that already."""
        row = self._store.projection(projection.name)
        if projection.files is None or row is None or self._is_vouched_for(projection):
            return
        passages, seq = self._store.size()
        Manifest.write(
            projection.files, row["stamp"], row["applied_seq"], passages if seq == row["applied_seq"] else -1
        )


def _patience() -> float:
    """Seconds to wait for the lock: less than what a run has left, so that it can say whom it waited for."""
    return max(_MARGIN / 10, min(_LOCK_SECONDS, current_budget().seconds_left() - _MARGIN))


def _hopeless(exc: IndexDamagedError) -> IndexDamagedError:
    """That an index fails which was made again just now."""
    hint = "Check the disk and its room, then make it again: `python -m agent rebuild`."
    error = IndexDamagedError(
        f"the {exc.index} index was damaged, and made again it failed too ({exc.__cause__ or exc}). {hint} "
        "Your documents are safe in the store.",
        hint=hint,
    )
    error.index = exc.index
    return error

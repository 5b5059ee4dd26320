"""Applies the store's changes to an index, and rebuilds the index if it may be wrong.

An index stores the number of its last change. A mark file exists while the index is opened or written. The index is
rebuilt, with a note, in four cases: a mark file is left over, the number differs from the store's number, the passage
counts differ, or the index raises an error. A full disk, a busy lock, an unreachable server or a deadline never empties
an index.
"""

import logging
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from tools.budget import current_budget, current_log
from tools.disk import disk_errors, keep_folder_private
from tools.errors import IndexDamagedError, StoreBusyError
from tools.limits import INDEX_LOCK_SECONDS
from tools.store.index import Index, IndexPosition, damaged_error
from tools.store.store import Store

T = TypeVar("T")
Progress = Callable[[str, int], object]
"""Called with the index's name and the number of passages just added."""

BATCH = 1000
_LOG = logging.getLogger("steelman.store")
_LONG_WAIT = 5.0  # seconds that a search waits for an index that another process writes
_REPEAT_SECONDS, _SHORT_WAIT = 60.0, 0.3  # for _REPEAT_SECONDS after such a wait, searches wait only this long
_MOST_DEAD = 1000  # removals, beyond the number of stored passages, that leave dead places in Chroma's graph
_POLL_SECONDS = 0.02
_MARGIN = 0.5  # seconds of a run's time that are kept to report the wait


class IndexSync:
    """One index with its lock and mark file."""

    def __init__(self, store: Store, folder: Path, index: Index) -> None:
        self.name = index.name
        self._store = store
        self._changes = store.changes
        self._index = index
        self._row = store.changes.row(index.name, folder, served=index.served)
        self._lock = folder / f"{index.name}.lock"
        self._mark = folder / f"{index.name}.opening"
        self._opened: IndexPosition | None = None  # the position that this process has opened
        self.missed_at = -_REPEAT_SECONDS  # time of the last search that left this index out

    def read(self, search: Callable[[], T], until: float) -> T:
        """The search's result on the current index. A damaged index is rebuilt once. until: a `time.monotonic` time. A
        longer wait raises StoreBusyError."""
        failed: tuple[IndexPosition | None, IndexDamagedError] | None = None
        while True:
            with self.locked(until, exclusive=False):
                if self._is_current() and not self._reason_for_doubt():
                    try:
                        return search()
                    except IndexDamagedError as exc:
                        if failed:
                            raise
                        failed = self._opened, exc
            with self.locked(until):
                if failed and self._changes.position(self._row) == failed[0]:
                    self._rebuild(failed[1])
                self.update()

    def locked(self, until: float, *, exclusive: bool = True) -> AbstractContextManager[None]:
        """Holds the index's lock, by default exclusively. Other machines see it only in Postgres."""
        seconds = max(0.0, until - time.monotonic())
        if self._index.served and self._changes.shared:
            return self._changes.lock(exclusive=exclusive, seconds=seconds)
        return index_lock(self._lock, exclusive=exclusive, timeout=seconds)

    def update(self, progress: Progress = lambda *_: None) -> None:
        """Brings the index up to date. The caller holds the lock. A damaged index is rebuilt once."""
        if self._changes.position(self._row) is None:
            self.empty()
        try:
            self._apply_changes(progress)
        except IndexDamagedError as exc:
            self._rebuild(exc)
            self._apply_changes(progress)

    def empty(self) -> None:
        """Empties the index, for a later `update`."""
        _, removal = self._changes.last()
        with self._marked():
            self._opened = None
            self._index.clear()
            self._record(IndexPosition(f"{uuid.uuid4().hex}-{removal}", 0, removal))

    def forget(self) -> None:
        """Forgets that this process has opened the index, so that the next use opens it again. Call it after closing
        the index."""
        self._opened = None

    def condition(self) -> str:
        """The index's problem, in words. Does not open the index and waits for no lock."""
        with suppress(StoreBusyError), self.locked(0.0, exclusive=False):
            if self._changes.position(self._row) and (why := self._reason_for_doubt()):
                return f"The {self.name} index is in doubt ({why}); the next search makes it again."
        return ""

    def _is_current(self) -> bool:
        """Whether this process has opened the current index, and the index contains the whole store."""
        at = self._opened
        return at == self._changes.position(self._row) and at is not None and at.last == self._changes.last()

    def _reason_for_doubt(self) -> str:
        """Why the index must not be used; empty if no reason is visible without opening the index."""
        if self._mark.exists():
            return "a process ended while it opened it or wrote to it"
        if not (number := self._index.number()):
            return "it is missing"
        position = self._changes.position(self._row)
        known = number == str(position) or (self._index.served and position and position.reached_by(number))
        return "" if known else "it is not the one that the store knows"

    @contextmanager
    def _marked(self) -> Iterator[None]:
        """Keeps the mark file until the block ends. The mark file remains if the process dies."""
        if self._index.served:
            yield
            return
        with disk_errors(self._mark):
            self._mark.touch()
        try:
            yield
        finally:
            with disk_errors(self._mark):
                self._mark.unlink(missing_ok=True)

    def _apply_changes(self, progress: Progress) -> None:
        """Opens the index if another process changed it, applies the store's changes, and compares the counts. Raises
        IndexDamagedError."""
        if why := self._reason_for_doubt():
            raise self._damaged(why)
        if self._is_current():
            return
        with self._marked():
            position = self._changes.position(self._row)
            assert position is not None  # otherwise the index was in doubt
            if position != self._opened:
                self._index.reopen()
            self._opened = None
            position = self._add_and_remove(position, progress)
            passages, *last = self._changes.size()
            if position.last == tuple(last) and (count := self._index.count()) != passages:
                raise self._damaged(f"it holds {count} passages instead of {passages}")
            if position.removal - position.begun <= passages + _MOST_DEAD:
                self._opened = position
                return
        _LOG.info("Most entries of the %s index are removed ones: it is rebuilt.", self.name)
        self.empty()
        self._apply_changes(progress)

    def _add_and_remove(self, position: IndexPosition, progress: Progress) -> IndexPosition:
        last, _ = self._changes.last()
        while batch := self._store.scan(position.passage, BATCH):
            vectors = self._store.vectors(p.id for _, p in batch)
            self._index.apply([(c, p, vectors[p.id]) for c, p in batch if p.id in vectors], [])
            position = self._record(replace(position, passage=batch[-1][1].id))
            progress(self.name, len(batch))
        if last > position.passage:  # the last passages were removed
            position = self._record(replace(position, passage=last))
        while removals := self._changes.removals(position.removal, BATCH):
            self._index.apply([], [(collection, passage) for _, collection, passage in removals])
            position = self._record(replace(position, removal=removals[-1][0]))
            progress(self.name, len(removals))
        return position

    def _record(self, position: IndexPosition) -> IndexPosition:
        before = self._index.number()
        self._index.set_number(str(position))
        try:
            self._changes.set_position(self._row, position)
        except BaseException:
            self._index.set_number(before)  # changes are idempotent; a different number would be a doubt
            raise
        return position

    def _damaged(self, why: str) -> IndexDamagedError:
        return damaged_error(self.name, f"in {self._lock.parent}", ValueError(why))

    def _rebuild(self, exc: IndexDamagedError) -> None:
        """Empties the index and adds a note. `update` fills the index again."""
        message = exc.__cause__ or exc
        _LOG.warning("The %s index is damaged (%s). It is made again from the store.", self.name, message)
        current_log().note("scope", f"The {self.name} index was damaged ({message}) and was made again from the store.")
        self.empty()


def search_indexes(
    syncs: Sequence[IndexSync], searches: Mapping[str, Callable[[], T]], *, needed: bool = True
) -> dict[str, T]:
    """Each search's result, by index name. If another process writes an index for seconds, the index is left out, with
    a note. If all indexes are left out and `needed` is set, raises StoreBusyError at the deadline."""
    until = time.monotonic() + lock_timeout()
    wanted = [u for u in syncs if u.name in searches]
    found: dict[str, T] = {}
    for sync in wanted:
        now = time.monotonic()
        waits = _SHORT_WAIT if now - sync.missed_at < _REPEAT_SECONDS else _LONG_WAIT
        with suppress(StoreBusyError):
            found[sync.name] = sync.read(searches[sync.name], min(now + waits, (now + until) / 2))
    if needed and not found:
        found[wanted[-1].name] = wanted[-1].read(searches[wanted[-1].name], until)
    for sync in wanted:
        if sync.name not in found:
            sync.missed_at = time.monotonic()
            message = f"The {sync.name} index was being written: some searches went without it."
            current_log().note("degraded", message)
    return found


def lock_timeout() -> float:
    """Seconds to wait for a lock. This is less than the run's time left, so that the run can report the wait."""
    return max(_MARGIN / 10, min(INDEX_LOCK_SECONDS, current_budget().seconds_left() - _MARGIN))


@contextmanager
def index_lock(path: Path, *, exclusive: bool, timeout: float) -> Iterator[None]:
    """Holds the lock file, as one of many readers or as the only writer. The system releases the lock when the process
    ends.

    Every caller first locks a second file, the gate. A writer holds the gate until the writer has the lock, so a stream
    of readers cannot starve the writer. Raises StoreBusyError after `timeout` seconds.
    """
    give_up = time.monotonic() + timeout
    with disk_errors(path):
        keep_folder_private(path.parent)
    gate = _acquire(path.with_name(f"{path.name}.gate"), exclusive=True, give_up=give_up)
    try:
        lock = _acquire(path, exclusive=exclusive, give_up=give_up)
    finally:
        gate.release()
    try:
        yield
    finally:
        lock.release()


def _acquire(file: Path, *, exclusive: bool, give_up: float) -> Any:
    import portalocker

    flags = (portalocker.LOCK_EX if exclusive else portalocker.LOCK_SH) | portalocker.LOCK_NB
    seconds = max(0.0, give_up - time.monotonic())
    lock = portalocker.Lock(file, "a", timeout=seconds, check_interval=_POLL_SECONDS, flags=flags)
    try:
        with disk_errors(file):
            lock.acquire()
    except portalocker.AlreadyLocked as exc:
        raise StoreBusyError(
            f"{file.parent} was locked by another process for {seconds:.0f} s. Wait for it to end, then try again; "
            "nothing is lost."
        ) from exc
    return lock

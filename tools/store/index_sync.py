"""Keeps an index true to the store: brings it up to date, and makes it again from there wherever it is in doubt.

An index carries the number of the last change that it holds, and a mark lies beside it while it is opened or written.
It is removed and filled again from the vectors in the store, under its lock, and told, where a mark was left behind,
the number is not the store's, the passages are another count, or the index itself raises an error. A full disk, a lock
that is not had, a server that cannot be reached and a deadline remove nothing.
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
from tools.store.index import Index, Position, damaged_error
from tools.store.store import Store

T = TypeVar("T")
Progress = Callable[[str, int], None]
"""Called with an index's name and the number of passages that it has just taken in."""

BATCH = 1000
_LOG = logging.getLogger("steelman.store")
_LOCK_SECONDS = 60.0
_WAITED = 5.0  # seconds after which a search does without an index that another process works on
_STILL, _MOMENT = 60.0, 0.3  # seconds within which the next search waits no longer than for a moment
_DEAD = 1000  # removed passages whose places Chroma's graph may keep, for ever, beside as many as are stored
_POLL_SECONDS = 0.02
_MARGIN = 0.5  # seconds of a run's time that are left to say that it waited


class IndexSync:
    """One index of the store, with its lock and the mark beside it."""

    def __init__(self, store: Store, folder: Path, index: Index) -> None:
        self.name = index.name
        self._store = store
        self._changes = store.changes
        self._index = index
        self._lock = folder / f"{index.name}.lock"
        self._mark = folder / f"{index.name}.opening"
        self._opened: Position | None = None  # as what it is in this process's memory
        self.missed_at = -_STILL  # when a search last went without it

    def read(self, search: Callable[[], T], until: float) -> T:
        """What the search gives when the index is up to date; made again, once, where it fails. until: as
        `time.monotonic` has it; raises StoreBusyError then."""
        failed: tuple[Position | None, IndexDamagedError] | None = None
        while True:
            with self.locked(until, exclusive=False):
                if self._is_current() and not self._doubt():
                    try:
                        return search()
                    except IndexDamagedError as exc:
                        if failed:
                            raise _hopeless(exc) from exc
                        failed = self._opened, exc
            with self.locked(until):
                if failed and self._changes.position(self.name) == failed[0]:
                    self._make_again(failed[1])
                self.update()

    def locked(self, until: float, *, exclusive: bool = True) -> AbstractContextManager[None]:
        """The index's lock, as its only writer unless `exclusive` is off."""
        return index_lock(self._lock, exclusive=exclusive, timeout=max(0.0, until - time.monotonic()))

    def update(self, progress: Progress = lambda *_: None) -> None:
        """Has the index hold what the store does, under the lock that is held; made again, once, where it fails."""
        if self._changes.position(self.name) is None:
            self.empty()
        try:
            self._apply_changes(progress)
        except IndexDamagedError as exc:
            self._make_again(exc)
            try:
                self._apply_changes(progress)
            except IndexDamagedError as again:
                raise _hopeless(again) from again

    def empty(self) -> None:
        """Empties the index, to be filled by `update`, now or by whoever comes next."""
        _, removal = self._changes.last()
        with self._marked():
            self._opened = None
            self._index.clear()
            self._record(Position(f"{uuid.uuid4().hex}-{removal}", 0, removal))

    def forget(self) -> None:
        """That the index was closed: its next use looks into it again."""
        self._opened = None

    def condition(self) -> str:
        """What is not as it should be, in words; a glance, which opens and waits for nothing."""
        with suppress(StoreBusyError), self.locked(0.0, exclusive=False):
            if self._changes.position(self.name) and (why := self._doubt()):
                return f"The {self.name} index is in doubt ({why}); the next search makes it again."
        return ""

    def _is_current(self) -> bool:
        """Whether this process has the index open as it is now, and it holds all that the store does."""
        at = self._opened
        return at == self._changes.position(self.name) and at is not None and at.last == self._changes.last()

    def _doubt(self) -> str:
        """Why the index may not be used; empty where it may, as far as a glance tells."""
        if self._mark.exists():
            return "a process ended while it opened it or wrote to it"
        if not (number := self._index.number()):
            return "it is missing"
        return "" if number == str(self._changes.position(self.name)) else "it is not the one that the store knows"

    @contextmanager
    def _marked(self) -> Iterator[None]:
        """The mark, for as long as this process lives or until the block ends, however it does."""
        if self._index.survives:
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
        """Opens the index where it was changed elsewhere, puts in and takes out what the store did since, and compares
        the two counts. Raises IndexDamagedError."""
        if why := self._doubt():
            raise self._damaged(why)
        if self._is_current():
            return
        with self._marked():
            position = self._changes.position(self.name)
            assert position is not None  # or it was in doubt
            if position != self._opened:
                self._index.reopen()
            self._opened = None
            position = self._add_and_remove(position, progress)
            passages, *last = self._changes.size()
            if position.last == tuple(last) and (count := self._index.count()) != passages:
                raise self._damaged(f"it holds {count} passages instead of {passages}")
            if position.removal - position.begun <= passages + _DEAD:
                self._opened = position
                return
        _LOG.info("From the %s index more was removed than what is stored: it is made again.", self.name)
        self.empty()
        self._apply_changes(progress)

    def _add_and_remove(self, position: Position, progress: Progress) -> Position:
        last, _ = self._changes.last()
        while batch := self._store.scan(position.passage, BATCH):
            vectors = self._store.vectors(p.id for _, p in batch)
            self._index.apply([(c, p, vectors[p.id]) for c, p in batch if p.id in vectors], [])
            position = self._record(replace(position, passage=batch[-1][1].id))
            progress(self.name, len(batch))
        if last > position.passage:  # the last ones are gone again
            position = self._record(replace(position, passage=last))
        while removals := self._changes.removals(position.removal, BATCH):
            self._index.apply([], [(collection, passage) for _, collection, passage in removals])
            position = self._record(replace(position, removal=removals[-1][0]))
            progress(self.name, len(removals))
        return position

    def _record(self, position: Position) -> Position:
        before = self._index.number()
        self._index.set_number(str(position))
        try:
            self._changes.set_position(self.name, position)
        except BaseException:
            self._index.set_number(before)  # doing what was done since again changes nothing; a difference is a doubt
            raise
        return position

    def _damaged(self, why: str) -> IndexDamagedError:
        return damaged_error(self.name, f"in {self._lock.parent}", ValueError(why))

    def _make_again(self, exc: IndexDamagedError) -> None:
        """Empties the index and tells so; `update` fills it."""
        told = exc.__cause__ or exc
        _LOG.warning("The %s index is damaged (%s). It is made again from the store.", self.name, told)
        current_log().note("scope", f"The {self.name} index was damaged ({told}) and was made again from the store.")
        self.empty()


def search_indexes(
    syncs: Sequence[IndexSync], searches: Mapping[str, Callable[[], T]], *, needed: bool = True
) -> dict[str, T]:
    """What each search reads of the index that it is named for. One that others work on for seconds is left out, and
    it is told; where that goes for all and they are `needed`, raises StoreBusyError when the time is over."""
    until = time.monotonic() + lock_timeout()
    wanted = [u for u in syncs if u.name in searches]
    found: dict[str, T] = {}
    for sync in wanted:
        now = time.monotonic()
        waits = _MOMENT if now - sync.missed_at < _STILL else _WAITED
        with suppress(StoreBusyError):
            found[sync.name] = sync.read(searches[sync.name], min(now + waits, (now + until) / 2))
    if needed and not found:
        found[wanted[-1].name] = wanted[-1].read(searches[wanted[-1].name], until)
    for sync in wanted:
        if sync.name not in found:
            sync.missed_at = time.monotonic()
            told = f"The {sync.name} index was being written: some searches went without it."
            current_log().note("degraded", told)
    return found


def lock_timeout() -> float:
    """Seconds to wait for a lock: less than what a run has left, so that it can say that it waited."""
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


@contextmanager
def index_lock(path: Path, *, exclusive: bool, timeout: float) -> Iterator[None]:
    """Holds the lock file, as one of many readers or the one writer; the system releases it when the process ends.

    A second file is the gate in front of it: whoever wants the lock passes through, and a writer stays in it until it
    has the lock, so that readers who come one after the other do not keep a writer out for ever.
    Raises StoreBusyError when other processes hold it for longer than `timeout` seconds.
    """
    give_up = time.monotonic() + timeout
    with disk_errors(path):
        keep_folder_private(path.parent)
    gate = _acquired(path.with_name(f"{path.name}.gate"), exclusive=True, give_up=give_up)
    try:
        lock = _acquired(path, exclusive=exclusive, give_up=give_up)
    finally:
        gate.release()
    try:
        yield
    finally:
        lock.release()


def _acquired(file: Path, *, exclusive: bool, give_up: float) -> Any:
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

"""One lock on the data directory orders the processes that use the indexes: many readers, or one writer.

A second file is the gate in front of it: whoever wants the lock passes through, and a writer stays in it until it has
the lock, so that readers who come one after the other do not keep a writer out for ever.

Whoever holds the lock leaves a record beside it, which names the process and is locked itself. It tells those who wait
whom they wait for; and a record that nobody has locked is of a process that died with the lock in its hands, so that
what it read or wrote is suspect.
"""

import json
import os
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO

from tools.disk import disk_errors, sync_folder
from tools.errors import StoreBusyError

_POLL_SECONDS = 0.02
_UNNAMED = ".new"  # ends the name of a record that is not locked yet; such a name has no '-'


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds the lock: the process, what was typed to start it, since when (seconds since the epoch), and what it
    does with it, where that may take long. exclusive: as a writer. only: the index that alone it changes now; empty
    where it may change all."""

    pid: int
    command: str
    since: float
    exclusive: bool
    doing: str = ""
    only: str = ""

    def __str__(self) -> str:
        named = f"process {self.pid} ({self.command}) for {max(0.0, time.time() - self.since):.0f} s"
        return f"{named}, which is {self.doing}" if self.doing else named


class Hold:
    """The lock in this process's hands, with the record of it.

    descriptor: of the lock file; a child that inherits it holds the lock for as long as it lives.
    """

    def __init__(self, record: IO[str], holder: Holder, descriptor: int, rest: IO[str]) -> None:
        self.descriptor = descriptor
        self._record = record
        self._holder = holder
        self._rest = rest

    def doing(self, what: str) -> None:
        """Tells those who wait what they wait for."""
        self._tell(doing=what)

    @contextmanager
    def changing_only(self, index: str) -> Iterator[None]:
        """For a writer, who changes this one index in the meantime and nothing at all afterwards: others may read the
        rest (`beside`), and may still do so when this ends."""
        import portalocker

        self._tell(only=index)
        portalocker.unlock(self._rest)
        try:
            yield
        finally:
            self._tell(only="")

    def _tell(self, **what: str) -> None:
        self._holder = replace(self._holder, **what)  # type: ignore[arg-type]  # the two texts
        self._record.seek(0)
        self._record.write(_written(self._holder))
        self._record.truncate()
        self._record.flush()


@contextmanager
def index_lock(path: Path, *, exclusive: bool, timeout: float) -> Iterator[Hold]:
    """Holds the lock file; the system releases it when the process ends, however it ends.

    Raises StoreBusyError, which names the holder, when other processes hold it for longer than `timeout` seconds.
    """
    import portalocker

    give_up = time.monotonic() + timeout
    with disk_errors(path):
        _records(path).mkdir(parents=True, exist_ok=True)
        gate, file, rest = path.with_name(f"{path.name}.gate").open("a"), path.open("a"), _rest(path).open("a")
    with gate, file, rest:
        _acquire(gate, path, exclusive=True, give_up=give_up, timeout=timeout)
        if not exclusive:
            portalocker.unlock(gate)
        _acquire(file, path, exclusive=exclusive, give_up=give_up, timeout=timeout)
        if exclusive:  # whoever read beside a writer that died may still do so
            _acquire(rest, path, exclusive=True, give_up=give_up, timeout=timeout)
            portalocker.unlock(gate)
        try:
            with _recorded(path, file.fileno(), rest, exclusive=exclusive) as hold:
                yield hold
        finally:
            portalocker.unlock(rest)
            portalocker.unlock(file)


@contextmanager
def beside(path: Path) -> Iterator[str]:
    """The name of the one index that a writer changes now: until the block ends nobody changes another one. Empty, and
    then nothing is held, where no writer says so."""
    with ExitStack() as held:
        yield _changed_beside(path, held)


def holders(path: Path) -> list[Holder]:
    """Who holds the lock now."""
    return [holder for _, holder, alive in _read_records(path) if alive]


def left_behind(path: Path) -> dict[Path, Holder]:
    """The records of processes that died with the lock in their hands, by the file to remove once that is looked
    into."""
    return {file: holder for file, holder, alive in _read_records(path) if not alive}


def _changed_beside(path: Path, held: ExitStack) -> str:
    import portalocker

    with disk_errors(path):
        try:
            rest = held.enter_context(_rest(path).open())
            portalocker.lock(rest, portalocker.LOCK_SH | portalocker.LOCK_NB)
        except (FileNotFoundError, portalocker.AlreadyLocked):
            return ""
    # Looked up under the lock: nobody else may change the rest before this lets go of it.
    if changed := next((h.only for h in holders(path) if h.only), ""):
        held.enter_context(_recorded(path, rest.fileno(), rest, exclusive=False))
    else:
        portalocker.unlock(rest)
    return changed


def _rest(path: Path) -> Path:
    return path.with_name(f"{path.name}.rest")


def _records(path: Path) -> Path:
    return path.with_name(f"{path.name}.held")


@contextmanager
def _recorded(path: Path, descriptor: int, rest: IO[str], *, exclusive: bool) -> Iterator[Hold]:
    """Leaves the record while the lock is held; that of a writer outlives a failure of the power too.

    Whoever looks sees it only while it is locked: it gets its name after that, and loses it before.
    """
    import portalocker

    holder = Holder(os.getpid(), _command(), time.time(), exclusive)
    mine = _records(path) / f"{holder.pid}-{uuid.uuid4().hex}"
    unnamed = mine.with_name(f"{uuid.uuid4().hex}{_UNNAMED}")
    with disk_errors(path):
        if exclusive:
            for left in mine.parent.glob(f"*{_UNNAMED}"):  # nobody else has the lock, to be making one
                left.unlink(missing_ok=True)
        record = unnamed.open("w")
    try:
        with disk_errors(path):
            portalocker.lock(record, portalocker.LOCK_EX)
            record.write(_written(holder))
            record.flush()
            if exclusive:
                os.fsync(record.fileno())
            unnamed.rename(mine)
            if exclusive:
                sync_folder(mine.parent)
        yield Hold(record, holder, descriptor, rest)
    finally:
        for file in (unnamed, mine):
            file.unlink(missing_ok=True)
        record.close()


def _read_records(path: Path) -> Iterator[tuple[Path, Holder, bool]]:
    """Each record with its file, and whether its process is alive."""
    for file in sorted(_records(path).glob("*-*")):
        try:
            with file.open() as record:
                alive = _is_locked(record)
                if alive or file.exists():  # else let go just now
                    yield file, _holder(record.read(), file), alive
        except FileNotFoundError:
            continue  # let go just now


def _is_locked(record: IO[str]) -> bool:
    import portalocker

    try:
        portalocker.lock(record, portalocker.LOCK_SH | portalocker.LOCK_NB)
    except portalocker.LockException:
        return True
    portalocker.unlock(record)
    return False


def _written(holder: Holder) -> str:
    """The record, without what is empty: earlier versions do not know all of it."""
    return json.dumps({name: value for name, value in asdict(holder).items() if value != ""})


def _holder(text: str, file: Path) -> Holder:
    """What a record says; of one that was cut off, what its name says, and the worst of the rest."""
    with suppress(ValueError, TypeError):
        return Holder(**json.loads(text))
    return Holder(int(file.name.partition("-")[0]), "unknown", time.time(), exclusive=True)


def _command() -> str:
    """'python -m agent ingest': what was started, without the rest of what was typed, which may be private."""
    program = Path(sys.argv[0] if sys.argv else "")
    name = f"python -m {program.parent.name}" if program.name == "__main__.py" else program.name or "python"
    first = sys.argv[1] if len(sys.argv) > 1 else ""
    return f"{name} {first}" if first.isalpha() and len(first) < 20 and program.name == "__main__.py" else name


def _acquire(file: IO[str], path: Path, *, exclusive: bool, give_up: float, timeout: float) -> None:
    import portalocker

    flags = (portalocker.LOCK_EX if exclusive else portalocker.LOCK_SH) | portalocker.LOCK_NB
    while True:
        try:
            return portalocker.lock(file, flags)
        except portalocker.AlreadyLocked as exc:
            if time.monotonic() > give_up:
                raise busy_error(path, timeout) from exc
        time.sleep(_POLL_SECONDS)


def busy_error(path: Path, waited: float) -> StoreBusyError:
    """That the lock could not be had, and who has it."""
    known = max(holders(path), key=lambda h: (h.exclusive, -h.since), default=None)
    who = str(known) if known else f"another process for {waited:.0f} s"
    return StoreBusyError(
        f"the index in {path.parent} was locked by {who}. Wait for it to end, then try again; nothing is lost."
    )

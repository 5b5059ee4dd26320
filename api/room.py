"""Room: how much of everybody's, and of one key's, may be at work at once."""

import contextlib
from collections.abc import Callable, Iterator

from agent.settings import Settings
from api.callers import Caller
from api.problems import ProblemError

_MOST_BESIDE = 4
_COME_AGAIN = 10  # seconds: about what the runs at work need until one of them ends


class Room:
    """Counts what is at work, by the key that began it."""

    def __init__(self, settings: Settings, at_work: Callable[[], frozenset[str]]) -> None:
        """`at_work`: the runs of this process."""
        self._settings = settings
        self._at_work = at_work
        self._begun_by: dict[str, str] = {}  # run at work: the key that began it
        self._coming: list[str] = []  # keys of runs that are just being begun
        self._beside: list[str] = []  # keys of requests that judge or store

    def begun(self, run_id: str, caller: Caller) -> None:
        """The run counts among its caller's until it has ended."""
        self._begun_by[run_id] = caller.key_id

    @contextlib.contextmanager
    def beside(self, caller: Caller) -> Iterator[None]:
        """Room for work of the caller's that is no run: judging, storing. Raises ProblemError (429) past the most."""
        if self._beside.count(caller.key_id) >= _MOST_BESIDE:
            raise _too_many(f"{_MOST_BESIDE} requests of this key to judge or to store are at work, which is the most.")
        self._beside.append(caller.key_id)
        try:
            yield
        finally:
            self._beside.remove(caller.key_id)

    @contextlib.contextmanager
    def for_a_run(self, caller: Caller) -> Iterator[None]:
        """Room for one run more. Raises ProblemError (429) while too many are at work or wait, in all or of a key."""
        at_work = self._at_work()
        self._begun_by = {run: key for run, key in self._begun_by.items() if run in at_work}
        everybody, most = len(at_work) + len(self._coming), self._settings.api_runs + self._settings.api_waiting
        if everybody >= most:
            raise _too_many(f"{everybody} runs are at work or wait their turn, and {most} is the most.")
        own = [*self._begun_by.values(), *self._coming].count(caller.key_id)
        if own >= self._settings.api_key_runs:
            raise _too_many(f"{own} runs of this key are at work, and {self._settings.api_key_runs} is the most.")
        self._coming.append(caller.key_id)
        try:
            yield
        finally:
            self._coming.remove(caller.key_id)


def _too_many(detail: str) -> ProblemError:
    return ProblemError(
        429,
        "too-many-runs",
        "Too many runs at once",
        f"{detail} Come again in {_COME_AGAIN} seconds.",
        headers={"Retry-After": str(_COME_AGAIN)},
    )

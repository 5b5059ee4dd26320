"""The service for Streamlit's script threads: one event loop in a thread of its own, shared by everybody."""

import asyncio
import threading
from collections.abc import Coroutine, Sequence
from concurrent.futures import Future
from contextlib import AsyncExitStack
from typing import Any, TypeVar

from agent.answer.ballots import Ballots
from agent.answer.retrieved import Evidence
from agent.commands.doctor import Part, parts
from agent.options import Depth
from agent.runs.parts import usual_options
from agent.runs.service import Runs, open_runs
from agent.runs.store import RunStore
from agent.settings import Settings
from tools.models.worker import lower_priority
from tools.passages import Passage

T = TypeVar("T")


class PageService:
    """Opens the service when it is made, and keeps it open until `close`. All methods may be called from any thread."""

    def __init__(self, settings: Settings | None = None) -> None:
        """Raises what opening it raises, such as SettingsError."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._turn, name="steelman-service", daemon=True)
        self._thread.start()
        self._stack = AsyncExitStack()
        self._runs: Runs = self._wait(self._stack.enter_async_context(open_runs(settings)))
        self.rows = RunStore(self._runs.database)  # read by the page's own threads, which no run holds up
        self.ballots = Ballots(self._runs.database)

    @property
    def settings(self) -> Settings:
        return self._runs.settings

    def start(self, question: str, depth: Depth = "normal", *, thread: str | None = None, **options: Any) -> str:
        """Begins a run and returns its id at once; `thread`: it follows up in that thread, `options`: see RunOptions.
        Raises InputError for what cannot be asked."""
        chosen = usual_options(self._runs, depth, **options)
        return self._wait(self._runs.start(question, chosen, thread))

    def resume(self, run_id: str, sides: list[dict[str, Any]] | None = None) -> None:
        """Goes on with a run that was stopped, or that waits for its sides."""
        self._wait(self._runs.resume(run_id, sides))

    def cancel(self, run_id: str) -> None:
        self._wait(self._runs.cancel(run_id))

    def passages(self, ids: Sequence[int]) -> dict[int, Passage]:
        return self._runs.providers.passages(ids)

    def evidence(self, run_id: str) -> list[Evidence]:
        """What was judged in the run; empty where it is not kept any more."""
        return self._wait(self._runs.evidence(run_id))

    def delete_thread(self, thread_id: str) -> None:
        """Raises RunBusyError while a run of it is at work."""
        self._wait(self._runs.delete_thread(thread_id))

    def parts(self) -> list[Part]:
        """What can be tried of the providers, those that are open as they are."""
        return parts(self.settings, opened=self._runs.providers)

    def close(self) -> None:
        """Lets the runs go, so that they can be resumed, and ends the thread."""
        self._wait(self._stack.aclose())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _turn(self) -> None:
        lower_priority()  # the runs' threads, models included, to those that draw the page
        self._loop.run_forever()

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        waiting: Future[T] = asyncio.run_coroutine_threadsafe(work, self._loop)
        return waiting.result()

"""Runs the agent for Streamlit's script threads. Everybody shares one event loop, which has its own thread. Each person
can access only what they may see."""

import asyncio
import contextlib
import threading
import time
from collections.abc import Coroutine, Sequence
from concurrent.futures import Future
from contextlib import AsyncExitStack
from copy import copy
from hashlib import sha256
from io import BytesIO
from typing import Any, ClassVar, TypeVar

from agent.answer.corrections import Corrections
from agent.answer.followups import CommandReply, similar_quotations, stance_of_quotation
from agent.answer.model import Answer
from agent.answer.retrieved import JudgedPassage, search_order
from agent.commands.doctor import DoctorCheck, doctor_checks
from agent.options import Depth, RunOptions
from agent.runs.bootstrap import default_options, default_places
from agent.runs.job_table import JobRow, JobState, Sent
from agent.runs.jobs import Jobs
from agent.runs.service import Runs, open_runs
from agent.runs.store import RunRow, RunStore
from agent.runs.threads import ThreadStore
from agent.settings import Settings, load_settings
from tools.documents.document import ColumnNames, normalized_name
from tools.errors import InputError, RunBusyError
from tools.models.worker import lower_priority
from tools.passages import Passage
from tools.store.store import SAMPLES
from tools.translation import for_visitor

T = TypeVar("T")

_DOUBLE_CLICK = 3.0  # seconds in which a visitor's repeated question starts no second run
_UNDO_SECONDS = 600.0
AT_ONCE = 2
"""The number of runs that are processed at once. More runs would only slow each other down."""


class PageService:
    """Starts the service and keeps it open until `close`. Any thread may call the methods."""

    chosen: ClassVar[Settings | None] = None
    """The settings that were chosen on the page. They are kept in memory and apply to everybody."""

    def __init__(self, settings: Settings | None = None) -> None:
        settings = settings or PageService.chosen
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._turn, name="steelman-service", daemon=True)
        self._thread.start()
        self._stack = AsyncExitStack()
        try:
            chosen = settings or load_settings()
            opening = self._stack.enter_async_context(open_runs(chosen, max_concurrent=AT_ONCE, role=chosen.role))
            self._runs: Runs = self._wait(opening)
            self._jobs = Jobs(self._runs)
            self._wait(self._stack.enter_async_context(self._jobs.running()))
        except BaseException:
            self._end_loop()
            raise
        self.settings, self.search = self._runs.settings, self._runs.providers.search
        self.kinds = list(dict.fromkeys(s.kind for s in self._runs.providers.web.sources))  # of the sources that are on
        self._see("")
        self._begun: dict[tuple[str | None, ...], tuple[float, str]] = {}
        self._beginning = threading.Lock()
        self.closed = False
        self.purge(_UNDO_SECONDS)

    def of(self, person: str) -> "PageService":
        """Returns the service limited to what a person may see: their own runs and collections, and shared ones."""
        theirs = copy(self)
        theirs._see(person)
        return theirs

    def _see(self, person: str) -> None:
        self.person = person
        database = self._runs.database
        self.rows = RunStore(database, person)  # the page's own threads read it, so that no run delays them
        self.threads, self.store = ThreadStore(database, person), self._runs.store.of(person)

    def named(self, name: str) -> str:
        """Returns the store's name of the person's collection. Several persons may use the same name on the page."""
        return f"{name}~{sha256(self.person.encode()).hexdigest()[:12]}" if self.person else name

    def called(self, name: str) -> str:
        """Returns the page's name of a collection."""
        if not self.person or name == SAMPLES:
            return name
        return name.removesuffix(self.named("")) if name.endswith(self.named("")) else f"{name} (everybody's)"

    def places(self, run_id: str | None) -> dict[str, Any]:
        """Returns the places that a question searches by default; see `default_places`."""
        return default_places(self._runs, self.person, self.rows.get(run_id) if run_id else None)

    def start(
        self,
        question: str,
        depth: Depth = "normal",
        *,
        thread: str | None = None,
        apart: bool = False,
        visitor: str = "",
        **options: Any,
    ) -> str:
        """Starts a run and returns its id at once. thread: the run that the question follows up on. apart: see
        `Runs.start`. options: see RunOptions. A double click starts one run only: the second call returns the id of the
        run in progress.

        Raises InputError for a question that cannot be asked.
        """
        key = visitor, question, thread, depth, repr(sorted(options.items()))
        with self._beginning:
            at, run_id = self._begun.get(key, (0.0, ""))
            if visitor and time.monotonic() - at < _DOUBLE_CLICK and self.rows.get(run_id).status == "running":
                return run_id
            before = self.rows.get(thread) if thread else None
            chosen = default_options(self._runs, depth, person=self.person, before=before, **options)
            by = (before.finished_at or "") if before else ""
            run_id = self._wait(self._runs.start(question, chosen, thread, self.person, by, apart=apart))
            for past in [k for k, v in self._begun.items() if time.monotonic() - v[0] >= _DOUBLE_CLICK]:
                del self._begun[past]
            self._begun[key] = time.monotonic(), run_id
        return run_id

    def resume(self, run_id: str, sides: list[dict[str, Any]] | None = None) -> None:
        """Continues a stopped run, or a run that waits for a review of its sides. Raises InputError for another
        person's run, because continuing would spend that person's money."""
        self._check_own(run_id)
        self._wait(self._runs.resume(run_id, sides))

    def ahead(self, run_id: str) -> int:
        """Returns how many questions come before a waiting run."""
        return self._wait(self._runs.ahead(run_id))

    def await_end(self, run_id: str, seconds: float) -> bool:
        """Waits for a run of this process. Returns whether it ended in time; at once False for any other run."""
        return self._wait(self._runs.ended(run_id, seconds))

    def cancel(self, run_id: str) -> None:
        """Stops a run. Raises InputError for another person's run."""
        self._check_own(run_id)
        self._wait(self._runs.cancel(run_id))

    def _check_own(self, run_id: str) -> None:
        if self.rows.get(run_id).person != self.person:
            raise InputError(
                "this question is not yours. Only who asked it can stop it, continue it and correct its answer."
            )

    def corrections(self, run_id: str) -> Corrections:
        """Returns readers' corrections of a run's answer. Raises InputError for another person's run."""
        self._check_own(run_id)
        return Corrections(self._runs.database)

    def upload(self, files: Sequence[tuple[str, bytes]], addresses: Sequence[str], collection: str) -> None:
        """Adds files (name, content) and the pages at the addresses to a collection, in a job. Raises InputError if
        there is nothing to read, if the collection's name is not allowed, or while another upload of the person runs.
        Raises StoreError if the database cannot hold the files."""
        if not files and not addresses:
            raise InputError("choose a file, or paste an address that begins with http:// or https://.")
        if (collection := collection.strip()) in ("", SAMPLES):
            raise InputError("give the collection a name of its own; 'samples' is Steelman's.")
        self.store.check_name(name := self.named(collection))
        names, columns = [normalized_name(file) for file, _ in files], ColumnNames(hint="Choose it below.")
        sent = Sent(names=names, columns=columns, addresses=list(addresses), page=True, person=self.person)
        contents = [BytesIO(content) for _, content in files]
        if not self._wait(self._jobs.begin(self._uploader, JobState(collection=name), sent, contents, 1)):
            raise InputError("an upload is going on. Wait for its end, then add more.")

    def latest_upload(self) -> JobRow | None:
        """Returns the person's newest upload. Without logins, everybody shares the uploads."""
        return self._jobs.table.latest(self._uploader)

    def read_again(self, upload: JobRow, text: dict[str, list[str]]) -> None:
        """Reads an ended upload's tables whose text columns a person has now chosen. text: the columns by table."""
        self._wait(self._jobs.repeat(upload, text))

    @property
    def _uploader(self) -> str:
        return f"page {self.person}"  # no API key's id has a space

    def passages(self, ids: Sequence[int]) -> dict[int, Passage]:
        return self._runs.providers.passages(ids)

    def evidence(self, run_id: str) -> list[JudgedPassage]:
        """Returns the passages that the run judged; empty if the passages are no longer stored."""
        return self._wait(self._runs.evidence(run_id))

    def ranked(self, run_id: str) -> list[Passage]:
        """Returns the run's retrieved passages as one ranked list; empty if the passages are no longer stored."""
        ids = search_order(self._wait(self._runs.state(run_id)))
        found = self.passages(ids)
        return [found[i] for i in ids if i in found]

    def more_like(self, run: RunRow, answer: Answer, words: str) -> CommandReply:
        """Returns other sentences of the documents that are similar to a quotation."""
        from agent.stages.lookup import more_like  # imports LangGraph, which would slow the page's start

        options, judge = RunOptions.from_dict(run.options), self._wait(self._runs.state(run.id)).get("scored_by")
        asked = answer.english_question, words, options, stance_of_quotation(answer, words), judge, run.id
        return similar_quotations(answer, self._wait(more_like(self._runs.providers, *asked)))

    def remove_thread(self, thread: str) -> None:
        """Hides the thread from the person's history. The thread can be restored for a while; then the person's runs in
        the thread are deleted. Raises RunBusyError while a run of the thread is in progress."""
        self.rows.check_free([run.id for run in self.rows.thread(thread) if run.person == self.person])
        self.threads.set_removed(thread, time.time())
        self.purge(_UNDO_SECONDS)

    def purge(self, seconds: float = 0.0) -> None:
        """Deletes the threads that were removed longer ago than `seconds`."""
        for thread, person in self.threads.removed(time.time() - seconds):
            with contextlib.suppress(RunBusyError):  # the thread is deleted next time
                self._wait(self._runs.delete_thread(thread, person))
                ThreadStore(self._runs.database, person).set_removed(thread, None)  # shared runs of the thread stay

    def parts(self) -> list[DoctorCheck]:
        """Returns checks of the providers. Providers that are already open are checked as they are."""
        return doctor_checks(self.settings, opened=self._runs.providers)

    def close(self, *, ended: bool = True) -> None:
        """Stops runs and uploads so that they can be resumed, and ends the event loop's thread. ended: no other service
        follows, so conversations that were removed from the history are deleted now."""
        self.closed = True
        if ended:
            self.purge()
        self._wait(self._stack.aclose())
        self._end_loop()

    def _end_loop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _turn(self) -> None:
        lower_priority()  # threads of runs and models get a lower priority than threads that draw the page
        self._loop.run_forever()

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        with for_visitor():
            waiting: Future[T] = asyncio.run_coroutine_threadsafe(work, self._loop)
        return waiting.result()


# The process has one service. The service is not in Streamlit's cache, because any visitor can empty the cache.

_lock = threading.Lock()
_open: list[PageService] = []


def is_open() -> bool:
    return bool(_open)


def open_service() -> PageService:
    """Returns the service of this process. The first call starts the service and raises the errors of PageService."""
    with _lock:
        if not _open:
            _open.append(PageService())
        return _open[0]


def reopen(settings: Settings) -> None:
    """Starts the service again with other settings. Runs in progress stop; their owners can continue these runs.
    Uploads go on at once, because pages that were drawn before may only watch them."""
    PageService(settings).close(ended=False)  # raises an error for unusable settings before anything stops
    PageService.chosen = settings
    close_service(ended=False)
    open_service()


def close_service(*, ended: bool = True) -> None:
    with _lock:
        while _open:
            _open.pop().close(ended=ended)

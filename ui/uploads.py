"""Adds a person's documents to a collection: one upload at a time, in a thread.

An upload lies in its own folder in the data folder until it ends. The next process finishes what one process leaves
there. A lock marks an upload in progress.
"""

import asyncio
import contextlib
import shutil
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import portalocker
from pydantic import BaseModel, ValidationError

from agent.commands.ingest import read_pages
from agent.runs.bootstrap import reading_limits
from agent.settings import Settings
from tools.disk import disk_errors, keep_folder_private
from tools.documents.document import ColumnNames, InputFile
from tools.documents.ingest import Ingester, IngestReport, read_all
from tools.errors import InputError, SteelmanError, StoreError
from tools.passages import SourceDocument
from tools.store.hybrid import HybridSearch
from tools.store.store import SAMPLES, Store

_SENT = "upload.json"
_SCANNING = threading.Lock()  # a new folder has its lock before anybody looks for folders without one
_MOST_TRIES = 3
_JOIN_SECONDS = 3.0
_GIVEN_UP = "the upload was interrupted three times, and its files were removed. Add them again, fewer at a time."


Files = Sequence[tuple[str, bytes]]  # names and contents
Texts = dict[str, list[str]]  # by a table's name, the columns of its text as somebody chose them


class Sent(BaseModel):
    """What an upload holds besides its files, which are stored as numbers. tries: how often it was started."""

    person: str
    collection: str  # as the store has it
    files: list[str]
    addresses: list[str]
    tries: int = 1
    text: Texts = {}


@dataclass
class Upload:
    """An upload in progress. error: why it ended early; what it stored until then stays."""

    collection: str
    total: int  # files and addresses
    report: IngestReport = field(default_factory=IngestReport)
    error: SteelmanError | None = None
    ended: bool = False
    unsure: dict[str, bytes] = field(default_factory=dict)  # tables whose columns of text are to be chosen
    folder: Path | None = None


class Uploads:
    """A person's uploads; without logins, everybody's."""

    def __init__(
        self,
        settings: Settings,
        store: Store,
        search: HybridSearch,
        stopping: threading.Event,
        person: str = "",
        named: Callable[[str], str] = str,
    ) -> None:
        """stopping: ends uploads soon once it is set. named: returns the store's name of a collection."""
        self._settings, self._store, self._search = settings, store, search
        self._stopping, self._person, self._named = stopping, person, named
        self._thread: threading.Thread | None = None
        self.latest: Upload | None = None

    def begin(self, files: Files, addresses: Sequence[str], collection: str, text: Texts | None = None) -> Upload:
        """Starts to read the files (name, content) and the pages at the addresses. Raises InputError if there is
        nothing to read, for a collection name that is not allowed, or while another upload runs; StoreError if the
        data folder cannot hold the files."""
        if not files and not addresses:
            raise InputError("choose a file, or paste an address that begins with http:// or https://.")
        if (collection := collection.strip()) in ("", SAMPLES):
            raise InputError("give the collection a name of its own; 'samples' is Steelman's.")
        if self.latest is not None and not self.latest.ended:
            raise InputError("an upload is going on. Wait for its end, then add more.")
        self._store.check_name(name := self._named(collection))
        names = [file for file, _ in files]
        sent = Sent(person=self._person, collection=name, files=names, addresses=list(addresses), text=dict(text or {}))
        folder = folder_of(self._settings) / uuid.uuid4().hex
        with _SCANNING, disk_errors(folder), contextlib.ExitStack() as undo:
            keep_folder_private(folder.parent)
            folder.mkdir(mode=0o700)
            undo.callback(shutil.rmtree, folder, ignore_errors=True)
            undo.enter_context(lock := _lock_of(folder))
            for path, (_, content) in zip(_paths(folder, sent), files, strict=True):
                path.write_bytes(content)
            _keep(folder, sent)  # last: the next process removes a folder without it
            undo.pop_all()
        return self.go_on(folder, sent, lock)

    def go_on(self, folder: Path, sent: Sent, lock: portalocker.Lock) -> Upload:
        """Starts to store what was sent. lock: the folder's lock, held, released at the end."""
        report = IngestReport()
        if self.latest and self.latest.folder == folder:  # what it has stored is read again, and then counted unchanged
            report = IngestReport((was := self.latest.report).stored, unchanged=-was.stored, passages=was.passages)
        self.latest = Upload(sent.collection, len(sent.files) + len(sent.addresses), report, folder=folder)
        self._thread = threading.Thread(target=self._work, args=(self.latest, folder, sent, lock), daemon=True)
        self._thread.start()
        return self.latest

    def join(self) -> None:
        """Waits up to three seconds for the running upload."""
        if self._thread is not None:
            self._thread.join(_JOIN_SECONDS)

    def _work(self, upload: Upload, folder: Path, sent: Sent, lock: portalocker.Lock) -> None:
        try:
            if sent.tries > _MOST_TRIES:
                raise InputError(_GIVEN_UP)
            ingester = Ingester(self._store, self._search, self._search.encoder)
            ingester.ingest(self._documents(upload, folder, sent), upload.collection, report=upload.report)
        except SteelmanError as exc:
            upload.error = exc
        finally:
            sent_files = zip(sent.files, _paths(folder, sent), strict=True)
            upload.unsure = {name: path.read_bytes() for name, path in sent_files if name in upload.report.unsure}
            if not self._stopping.is_set():
                shutil.rmtree(folder, ignore_errors=True)
            lock.release()
            upload.ended = True

    def _documents(self, upload: Upload, folder: Path, sent: Sent) -> Iterator[SourceDocument]:
        # A file of the same name replaces the one that was sent before.
        files = [InputFile(path, name, name) for path, name in zip(_paths(folder, sent), sent.files, strict=True)]
        for file in files:
            columns = ColumnNames(tuple(sent.text.get(file.name, ())), hint="Choose it below.")
            for document in read_all([file], upload.report, None, columns, reading_limits(self._settings)):
                if self._stopping.is_set():
                    return  # the folder stays for the next process
                yield document
        if sent.addresses and not self._stopping.is_set():
            upload.report.reading, upload.report.begun = "web pages", upload.total
            yield from asyncio.run(read_pages(sent.addresses, upload.report.problems))


def folder_of(settings: Settings) -> Path:
    """Returns the folder of the page's uploads; the API's lie beside it."""
    return settings.data_dir / "uploads" / "page"


def finish_uploads(settings: Settings, of: Callable[[str], Uploads]) -> None:
    """Continues uploads that other processes left, and removes those that had not fully arrived. of: returns a
    person's uploads."""
    for folder in sorted(folder_of(settings).glob("*")):
        expected = portalocker.LockException, OSError, StoreError
        with _SCANNING, contextlib.suppress(*expected), contextlib.ExitStack() as held:
            held.enter_context(lock := _lock_of(folder))  # raises if a process is at work on it
            try:
                sent = Sent.model_validate_json((folder / _SENT).read_bytes())
            except (FileNotFoundError, ValidationError):
                shutil.rmtree(folder, ignore_errors=True)
                continue
            if (latest := (uploads := of(sent.person)).latest) and not latest.ended:
                continue
            sent.tries += 1
            _keep(folder, sent)
            uploads.go_on(folder, sent, lock)
            held.pop_all()


def _lock_of(folder: Path) -> portalocker.Lock:
    """Returns the lock that a process holds while it works on an upload."""
    return portalocker.Lock(folder / "lock", "a", timeout=0)


def _keep(folder: Path, sent: Sent) -> None:
    with disk_errors(folder):
        part = folder / f"{_SENT}.part"
        part.write_text(sent.model_dump_json(), encoding="utf-8")
        part.replace(folder / _SENT)


def _paths(folder: Path, sent: Sent) -> list[Path]:
    return [folder / f"{number}{Path(name).suffix.lower()}" for number, name in enumerate(sent.files)]

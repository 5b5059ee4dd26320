"""Adds a person's documents to a collection: one upload at a time, in a thread.

An upload stays in its own folder in the data folder until it is finished. If a process ends early, the next process
finishes the upload. A lock marks an upload in progress.
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
_SCANNING = threading.Lock()  # a new folder gets its lock before anybody searches for folders without a lock
_MOST_TRIES = 3
_JOIN_SECONDS = 3.0
_GIVEN_UP = "the upload was interrupted three times, and its files were removed. Add them again, fewer at a time."


Files = Sequence[tuple[str, bytes]]  # names and contents
Texts = dict[str, list[str]]  # table name: the text columns that somebody chose


class Sent(BaseModel):
    """The description of an upload. Its files are stored separately and named by numbers. tries: number of starts."""

    person: str
    collection: str  # the name in the store
    files: list[str]
    addresses: list[str]
    tries: int = 1
    text: Texts = {}


@dataclass
class Upload:
    """An upload in progress. error: the reason if the upload ended early. Documents stored before that stay."""

    collection: str
    total: int  # number of files and addresses
    report: IngestReport = field(default_factory=IngestReport)
    error: SteelmanError | None = None
    ended: bool = False
    unsure: dict[str, bytes] = field(default_factory=dict)  # tables whose text columns somebody must choose
    folder: Path | None = None


class Uploads:
    """A person's uploads. Without logins, everybody shares the uploads."""

    def __init__(
        self,
        settings: Settings,
        store: Store,
        search: HybridSearch,
        stopping: threading.Event,
        person: str = "",
        named: Callable[[str], str] = str,
    ) -> None:
        """stopping: an event that soon ends uploads. named: returns the store's name of a collection."""
        self._settings, self._store, self._search = settings, store, search
        self._stopping, self._person, self._named = stopping, person, named
        self._thread: threading.Thread | None = None
        self.latest: Upload | None = None

    def begin(self, files: Files, addresses: Sequence[str], collection: str, text: Texts | None = None) -> Upload:
        """Starts to read the files (name, content) and the pages at the addresses. Raises InputError if there is
        nothing to read, if the collection's name is not allowed, or while another upload runs. Raises StoreError if the
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
            _keep(folder, sent)  # written last: the next process removes a folder without this file
            undo.pop_all()
        return self.go_on(folder, sent, lock)

    def go_on(self, folder: Path, sent: Sent, lock: portalocker.Lock) -> Upload:
        """Starts to store the uploaded documents. lock: the folder's lock; the caller holds it, and it is released at
        the end."""
        report = IngestReport()
        if self.latest and self.latest.folder == folder:  # stored documents are read again and count as unchanged
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
        # A file replaces an earlier file of the same name.
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
    """Returns the folder of the page's uploads. The API's uploads have a separate folder beside it."""
    return settings.data_dir / "uploads" / "page"


def finish_uploads(settings: Settings, of: Callable[[str], Uploads]) -> None:
    """Continues uploads that other processes left unfinished. Removes uploads that had not arrived completely. of:
    returns a person's uploads."""
    for folder in sorted(folder_of(settings).glob("*")):
        expected = portalocker.LockException, OSError, StoreError
        with _SCANNING, contextlib.suppress(*expected), contextlib.ExitStack() as held:
            held.enter_context(lock := _lock_of(folder))  # raises if a process works on the folder
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
    """Returns the lock of an upload. A process holds the lock while it works on the upload."""
    return portalocker.Lock(folder / "lock", "a", timeout=0)


def _keep(folder: Path, sent: Sent) -> None:
    with disk_errors(folder):
        part = folder / f"{_SENT}.part"
        part.write_text(sent.model_dump_json(), encoding="utf-8")
        part.replace(folder / _SENT)


def _paths(folder: Path, sent: Sent) -> list[Path]:
    return [folder / f"{number}{Path(name).suffix.lower()}" for number, name in enumerate(sent.files)]

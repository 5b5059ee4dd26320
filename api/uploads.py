"""What was uploaded, in a folder of its own, and how it is brought into a collection: at once, or by a job."""

import dataclasses
import json
import shutil
import threading
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from agent.runs.service import Runs
from api.schemas import LONGEST_ID, Stored
from tools.disk import disk_errors, keep_folder_private
from tools.errors import SourceError
from tools.ingest.apart import GivenUp, read_apart
from tools.ingest.columns import Columns
from tools.ingest.documents import document_from_json
from tools.ingest.ingest import Ingester, IngestReport
from tools.ingest.limits import Limits
from tools.ingest.process import GivenUpError
from tools.ingest.readers import READERS
from tools.passages import SourceDocument

_TEXTS = "documents.jsonl"
_KEPT = ("external_id", "text", "title", "url", "publisher", "kind", "date")


class StoppedError(Exception):
    """Whoever wanted the work has left or stopped it. What is stored stays."""


class NothingStoredError(Exception):
    """Nothing of the upload could be read; `problems` say why."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__()
        self.problems = problems

    def told(self, where: str) -> str:
        """For the caller; `where`: in which field the other problems stand."""
        more = f" And {len(self.problems) - 1} more; see {where}." if len(self.problems) > 1 else ""
        return f"Nothing was stored. {self.problems[0] if self.problems else 'There was nothing to read.'}{more}"


@dataclass(frozen=True)
class Upload:
    """A folder with what was sent: files, each with the name that it was sent with, or texts (no `files`).

    `count`: how many documents these are; None where only their readers find out.
    """

    folder: Path
    files: tuple[tuple[str, str], ...] = ()
    columns: Columns = dataclasses.field(default_factory=Columns)
    count: int | None = None

    @classmethod
    def of_texts(cls, folder: Path, documents: Iterable[SourceDocument], count: int) -> "Upload":
        """Texts, kept in the folder. Raises StoreFullError, StoreError."""
        with disk_errors(folder), (folder / _TEXTS).open("w", encoding="utf-8") as out:
            out.writelines(
                json.dumps({name: getattr(document, name) for name in _KEPT}) + "\n" for document in documents
            )
        return cls(folder, count=count)

    @classmethod
    def load(cls, folder: Path, described: dict[str, Any]) -> "Upload":
        """What `described` once was."""
        columns = described["columns"]
        files = tuple((name, sent) for name, sent in described["files"])
        return cls(folder, files, Columns(**{**columns, "text": tuple(columns["text"])}), described["count"])

    def described(self) -> dict[str, Any]:
        """All but the folder and what lies in it, as JSON has it."""
        return {"files": self.files, "columns": dataclasses.asdict(self.columns), "count": self.count}

    def documents(self, report: IngestReport, limits: Limits, given_up: GivenUp) -> Iterator[SourceDocument]:
        """What was sent; what cannot be read within the limits goes into the report's problems.

        Raises StoreError where what was sent is gone, StoppedError within a file that is given up.
        """
        with disk_errors(self.folder):
            if not self.files:
                with (self.folder / _TEXTS).open(encoding="utf-8") as lines:
                    yield from (document_from_json(json.loads(line)) for line in lines)
        for name, sent in self.files:
            yield from _read(self.folder / name, sent, report, self.columns, limits, given_up)


class Folders:
    """The folders of uploads, in the data directory, their owner's alone. They outlive the server."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def new(self) -> Path:
        """An empty one; its name is the id of the job that may come of it. Raises StoreFullError, StoreError."""
        folder = self.of(f"j{uuid.uuid4().hex[:12]}")
        with disk_errors(self._root):
            keep_folder_private(self._root)
            folder.mkdir(mode=0o700)
        return folder

    def of(self, job_id: str) -> Path:
        return self._root / job_id

    def all(self) -> list[Path]:
        return list(self._root.iterdir()) if self._root.is_dir() else []

    @staticmethod
    def remove(folder: Path) -> None:
        """Nothing happens where there is none; what cannot be removed is left to the next start."""
        shutil.rmtree(folder, ignore_errors=True)


class Storing:
    """Documents on their way into a collection. `stop` ends it between two documents, and the reading of a file, as
    Ctrl-C ends `ingest`: the batch that is being written is finished, and nothing is torn."""

    def __init__(self, runs: Runs) -> None:
        self.stop = threading.Event()
        self.report = IngestReport()
        self.documents: int | None = None
        self.read = 0
        self._runs = runs

    def taken(self, documents: Iterable[SourceDocument]) -> Iterator[SourceDocument]:
        """Those that hold text. Raises StoppedError."""
        for document in self._until_stopped(documents):
            if document.text:
                yield document
            else:
                self.report.problems.append(f"{document.external_id}: holds no text.")

    def store(self, given: Iterable[SourceDocument], collection: str) -> Stored:
        """Stores them. Raises StoppedError, NothingStoredError, and what `ingest` raises."""
        search, report = self._runs.providers.search, self.report
        Ingester(self._runs.store, search, search.encoder).ingest(self._counted(given), collection, None, report)
        self.documents = self.read
        if not report.stored and not report.unchanged:
            raise NothingStoredError(report.problems)
        return Stored(
            stored=report.stored,
            replaced=report.replaced,
            unchanged=report.unchanged,
            passages=report.passages,
            problems=report.problems,
            notes=report.notes,
            left_out=dict(report.left_out),
            languages=dict(report.languages),
        )

    def _counted(self, given: Iterable[SourceDocument]) -> Iterator[SourceDocument]:
        for document in self._until_stopped(given):
            self.read += 1
            yield document

    def _until_stopped(self, documents: Iterable[SourceDocument]) -> Iterator[SourceDocument]:
        for document in documents:
            if self.stop.is_set():
                raise StoppedError
            yield document


def ending_of(sent: str) -> str:
    """The ending under which a file is kept: what it is read as, empty where it cannot be."""
    ending = PurePosixPath(sent).suffix.lower()
    return ending if ending in READERS else ""


def _read(
    path: Path, sent: str, report: IngestReport, columns: Columns, limits: Limits, given_up: GivenUp
) -> Iterator[SourceDocument]:
    if wrong := _wrong_name(path, sent):
        report.problems.append(wrong)
        return

    def skip(problem: SourceError) -> None:
        report.problems.append(str(problem))

    try:
        yield from read_apart(path, sent, skip, columns, report.notes.append, limits, given_up)
    except GivenUpError as exc:
        raise StoppedError from exc
    except SourceError as exc:
        report.problems.append(str(exc).removesuffix(exc.hint).rstrip())


def _wrong_name(path: Path, sent: str) -> str:
    """Why nothing can be stored under the name; empty where something can."""
    if not sent.isprintable() or len(sent) > LONGEST_ID:
        return f"{sent[:60]!r}: no document can have this name. Send the file under a plain one."
    if not path.suffix:
        ending = PurePosixPath(sent).suffix
        what = f"files ending in '{ending}' cannot be read" if ending else "the name has no ending that says what it is"
        return f"{sent}: {what}. These can be read: {', '.join(READERS)}."
    return ""

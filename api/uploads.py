"""What was uploaded, and how it is brought into a collection: at once, or by a job."""

import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from agent.runs.service import Runs
from api.schemas import LONGEST_ID, Stored
from tools.errors import SourceError
from tools.ingest.apart import GivenUp, GivenUpError, read_apart
from tools.ingest.columns import Columns
from tools.ingest.ingest import Ingester, IngestReport
from tools.ingest.limits import Limits
from tools.ingest.readers import READERS
from tools.passages import SourceDocument


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
class UploadedFiles:
    """A folder with the files that were sent, each with the name that it was sent with."""

    folder: Path
    files: tuple[tuple[str, str], ...]
    columns: Columns

    def documents(self, report: IngestReport, limits: Limits, given_up: GivenUp) -> Iterator[SourceDocument]:
        """What was sent; what cannot be read within the limits goes into the report's problems.

        Raises StoppedError within a file that is given up.
        """
        for name, sent in self.files:
            yield from _read(self.folder / name, sent, report, self.columns, limits, given_up)


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

"""Reads the files of an upload."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PurePosixPath

from api.job_table import Sent
from api.schemas import LONGEST_ID, NewDocument, NewDocuments
from tools.documents.ingest import IngestReport
from tools.documents.readers import READERS
from tools.documents.sandbox import ReaderLimits, read_in_process
from tools.errors import SourceError
from tools.language.sentences import clean_text
from tools.passages import SourceDocument


def documents_in(
    files: Sequence[Path], sent: Sent, limits: ReaderLimits, report: IngestReport, stops: Callable[[], bool]
) -> Iterator[SourceDocument]:
    """Yields the documents in the files, and reports unreadable files. Raises ReadingCancelledError when the upload
    is stopped."""
    if not sent.names:
        yield from map(source_of, NewDocuments.model_validate_json(files[0].read_bytes()).documents)
    problems, tell = report.problems, report.notes.append
    for path, name in zip(files, sent.names, strict=False):
        if wrong := _wrong_name(path, name):
            problems.append(wrong)
            continue
        try:
            yield from read_in_process(path, name, lambda p: problems.append(str(p)), sent.columns, tell, limits, stops)
        except SourceError as exc:
            problems.append(str(exc).removesuffix(exc.hint).rstrip())


def source_of(d: NewDocument) -> SourceDocument:
    about = clean_text(d.title), d.url, clean_text(d.publisher), d.kind, d.date
    return SourceDocument(d.id, clean_text(d.text).strip(), *about, author=clean_text(d.author))


def _wrong_name(path: Path, sent: str) -> str:
    """Returns why a document cannot have this name, or an empty text if the name is valid."""
    if not sent.isprintable() or len(sent) > LONGEST_ID:
        return f"{sent[:60]!r}: no document can have this name. Rename the file."
    if not path.suffix:
        ending = PurePosixPath(sent).suffix
        cause = f"files ending in '{ending}' cannot be read" if ending else "the name has no ending"
        return f"{sent}: {cause}. Readable endings: {', '.join(READERS)}."
    return ""

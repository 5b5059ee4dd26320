"""Which reader reads which files, by the endings of their names."""

from collections.abc import Callable, Iterator
from pathlib import Path

from tools.errors import SourceError
from tools.ingest.html import read_html
from tools.ingest.markdown import read_markdown
from tools.ingest.pdf import read_pdf
from tools.ingest.plain import read_plain
from tools.ingest.rows import read_csv, read_jsonl
from tools.ingest.word import read_docx
from tools.passages import SourceDocument

_MOST_WRONG_ROWS = 20


def read_file(path: Path, name: str, skip: Callable[[SourceError], None] | None = None) -> Iterator[SourceDocument]:
    """The documents in a file; `name` is the path as the user gave it, the document's id.

    Raises SourceError, naming the file (and the line, for rows), when it cannot be read as what its name says.
    A wrong row goes to `skip`, where that is given, and the rows after it are still read.
    """
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise SourceError(f"{name}: files ending in '{path.suffix}' cannot be read. These can: {', '.join(READERS)}.")
    try:
        wrong = 0
        for found in reader(path, name):
            if isinstance(found, SourceDocument):
                yield found
                continue
            wrong += 1
            if skip is None or wrong > _MOST_WRONG_ROWS:
                raise found
            skip(found)
    except OSError as exc:
        raise SourceError(f"{name}: cannot be opened ({exc.strerror or exc}).") from exc


READERS: dict[str, Callable[[Path, str], Iterator[SourceDocument | SourceError]]] = {
    ".txt": read_plain,
    ".md": read_markdown,
    ".markdown": read_markdown,
    ".html": read_html,
    ".htm": read_html,
    ".pdf": read_pdf,
    ".docx": read_docx,
    ".csv": read_csv,
    ".jsonl": read_jsonl,
}

"""Which reader reads which files, by the endings of their names."""

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

from tools.errors import SourceError, SteelmanError
from tools.ingest.documents import GUESSED, Columns, Note, unforeseen
from tools.ingest.epub import read_epub
from tools.ingest.html import read_html
from tools.ingest.markdown import read_markdown
from tools.ingest.opendocument import read_odt
from tools.ingest.pdf import read_pdf
from tools.ingest.plain import read_plain, read_rst
from tools.ingest.rows import read_csv, read_json, read_jsonl
from tools.ingest.rtf import read_rtf
from tools.ingest.slides import read_pptx
from tools.ingest.word import read_docx
from tools.passages import SourceDocument

_MOST_WRONG_ROWS = 20
_LOG = logging.getLogger(__name__)

Read = Iterator[SourceDocument | SourceError | Note]


class _RowReader(Protocol):
    def __call__(self, path: Path, name: str, columns: Columns = GUESSED) -> Read: ...


def read_file(
    path: Path,
    name: str,
    skip: Callable[[SourceError], None] | None = None,
    columns: Columns = GUESSED,
    tell: Callable[[str], None] | None = None,
) -> Iterator[SourceDocument]:
    """The documents in a file; `name` is the path as the user gave it, the document's id.

    Raises SourceError, naming the file (and the line, for rows), when it cannot be read as what its name says, and
    also where its reader fails: a file that nobody foresaw is one problem of an ingest and not its end.
    A wrong row goes to `skip`, where that is given, and the rows after it are still read. `columns` says which columns
    of a table are read as what; what was guessed goes to `tell`.
    """
    ending = path.suffix.lower()
    if ending not in READERS:
        raise SourceError(f"{name}: files ending in '{path.suffix}' cannot be read. These can: {', '.join(READERS)}.")
    try:
        found = ROWS[ending](path, name, columns) if ending in ROWS else READERS[ending](path, name)
        yield from _documents(found, skip, tell)
    except OSError as exc:
        raise SourceError(f"{name}: cannot be opened ({exc.strerror or exc}).") from exc
    except (SteelmanError, MemoryError):
        raise
    except Exception as exc:
        _LOG.debug("%s: its reader failed", name, exc_info=True)
        raise unforeseen(name, exc) from exc


def _documents(
    found: Read, skip: Callable[[SourceError], None] | None, tell: Callable[[str], None] | None
) -> Iterator[SourceDocument]:
    """The documents among what a reader found. Raises the first wrong row where nobody is told of it, and the one with
    which there are too many."""
    wrong = 0
    for each in found:
        if isinstance(each, SourceDocument):
            yield each
        elif isinstance(each, Note):
            if tell:
                tell(each.text)
        else:
            wrong += 1
            if skip is None or wrong > _MOST_WRONG_ROWS:
                raise each
            skip(each)


ROWS: dict[str, _RowReader] = {
    ".csv": read_csv,
    ".tsv": read_csv,
    ".jsonl": read_jsonl,
    ".ndjson": read_jsonl,
    ".json": read_json,
}
"""Readers of tables, whose columns can be named."""

READERS: dict[str, Callable[[Path, str], Read]] = {
    ".txt": read_plain,
    ".md": read_markdown,
    ".markdown": read_markdown,
    ".html": read_html,
    ".htm": read_html,
    ".pdf": read_pdf,
    ".docx": read_docx,
    ".odt": read_odt,
    ".rtf": read_rtf,
    ".pptx": read_pptx,
    ".epub": read_epub,
    ".rst": read_rst,
    **ROWS,
}

IN_FOLDERS = tuple(ending for ending in READERS if ending != ".json")
"""What is read of a folder. Most .json that lies about is some program's own: it is read where it is named itself."""

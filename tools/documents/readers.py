"""Which reader reads which files, by the endings of their names."""

import logging
from collections.abc import Callable, Iterator
from pathlib import Path

from tools.documents.document import GUESSED, Columns, Found, unforeseen
from tools.documents.epub import read_epub
from tools.documents.html import read_html
from tools.documents.markdown import read_markdown
from tools.documents.opendocument import read_odt
from tools.documents.pdf import read_pdf
from tools.documents.plain import read_plain
from tools.documents.rows import read_rows
from tools.documents.rtf import read_rtf
from tools.documents.slides import read_pptx
from tools.documents.word import read_docx
from tools.errors import SourceError, SteelmanError

_MOST_WRONG_ROWS = 20
_LOG = logging.getLogger(__name__)

Read = Iterator[Found]


def read_file(path: Path, name: str, columns: Columns = GUESSED) -> Iterator[Found]:
    """What a file holds, wrong rows and notes among the documents; `name` is the path as the user gave it, its id.

    Raises SourceError, naming the file (and the line, for rows), when it cannot be read as what its name says or has
    too many wrong rows, and also where its reader fails: a file that nobody foresaw is one problem of an ingest and not
    its end. `columns` says which columns of a table are read as what; what was guessed is a note.
    """
    ending = path.suffix.lower()
    if ending not in READERS:
        raise SourceError(f"{name}: files ending in '{path.suffix}' cannot be read. These can: {', '.join(READERS)}.")
    wrong = 0
    try:
        for each in READERS[ending](path, name, *([columns] if ending in _ROWS else [])):
            wrong += isinstance(each, SourceError)
            if isinstance(each, SourceError) and wrong > _MOST_WRONG_ROWS:
                raise each
            yield each
    except OSError as exc:
        raise SourceError(f"{name}: cannot be opened ({exc.strerror or exc}).") from exc
    except (SteelmanError, MemoryError):
        raise
    except Exception as exc:
        _LOG.debug("%s: its reader failed", name, exc_info=True)
        raise unforeseen(name, exc) from exc


_ROWS = (".csv", ".tsv", ".jsonl", ".ndjson", ".json")
READERS: dict[str, Callable[..., Read]] = {
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
    ".rst": read_plain,
    **dict.fromkeys(_ROWS, read_rows),
}

IN_FOLDERS = tuple(ending for ending in READERS if ending != ".json")
"""What is read of a folder. Most .json that lies about is some program's own: it is read where it is named itself."""

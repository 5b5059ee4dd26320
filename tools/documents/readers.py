"""Chooses the parser of a file by the file's extension."""

from collections.abc import Callable, Iterator
from pathlib import Path

from tools.documents.document import GUESSED_COLUMNS, ColumnNames, ReaderOutput, read_decoded
from tools.documents.epub import read_epub
from tools.documents.html import read_html
from tools.documents.mail import MAIL_START, holds_mail, read_mail
from tools.documents.markdown import read_markdown
from tools.documents.opendocument import read_odt
from tools.documents.pdf import read_pdf
from tools.documents.plain_text import read_plain, text_document
from tools.documents.rtf import read_rtf
from tools.documents.slides import read_pptx
from tools.documents.subtitles import subtitles_document
from tools.documents.table_rows import read_rows
from tools.documents.word import read_docx
from tools.errors import SourceError

_MOST_WRONG_ROWS = 20


def read_file(path: Path, name: str, columns: ColumnNames = GUESSED_COLUMNS) -> Iterator[ReaderOutput]:
    """Yields the documents of a file, errors of single rows, and notes. name: the path as the user gave it; it becomes
    the document's id. columns: the chosen columns of a table. Raises SourceError if the file is unreadable or has more
    than 20 wrong rows."""
    ending = path.suffix.lower()
    if ending not in READERS:
        if other := _SAVE_AS.get(Path(name).suffix.lower()):
            raise SourceError(f"{name}: this kind of file is not read. Save it as {other}, and add that file.")
        raise SourceError(f"{name}: the name has no readable ending. Readable endings: {', '.join(READERS)}.")
    wrong = 0
    try:
        for each in READERS[ending](path, name, *([columns] if ending in _TABLE_ENDINGS else [])):
            wrong += isinstance(each, SourceError)
            if isinstance(each, SourceError) and wrong > _MOST_WRONG_ROWS:
                raise each
            yield each
    except OSError as exc:
        raise SourceError(f"{name}: cannot be opened ({exc.strerror or exc}).") from exc


def _read_text(path: Path, name: str) -> Iterator[ReaderOutput]:
    """Parses subtitles, mail or plain text. The text's beginning decides the format."""
    found = read_decoded(path, name)
    if (subtitles := subtitles_document(found.text, name, found.left_out)) is not None:
        yield subtitles
    elif MAIL_START.match(found.text.lstrip()) or holds_mail(found.text):
        yield from read_mail(path, name, found.text)
    else:
        yield text_document(found.text, name, found.left_out)


_TABLE_ENDINGS = (".csv", ".tsv", ".jsonl", ".ndjson", ".json")
READERS: dict[str, Callable[..., Iterator[ReaderOutput]]] = {
    **dict.fromkeys((".md", ".markdown"), read_markdown),
    **dict.fromkeys((".html", ".htm"), read_html),
    ".pdf": read_pdf,
    ".docx": read_docx,
    ".odt": read_odt,
    ".rtf": read_rtf,
    ".pptx": read_pptx,
    ".epub": read_epub,
    ".rst": read_plain,
    **dict.fromkeys((".txt", ".vtt", ".srt"), _read_text),
    **dict.fromkeys((".eml", ".mbox"), read_mail),
    **dict.fromkeys(_TABLE_ENDINGS, read_rows),
}
_SAVE_AS = {**dict.fromkeys((".xlsx", ".xls", ".ods"), "CSV (each sheet for itself)"), ".doc": "DOCX", ".ppt": "PPTX"}

# File endings to look for in folders. Not .json, because most .json files in folders belong to programs.
FOLDER_ENDINGS = tuple(ending for ending in READERS if ending != ".json")

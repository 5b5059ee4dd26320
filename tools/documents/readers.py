"""Which reader reads which files, by the endings of their names."""

from collections.abc import Callable, Iterator
from pathlib import Path

from tools.documents.document import GUESS_ALL, Columns, ReaderOutput, read_decoded
from tools.documents.epub import read_epub
from tools.documents.html import read_html
from tools.documents.mail import MAIL, read_mail
from tools.documents.markdown import read_markdown
from tools.documents.opendocument import read_odt
from tools.documents.pdf import read_pdf
from tools.documents.plain import read_plain, text_document
from tools.documents.rows import read_rows
from tools.documents.rtf import read_rtf
from tools.documents.slides import read_pptx
from tools.documents.subtitles import subtitles_document
from tools.documents.word import read_docx
from tools.errors import SourceError

_MOST_WRONG_ROWS = 20

Read = Iterator[ReaderOutput]


def read_file(path: Path, name: str, columns: Columns = GUESS_ALL) -> Iterator[ReaderOutput]:
    """What a file holds, wrong rows and notes among the documents; `name` is the path as the user gave it, its id.

    Raises SourceError, naming the file (and the line, for rows), when it cannot be read as what its name says or has
    too many wrong rows. `columns` says which columns of a table are read as what; what was guessed is a note.
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


def _read_text(path: Path, name: str) -> Read:
    """A text as what it is: subtitles, a message, or plain text."""
    found = read_decoded(path, name)
    if (subtitles := subtitles_document(found.text, name, found.left_out)) is not None:
        yield subtitles
    elif MAIL.match(found.text.lstrip()):
        yield from read_mail(path, name, found.text)
    else:
        yield text_document(found.text, name, found.left_out)


_ROWS = (".csv", ".tsv", ".jsonl", ".ndjson", ".json")
READERS: dict[str, Callable[..., Read]] = {
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
    **dict.fromkeys((".txt", ".vtt", ".srt"), _read_text),
    **dict.fromkeys((".eml", ".mbox"), read_mail),
    **dict.fromkeys(_ROWS, read_rows),
}

IN_FOLDERS = tuple(ending for ending in READERS if ending != ".json")
"""What is read of a folder. Most .json that lies about is some program's own: it is read where it is named itself."""

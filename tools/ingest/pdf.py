"""Reads PDF."""

import logging
import math
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from tools.errors import SourceError
from tools.ingest.documents import document, title_of
from tools.passages import SourceDocument

_PDF_SECONDS = 300.0


def read_pdf(path: Path, name: str) -> Iterator[SourceDocument]:
    yield pdf_document(path, name, title_of(name), seconds=_PDF_SECONDS)


def pdf_document(
    file: Path | BinaryIO, name: str, title: str = "", most_pages: int | None = None, seconds: float = math.inf
) -> SourceDocument:
    """The text of a PDF, or of its first pages; `title` counts where it has none of its own.

    Raises SourceError when it is encrypted, damaged or without text, or takes longer than `seconds` to read.
    """
    import struct
    import zlib

    from pypdf import PdfReader
    from pypdf.errors import DependencyError, FileNotDecryptedError, PyPdfError

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # what it makes of a damaged file is told below
    end = time.monotonic() + seconds

    def watch(*_: object) -> None:  # called before each drawing operation
        if time.monotonic() > end:
            raise SourceError(f"{name}: this PDF takes too long to read.")

    try:
        reader = PdfReader(file)
        if reader.is_encrypted and not reader.decrypt(""):
            raise SourceError(f"{name}: this PDF is encrypted. Save a copy without a password and ingest that.")
        watcher = None if seconds == math.inf else watch
        pages = islice(reader.pages, most_pages)
        text = "\n\n".join(page.extract_text(visitor_operand_before=watcher) for page in pages)
        title = str((reader.metadata.title if reader.metadata else None) or title)
    except FileNotDecryptedError as exc:
        raise SourceError(f"{name}: this PDF is encrypted. Save a copy without a password and ingest that.") from exc
    except (
        *(PyPdfError, DependencyError, ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError),
        *(TypeError, ValueError, struct.error, zlib.error),
    ) as exc:
        # pypdf meets damaged files in many ways; each of them means the same for the reader.
        raise SourceError(f"{name}: this PDF is damaged and cannot be read ({exc}).") from exc
    if not text.strip():
        raise SourceError(f"{name}: this PDF holds no text, only images. Run text recognition on it first.")
    return document(name, text, {"title": title})

"""Reads Word documents (.docx)."""

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools.errors import SourceError
from tools.ingest.documents import document, title_of
from tools.passages import SourceDocument

_MOST_UNPACKED, _MOST_XML = 400_000_000, 20_000_000  # bytes; XML takes forty times its size while it is read


def read_docx(path: Path, name: str) -> Iterator[SourceDocument]:
    import zlib

    import docx
    from docx.opc.exceptions import PackageNotFoundError

    try:
        with zipfile.ZipFile(path) as packed:
            sizes = [(part.file_size, part.filename.endswith((".xml", ".rels"))) for part in packed.infolist()]
        if sum(size for size, _ in sizes) > _MOST_UNPACKED or sum(size for size, xml in sizes if xml) > _MOST_XML:
            most = f"{_MOST_XML:,} bytes of text and its marking, or {_MOST_UNPACKED:,} in all"
            raise SourceError(f"{name}: this Word document unpacks to more than {most}. Split it.")
        file = docx.Document(str(path))
        text = "\n".join(_docx_blocks(file))
        title = file.core_properties.title
    except (
        *(PackageNotFoundError, zipfile.BadZipFile, zlib.error, EOFError),
        # lxml's errors are SyntaxErrors; the others are python-docx's for a part that is missing or another one.
        *(SyntaxError, AttributeError, LookupError, NotImplementedError, ValueError),
    ) as exc:
        raise SourceError(f"{name}: this is not a Word document, or a damaged one ({exc}).") from exc
    # python-docx reads its own placeholder where a file has no title.
    yield document(name, text, {"title": title if title not in ("", "Word Document") else title_of(name)})


def _docx_blocks(file: Any) -> Iterator[str]:
    """Paragraphs and rows of tables, in the order of the document."""
    for block in file.iter_inner_content():
        if hasattr(block, "rows"):
            yield from (" ".join(dict.fromkeys(cell.text for cell in row.cells)) for row in block.rows)
        else:
            yield block.text

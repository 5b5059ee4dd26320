"""Reads rich text (.rtf) with striprtf."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tools.documents.document import document_of_blocks, file_title, title_unless_junk
from tools.documents.office_zip import HYPHENS
from tools.errors import SourceError
from tools.passages import Block, BlockForm, SourceDocument

_BRACE = re.compile(r"\\[\\{}]|[{}]")
_UNSEEN = re.compile(r"(\{(?:\\[a-z]+-?\d* ?)*)\\(?:v|deleted)(?![a-z\d])(?![^{}]*\\v0)")
_WHEN = re.compile(r"\\(?:revtim|creatim)\\yr(\d{4})\\mo(\d{1,2})\\dy(\d{1,2})")
_COUNTED = {
    "header[lrf]?": "running headers",
    "footer[lrf]?": "running footers",
    "annotation": "comments",
    "footnote": "notes",
}


def read_rtf(path: Path, name: str) -> Iterator[SourceDocument]:
    data = path.read_bytes()
    if not data.startswith(b"{\\rtf"):
        raise SourceError(f"{name}: this is not an RTF document, despite its ending. Correct the ending.")
    text = data.decode("cp1252", "replace")
    braces = Counter(_BRACE.findall(text))
    if braces["{"] > braces["}"] and "\\bin" not in text:
        raise SourceError(
            f"{name}: this RTF document is damaged: its braces do not match. Save it anew and ingest that."
        )
    left_out = Counter({what: len(re.findall(rf"\\{word}(?![a-z])", text)) for word, what in _COUNTED.items()})
    when = max(_WHEN.findall(text), key=lambda found: tuple(map(int, found)), default=())
    made = "-".join(part.zfill(2) for part in when)
    try:
        blocks = list(_blocks(_plain(_visible(text))))
        told = (re.search(rf"\{{\\{word} ([^{{}}]*)\}}", text) for word in ("title", "author"))
        own, author = (_plain(f"{{\\rtf1 {found[1]}}}") if found else "" for found in told)
    except (ValueError, LookupError, TypeError, OverflowError) as exc:  # striprtf fails in many ways
        raise SourceError(f"{name}: this RTF document is damaged ({exc}). Save it anew and ingest that.") from exc
    properties = {"place": "document properties", "title": title_unless_junk(own), "author": author, "made": made}
    yield document_of_blocks(name, blocks, {}, left_out, file_title(name), properties)


def _plain(text: str) -> str:
    from striprtf.striprtf import rtf_to_text

    found = str(rtf_to_text(text, errors="replace"))  # type: ignore[no-untyped-call]
    return found.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # joins surrogate pairs from two escapes


def _visible(text: str) -> str:
    """Removes hidden and deleted text."""
    text = re.sub(r"\\field(?![a-z])", "", text)  # otherwise striprtf writes out link addresses
    text = re.sub(r"\\(?:line|lbr|page|column)(?![a-z])", r"\\tab", text)  # these do not end a paragraph
    return _UNSEEN.sub(r"\1\\comment ", text)


def _blocks(text: str) -> Iterator[Block]:
    rows: list[str] = []
    for line in (*text.translate(HYPHENS).split("\n"), ""):
        if line.rstrip().endswith("|"):
            cells = [" ".join(cell.split()) for cell in line.rstrip().removesuffix("|").split("|")]
            rows += [" | ".join(cells).strip(" |")] if any(cells) else []
            continue
        if rows:
            yield Block("\n".join(rows), "table")
            rows = []
        if shown := " ".join(line.split()):
            form: BlockForm = "item" if shown.startswith(("• ", "· ")) else "paragraph"
            yield Block(shown.removeprefix("• ").removeprefix("· "), form)

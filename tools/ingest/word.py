"""Reads Word documents (.docx), of the usual and of the strict form."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools.ingest.documents import document_of_file
from tools.ingest.packed import Package, Relation, attr, local, opened
from tools.ingest.word_styles import Styles
from tools.ingest.word_text import WordText
from tools.passages import SourceDocument


def read_docx(path: Path, name: str) -> Iterator[SourceDocument]:
    with opened(path, name, "a Word document") as package:
        main = next((each.part for each in package.relations() if each.kind == "officeDocument"), "word/document.xml")
        root = package.xml(main)
        if local(root) != "document":
            raise ValueError("its main part is something else")
        relations = package.relations(main)
        text = WordText(Styles(_part(package, relations, "styles")), _notes(package, relations))
        blocks = text.blocks(root)
        for kind, what in (("header", "running headers"), ("footer", "running footers")):
            parts = {each.part for each in relations if each.kind == kind}
            text.left_out[what] += sum(any(local(e) == "t" and e.text for e in package.xml(p).iter()) for p in parts)
        title, date = package.title_and_date()
    yield document_of_file(name, blocks, title, date, text.left_out)


def _part(package: Package, relations: list[Relation], kind: str) -> Any:
    return next((package.xml(each.part) for each in relations if each.kind == kind), None)


def _notes(package: Package, relations: list[Relation]) -> dict[tuple[str, str], Any]:
    """The foot- and endnotes by kind and id."""
    found = {}
    for kind in ("footnote", "endnote"):
        root = _part(package, relations, f"{kind}s")
        for note in root if root is not None else ():
            if attr(note, "type") in ("", "normal"):  # the others are the lines between text and notes
                found[kind, attr(note, "id")] = note
    return found

"""Documents of the office formats for the tests, written as the marking that other programs would write."""

import zipfile
from collections.abc import Mapping
from pathlib import Path

from tools.documents.readers import read_file
from tools.passages import SourceDocument

_OFFICE = "http://schemas.openxmlformats.org"
_PACKAGE = f"{_OFFICE}/package/2006"
_W = f"{_OFFICE}/wordprocessingml/2006/main"
_NAMES = (
    f'xmlns:w="{_W}" xmlns:r="{_OFFICE}/officeDocument/2006/relationships" xmlns:v="urn:schemas-microsoft-com:vml" '
    f'xmlns:mc="{_OFFICE}/markup-compatibility/2006" xmlns:a="{_OFFICE}/drawingml/2006/main" '
    f'xmlns:p="{_OFFICE}/presentationml/2006/main" '
    'xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape"'
)


def one(path: Path) -> SourceDocument:
    [found] = read_file(path, path.name)
    assert isinstance(found, SourceDocument)
    return found


def shown(document: SourceDocument) -> list[str]:
    """The blocks with their forms, a heading with its level: 'heading 1: The harbour'."""
    return [f"{b.form}{f' {b.level}' if b.level else ''}: {b.text}" for b in document.blocks]


def packed(path: Path, parts: Mapping[str, str | bytes]) -> Path:
    """A zip of these parts."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return path


def relations(**targets: str) -> str:
    """A part of relations, by kind; what stands after a double underscore only tells two of a kind apart."""
    kinds = "".join(
        f'<Relationship Id="{kind}" Type="{_OFFICE}/officeDocument/2006/relationships/{kind.split("__")[0]}" '
        f'Target="{target}"/>'
        for kind, target in targets.items()
    )
    return f'<Relationships xmlns="{_PACKAGE}/relationships">{kinds}</Relationships>'


def word(path: Path, body: str, **others: str) -> Path:
    """A Word document with this body; the other parts by the kind of their relation."""
    parts = {
        "_rels/.rels": relations(officeDocument="word/document.xml"),
        "word/document.xml": f"<w:document {_NAMES}><w:body>{body}</w:body></w:document>",
        "word/_rels/document.xml.rels": relations(**{kind: f"{kind}.xml" for kind in others}),
        **{f"word/{kind}.xml": f"<w:{kind} {_NAMES}>{inside}</w:{kind}>" for kind, inside in others.items()},
    }
    return packed(path, parts)


def paragraph(text: str, properties: str = "") -> str:
    return f"<w:p><w:pPr>{properties}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"


def cell(inside: str, properties: str = "") -> str:
    return f"<w:tc><w:tcPr>{properties}</w:tcPr>{inside}</w:tc>"


def table(*rows: str) -> str:
    return f"<w:tbl>{''.join(f'<w:tr>{row}</w:tr>' for row in rows)}</w:tbl>"


def slides(path: Path, *pages: str, notes: str = "") -> Path:
    """A presentation of these slides, whose shapes are written as marking; the notes are the first one's."""
    from pptx import Presentation
    from pptx.oxml import parse_xml

    made = Presentation()
    for page in pages:
        slide = made.slides.add_slide(made.slide_layouts[6])
        for element in parse_xml(f"<p:x {_NAMES}>{page}</p:x>"):
            slide.shapes._spTree.append(element)
    if notes:
        made.slides[0].notes_slide.notes_text_frame.text = notes
    made.save(str(path))
    return path


def shape(*texts: str, place: str = "") -> str:
    """A box of a slide; `place` is the attributes of the layout's place that it fills."""
    lines = "".join(f"<a:p><a:r><a:t>{text}</a:t></a:r></a:p>" for text in texts)
    filled = f"<p:ph {place}/>" if place else ""
    return f"<p:sp><p:nvSpPr><p:nvPr>{filled}</p:nvPr></p:nvSpPr><p:spPr/><p:txBody>{lines}</p:txBody></p:sp>"


def odt(path: Path, body: str) -> Path:
    uri = "urn:oasis:names:tc:opendocument:xmlns"
    names = " ".join(f'xmlns:{name}="{uri}:{name}:1.0"' for name in ("office", "text", "table"))
    inside = f"<office:body><office:text>{body}</office:text></office:body>"
    return packed(path, {"content.xml": f"<office:document-content {names}>{inside}</office:document-content>"})


def epub(
    path: Path, chapters: Mapping[str, str], metadata: str = "", properties: Mapping[str, str] | None = None
) -> Path:
    """A book of these chapters in this order, each the inside of a body; `properties` are those of the manifest."""
    container = '<container><rootfiles><rootfile full-path="OEBPS/book.opf"/></rootfiles></container>'
    said = properties or {}
    items = "".join(
        f'<item id="{name}" href="{name}.xhtml" media-type="application/xhtml+xml" properties="{said.get(name, "")}"/>'
        for name in sorted(chapters)
    )
    order = "".join(f'<itemref idref="{name}"/>' for name in chapters)
    opf = (
        '<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<metadata>{metadata}</metadata><manifest>{items}</manifest><spine>{order}</spine></package>"
    )
    page = (
        '<!DOCTYPE html>\n<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops">'
        "<head><title>A page</title></head><body>{}</body></html>"
    )
    parts = {f"OEBPS/{name}.xhtml": page.replace("{}", body) for name, body in chapters.items()}
    return packed(
        path, {"mimetype": "application/epub+zip", "META-INF/container.xml": container, "OEBPS/book.opf": opf, **parts}
    )

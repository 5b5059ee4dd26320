"""The answer as a file: Markdown, HTML, Word or JSON."""

import html
import io
import re
import tempfile
import unicodedata
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path

from agent.answer import wording
from agent.answer.model import Answer
from agent.answer.outline import OutlineBlock, body_blocks, document_blocks, lead_blocks, note_blocks, source_blocks
from tools.errors import InputError, StoreError
from tools.translation import in_its_language, mark, tr

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~&])")
_ADDRESS = re.compile(r"https?://[^\s<>\\]+")
_BLOCK = re.compile(r"^(\d*)([-+=.)])")
_FORMS = {
    "title": "# {}",
    "head": "## {}",
    "note": "> {}",
    **dict.fromkeys(("strength", "against", "how_to"), "*{}*"),
    **dict.fromkeys(("also", "case", "objection", "document", "more", "nearest", "unknown"), "- {}"),
    "row": "  - {}",
}
_HEADINGS = {"source": mark("Sources"), "document": wording.DOCUMENTS, "more": wording.HOW_MADE}
"""Maps kinds of blocks to the heading above them."""
_LISTS = (*_HEADINGS, "also", "case", "objection", "nearest", "unknown")
"""Kinds of blocks that form a list."""


@in_its_language
def to_markdown(
    answer: Answer,
    *,
    remote: bool = False,
    explain: bool = False,
    linked: bool = False,
    asked: str = "",
    blocks: Sequence[OutlineBlock] = (),
) -> str:
    """Returns the answer as Markdown. Text of sources is escaped, so that '[2]' is always a citation.

    remote: the reader is at another machine, so the text gives the run's whole id and omits the list of documents.
    explain: includes all notes. linked: makes sources' addresses links. asked: time of the question (ISO). blocks:
    these blocks replace the whole answer.
    """
    lines: list[str] = []
    for kind, group in groupby(blocks or _blocks(answer, explain, documented=not remote), key=_group):
        items = [_markdown_lines(answer, block, linked) for block in group]
        lines += [f"## {tr(_HEADINGS[kind])}", ""] if kind in _HEADINGS else []
        if kind in _LISTS:
            lines += [*(line for item in items for line in item), ""]
        else:
            lines += [line for item in items for line in (*item, "")]
    lines.append(escape_markdown(wording.closing_line(answer, run=answer.run_id if remote else "", asked=asked)))
    return "\n".join(lines) + "\n"


def _blocks(answer: Answer, explain: bool, *, documented: bool = True) -> list[OutlineBlock]:
    listed = document_blocks(answer) if documented else []
    return [
        *lead_blocks(answer),
        *body_blocks(answer, explain or documented),
        *source_blocks(answer, explain or documented),
        *listed,
        *note_blocks(answer, explain),
    ]


def _group(block: OutlineBlock) -> str:
    return "document" if block.kind == "row" else block.kind


def escape_markdown(text: str) -> str:
    """Returns text that Markdown shows literally: no link, image, HTML or heading."""
    return _BLOCK.sub(r"\1\\\2", _SPECIAL.sub(r"\\\1", " ".join(text.split())))


def _markdown_lines(answer: Answer, block: OutlineBlock, linked: bool) -> list[str]:
    text = escape_markdown(block.labelled_text)
    if block.source:
        first, url = f"{block.source.number}. ", block.source.url
        if linked and _ADDRESS.fullmatch(url):
            text = f"<{url}>".join(text.rsplit(escape_markdown(url), 1))
        quotes = wording.quotes_with_translations(answer, block.source)
        return [first + text, *(f"{' ' * len(first)}- {escape_markdown(quote)}" for quote in quotes)]
    cited = wording.citation_numbers(block.citations or (), block.answers, escape_markdown(block.met))
    line = _FORMS.get(block.kind, "{}").format(f"{text} {cited}".rstrip())
    said_by = map(escape_markdown, block.below)
    if block.kind in _LISTS:
        return [line, *(f"  - {said}" for said in said_by)]
    return [line, *(part for said in said_by for part in ("", f"*{said}*"))]


_STYLE = (
    "body{max-width:46rem;margin:2rem auto;padding:0 1rem;font:1rem/1.55 Georgia,serif;color:#1d2430;background:#fff}"
    "h1{font-size:1.6rem}h2{font-size:1.1rem;margin:1.8rem 0 .2rem}em,li li,blockquote{color:#5a6472;"
    "font-size:.9rem;font-style:normal}blockquote{margin:1rem 0}li{margin:.35rem 0}"
    "li li{margin:0;list-style:none}a{color:#1f4e79}"
)
_CITED = re.compile(r"(?<!\\)\[(\d+)\](?![^<\s]*>)")  # not within an address


def to_html(answer: Answer, asked: str = "") -> str:
    """Returns a page made from the Markdown. Only http(s) addresses of sources become links."""
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark", {"html": False})
    reader.__dict__["normalizeLinkText"] = str  # shows addresses unchanged, for copying
    tokens = reader.parse(_CITED.sub(r"[\[\1\]](#s\1)", to_markdown(answer, explain=True, linked=True, asked=asked)))
    for token in tokens:
        if token.type == "list_item_open" and token.info:  # numbered items are sources
            token.attrSet("id", f"s{token.info}")
        for inner in token.children or []:
            if inner.type == "link_open" and inner.markup == "autolink":
                inner.attrSet("rel", "noreferrer nofollow")
    page = reader.renderer.render(tokens, reader.options, {})
    meta = '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    head = (
        f"{meta}<title>{html.escape(wording.strip_control_characters(answer.question))}</title><style>{_STYLE}</style>"
    )
    html_tag = f'<html lang="{answer.language or "en"}">'
    return f"<!doctype html>\n{html_tag}<head>{head}</head>\n<body>\n{page}</body></html>\n"


_NOT_XML = re.compile(r"[^\x09\x0a\x0d\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_STYLES = {
    "title": "Title",
    "head": "Heading 1",
    **dict.fromkeys(("also", "case", "objection", "document", "more", "unknown"), "List Bullet"),
    "row": "List Bullet 2",
}
_ITALIC = ("read_as", "strength", "against", "how_to")


@in_its_language
def to_docx(answer: Answer, *, explain: bool = False, asked: str = "", blocks: Sequence[OutlineBlock] = ()) -> bytes:
    """Returns a Word file without characters that XML forbids. explain, asked, blocks: see `to_markdown`."""
    import docx
    from docx.shared import Pt

    document = docx.Document()
    about = document.core_properties
    about.title, about.author, about.comments = _xml(answer.question)[:255], "Steelman", ""
    about.created = about.modified = datetime.fromisoformat(asked) if asked else datetime.now(UTC)
    for kind, group in groupby(blocks or _blocks(answer, explain), key=_group):
        if kind in _HEADINGS:
            document.add_heading(tr(_HEADINGS[kind]), 1)
        for block in group:
            number = f"[{block.source.number}] " if block.source else ""
            text = _xml(f"{number}{block.labelled_text} {block.cited}".rstrip())
            paragraph = document.add_paragraph(text, style=_STYLES.get(block.kind))
            if kind in _ITALIC:
                paragraph.runs[0].italic = True
            for line in block.below:
                paragraph.paragraph_format.keep_with_next, paragraph.paragraph_format.space_after = True, Pt(0)
                paragraph = document.add_paragraph(style="List Continue")
                paragraph.add_run(_xml(line)).font.size = Pt(9)
            for words in wording.quotes_with_translations(answer, block.source) if block.source else ():
                document.add_paragraph(_xml(words), style="List Bullet")
    document.add_paragraph(_xml(wording.closing_line(answer, asked=asked)))
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def _xml(text: str) -> str:
    return _NOT_XML.sub("", text)


_FORMATS: dict[str, Callable[[Answer, bool, str], bytes]] = {
    ".md": lambda answer, explain, asked: to_markdown(answer, explain=explain, asked=asked).encode(),
    ".html": lambda answer, _, asked: to_html(answer, asked).encode(),
    ".docx": lambda answer, explain, asked: to_docx(answer, explain=explain, asked=asked),
    ".json": lambda answer, *_: (answer.model_dump_json(indent=2) + "\n").encode(),
}
EXPORT_ENDINGS = tuple(_FORMATS)
_LONGEST_SLUG = 60  # characters of a file's name before its ending


def export_answer(answer: Answer, ending: str, *, explain: bool = False, asked: str = "") -> bytes:
    """Returns the answer as a file. ending: one of EXPORT_ENDINGS. explain, asked: see `to_markdown`."""
    return _FORMATS[ending](answer, explain, asked)


def file_name(question: str, ending: str) -> str:
    """Returns a lower-case ASCII name: 'should-schools-ban-smartphones.docx'."""
    ascii_only = unicodedata.normalize("NFKD", re.sub(r"['’]", "", question)).encode("ascii", "ignore").decode()
    slug = "-".join(re.findall(r"[a-z0-9]+", ascii_only.casefold()))
    if "-" not in slug:  # Windows reserves some single words
        slug = f"steelman-{slug}".rstrip("-")
    if len(slug) > _LONGEST_SLUG:
        slug = slug[: _LONGEST_SLUG + 1].rpartition("-")[0]
    return f"{slug}{ending}"


def check_ending(path: Path) -> None:
    """Raises InputError for an unknown ending or a missing folder."""
    if path.suffix.lower() not in EXPORT_ENDINGS:
        raise InputError(
            f"an answer can be written to a file ending in {', '.join(EXPORT_ENDINGS)}, not to '{path.name}'."
        )
    if not path.parent.is_dir():
        raise InputError(f"there is no folder '{path.parent}' to write '{path.name}' into. Make it first.")


def write_answer(answer: Answer, path: Path, *, explain: bool = False, asked: str = "") -> None:
    """Writes the file. An older file stays until the new file is complete. explain, asked: see `to_markdown`."""
    check_ending(path)
    content = export_answer(answer, path.suffix.lower(), explain=explain, asked=asked)
    try:
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".steelman-") as folder:
            scratch = Path(folder) / path.name
            scratch.write_bytes(content)
            scratch.replace(path)
    except OSError as exc:
        raise StoreError(
            f"'{path}' cannot be written ({exc.strerror}). The answer is kept as run {answer.run_id}."
        ) from exc

"""The answer in a file: Markdown, HTML, Word, or JSON, by the ending of its name."""

import html
import io
import re
import tempfile
from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path

from agent.answer.model import Answer, Citation
from agent.answer.outline import Block, ending, opening, perspective, sources
from agent.answer.words import ADD_SOURCES, MORE, closing, numbers, plain, shown, words_behind
from tools.errors import InputError, StoreError

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~&])")
_BLOCK = re.compile(r"^(\d*)([-+=.)])")
_FORMS = {
    "title": "# {}",
    "head": "## {}",
    "note": "> {}",
    **dict.fromkeys(("strength", "may_speak"), "*{}*"),
    **dict.fromkeys(("plain", "case", "leaning", "more", "nearest"), "- {}"),
}
_MARKDOWN_LISTS = {
    "plain": [],
    "case": [],
    "leaning": [],
    "source": ["## Sources", ""],
    "more": [f"## {MORE}", ""],
    "nearest": ["Nearest sample questions:", ""],
}
"""Kinds without an empty line between their blocks, and what stands above the first one."""


def to_markdown(answer: Answer, *, remote: bool = False, explain: bool = False) -> str:
    """A document of headings, bullets and a numbered list of sources; text from sources is escaped.

    So a bracket without a backslash is one of ours: '[2]' stands for source 2. `remote`: for a reader who is at another
    machine: with the run's whole id, and without a command to type. `explain`: with all that the notes tell.
    """
    answer = shown(answer)
    sides = (block for side in answer.perspectives for block in perspective(answer, side))
    blocks = [*opening(answer), *sides, *sources(answer), *ending(answer, explain)]
    lines: list[str] = []
    for kind, group in groupby(blocks, key=lambda b: b.kind):
        items = [_markdown_lines(answer, block) for block in group]
        if kind in _MARKDOWN_LISTS:
            lines += [*_MARKDOWN_LISTS[kind], *(line for item in items for line in item), ""]
        else:
            lines += [line for item in items for line in (*item, "")]
    lines.append(escape(closing(answer, whole_id=remote)))
    lines += [] if remote else ["", f"More sources: `{ADD_SOURCES}`"]
    return "\n".join(lines) + "\n"


def title(question: str) -> str:
    """The document's first line, known before there is an answer."""
    return f"# {escape(plain(question))}"


def escape(text: str) -> str:
    """Text that Markdown shows as it is: nothing in it becomes a link, an image, HTML or a heading."""
    return _BLOCK.sub(r"\1\\\2", _SPECIAL.sub(r"\\\1", " ".join(text.split())))


def _markdown_lines(answer: Answer, block: Block) -> list[str]:
    text = escape(block.marked)
    if block.source:
        behind = (f"   - “{escape(words)}”" for words in words_behind(answer, block.source))
        return [f"{block.source.number}. {text}", *behind]
    cited = text if block.citations is None else f"{text} {numbers(block.citations)}"
    return [_FORMS.get(block.kind, "{}").format(cited)]


_STYLE = (
    "body{max-width:46rem;margin:2rem auto;padding:0 1rem;font:1rem/1.55 Georgia,serif;color:#1d2430;background:#fff}"
    "h1{font-size:1.6rem}h2{font-size:1.1rem;margin:1.8rem 0 .2rem}.how,.note,footer{color:#5a6472;font-size:.9rem}"
    "li{margin:.35rem 0}.leaning{color:#5a6472;list-style:circle}a{color:#1f4e79}.thesis{font-style:italic}"
)
_HOW = '<p class="how">{}</p>'
_TAGS = {
    **dict.fromkeys(("read_as", "tried", "strength", "may_speak", "looked_for"), _HOW),
    **dict.fromkeys(("case", "leaning", "more", "nearest"), "<li>{}</li>"),
    "title": "<h1>{}</h1>",
    "head": "<h2>{}</h2>",
    "thesis": '<p class="thesis">{}</p>',
    "note": '<p class="note">{}</p>',
    "source": "{}",
}
_HTML_LISTS = {
    "case": ("<ul>", "</ul>"),
    "leaning": ('<ul class="leaning">', "</ul>"),
    "source": ("<h2>Sources</h2>\n<ol>", "</ol>"),
    "more": (f'<details class="how"><summary>{MORE}</summary><ul>', "</ul></details>"),
    "nearest": ("<p>Nearest sample questions:</p><ul>", "</ul>"),
}


def to_html(answer: Answer) -> str:
    """A whole page, with all that the notes tell folded; texts are escaped, and only http(s) addresses become links."""
    answer = shown(answer)
    sides = (_html_lines(answer, perspective(answer, side)) for side in answer.perspectives)
    body = [
        *_html_lines(answer, opening(answer)),
        *("<section>" + "\n".join(side) + "</section>" for side in sides),
        *_html_lines(answer, [*sources(answer), *ending(answer, explain=True)]),
        f"<footer><p>{html.escape(closing(answer))}</p>",
        f"<p>More sources: <code>{html.escape(ADD_SOURCES)}</code></p></footer>",
    ]
    meta = '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    meta += f"<title>{html.escape(answer.question)}</title>"
    return (
        f'<!doctype html>\n<html lang="en"><head>{meta}<style>{_STYLE}</style></head>\n<body>\n'
        + "\n".join(body)
        + "\n</body></html>\n"
    )


def _html_lines(answer: Answer, blocks: Sequence[Block]) -> list[str]:
    lines: list[str] = []
    for kind, group in groupby(blocks, key=lambda block: block.kind):
        items = [_TAGS.get(kind, "<p>{}</p>").format(_content(answer, block)) for block in group]
        opened, closed = _HTML_LISTS.get(kind, ("", ""))
        lines += filter(None, [opened, *items, closed])
    return lines


def _content(answer: Answer, block: Block) -> str:
    text = html.escape(block.marked)
    if block.source:
        return _source(answer, block.source, text)
    if block.citations is None:
        return text
    cited = numbers(block.citations) if block.kind == "head" else _links(block.citations)
    return f"{text} {cited}"


def _links(citations: Sequence[int]) -> str:
    return " ".join(f'<a href="#s{n}">[{n}]</a>' for n in citations)


def _source(answer: Answer, citation: Citation, text: str) -> str:
    if citation.url.startswith(("https://", "http://")):
        place = html.escape(citation.url, quote=True)
        text = text.removesuffix(html.escape(citation.url)) + f'<a href="{place}" rel="noreferrer nofollow">{place}</a>'
    behind = "".join(f'<br><span class="how">“{html.escape(w)}”</span>' for w in words_behind(answer, citation))
    return f'<li id="s{citation.number}">{text}{behind}</li>'


_NOT_XML = re.compile(r"[^\x09\x0a\x0d\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_STYLES = {
    "title": "Title",
    "head": "Heading 1",
    "plain": "List Bullet",
    "case": "List Bullet",
    "leaning": "List Bullet 2",
    "more": "List Bullet",
}
_HEADINGS = {"more": MORE}
_ITALIC = ("read_as", "strength", "may_speak")


def to_docx(answer: Answer, *, explain: bool = False) -> bytes:
    """The file's bytes; characters that XML cannot hold are left out. `explain`: with all that the notes tell."""
    import docx

    answer = shown(answer)
    document = docx.Document()
    document.core_properties.title = _xml(answer.question)[:255]
    for block in (*opening(answer), *(b for side in answer.perspectives for b in perspective(answer, side))):
        paragraph = document.add_paragraph(_text(block), style=_STYLES.get(block.kind))
        if block.kind in _ITALIC:
            paragraph.runs[0].italic = True
    if answer.citations:
        document.add_heading("Sources", 1)
    for block, citation in zip(sources(answer), answer.citations, strict=True):
        document.add_paragraph(_xml(f"[{citation.number}] {block.text}"))
        for words in words_behind(answer, citation):
            document.add_paragraph(_xml(f"“{words}”"), style="List Bullet")
    for kind, group in groupby(ending(answer, explain), key=lambda b: b.kind):
        if kind in _HEADINGS:
            document.add_heading(_HEADINGS[kind], 1)
        for block in group:
            document.add_paragraph(_xml(block.text), style=_STYLES.get(block.kind))
    for text in (closing(answer), f"More sources: {ADD_SOURCES}"):
        document.add_paragraph(_xml(text))
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def _text(block: Block) -> str:
    return _xml(block.marked if block.citations is None else f"{block.marked} {numbers(block.citations)}")


def _xml(text: str) -> str:
    return _NOT_XML.sub("", text)


_FORMATS: dict[str, Callable[[Answer, bool], bytes]] = {
    ".md": lambda answer, explain: to_markdown(answer, explain=explain).encode(),
    ".html": lambda answer, _: to_html(answer).encode(),
    ".docx": lambda answer, explain: to_docx(answer, explain=explain),
    ".json": lambda answer, _: (answer.model_dump_json(indent=2) + "\n").encode(),
}
ENDINGS = tuple(_FORMATS)


def check_ending(path: Path) -> None:
    """Raises InputError when an answer cannot be written as the ending says, or the folder is missing."""
    if path.suffix.lower() not in ENDINGS:
        raise InputError(f"an answer can be written to a file ending in {', '.join(ENDINGS)}, not to '{path.name}'.")
    if not path.parent.is_dir():
        raise InputError(f"there is no folder '{path.parent}' to write '{path.name}' into. Make it first.")


def write_answer(answer: Answer, path: Path, *, explain: bool = False) -> None:
    """Writes the whole file or nothing: an older file stays until the new one is complete. `explain`: with all that the
    notes tell; JSON always has them, and HTML folded."""
    check_ending(path)
    content = _FORMATS[path.suffix.lower()](answer, explain)
    try:
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".steelman-") as folder:
            scratch = Path(folder) / path.name
            scratch.write_bytes(content)
            scratch.replace(path)
    except OSError as exc:
        raise StoreError(
            f"'{path}' cannot be written ({exc.strerror}). The answer is kept as run {answer.run_id}."
        ) from exc

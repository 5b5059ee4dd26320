"""The answer as a Word document."""

import io
import re
from itertools import groupby

from agent.answer.model import Answer
from agent.answer.render.outline import Block, ending, opening, perspective, sources
from agent.answer.render.words import ADD_SOURCES, MORE, closing, numbers, shown, words_behind

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

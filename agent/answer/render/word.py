"""The answer as a Word document."""

import io
import re

from agent.answer.model import Answer, AnswerClaim
from agent.answer.render.words import (
    ADD_SOURCES,
    MAY_SPEAK,
    beside,
    case,
    cased,
    closing,
    head,
    hole,
    label,
    line_of,
    looked_for,
    numbers,
    read_as,
    said,
    shown,
    source_line,
    strength_of,
    words_behind,
)

_NOT_XML = re.compile(r"[^\x09\x0a\x0d\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def to_docx(answer: Answer) -> bytes:
    """The file's bytes; characters that XML cannot hold are left out."""
    import docx

    answer = shown(answer)
    document = docx.Document()
    document.core_properties.title = _xml(answer.question)[:255]
    document.add_heading(_xml(answer.question), 0)
    if read := read_as(answer):
        document.add_paragraph(_xml(read)).runs[0].italic = True
    document.add_paragraph(_xml(answer.summary))
    if answer.crux:
        document.add_paragraph(_claim(answer.crux))
    for claim in answer.plain:
        document.add_paragraph(_claim(claim), style="List Bullet")
    for side in answer.perspectives:
        line = line_of(answer, side)
        document.add_heading(_xml(f"{label(answer, side)}: {head(side)}"), 1)
        document.add_paragraph(strength_of(line, cased(side))).runs[0].italic = True
        for claim in case(side):
            document.add_paragraph(_claim(claim), style=None if claim.role == "thesis" else "List Bullet")
        if leaning := beside(side):
            document.add_paragraph(MAY_SPEAK).runs[0].italic = True
            for claim in leaning:
                document.add_paragraph(_claim(claim), style="List Bullet 2")
        if gap := hole(line, side):
            document.add_paragraph(gap)
        if tried := looked_for(answer, side, line):
            document.add_paragraph(_xml(tried))
    if answer.citations:
        document.add_heading("Sources", 1)
    for citation in answer.citations:
        document.add_paragraph(_xml(f"[{citation.number}] {source_line(citation)}"))
        for words in words_behind(answer, citation):
            document.add_paragraph(_xml(f"“{words}”"), style="List Bullet")
    for text in [
        *(n.text for n in answer.notes),
        *answer.nearest_questions,
        closing(answer),
        f"More sources: {ADD_SOURCES}",
    ]:
        document.add_paragraph(_xml(text))
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def _claim(claim: AnswerClaim) -> str:
    return _xml(f"{said(claim)} {numbers(claim)}")


def _xml(text: str) -> str:
    return _NOT_XML.sub("", text)

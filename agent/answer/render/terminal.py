"""The answer for a terminal: wrapped to its width, bold only where there is a terminal."""

import textwrap

from agent.answer.model import Answer, AnswerClaim, AnswerPerspective
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
    shown,
    source_line,
    strength_of,
    turns_on,
    whole,
    why_chosen,
    words_behind,
)
from agent.state import STAND_INS

_INDENT = 11
_NARROWEST, _WIDEST = 60, 104


def to_terminal(answer: Answer, width: int, bold: bool, explain: bool = False) -> str:
    """Plain text of at most `width` columns (60 to 104), with ANSI bold headings if `bold`.

    explain: with why each passage was chosen.
    """
    answer = shown(answer)
    page = _Page(max(_NARROWEST, min(width, _WIDEST)), bold)
    for line in textwrap.wrap(answer.question, page.width):
        page.line(page.strong(line))
    if read := read_as(answer):
        page.wrap(read)
    page.wrap(answer.summary)
    if crux := turns_on(answer):
        page.wrap(crux)
    for claim in answer.plain:
        page.bullet(_quoted(claim), indent=2)
    for side in answer.perspectives:
        _side(page, answer, side)
    _sources(page, answer)
    if explain:
        _reasons(page, answer)
    _end(page, answer)
    return "\n".join(page.lines) + "\n"


class _Page:
    def __init__(self, width: int, bold: bool) -> None:
        self.width, self._bold, self.lines = width, bold, list[str]()

    def strong(self, text: str) -> str:
        return f"\x1b[1m{text}\x1b[0m" if self._bold else text

    def line(self, text: str = "") -> None:
        self.lines.append(text)

    def wrap(self, text: str, indent: int = 0, first: str = "") -> None:
        pad = " " * indent
        self.lines += textwrap.wrap(text, self.width, initial_indent=first or pad, subsequent_indent=pad) or [
            first.rstrip()
        ]

    def bullet(self, text: str, indent: int = _INDENT, mark: str = "• ") -> None:
        self.wrap(text, indent + 2, first=" " * indent + mark)


def _side(page: _Page, answer: Answer, side: AnswerPerspective) -> None:
    line = line_of(answer, side)
    tag = "NOT FOUND" if line.status == "not_found" else label(answer, side).upper()
    page.line()
    missing_word = f"{side.name}: " if tag == "NOT FOUND" and side.name in STAND_INS else ""  # its tag does not say it
    lines = textwrap.wrap(missing_word + head(side), page.width - _INDENT - 2) or [""]
    how = strength_of(line, cased(side)) if line.status != "not_found" else ""
    page.line(page.strong(f"{tag:<{_INDENT}}{lines[0]}"))
    for more in lines[1:]:
        page.line(page.strong(" " * _INDENT + more))
    if how:
        page.wrap(how, _INDENT)
    for claim in case(side):
        if claim.role == "thesis":
            page.wrap(_quoted(claim), _INDENT)
        else:
            page.bullet(_quoted(claim))
    if leaning := beside(side):
        page.wrap(MAY_SPEAK, _INDENT)
        for claim in leaning:
            page.bullet(_quoted(claim), mark="◦ ")
    if gap := hole(line, side):
        page.wrap(gap, _INDENT)
    if tried := looked_for(answer, side, line):
        page.wrap(tried, _INDENT)


def _sources(page: _Page, answer: Answer) -> None:
    if not answer.citations:
        return
    page.line()
    page.line(page.strong("SOURCES"))
    for citation in answer.citations:
        first = f"  [{citation.number}] "
        page.wrap(source_line(citation), len(first), first)
        for words in words_behind(answer, citation):
            page.wrap(_marked(words), len(first))


def _reasons(page: _Page, answer: Answer) -> None:
    page.line()
    page.line(page.strong("WHY THESE PASSAGES"))
    for number, passage in enumerate(answer.chosen, start=1):
        first = f"  {number:>2}. "
        page.wrap(why_chosen(answer, passage), len(first), first)
    if not answer.chosen:
        page.wrap("No passages were chosen by a selection for this answer.", 2)


def _end(page: _Page, answer: Answer) -> None:
    page.line()
    for note in answer.notes:
        page.wrap(f"Note: {note.text}")
    if answer.nearest_questions:
        page.line("Nearest sample questions:")
        for question in answer.nearest_questions:
            page.bullet(question, indent=2)
    if answer.outcome == "answered":
        page.wrap(closing(answer))
    page.wrap(f"More sources: {ADD_SOURCES}")


def _quoted(claim: AnswerClaim) -> str:
    return (_marked(whole(claim)) if claim.quoted else claim.text) + f" {numbers(claim)}"


def _marked(text: str) -> str:
    return f'"{_inner(text)}"'


def _inner(text: str) -> str:
    """Double quotation marks inside a quotation become single ones."""
    return text.replace('"', "'")

"""The answer as a list of blocks, and its rendering for the terminal. Every format renders the blocks in order."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from agent.answer import attribution, document_list, wording
from agent.answer.model import LEAD_NOTE_KINDS, Answer, AnswerClaim, AnswerPerspective, Citation
from agent.answer.summary import search_completed
from agent.limits import FIRST_ALSO
from tools.errors import as_installed
from tools.translation import in_its_language, labelled, tr

BlockKind = (
    Literal["title", "read_as", "summary", "tried", "crux", "also", "folded", "how_to"]
    | Literal["head", "strength", "thesis", "case", "looked_for", "against", "objection"]
    | Literal["source", "document", "row", "note", "more", "nearest", "unknown"]
)
_OMITTED_IF_EMPTY = ("read_as", "how_to", "looked_for", "note")


@dataclass(frozen=True, slots=True)
class OutlineBlock:
    """A heading, paragraph or list item.

    citations: numbers after the text; None if the block cannot have citations. quoted: the text is a source's own words
    and gets quotation marks. label: stands before a statement or replaces it; for a claim its reason. source: the
    citation that the text describes. speaker: a short attribution. said_by: attribution lines below the text. answers:
    numbers of the citations that a claim answers. met: the first words of the claim that it answers, if the numbers
    alone are ambiguous. answered: names of the sources that answer the claim. translated: a model's translation of a
    quotation, marked as unverified.
    """

    kind: BlockKind
    text: str
    citations: Sequence[int] | None = None
    quoted: bool = False
    label: str = ""
    source: Citation | None = None
    speaker: str = ""
    answers: Sequence[int] = ()
    met: str = ""
    said_by: Sequence[str] = ()
    answered: str = ""
    translated: str = ""

    def __post_init__(self) -> None:
        # A terminal or page would interpret control characters.
        for name in ("text", "label", "speaker", "met", "answered", "translated"):
            object.__setattr__(self, name, wording.strip_control_characters(getattr(self, name)))
        object.__setattr__(self, "said_by", [wording.strip_control_characters(line) for line in self.said_by])

    @property
    def labelled_text(self) -> str:
        """The text with its label and quotation marks. The speaker is added if no line below the text names them."""
        text = wording.with_speaker(
            wording.in_quotes(self.text) if self.quoted else self.text, "" if self.said_by else self.speaker
        )
        return labelled(self.label, text) if self.label and text else self.label or text

    @property
    def cited(self) -> str:
        return wording.citation_numbers(self.citations or (), self.answers, self.met)

    @property
    def below(self) -> list[str]:
        answered = self.answered[:1].upper() + self.answered[1:]
        return [*filter(None, [self.translated]), *self.said_by, *filter(None, [answered])]


def lead_blocks(answer: Answer) -> list[OutlineBlock]:
    return _without_empty(
        OutlineBlock("title", answer.question),
        OutlineBlock("read_as", wording.question_as_read(answer)),
        OutlineBlock("summary", answer.summary),
        *(OutlineBlock("tried", note.text) for note in answer.notes if note.kind in LEAD_NOTE_KINDS),
        *(OutlineBlock("tried", tr(wording.NEAREST_QUESTIONS)) for _ in answer.nearest_questions[:1]),
        *(OutlineBlock("nearest", question) for question in answer.nearest_questions),
        *(claim_block(answer, "crux", c) for c in (answer.crux,) if c),
    )


def side_blocks(answer: Answer, side: AnswerPerspective) -> list[OutlineBlock]:
    line, own = wording.coverage_line(answer, side), wording.quoted_heading(side)
    cited, speaker = (own.citations, own.speaker) if own else (None, "")
    said_by = attribution.numbered_source_lines(answer, own) if own else ()
    heading, label = wording.side_heading(answer, side), wording.side_label(answer, side)
    return _without_empty(
        OutlineBlock("head", heading, cited, label=label, speaker=speaker, said_by=said_by),
        OutlineBlock("strength", wording.evidence_counts(answer, side)),
        *(claim_block(answer, "thesis", c) for c in wording.claims_below_heading(side) if c.role == "thesis"),
        *(claim_block(answer, "case", c) for c in wording.claims_below_heading(side) if c.role != "thesis"),
        OutlineBlock("looked_for", wording.queries_tried(answer, side, line)),
        *(OutlineBlock("against", tr(wording.AGAINST_IT)) for _ in side.objections[:1]),
        *(claim_block(answer, "objection", c) for c in side.objections),
    )


def sideless_blocks(answer: Answer, explain: bool = False) -> list[OutlineBlock]:
    """Returns the sentences of no side. explain: returns all sentences, not only the first few."""
    first, folded = answer.also[:FIRST_ALSO], answer.also[FIRST_ALSO:]
    more = tr("{number} more:") if explain else tr("{number} more: on the page, or with --explain.")
    return _without_empty(
        *(OutlineBlock("head", wording.also_heading(answer)) for _ in first[:1] if answer.perspectives),
        *(claim_block(answer, "also", c) for c in first),
        *(OutlineBlock("folded", more.format(number=len(folded))) for _ in folded[:1]),
        *(claim_block(answer, "also", c) for c in folded if explain),
        OutlineBlock("how_to", wording.how_to_get_sides(answer)),
    )


def body_blocks(answer: Answer, explain: bool = False) -> list[OutlineBlock]:
    """Returns the sides and the sentences of no side. These sentences come first if no side has a claim."""
    sides = [block for side in answer.perspectives for block in side_blocks(answer, side)]
    beside = sideless_blocks(answer, explain)
    return [*beside, *sides] if wording.is_sideless(answer) else [*sides, *beside]


def source_blocks(answer: Answer, explain: bool = False) -> list[OutlineBlock]:
    claims = [c for side in answer.perspectives for c in side.all_claims] + ([answer.crux] if answer.crux else [])
    claims += answer.also if explain else answer.also[:FIRST_ALSO]
    cited = {n for claim in claims for n in claim.citations}
    return [OutlineBlock("source", wording.source_line(c), source=c) for c in answer.citations if c.number in cited]


def document_blocks(answer: Answer) -> list[OutlineBlock]:
    """Returns the count of documents, then each document that was read, grouped by file."""
    files = document_list.documents_by_file(answer)
    listed = [OutlineBlock("document", document_list.documents_headline(answer)) for _ in files[:1]]
    for name, rows in files:
        listed += [OutlineBlock("document", document_list.file_line(name, rows))] if name else []
        lines = ((document_list.document_line(answer, row, name), row.quoted or None) for row in rows)
        listed += [OutlineBlock("row" if name else "document", line, quoted) for line, quoted in lines]
    return listed


@in_its_language
def side_as_text(answer: Answer, side: AnswerPerspective) -> str:
    """Returns a side as plain text, with its claims' numbers and sources."""
    blocks = [b for b in side_blocks(answer, side) if b.citations or b.kind == "against"]
    cited = {n for b in blocks for n in b.citations or ()}
    sources = [f"[{c.number}] {wording.source_line(c)}" for c in answer.citations if c.number in cited]
    head = f"{answer.neutral_question} {wording.side_name(answer, side)}"
    lines = (
        line for b in blocks for line in (f"{b.labelled_text} {b.cited}".rstrip(), *(f"  {said}" for said in b.below))
    )
    return "\n".join([head, *lines, "", *sources])


def note_blocks(answer: Answer, explain: bool = False) -> list[OutlineBlock]:
    """Returns the problems in one line. explain: adds all notes."""
    return _without_empty(
        OutlineBlock("note", wording.problem_line(answer.notes)),
        *(OutlineBlock("more", text) for text in wording.folded_notes(answer.notes) if explain),
    )


def claim_block(answer: Answer, kind: BlockKind, claim: AnswerClaim) -> OutlineBlock:
    text = wording.shown_sentence(claim) if claim.quoted else claim.text
    why = tr(wording.CRUX_LABEL) if kind == "crux" else wording.reason_label(claim)
    speaker = attribution.short_attribution(answer, claim)
    said_by = () if kind == "crux" else attribution.numbered_source_lines(answer, claim)  # a crux shows only numbers
    met, replied = attribution.met_words(answer, claim), attribution.answered_by_line(answer, claim)
    foreign = wording.translation_line(answer, text) if claim.quoted else ""
    return OutlineBlock(
        kind, text, claim.citations, claim.quoted, why, None, speaker, claim.answers, met, said_by, replied, foreign
    )


def _without_empty(*blocks: OutlineBlock) -> list[OutlineBlock]:
    return [block for block in blocks if block.text or block.kind not in _OMITTED_IF_EMPTY]


_INDENT = " " * 11
_NARROWEST, _WIDEST = 60, 104
_FIRST = {
    **dict.fromkeys(("strength", "thesis", "looked_for", "against"), _INDENT),
    **dict.fromkeys(("also", "document", "more", "nearest"), "  • "),
    **dict.fromkeys(("case", "objection"), f"{_INDENT}• "),
    "folded": "    ",
    "row": "    – ",
}
"""Prefix of a block's first line for each kind."""


@in_its_language
def to_terminal(answer: Answer, width: int, bold: bool, explain: bool = False) -> str:
    """Returns text of at most `width` columns (60 to 104). bold: of headings. explain: adds documents, all notes."""
    page = _Page(max(_NARROWEST, min(width, _WIDEST)), bold)
    title, *lead = lead_blocks(answer)
    page.strong(*textwrap.wrap(title.text, page.width))
    page.blocks(*lead)
    _body(page, body_blocks(answer, explain))
    _sources(page, answer, explain)
    if explain:
        _listed(page, tr(wording.DOCUMENTS), document_blocks(answer))
    _end(page, answer, explain)
    return "\n".join(page.lines) + "\n"


class _Page:
    def __init__(self, width: int, bold: bool) -> None:
        self.width, self._bold, self.lines = width, bold, list[str]()

    def strong(self, *lines: str) -> None:
        self.lines += [f"\x1b[1m{line}\x1b[0m" if self._bold else line for line in lines]

    def wrap(self, text: str, first: str = "") -> None:
        """Wraps the text. first: the first line's prefix; other lines are indented by its width."""
        wrapped = textwrap.wrap(text, self.width, initial_indent=first, subsequent_indent=" " * len(first))
        self.lines += wrapped or [first.rstrip()]

    def blocks(self, *blocks: OutlineBlock) -> None:
        for block in blocks:
            first = _FIRST.get(block.kind, "")
            self.wrap(_terminal_text(block), first)
            if block.translated:
                self.wrap(block.translated, " " * len(first))


def _body(page: _Page, blocks: Sequence[OutlineBlock]) -> None:
    """Adds the sides and the sentences of no side. A side's label stands left of its statement or strength."""
    tag = _INDENT
    for block in blocks:
        text = _terminal_text(block)
        page.lines += [""] if block.kind in ("head", "how_to") else []
        if block.kind == "strength":
            page.wrap(text, tag)
        elif block.kind != "head":
            page.blocks(block)
        elif not block.label:
            page.strong(text.upper())
        else:
            tag = f"{block.label.upper():<{len(_INDENT) - 1}} "
            if text:
                first, *more = textwrap.wrap(text, page.width - len(_INDENT) - 2)
                page.strong(f"{tag}{first}", *(_INDENT + line for line in more))
                tag = _INDENT


def _listed(page: _Page, head: str, blocks: Sequence[OutlineBlock]) -> None:
    if blocks:
        page.lines.append("")
        page.strong(head.upper())
        page.blocks(*blocks)


def _sources(page: _Page, answer: Answer, explain: bool) -> None:
    if not answer.citations:
        return
    page.lines.append("")
    page.strong(tr("Sources").upper())
    for block in source_blocks(answer, explain):
        if citation := block.source:
            first = f"  [{citation.number}] "
            page.wrap(block.text, first)
            for line in wording.supporting_quotes(answer, citation):
                page.wrap(_in_marks(line), " " * len(first))
                if foreign := wording.translation_line(answer, line):
                    page.wrap(foreign, " " * len(first))


def _end(page: _Page, answer: Answer, explain: bool) -> None:
    folder = tr("YOUR_FOLDER")
    blocks = note_blocks(answer, explain)
    _listed(page, tr(wording.HOW_MADE), [b for b in blocks if b.kind == "more"])
    page.lines.append("")
    page.blocks(*(OutlineBlock("note", tr("Note: {note}", note=b.text)) for b in blocks if b.kind == "note"))
    if not explain and not search_completed(note.kind for note in answer.notes if note.brief):
        command = as_installed(f"python -m agent ask --resume {answer.run_id[:6]} --explain")
        page.wrap(tr("Why: {command}", command=command))
    if answer.citations:
        page.wrap(wording.closing_line(answer, run=answer.run_id[:6]))
    page.wrap(tr("More sources: {command}", command=as_installed(f"python -m agent ingest {folder} --collection mine")))


def _terminal_text(block: OutlineBlock) -> str:
    text = wording.with_speaker(_in_marks(block.text) if block.quoted else block.text, block.speaker)
    reason = labelled(block.label, "") if block.label and block.kind != "head" else ""
    replied = f" ({block.answered})" if block.answered else ""
    return f"{reason}{text} {block.cited}".rstrip() + replied


def _in_marks(text: str) -> str:
    """Returns the text in double quotation marks. Inner quotation marks become single."""
    return '"{}"'.format(text.replace('"', "'"))

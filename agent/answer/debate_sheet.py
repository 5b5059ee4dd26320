"""The debate sheet: one page with the question, the crux (the point on which the dispute depends), each side's
strongest claims, and the gaps in the evidence."""

import re
from collections.abc import Sequence
from dataclasses import replace

from agent.answer import wording
from agent.answer.attribution import quotes_behind
from agent.answer.document_list import NO_CLEAR_SIDE, document_title, stance_label
from agent.answer.files import to_docx, to_markdown
from agent.answer.model import Answer, AnswerDocument, AnswerPerspective
from agent.answer.outline import OutlineBlock, lead_blocks, side_blocks
from agent.answer.summary import documents_and_rows, was_read
from tools.errors import as_sentence
from tools.translation import in_its_language, in_marks, labelled, mark, tr

SHEET_LABEL = mark("Three arguments for each side")
SHEET_ENDINGS = (".md", ".docx")
_MOST, _MOST_OF_MANY, _MOST_OTHER = 3, 2, 1  # arguments for Yes or No, for each of many answers, for another side
_NUMBER = re.compile(r"^\[\d+\] | \[\d+\](?=,|$)")
_NAMED = 3  # documents that a gap names


@in_its_language
def sheet_blocks(answer: Answer) -> list[OutlineBlock]:
    first = [_unnumbered(block) for block in lead_blocks(answer) if block.kind in ("title", "crux")]
    return [
        *first,
        *(OutlineBlock("tried", said) for said in corrected_lines(answer)),
        *(b for side in answer.perspectives for b in strongest_blocks(answer, side)),
        *unknown_blocks(answer),
    ]


def corrected_lines(answer: Answer) -> list[str]:
    """Returns 'A reader changed 4 quotations.', because then Steelman alone did not choose the sides."""
    return [note.text for note in answer.notes if note.kind == "corrected"]


def sheet_file(answer: Answer, ending: str, asked: str = "") -> bytes:
    """Returns the sheet as a file. ending: one of SHEET_ENDINGS. asked: time of the question (ISO)."""
    if ending == ".docx":
        return to_docx(answer, asked=asked, blocks=sheet_blocks(answer))
    return to_markdown(answer, asked=asked, blocks=sheet_blocks(answer)).encode()


def strongest_blocks(answer: Answer, side: AnswerPerspective) -> list[OutlineBlock]:
    """Returns the side's heading and first claims. Returns nothing for a side with the stance 'other' and no claims."""
    if not side.claims and side.stance == "other":
        return []
    head, strength, *rest = side_blocks(answer, side)
    claims = [_with_quotes(answer, replace(b, kind="case")) for b in rest if b.kind in ("thesis", "case")]
    many = _MOST_OF_MANY if all(s.stance == "other" for s in answer.perspectives) else _MOST_OTHER
    most = _MOST if side.stance != "other" or len(answer.perspectives) == 2 else many
    shown = _diverse(claims, most - bool(head.citations))
    return [_unnumbered(head), *(shown or ([] if side.claims else [strength]))]


def _diverse(claims: Sequence[OutlineBlock], most: int) -> list[OutlineBlock]:
    """Returns up to `most` claims in order. Claims whose reason and sources have not occurred yet are preferred."""
    seen, new = set[str](), list[int]()
    for place, claim in enumerate(claims):
        known = {claim.label.casefold(), *claim.said_by} - {""}
        if seen.isdisjoint(known):
            new.append(place)
            seen |= known
    rest = [place for place in range(len(claims)) if place not in new]
    return [claims[place] for place in sorted([*new, *rest][:most])]


def _with_quotes(answer: Answer, block: OutlineBlock) -> OutlineBlock:
    """Adds each source's words below a written claim, if exactly one quotation of the source supports the claim."""
    said, sources = _unnumbered(block), {c.number: c for c in answer.citations}
    claim = next((c for s in answer.perspectives for c in s.claims if c.text == block.text), None)
    if block.quoted or claim is None:
        return said
    quotes = [quotes_behind(claim, sources[n]) if n in sources else [] for n in block.citations or ()]
    texts = zip(quotes, said.said_by, strict=False)
    lines = [f"{wording.in_quotes(q[0])} {line}" if len(q) == 1 else line for q, line in texts]
    return replace(said, said_by=lines)


def _unnumbered(block: OutlineBlock) -> OutlineBlock:
    """Returns the block without citation numbers, because the sheet lists no sources."""
    said_by, answered = [_NUMBER.sub("", said) for said in block.said_by], _NUMBER.sub("", block.answered)
    return replace(block, citations=None, answers=(), said_by=said_by, answered=answered)


def unknown_blocks(answer: Answer) -> list[OutlineBlock]:
    """Returns a sentence for each gap: sides with at most one source, unread or unclear documents, and failures."""
    texts = [line for side in answer.perspectives for line in _gaps(answer, side)]
    unclear = [d for d in answer.documents if was_read(d) and stance_label(answer, d) == tr(NO_CLEAR_SIDE)]
    unread = [d for d in answer.documents if not was_read(d)]
    texts += [tr("No clear side in {documents}.", documents=_named_documents(unclear))] if unclear else []
    texts += [tr("It found but did not read {documents}.", documents=_named_documents(unread))] if unread else []
    texts += [as_sentence(note.text) for note in answer.notes if note.kind == "not_found"]
    texts += filter(None, [wording.problem_line(answer.notes)])
    return [
        *(OutlineBlock("head", "", label=tr("What is not known")) for _ in texts[:1]),
        *(OutlineBlock("unknown", t) for t in texts),
    ]


def _gaps(answer: Answer, side: AnswerPerspective) -> list[str]:
    """Returns sentences on a side with at most one source: how much was found, and the queries that were tried."""
    name, line = wording.side_name(answer, side), wording.coverage_line(answer, side)
    if side.claims and line.sources != 1:
        return []
    nothing = tr("For ‘{side}’ nothing was found."), tr("For ‘{side}’ nothing was sure enough to quote.")
    rests = tr("‘{side}’ rests on {evidence}", side=name, evidence=wording.evidence_counts(answer, side))
    tried = wording.queries_tried(answer, side, line)
    lack = as_sentence(rests) if side.claims else nothing[answer.outcome != "nothing_found"].format(side=name)
    return [lack, *([as_sentence(tried)] if tried else [])]


def _named_documents(documents: Sequence[AnswerDocument]) -> str:
    """Returns '6 documents and 8 rows of a table: ‘Letter’, ‘survey.csv, row 3’, ‘Minutes’ and 11 more'."""
    titles = [in_marks(wording.shortened(document_title(d, d.id), 60), "‘{}’") for d in documents[:_NAMED]]
    more = tr(" and {number} more", number=len(documents) - _NAMED) if len(documents) > _NAMED else ""
    return labelled(documents_and_rows(documents), f"{', '.join(titles)}{more}")

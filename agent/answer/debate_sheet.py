"""The debate sheet: the question, the crux (the point on which the dispute depends), up to three of each side's
strongest claims, and the gaps in the evidence. Two sides fit on one printed page, six on two."""

import re
from collections.abc import Sequence
from dataclasses import replace

from agent.answer import wording
from agent.answer.attribution import first_words, quotes_behind, replier_name
from agent.answer.document_list import NO_CLEAR_SIDE, document_title, stance_label
from agent.answer.files import to_docx, to_markdown
from agent.answer.model import Answer, AnswerClaim, AnswerDocument, AnswerPerspective
from agent.answer.outline import OutlineBlock, claim_block, lead_blocks, side_blocks
from agent.answer.summary import by_file, was_read
from agent.answer.wording import claims_below_heading, quoted_heading
from tools.errors import as_sentence
from tools.language.lexicon import count
from tools.translation import in_its_language, in_marks, labelled, mark, tr

SHEET_LABEL = mark("Three arguments for each side")
SHEET_ENDINGS = (".md", ".docx")
_MOST = 3  # arguments for a side
_NUMBER = re.compile(r"^\[\d+\] ")
_LONGEST_QUOTE = 120  # characters of a source's words below a written claim: two sides fit on one printed page
_NAMED = 3  # documents that a gap names


@in_its_language
def sheet_blocks(answer: Answer) -> list[OutlineBlock]:
    first = [_unnumbered(block) for block in lead_blocks(answer) if block.kind in ("title", "read_as", "crux")]
    return [
        *first,
        *(OutlineBlock("tried", said) for said in corrected_lines(answer)),
        *(block for _, blocks in sheet_sides(answer) for block in blocks),
        *unknown_blocks(answer),
    ]


def corrected_lines(answer: Answer) -> list[str]:
    """Returns 'A reader moved 4 quotations.', because then Steelman alone did not choose the sides."""
    return [note.text for note in answer.notes if note.kind == "corrected"]


def sheet_file(answer: Answer, ending: str, asked: str = "") -> bytes:
    """Returns the sheet as a file. ending: one of SHEET_ENDINGS. asked: time of the question (ISO)."""
    if ending == ".docx":
        return to_docx(answer, asked=asked, blocks=sheet_blocks(answer))
    return to_markdown(answer, asked=asked, blocks=sheet_blocks(answer)).encode()


def sheet_sides(answer: Answer) -> list[tuple[AnswerPerspective, list[OutlineBlock]]]:
    """Returns each side with its heading and first claims. Leaves out sides with the stance 'other' and no claims."""
    sides = [side for side in answer.perspectives if side.claims or side.stance != "other"]
    chosen = [_diverse(claims_below_heading(side), _MOST - bool(quoted_heading(side))) for side in sides]
    shown, found = [claim for claims in chosen for claim in claims], []
    for side, claims in zip(sides, chosen, strict=True):
        head, strength, *_ = side_blocks(answer, side)
        below = [_argument(answer, claim, shown) for claim in claims] or ([] if side.claims else [strength])
        found.append((side, [_unnumbered(head), *below]))
    return found


def _diverse(claims: Sequence[AnswerClaim], most: int) -> list[AnswerClaim]:
    """Returns up to `most` claims, the thesis first. Claims whose reason and sources have not occurred yet are
    preferred."""
    seen, new = set[str](), list[AnswerClaim]()
    ordered = sorted(claims, key=lambda c: c.role != "thesis")
    for claim in ordered:
        known = {claim.reason.casefold(), *map(str, claim.citations)} - {""}
        if seen.isdisjoint(known):
            new.append(claim)
            seen |= known
    best = [*new, *(c for c in ordered if c not in new)][:most]
    return [claim for claim in ordered if claim in best]


def _argument(answer: Answer, claim: AnswerClaim, shown: Sequence[AnswerClaim]) -> OutlineBlock:
    """Returns the claim, and below a written claim each source's words, if exactly one quotation of the source supports
    the claim. Of the claims that answer it, only those `shown` on the sheet are named, by speaker and first words."""
    replies = [c for c in shown if c.text in claim.answered_by]
    named = "; ".join(labelled(replier_name(answer, c), first_words(c)) for c in replies)
    answered = tr("answered by {sources}", sources=named) if replies else ""
    said = _unnumbered(replace(claim_block(answer, "case", claim), answered=answered))
    if claim.quoted:
        return said
    sources = {c.number: c for c in answer.citations}
    quotes = [quotes_behind(claim, sources[n]) if n in sources else [] for n in claim.citations]
    texts = zip(quotes, said.said_by, strict=False)
    lines = [
        f"{wording.in_quotes(wording.shortened(q[0], _LONGEST_QUOTE))} {line}" if len(q) == 1 else line
        for q, line in texts
    ]
    return replace(said, said_by=lines)


def _unnumbered(block: OutlineBlock) -> OutlineBlock:
    """Returns the block without citation numbers, because the sheet lists no sources."""
    return replace(block, citations=None, answers=(), said_by=[_NUMBER.sub("", said) for said in block.said_by])


def unknown_blocks(answer: Answer) -> list[OutlineBlock]:
    """Returns the gaps that documents name, then a sentence for each gap of the answer: sides with at most one source,
    unread or unclear documents, and failures."""
    told = [_unnumbered(claim_block(answer, "unknown", claim)) for claim in answer.gaps]
    texts = [line for side in answer.perspectives for line in _gaps(answer, side)]
    files, none = by_file(answer.documents), tr(NO_CLEAR_SIDE)
    labels = [{stance_label(answer, d) for d in rows if was_read(d)} for rows in files]
    unclear = [rows for rows, said in zip(files, labels, strict=True) if none in said and said <= {none, ""}]
    unread = [rows for rows in files if not any(map(was_read, rows))]
    texts += [tr("No clear side in {documents}.", documents=_named_documents(unclear))] if unclear else []
    texts += [tr("Found but not read: {documents}.", documents=_named_documents(unread))] if unread else []
    texts += [as_sentence(note.text) for note in answer.notes if note.kind == "not_found"]
    texts += filter(None, [wording.problem_line(answer.notes)])
    blocks = [*told, *(OutlineBlock("unknown", t) for t in texts)]
    return [*(OutlineBlock("head", "", label=tr("What is not known")) for _ in blocks[:1]), *blocks]


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


def _named_documents(files: Sequence[Sequence[AnswerDocument]]) -> str:
    """Returns '14 documents: ‘Letter’, ‘survey.csv’, ‘Minutes’ and 11 more'."""
    tables = [wording.file_and_name(rows[0], rows[0].id)[0] if len(rows) > 1 else "" for rows in files[:_NAMED]]
    named = [table or document_title(rows[0], rows[0].id) for table, rows in zip(tables, files, strict=False)]
    titles = [in_marks(wording.shortened(name, 60), "‘{}’") for name in named]
    more = tr(" and {number} more", number=len(files) - _NAMED) if len(files) > _NAMED else ""
    return labelled(count(len(files), "document"), f"{', '.join(titles)}{more}")

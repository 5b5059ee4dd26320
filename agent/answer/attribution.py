"""Attribution lines below quotations, rows of opposing claims, and the list of documents that were read."""

import re
from collections.abc import Callable, Sequence
from pathlib import PurePath
from textwrap import shorten
from typing import NamedTuple

from agent.answer.model import Answer, AnswerClaim, AnswerDocument, AnswerPerspective, Citation, Quotation
from agent.answer.retrieved import JudgedPassage
from agent.answer.summary import documents_and_rows, was_read
from agent.answer.words import (
    citation_numbers,
    claims_below_heading,
    date_unless_in_title,
    page_numbers,
    reason_label,
    side_name,
    source_kind,
    strip_control_characters,
)
from agent.limits import BARELY_SAYS_CLAIM
from tools.language.grounding import stems
from tools.language.lexicon import count
from tools.language.question import ANSWERS
from tools.language.reported_speech import UNNAMED

_LONGEST = 80  # characters of a name
_LONGEST_IN_SHORT = 46
_RECORD = re.compile(
    r"(?i)\b(?:minutes|transcripts?|hearings?|proceedings|meeting|interview|evidence|debate|panel|hansard)\b"
)
_ROW = "row of a table"
_PART = re.compile(r"(.+), ((?:row|message) .+)")  # id of a row or message within a file
NO_CLEAR_SIDE = "no clear side"
_WHY_NOT = {
    "repeats": "says the same as another",
    "no_claim": "clearer quotations were chosen",
    "no_side": "",
    "off_question": "not clearly on this question",
    "unread": "not read",
}


class ReasonRow(NamedTuple):
    """One reason with the claims of two sides. reason: empty for claims without a reason. cells: for each side, the
    positions of its claims in `claims_below_heading`."""

    reason: str
    cells: tuple[list[int], list[int]]


def source_lines(answer: Answer, claim: AnswerClaim) -> list[tuple[int, str]]:
    """Returns the number of each source of the claim with its attribution, such as 'Cllr Faulds, Sample Gazette,
    opinion, 12 March 2026, p. 3'."""
    cited = {c.number: c for c in answer.citations}
    return [(n, _in_one_line(answer, cited[n], claim)) for n in claim.citations if n in cited]


def quotes_behind(claim: AnswerClaim, source: Citation) -> list[str]:
    """Returns the source's quotations that support the claim; all its quotations if the answer does not say which."""
    quoted = [source.quote, *(more.quote for more in source.more)]
    return [q for q in quoted if q == claim.text or q in claim.evidence] or quoted


def numbered_source_lines(answer: Answer, claim: AnswerClaim) -> list[str]:
    """Returns the attribution of each source. If the claim has several sources, each line begins with a number."""
    parts = source_lines(answer, claim)
    return [f"{citation_numbers([number])} {line}" if len(parts) > 1 else line for number, line in parts]


def replying_claims(answer: Answer, claim: AnswerClaim) -> list[tuple[AnswerPerspective, AnswerClaim]]:
    """Returns the claims that answer the given claim, with their sides."""
    return [(side, c) for side in answer.perspectives for c in side.all_claims if c.text in claim.answered_by]


def answered_by_line(answer: Answer, claim: AnswerClaim) -> str:
    """Returns 'answered by Cllr Faulds [8], Sample Gazette [2]'; empty without a reply."""
    parts = [
        f"{replier_name(answer, reply)} {citation_numbers(reply.citations[:1])}"
        for _, reply in replying_claims(answer, claim)
    ]
    return f"answered by {', '.join(dict.fromkeys(parts))}" if parts else ""


def replier_name(answer: Answer, reply: AnswerClaim) -> str:
    """Returns the speaker or publisher of a reply."""
    first = [c for c in answer.citations if c.number in reply.citations[:1]]
    speakers = (reply.speaker, *(_speaker(answer, c, reply) for c in first))
    name = next((s for s in speakers if s and not s.startswith(UNNAMED)), "") or next(map(_published, first), "")
    return shorten(strip_control_characters(name), _LONGEST, placeholder=" …")


def rows_by_reason(sides: Sequence[AnswerPerspective]) -> list[ReasonRow]:
    """Groups the claims of two sides by reason. Returns no rows unless both sides name reasons; quotations have none.

    Shared reasons come first and claims without a reason last. The other rows follow the order of their first claim.
    """
    cases = [claims_below_heading(side) for side in sides]
    if len(cases) != 2 or not all(any(c.reason for c in claims) for claims in cases):
        return []
    rows: dict[Sequence[str], ReasonRow] = {}
    for place, claims in enumerate(cases):
        for number, claim in enumerate(claims):
            row = rows.setdefault(reason_key(claim.reason), ReasonRow(reason_label(claim), ([], [])))
            row.cells[place].append(number)
    return sorted(rows.values(), key=lambda r: (not r.reason, not all(r.cells), min(r.cells[0] + r.cells[1])))


def reason_key(reason: str) -> Sequence[str]:
    """Returns a key that is equal for spellings of one reason, such as 'injury' and 'Injuries'."""
    return stems(reason) or (reason.casefold(),)


def short_attribution(answer: Answer, claim: AnswerClaim) -> str:
    """Returns the speaker of a quotation. If the quotation has no side, place and date follow."""
    cited = [c for c in answer.citations if c.number in claim.citations[:1]] if claim.role == "also" else []
    named = [(c, _where_said(c, claim.speaker)[0]) for c in cited]
    facts = [fact for c, name in named for fact in (claim.speaker, name, date_unless_in_title(name, c.date))]
    parts = [shorten(fact, _LONGEST_IN_SHORT, placeholder=" …") for fact in dict.fromkeys(facts)]
    return ", ".join(filter(None, parts)) if facts else claim.speaker


def _in_one_line(answer: Answer, source: Citation, claim: AnswerClaim) -> str:
    quoted: list[Citation | Quotation] = [source, *source.more]
    quotes = quotes_behind(claim, source)
    places = [where for where in quoted if where.quote in quotes]
    if claim.quoted:  # the page is unknown if several quotations of the source could be meant
        places = places[:1] if len(quotes) == 1 else []
    pages = [page_numbers(where) for where in places]
    who, kind = _speaker(answer, source, claim), source_kind(source, source.document_id)
    named = _where_said(source, who)
    who = "" if who == UNNAMED and named[0].startswith("in ") else who
    parts = "" if kind and (kind in named[0].casefold() or (kind == _ROW and ", row " in named[0])) else kind
    facts = dict.fromkeys((who, *named, parts, date_unless_in_title(" ".join(named), source.date), *pages))
    return ", ".join(shorten(strip_control_characters(fact), _LONGEST, placeholder=" …") for fact in facts if fact)


def _speaker(answer: Answer, source: Citation, claim: AnswerClaim) -> str:
    """Returns the source's speaker. Models cite some texts that do not say the written claim. The speaker of a written
    claim is therefore returned only if the quotation shares words with the claim that the question lacks."""
    added = {*stems(claim.text)} - {*stems(answer.neutral_question)}
    held = [len(added & {*stems(quote)}) for quote in quotes_behind(claim, source)]
    says = claim.quoted or max(held, default=0) >= BARELY_SAYS_CLAIM * len(added)
    return (source.speaker or claim.speaker) if says else ""


def _where_said(source: Citation, who: str) -> list[str]:
    """Returns publisher or title. For minutes and other records it returns 'in the minutes of Hill Council'.

    Otherwise a reader may think that the publisher employs the speaker.
    """
    if not (who and source.title and _RECORD.search(f"{source.title} {source.kind}")):
        return [_published(source)]
    if source.kind == "minutes" and source.publisher:
        return [f"in the minutes of {source.publisher}"]
    return [f"in {source.title}", source.publisher]


def _published(source: Citation) -> str:
    return source.publisher or document_title(source, source.document_id)


def document_title(source: Citation | AnswerDocument, own: str, *, filed: bool = True) -> str:
    """Returns the title, 'survey.csv, row 3', or the file's name. own: the document's id. filed: name a row's file."""
    file, name = _file_and_name(source, own)
    return source.title or ", ".join(filter(None, (file if filed else "", name)))


def _file_and_name(source: Citation | AnswerDocument, own: str) -> tuple[str, str]:
    """Returns ('survey.csv', 'row 3') for a row, ('', 'letter.md') for a file, ('', address) for a web page."""
    if source.file or source.url:
        return source.file, f"row {own}" if source.file else own
    part = _PART.fullmatch(PurePath(own).name)
    return (part[1], part[2]) if part else ("", PurePath(own).name)


# Documents that were read


def documents_headline(answer: Answer) -> str:
    """Returns 'Read 6 documents and 8 rows of a table, quoted 6.', or 'Read 7 documents (of 9 found), quoted 6.'"""
    read, quoted = list(filter(was_read, answer.documents)), sum(bool(d.quoted) for d in answer.documents)
    found = "" if len(read) == len(answer.documents) else f" (of {len(answer.documents):,} found)"
    return f"Read {documents_and_rows(read)}{found}, quoted {quoted:,}."


def documents_by_file(answer: Answer) -> list[tuple[str, list[AnswerDocument]]]:
    """Returns the documents that were read, in order. Rows of a table, or messages of a mailbox, form one group."""
    files: dict[tuple[str, str, str], list[AnswerDocument]] = {}
    for document in filter(was_read, answer.documents):
        name, _ = _file_and_name(document, document.id)
        files.setdefault((name, document.collection, "" if name else document.id), []).append(document)
    return [(name if len(rows) > 1 else "", rows) for (name, *_), rows in files.items()]


def document_line(answer: Answer, document: AnswerDocument, file: str = "") -> str:
    """Returns 'Who pays? · Fell Blog · opinion · 3 May 2025 · read as Yes · quoted'. file: the group's file."""
    return " · ".join([document_title(document, document.id, filed=not file), *document_facts(answer, document)])


def document_facts(answer: Answer, document: AnswerDocument) -> list[str]:
    """Returns author, publisher, kind, date, stance, and 'quoted' or the reason why not."""
    author = shorten(strip_control_characters(document.author), _LONGEST_IN_SHORT, placeholder=" …")
    kind = source_kind(document, document.id)
    kind = "" if kind == _ROW else kind  # the title names the row
    why = _WHY_NOT.get(document.not_quoted, "")
    if document.not_quoted == "no_claim" and not any(s.argues == "for" for s in document.stances):
        why = ""  # the document argues for no side of this answer
    quoted = "quoted" if document.quoted else f"not quoted: {why}".rstrip(": ")
    on = date_unless_in_title(document.title, document.date)
    return list(filter(None, (author, document.publisher, kind, on, stance_label(answer, document), quoted)))


def stance_label(answer: Answer, document: AnswerDocument) -> str:
    """Returns 'read as Yes', 'read as both' or 'no clear side'; empty without sides or if `not_quoted` says enough."""
    sides = {side.id: side for side in answer.perspectives}
    parts = [(s.argues, sides[s.perspective]) for s in document.stances if s.perspective in sides]
    if not parts:
        return NO_CLEAR_SIDE if sides and document.not_quoted in ("", "no_side", "unread") else ""
    facing = {side.stance for argues, side in parts if argues == "for"} >= {"supports", "opposes"}
    named: dict[str, set[str]] = {}
    for argues, side in parts:
        if not (facing and side.stance != "other"):
            name = shorten(strip_control_characters(side_name(answer, side)), _LONGEST, placeholder=" …")
            named.setdefault(name if name in ANSWERS["polar"] else f"‘{name}’", set()).add(argues)
    words = [
        *(n for n, argued in named.items() if argued == {"for"}),
        *(f"for and against {n}" for n, argued in named.items() if len(argued) == 2),
        *(f"against {n}" for n, argued in named.items() if argued == {"against"}),
    ]
    return f"read as {', '.join([*(['both'] if facing else []), *words])}"


def file_line(name: str, rows: Sequence[AnswerDocument]) -> str:
    """Returns 'survey.csv · 12 rows, 3 quoted'; a mailbox has 'messages'."""
    part = _file_and_name(rows[0], rows[0].id)[1].partition(" ")[0]
    return f"{name} · {count(len(rows), part)}, {sum(bool(d.quoted) for d in rows):,} quoted"


def surest_passage(
    answer: Answer, document: AnswerDocument, judged: Callable[[], Sequence[JudgedPassage]]
) -> tuple[int, str]:
    """Returns id and text of the document's surest quotation. Without a quotation it returns the surest judged passage,
    otherwise (0, '')."""
    cited = [c for c in answer.citations if c.number in document.quoted]
    found = [(c.support or 0, c.passage_id, c.quote) for c in cited]
    found += [(q.support or 0, q.passage_id, q.quote) for c in cited for q in c.more]
    if not found:
        own = document.collection, document.id, document.file
        read = [(e.support, e.passage) for e in judged()]
        found = [(s, p.id, p.text) for s, p in read if (p.collection, p.document_id, p.file) == own]
    return max(found, default=(0, 0, ""))[1:]

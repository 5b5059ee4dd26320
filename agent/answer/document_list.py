"""The list of documents that were read, below an answer."""

from collections.abc import Callable, Sequence

from agent.answer import wording
from agent.answer.model import Answer, AnswerDocument, Citation
from agent.answer.retrieved import JudgedPassage
from agent.answer.summary import by_file, evidence_counts, was_read
from tools.language.grounding import best_evidence
from tools.language.lexicon import count
from tools.passages import Passage
from tools.translation import grouped, in_its_language, mark, tr

NO_CLEAR_SIDE = mark("no clear side")
_WHY_NOT = {
    "repeats": mark("says the same as another"),
    "off_question": mark("not clearly on this question"),
    "unread": mark("not read"),
}


def documents_headline(answer: Answer) -> str:
    """Returns 'Read 7 documents, quoted 6.' or 'Read 7 documents (of 9 found), quoted 6.'"""
    quoted = [d for d in answer.documents if d.quoted]
    read, found = (len(by_file(d)) for d in (filter(was_read, answer.documents), answer.documents))
    values = {"documents": count(read, "document"), "quoted": grouped(len(by_file(quoted)))}
    line = tr("Read {documents}, quoted {quoted}.", **values)
    if read != found:
        line = tr("Read {documents} (of {found} found), quoted {quoted}.", found=grouped(found), **values)
    rests = evidence_counts(quoted) if len(answer.kinds) > 1 else ""
    return tr("{line}: {counts}.", line=line.removesuffix("."), counts=rests) if rests else line


def documents_by_file(answer: Answer) -> list[tuple[str, list[AnswerDocument]]]:
    """Returns the documents that were read, in order. Rows of a table, or messages of a mailbox, form one group."""
    files: dict[tuple[str, str, str], list[AnswerDocument]] = {}
    for document in filter(was_read, answer.documents):
        name, _ = wording.file_and_name(document, document.id)
        files.setdefault((name, document.collection, "" if name else document.id), []).append(document)
    return [(name if len(rows) > 1 else "", rows) for (name, *_), rows in files.items()]


def document_line(answer: Answer, document: AnswerDocument, file: str = "") -> str:
    """Returns 'Who pays? · Fell Blog · opinion · 3 May 2025 · read as Yes · quoted'. file: the group's file."""
    return " · ".join([document_title(document, document.id, filed=not file), *document_facts(answer, document)])


@in_its_language
def document_facts(answer: Answer, document: AnswerDocument) -> list[str]:
    """Returns author, publisher, kind, date, stance, and 'quoted' or the reason why not."""
    author = wording.shortened(document.author, wording.LONGEST_IN_SHORT)
    kind = wording.source_kind(document, document.id)
    kind = "" if kind == tr(wording.TABLE_ROW) else kind  # the title names the row
    on, stance = wording.date_unless_in_title(document.title, document.date), stance_label(answer, document)
    why = "" if document.quoted else _why_not_quoted(answer, document)
    stance = "" if stance == why else stance
    quoted = tr("quoted") if document.quoted else tr("not quoted: {reason}", reason=why)
    return list(filter(None, (author, document.publisher, kind, on, stance, quoted)))


def _why_not_quoted(answer: Answer, document: AnswerDocument) -> str:
    if why := _WHY_NOT.get(document.not_quoted):
        return tr(why)
    argued = {s.argues for s in document.stances}
    if wording.is_sideless(answer) and not argued:
        return tr("other sentences are closer to the question") if answer.citations else tr(_WHY_NOT["off_question"])
    if document.not_quoted == "no_claim" and argued != {"against"}:
        return tr("clearer quotations were chosen")
    return tr("it argues for none of these sides") if argued else tr(NO_CLEAR_SIDE)


def stance_label(answer: Answer, document: AnswerDocument) -> str:
    """Returns 'read as Yes', 'read as arguing for both sides' or 'no clear side'; empty if the answer has no sides or
    `not_quoted` says enough. A copy has no stance, because the summary counts copies once."""
    if document.not_quoted == "repeats":
        return ""
    sides = {side.id: side for side in answer.perspectives}
    parts = [(s.argues, sides[s.perspective]) for s in document.stances if s.perspective in sides]
    if not parts:
        return tr(NO_CLEAR_SIDE) if sides and document.not_quoted in ("", "no_side", "unread") else ""
    facing = {side.stance for argues, side in parts if argues == "for"} >= {"supports", "opposes"}
    named: dict[str, set[str]] = {}
    for argues, side in parts:
        if not (facing and side.stance != "other"):
            named.setdefault(wording.side_in_text(answer, side), set()).add(argues)
    words = [
        *(tr("for {side}", side=n) if facing else n for n, argued in named.items() if argued == {"for"}),
        *(tr("for and against {side}", side=n) for n, argued in named.items() if len(argued) == 2),
        *(tr("against {side}", side=n) for n, argued in named.items() if argued == {"against"}),
    ]
    if facing:
        return "; ".join([tr("read as arguing for both sides"), *words])
    return tr("read as {sides}", sides=", ".join(words))


def file_line(name: str, rows: Sequence[AnswerDocument]) -> str:
    """Returns 'survey.csv · 12 rows, 3 quoted'; for a mailbox 'messages' replaces 'rows'."""
    mailbox = ", message " in rows[0].id
    parts = count(len(rows), "message") if mailbox else count(len(rows), "row")
    quoted = tr("{number} quoted", number=grouped(sum(bool(d.quoted) for d in rows)))
    return f"{name} · {parts}, {quoted}"


def surest_passage(
    answer: Answer,
    document: AnswerDocument,
    judged: Callable[[], Sequence[JudgedPassage]],
    retrieved: Callable[[], Sequence[Passage]],
) -> tuple[int, str]:
    """Returns the passage id and the text of the document's quotation with the highest support for a side that the
    document takes; among equals the one that is cited first. Without a quotation it returns the sentence that has most
    of the question's words, from the surest judged passage, otherwise from a retrieved one such as a copy; (0, '')
    without one."""
    taken = [s.perspective for s in document.stances if s.argues == "for"]
    claims = [claim for side in answer.perspectives if side.id in taken for claim in side.claims]
    order = list(dict.fromkeys(words for claim in claims for words in (claim.evidence or [claim.text])))
    quoted = [q for c in answer.citations if c.number in document.quoted for q in c.quotations]
    own = sorted((q for q in quoted if q.quote in order), key=lambda q: order.index(q.quote)) or quoted
    found = [(q.support or 0, -place, q.passage_id, q.quote) for place, q in enumerate(own)]
    if not found:
        asked = answer.english_question
        mine = [(e.support, e.passage) for e in judged() if _is_of(e.passage, document)]
        mine = mine or [(0.0, p) for p in retrieved() if _is_of(p, document)]
        found = [(support, 0, p.id, best_evidence(asked, p.text)) for support, p in mine]
    return max(found, default=(0, 0, 0, ""))[2:]


def _is_of(passage: Passage, document: AnswerDocument) -> bool:
    own = document.collection, document.id, document.file
    return (passage.collection, passage.document_id, passage.file) == own


def document_title(source: Citation | AnswerDocument | Passage, own: str, *, filed: bool = True) -> str:
    """Returns the title, 'survey.csv, row 3', or the file's name. own: the document's id. filed: with a row's file."""
    file, name = wording.file_and_name(source, own)
    return source.title or ", ".join(filter(None, (file if filed else "", name)))

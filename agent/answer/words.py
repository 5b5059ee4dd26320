"""The words that every rendering of an answer shares."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from datetime import date, datetime
from pathlib import PurePath
from textwrap import shorten
from typing import Any

from agent.answer.model import (
    FOOTER_NOTE_KINDS,
    LEAD_NOTE_KINDS,
    Answer,
    AnswerClaim,
    AnswerDocument,
    AnswerPerspective,
    Citation,
    CoverageLine,
    Note,
    Quotation,
    ResponseSentence,
)
from agent.state import OTHER_WAYS, Stance, is_answer, with_focus
from tools.dates import dates_in
from tools.errors import as_sentence
from tools.language.lexicon import count
from tools.language.question import ANSWERS, asks_yes_or_no
from tools.passages import Passage

NOT_SURE = "nothing sure enough to quote for this side"
AGAINST_IT = "Against it:"
FIRST_ALSO = 5
"""Sentences of `also` that are shown at once; the others are folded."""
WHERE_MORE = "on the page, or with --explain."
HOW_TO_GET_SIDES = (
    "To have this sorted by sides, set a key for a chat model, run a chat model of your own, or download a larger "
    "judge (STEELMAN_JUDGE=hub:NAME, from 0.7 GB): docs/providers.md says how."
)
CRUX_LABEL = "What it turns on"
DOCUMENTS = "Documents"
NEAREST_QUESTIONS = "The nearest questions that the samples answer:"
REMINDER = "Check what matters to you against the sources."
HOW_MADE = "More about how this was made"
"""What stands above the notes that are shown to those who ask for them."""
_QUOTED = re.compile(r'["“]([^"“”]+)["”]')
_VERSION = re.compile(r"^(?:chat|score|batch)-judge-|(?:-[0-9a-f]{6,})+$")
_LONGEST_NAME = 80  # characters of a section or a source
_LONGEST_SPEAKER = 140  # characters of who says something, of one for no side with where and when
_LONGEST_BRIEF = 160
_JOINERS = "\u200c\u200d"  # shape the letters of some scripts
_OBEYED = ("Cc", "Cf", "Cs", "Co")  # Unicode's categories of what is not seen
_FILES = {
    **dict.fromkeys((".eml", ".mbox", ".msg"), "e-mail"),
    **dict.fromkeys((".csv", ".tsv", ".xlsx", ".ods"), "table row"),
    **dict.fromkeys((".html", ".htm"), "web page"),
    ".docx": "Word file",
    ".pdf": "PDF",
}
"""What a file is by its ending, where nothing tells what kind of text it holds."""
_LABELS: dict[Stance, str] = {"supports": "For", "opposes": "Against", "other": "Other way"}


def stance_labels(question: str) -> dict[Stance, str]:
    """Stance → what stands above a side that has a name of its own."""
    yes, no = ANSWERS["polar"]
    return {**_LABELS, "supports": yes, "opposes": no} if asks_yes_or_no(question) else _LABELS


def strip_control_characters(text: str) -> str:
    """The text on one line without what a terminal or a page would obey: control, direction and other unseen marks."""
    if not text.isprintable():  # most is, and to look at each letter of long texts takes seconds
        text = "".join(c for c in text if c.isspace() or c in _JOINERS or unicodedata.category(c) not in _OBEYED)
    return " ".join(text.split())


def side_label(answer: Answer, side: AnswerPerspective) -> str:
    """What stands above a side: where it stands on the question, or its number among the answers to one
    without yes and no, by which the commands know it, too."""
    if side.id == OTHER_WAYS or is_answer(side.name, side.statement):
        return side.name
    sided = answer.against is not None or any(s.stance != "other" for s in answer.perspectives)
    number = f" {[s.id for s in answer.perspectives].index(side.id) + 1}" if len(answer.perspectives) > 1 else ""
    labels = stance_labels(answer.neutral_question)
    return labels[side.stance] if sided else f"Answer{number}"


def side_name(answer: Answer, side: AnswerPerspective) -> str:
    """What a side is called away from its head: where it stands on the question, or its own name."""
    return side.name if side.stance == "other" else side_label(answer, side)


def side_heading(answer: Answer, side: AnswerPerspective) -> str:
    """The side's statement, after its name where it does not begin with it; empty for a word that answers the question,
    which stands above all sides, and for the other ways."""
    if is_answer(side.name, side.statement):
        said = side.statement.removeprefix(f"{side.name}: ")
        return "" if said == answer.neutral_question else said
    if side.id == OTHER_WAYS:
        return ""
    if side.statement.endswith("?") and side.statement.startswith(f"{side.name}: "):
        return side.name  # an alternative; its question stands above all sides
    includes_name = side.stance != "other" or side.statement.startswith(side.name.removesuffix(" …"))
    return side.statement if includes_name else f"{side.name}: {side.statement}"


def quoted_heading(side: AnswerPerspective) -> AnswerClaim | None:
    """The claim that is the statement itself, a sentence quoted from a source."""
    return next((c for c in side.claims if c.text == side.statement), None)


def question_as_read(answer: Answer) -> str:
    """The question as it was searched for, where that is not how it was asked."""
    read = answer.neutral_question
    if answer.against is not None or answer.focus:
        return f"Goes on from: {read}"
    return f"Read as: {read}" if read and not same_question(answer.question, read) else ""


def same_question(one: str, other: str) -> bool:
    """Whether two questions differ in signs and capitals at most."""
    first, second = ("".join(filter(str.isalnum, text.casefold())) for text in (one, other))
    return first == second


def claims_below_heading(side: AnswerPerspective) -> list[AnswerClaim]:
    """The claims of the case to show under the head: all but the one that the head quotes already."""
    return [c for c in side.claims if c.text != side.statement]


def is_sideless(answer: Answer) -> bool:
    """Whether nothing that the answer shows stands under a side."""
    return not any(side.all_claims for side in answer.perspectives)


def also_heading(answer: Answer) -> str:
    """What stands above `also`."""
    return "On this question" if is_sideless(answer) else "Also on this question, not sorted by side"


def how_to_get_sides(answer: Answer) -> str:
    """How the sides of a sideless answer could be told; empty where it was not for want of a model."""
    sideless = answer.also and answer.perspectives and is_sideless(answer)
    return HOW_TO_GET_SIDES if sideless and provider_kinds(answer) == ["embedded"] else ""


def claim_text(claim: AnswerClaim, speaker: str | None = None) -> str:
    """The claim's words: in quotation marks and with their speaker where they are the source's own, else without.
    speaker: another form of it, or an empty one where it stands elsewhere."""
    who = claim.speaker if speaker is None else speaker
    return with_speaker(in_quotes(decontextualised(claim)), who) if claim.quoted else claim.text


def in_quotes(text: str) -> str:
    """The text in quotation marks; marks around all of it, as an interview has them, are not doubled."""
    whole = _QUOTED.fullmatch(text)
    return f"“{whole[1] if whole else text}”"


def reason_label(claim: AnswerClaim) -> str:
    """'Cost': a label to stand before the claim."""
    return claim.reason[:1].upper() + claim.reason[1:]


def with_speaker(words: str, speaker: str) -> str:
    """'“Phones distract.” – Cllr Faulds'"""
    return " – ".join(filter(None, (words, shorten(speaker, _LONGEST_SPEAKER, placeholder=" …"))))


def decontextualised(sentence: AnswerClaim | ResponseSentence) -> str:
    """A sentence as it is read, with what was changed in square brackets."""
    return sentence.shown or sentence.text


def supporting_quotes(answer: Answer, citation: Citation) -> list[str]:
    """The source's own words behind claims that a model wrote; what a claim quotes is to be read there."""
    quoted = {c.text for c in (*answer.also, *(c for s in answer.perspectives for c in s.all_claims)) if c.quoted}
    quotes = dict.fromkeys([citation.quote, *(q.quote for q in citation.more)])
    return [strip_control_characters(q) for q in quotes if q not in quoted] if citation.support is not None else []


def citation_numbers(citations: Iterable[int], answers: Sequence[int] = ()) -> str:
    """'[1] [4]', or with the numbers of what is replied to '[1] (answers [3])'"""
    replying = [f"(answers {citation_numbers(answers)})"] if answers else []
    return " ".join([*(f"[{n}]" for n in citations), *replying])


def coverage_line(answer: Answer, side: AnswerPerspective) -> CoverageLine:
    """The side's line of the ledger."""
    return next(line for line in answer.coverage if line.perspective == side.id)


def evidence_counts(answer: Answer, side: AnswerPerspective) -> str:
    """'5 quotations from 4 sources', or that nothing is sure enough. A side that rests on one source names it, or says
    how many documents count as that one."""
    line, shown = coverage_line(answer, side), side.claims
    if answer.outcome == "retrieved":
        return f"{count(line.passages, 'passage')} from {count(line.sources, 'source')}"
    if not shown:
        return "nothing found" if answer.outcome == "nothing_found" else NOT_SURE
    cited = {n for c in shown for n in c.citations}
    behind = {(c.collection, c.document_id): _owner(c) for c in answer.citations if c.number in cited}
    several = f"{len(behind)} documents that count as one source"
    one = f"one source alone: {next(iter(behind.values()))}" if len(behind) == 1 else several
    called = "quotation" if all(c.quoted for c in shown) else "claim"
    return f"{count(len(shown), called)} from {one if behind and line.sources == 1 else count(line.sources, 'source')}"


def _owner(source: Citation) -> str:
    name = source.publisher or source.title or source.document_id
    return shorten(
        strip_control_characters(", ".join(filter(None, (source.speaker, name)))), _LONGEST_NAME, placeholder=" …"
    )


def queries_tried(answer: Answer, side: AnswerPerspective, line: CoverageLine) -> str:
    """What was tried for a side that is not covered, its own statement and the question apart; empty for a covered
    one."""
    asked = with_focus(answer.neutral_question, answer.focus)
    tried = [q for q in line.queries if q not in (side.statement, asked)]
    return "Looked for: " + " · ".join(tried) if tried and line.status != "supported" else ""


def location_in_source(words: Citation | Quotation | Passage) -> str:
    """'p. 14, “Costs”': where quoted words stand in their document; empty where that is not known."""
    section = f"“{shorten(words.section, _LONGEST_NAME, placeholder=' …')}”" if words.section else ""
    return ", ".join(filter(None, (page_numbers(words), section)))


def page_numbers(words: Citation | Quotation | Passage) -> str:
    """'p. 14' or 'pp. 14–15'; empty where the document has no pages."""
    pages = f"pp. {words.page}–{words.last_page}" if words.last_page > words.page else f"p. {words.page}"
    return pages if words.page else ""


def source_kind(source: Citation | AnswerDocument, own: str = "") -> str:
    """'opinion (sample)'; of an unknown kind the file's ('e-mail'), or nothing. own: the document's id, if its file is
    not named beside the kind."""
    file = source.file or own
    ending = PurePath(file.rpartition(", ")[0] or file).suffix.lower()
    known = (_FILES.get(ending, "") if own else "") if source.kind == "unknown" else source.kind
    return f"{known} (sample)".strip() if getattr(source, "sample", False) else known


def source_line(citation: Citation) -> str:
    """Speaker, title, publisher, kind, date and place of a source in one line."""
    on = date_unless_in_title(citation.title, citation.date)
    about = ", ".join(filter(None, [citation.publisher, source_kind(citation), on]))
    places = [location_in_source(citation), *(location_in_source(quotation) for quotation in citation.more)]
    where = "; ".join(dict.fromkeys(filter(None, places)))
    named = f"{citation.file}, {citation.document_id}" if citation.file else citation.document_id
    place = ", ".join(filter(None, (citation.url or named, where)))
    title = ", ".join(filter(None, (citation.speaker, citation.title.rstrip("."))))
    return (
        " ".join(f"{part}." if not part.endswith((".", "!", "?")) else part for part in (title, about) if part)
        + f" {place}"
    )


def problem_line(notes: Sequence[Note]) -> str:
    """What failed, was not looked at or was left out, each once and all in one line; empty where nothing was."""
    ordered = (note for kind in FOOTER_NOTE_KINDS for note in notes if note.kind == kind)
    return " ".join(dict.fromkeys(_brief(note) for note in ordered))


def folded_notes(notes: Sequence[Note]) -> list[str]:
    """The notes that the one line does not tell in full, for those who ask."""
    return [
        n.text
        for n in notes
        if n.kind not in (*FOOTER_NOTE_KINDS, *LEAD_NOTE_KINDS) or _brief(n) != as_sentence(n.text)
    ]


def _brief(note: Note) -> str:
    return as_sentence(note.brief or shorten(note.text, _LONGEST_BRIEF, placeholder=" …"))


def closing_line(answer: Answer, *, run: str = "", asked: str = "") -> str:
    """When it was asked, how long it took and by whom, what it cost; and the id of the run where that is of use."""
    when = f"on {format_date(datetime.fromisoformat(asked).astimezone().date().isoformat())} " if asked else ""
    served = sorted(provider_kinds(answer), key="embedded".__eq__) or ["embedded"]
    by_whom = " and ".join(served).replace("embedded", "Steelman's built-in models")
    said = f"{REMINDER} Answered {when}in {answer.timings['total']:.1f} s by {by_whom}"
    if tokens := answer.usage.input_tokens + answer.usage.output_tokens:
        cost = answer.usage.cost_usd
        said += f"; {tokens:,} tokens" + ("" if not cost else f", ${cost:.4f}" if cost < 0.1 else f", ${cost:.2f}")
    return f"{said}. Run {run}." if run else f"{said}."


def provider_kinds(answer: Answer) -> list[str]:
    """The providers that served the answer, the embedded ones as one; none is asked for what rules tell."""
    names = set(answer.providers.values()) - {"rules"}
    return sorted({"embedded" if "embedded" in name else provider_name(name) for name in names})


def provider_name(name: str) -> str:
    """A provider's name for people: without what only tells one version of its prompt or weights from another."""
    return _VERSION.sub("", name)


def document_facts(row: Any) -> list[str]:
    """['by A. Moen (PDF metadata)', '14 March 2025 (byline)', '3 speakers'] of a row of `Store.documents`."""
    read = dict(note.split(": ", 1) for note in row["provenance"].split("; ") if ": " in note)
    told = {"author": row["author"] and f"by {row['author']}", "date": format_date(row["date"])}
    facts = [f"{said} ({read[field]})" if field in read else said for field, said in told.items() if said]
    return [*facts, *([count(row["speakers"], "speaker")] if row["speakers"] > 1 else [])]


def format_date(iso: str) -> str:
    """'2026-03-12' as '12 March 2026' and '2026-03' as 'March 2026'; a date of another form is left as it is."""
    try:
        on = date.fromisoformat(f"{iso}-01" if len(iso) == 7 else iso)
    except ValueError:
        return iso
    return f"{on:%B %Y}" if len(iso) == 7 else f"{on.day} {on:%B %Y}"


def date_unless_in_title(title: str, iso: str) -> str:
    """The same; empty where the title tells it: 'Minutes, 20 March 2025'."""
    return "" if any(told.startswith(iso) for told in dates_in(title)) else format_date(iso)

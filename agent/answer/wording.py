"""Wording that every rendering of an answer shares."""

import re
from collections.abc import Iterable, Sequence
from datetime import date, datetime
from pathlib import PurePath
from textwrap import shorten
from typing import Any

from agent.answer import model
from agent.answer.model import Answer, AnswerClaim, AnswerDocument, AnswerPerspective, Citation, Note
from agent.answer.summary import EVIDENCE_NAMES, queries_in_words
from agent.state import ANSWER_WORDS, OTHER_WAYS, Stance, is_answer, with_focus
from prompts import one_line
from tools.dates import date_of_cell, dates_in
from tools.errors import as_sentence
from tools.language.grounding import stems
from tools.language.lexicon import count
from tools.language.question import ANSWERS, asks_yes_or_no
from tools.language.reported_speech import UNNAMED
from tools.passages import PROBABLY, Passage
from tools.translation import decimal, grouped, in_its_language, in_marks, labelled, mark, spoken_language, tr, trn

NOT_SURE = mark("nothing sure enough to quote for this side")
AGAINST_IT = mark("Against it:")
HOW_TO_GET_SIDES = mark(
    "To have this sorted by sides, set a key for a chat model, run a chat model of your own, or download a larger "
    "model from Hugging Face as the judge (from 0.7 GB). Steelman's documentation explains how: docs/providers.md."
)
CRUX_LABEL = mark("What it turns on")
DOCUMENTS = mark("Documents")
NEAREST_QUESTIONS = mark("The nearest questions that the samples answer:")
REMINDER = mark("Check what matters to you against the sources.")
HOW_MADE = mark("More about how this was made")
"""Heading of the folded notes."""
_QUOTED = re.compile(r'["“]([^"“”]+)["”]')
_VERSION = re.compile(r"^(?:chat|score|batch|hub)-judge-|(?:-[0-9a-f]{6,})+$")
LONGEST_IN_SHORT = 46  # characters of a name in a short attribution
_PART = re.compile(r"(.+), (row|message) (.+)")  # id of a row or message within a file
LONGEST_NAME = 80  # characters of a section or a source
_LONGEST_SPEAKER = 140  # characters of a speaker; without a side, place and date are included
_LONGEST_BRIEF = 160
TABLE_ROW = mark("row of a table")
_EXTENTS = (mark("abstract"), mark("full text"))  # of studies
_FILES = {
    **dict.fromkeys((".eml", ".mbox", ".msg"), mark("e-mail")),
    **dict.fromkeys((".csv", ".tsv", ".xlsx", ".ods"), TABLE_ROW),
    **dict.fromkeys((".html", ".htm"), mark("web page")),
    ".docx": mark("Word file"),
    ".pdf": "PDF",
}
"""Maps file endings to kinds, for documents of unknown kind."""
_LABELS: dict[Stance, str] = {"supports": mark("For"), "opposes": mark("Against"), "other": mark("Other ways")}


def stance_labels(question: str) -> dict[Stance, str]:
    """Returns the label of each stance: Yes and No for a yes/no question (in English), otherwise For and Against."""
    yes, no = ANSWERS["polar"]
    labels = {**_LABELS, "supports": yes, "opposes": no} if asks_yes_or_no(question) else _LABELS
    return {stance: tr(label) for stance, label in labels.items()}


strip_control_characters = one_line
"""Returns the text on one line without characters that a terminal or a page would obey."""


def shortened(text: str, longest: int = LONGEST_NAME) -> str:
    """Returns at most `longest` characters of the text, on one line and without control characters."""
    return shorten(strip_control_characters(text), longest, placeholder=" …")


@in_its_language
def side_label(answer: Answer, side: AnswerPerspective) -> str:
    """Returns the label above a side: its stance, 'Answer 2' for an open question, or the name of another way. Commands
    accept the label.

    A side of counter-arguments keeps its own name, because 'No' would seem to answer the thread's question.
    """
    named = answer.against is not None and not _begins_with_name(side)
    if named or side.id == OTHER_WAYS or is_answer(side.name, side.statement):
        return tr(side.name) if side.name in ANSWER_WORDS else side.name
    if not _sided(answer):
        ids = [s.id for s in answer.perspectives]
        return f"{tr('Answer')} {ids.index(side.id) + 1}" if len(ids) > 1 else tr("Answer")
    if side.stance == "other" and not _begins_with_name(side):
        return side.name
    return stance_labels(answer.english_question)[side.stance]


def _sided(answer: Answer) -> bool:
    return answer.against is not None or any(side.stance != "other" for side in answer.perspectives)


def _begins_with_name(side: AnswerPerspective) -> bool:
    return side.statement.startswith(side.name.removesuffix(" …"))


def side_name(answer: Answer, side: AnswerPerspective) -> str:
    """Returns the side's name for use in running text: its label, or its own name if its stance is 'other'."""
    return side.name if side.stance == "other" else side_label(answer, side)


def side_in_text(answer: Answer, side: AnswerPerspective) -> str:
    """Returns the side's short name for use in running text: Yes and No as they are, other names in marks."""
    name = shortened(side_name(answer, side))
    return name if name in map(tr, ANSWERS["polar"]) else in_marks(name, "‘{}’")


@in_its_language
def side_heading(answer: Answer, side: AnswerPerspective) -> str:
    """Returns the side's statement, preceded by the side's name if the statement lacks the name. Returns an empty text
    if the statement only repeats the question, and for the side of all other proposals (OTHER_WAYS)."""
    if is_answer(side.name, side.statement):
        statement = side.statement.removeprefix(f"{side.name}: ")
        return "" if statement == answer.neutral_question else statement
    if side.id == OTHER_WAYS:
        return ""
    if side.statement.endswith("?") and side.statement.startswith(f"{side.name}: "):
        return side.name  # an alternative of a choice: the page shows the question once, above all sides
    names_it = _sided(answer) or _begins_with_name(side)  # the label of a sided answer names the side
    return side.statement if names_it else labelled(side.name, side.statement)


def quoted_heading(side: AnswerPerspective) -> AnswerClaim | None:
    return next((c for c in side.claims if c.text == side.statement), None)


@in_its_language
def question_as_read(answer: Answer) -> str:
    """Returns the searched question if it differs from the typed question; otherwise an empty text."""
    read = answer.neutral_question
    if answer.against is not None or answer.focus:
        return tr("Follows up on: {question}", question=read)
    return tr("Understood as: {question}", question=read) if read and not same_question(answer.question, read) else ""


def same_question(one: str, other: str) -> bool:
    """Whether two questions differ only in punctuation and capitals."""
    first, second = ("".join(filter(str.isalnum, text.casefold())) for text in (one, other))
    return first == second


def claims_below_heading(side: AnswerPerspective) -> list[AnswerClaim]:
    return [c for c in side.claims if c.text != side.statement]


def is_sideless(answer: Answer) -> bool:
    return not any(side.all_claims for side in answer.perspectives)


def also_heading(answer: Answer) -> str:
    return tr("On this question") if is_sideless(answer) else tr("Also on this question, not sorted by side")


def how_to_get_sides(answer: Answer) -> str:
    """Returns advice on how to get sides if the answer has none; empty if a chat model was used."""
    sideless = answer.also and answer.perspectives and is_sideless(answer)
    return tr(HOW_TO_GET_SIDES) if sideless and provider_kinds(answer) == ["embedded"] else ""


def claim_text(claim: AnswerClaim, speaker: str | None = None) -> str:
    """Returns the claim's text; a quotation in marks, with its speaker. speaker: replaces the name; empty: none."""
    who = claim.speaker if speaker is None else speaker
    return with_speaker(in_quotes(shown_sentence(claim)), who) if claim.quoted else claim.text


def in_quotes(text: str) -> str:
    """Returns the text in quotation marks, without doubling them. Quotations within it get single marks."""
    text = balanced_marks(text)
    whole = _QUOTED.fullmatch(text)
    inner = whole[1] if whole else _QUOTED.sub(r"‘\1’", text)
    return f"“{inner}”"


def balanced_marks(text: str) -> str:
    """Balances quotation marks whose partner stands in another sentence: a mark at the edge of the text is removed, a
    mark within the text gets a partner. Apostrophes stay as they are."""
    for opens, closes in ('""', "“”", "‘’", "''"):
        first = len(re.findall(rf"(?<![^\s(\[]){opens}(?=\S)", text))
        last = len(re.findall(rf"(?<=\S){closes}(?![^\s.,;:!?)\]])", text))
        single, at_end = closes in "’'", text.endswith(closes)
        if first > last and (opens != "'" or (text.startswith(opens) and not last)):
            text = text[1:] if text.startswith(opens) else f"{text}{closes}"
        elif last > first and ((at_end and text[-2] in ".,!?") or not single):
            text = text[:-1] if at_end else f"{opens}{text}"
    return text


def reason_label(claim: AnswerClaim) -> str:
    return claim.reason[:1].upper() + claim.reason[1:]


def reason_key(reason: str) -> Sequence[str]:
    """Returns a key that is equal for spellings of one reason, such as 'injury' and 'Injuries'."""
    return stems(reason) or (reason.casefold(),)


def with_speaker(words: str, speaker: str) -> str:
    """Returns '“Phones distract.” – Cllr Faulds'."""
    return " – ".join(filter(None, (words, shorten(speaker_in_words(speaker), _LONGEST_SPEAKER, placeholder=" …"))))


_POSTED = re.compile(r"(?P<who>.+) \((?P<day>[^()]*\d[^()]*)\)")


def speaker_in_words(speaker: str) -> str:
    """Returns a speaker with 'probably', 'somebody quoted', 'quoted by' and the day of a post in the current language:
    'una_b, 3 May 2025' for 'una_b (2025-05-03)'."""
    who, quoting, author = speaker.partition(", quoted by ")
    if (posted := _POSTED.fullmatch(who)) and (day := date_of_cell(posted["day"])):
        who = f"{posted['who']}, {format_date(day)}"
    if who.startswith(f"{UNNAMED} by "):
        who, quoting, author = UNNAMED, " by ", who.removeprefix(f"{UNNAMED} by ")
    who = tr("probably {name}", name=who.removeprefix(PROBABLY)) if who.startswith(PROBABLY) else who
    who = tr(UNNAMED) if who == UNNAMED else who
    if not quoting:
        return who
    form = tr("{speaker} by {author}") if quoting == " by " else tr("{speaker}, quoted by {author}")
    return form.format(speaker=who, author=author)


def shown_sentence(sentence: AnswerClaim | model.ResponseSentence) -> str:
    return balanced_marks(sentence.shown or sentence.text)


def supporting_quotes(answer: Answer, citation: Citation) -> list[str]:
    """Returns the source's quotes that support written claims. Quoted claims are left out: the answer shows them."""
    claims = [*answer.also, *answer.gaps, *(c for s in answer.perspectives for c in s.all_claims)]
    quoted, written = {c.text for c in claims if c.quoted}, {q for c in claims for q in c.evidence}
    judged = any(q.support is not None for q in citation.quotations)  # the words of a moved claim have no support
    quotes = dict.fromkeys(q.quote for q in citation.quotations if judged or q.quote in written)
    return [balanced_marks(strip_control_characters(q)) for q in quotes if q not in quoted]


def quotes_with_translations(answer: Answer, citation: Citation) -> list[str]:
    """Returns the source's supporting quotes in quotation marks, each followed by its translation, if it has one."""
    quotes = supporting_quotes(answer, citation)
    return [" ".join(filter(None, (in_quotes(q), translation_line(answer, q)))) for q in quotes]


@in_its_language
def translation_line(answer: Answer, quote: str) -> str:
    """Returns a model's translation of the quotation, marked as unverified; empty without one."""
    same = (words for q, words in answer.translations.items() if balanced_marks(strip_control_characters(q)) == quote)
    words = next(same, "")
    return tr("Translation by a model, unverified: {words}", words=in_marks(balanced_marks(words))) if words else ""


def citation_numbers(citations: Iterable[int], answers: Sequence[int] = (), met: str = "") -> str:
    """Returns '[1] [4]' or '[1] (answers [3] ‘A toll would …’)'. met: the words after the answered numbers."""
    answered = " ".join(filter(None, [*(f"[{n}]" for n in answers), met]))
    replying = [f"({tr('answers {sources}', sources=answered)})"] if answers else []
    return " ".join([*(f"[{n}]" for n in citations), *replying])


def coverage_line(answer: Answer, side: AnswerPerspective) -> model.CoverageLine:
    return next(line for line in answer.coverage if line.perspective == side.id)


_FROM = mark("{things} from {sources}")


@in_its_language
def evidence_counts(answer: Answer, side: AnswerPerspective) -> str:
    """Returns '5 quotations from 4 sources', or why there are none. A single source is named: by its speaker if all
    quotations are of one, otherwise by publisher or title."""
    line, shown = coverage_line(answer, side), side.claims
    if answer.outcome == "retrieved":
        return tr(_FROM, things=count(line.passages, "passage"), sources=count(line.sources, "source"))
    if not shown:
        return tr("nothing found") if answer.outcome == "nothing_found" else tr(NOT_SURE)
    cited = {n for c in shown for n in c.citations}
    sources = [c for c in answer.citations if c.number in cited]
    spoken = len({c.speaker for c in sources}) == 1
    behind = {(c.collection, c.document_id): _owner(c, spoken=spoken) for c in sources}
    kinds = {c.evidence_kind for c in sources} if len(answer.kinds) > 1 else set()
    alike = trn(*EVIDENCE_NAMES[kinds.pop()], len(behind)) if len(kinds) == 1 and len(behind) > 1 else ""
    several = tr("{number} documents that count as one source", number=len(behind))
    one = tr("one source alone: {source}", source=next(iter(behind.values()))) if len(behind) == 1 else several
    quoted = all(c.quoted for c in shown)
    things = count(len(shown), "quotation") if quoted else count(len(shown), "claim")
    origin = one if behind and line.sources == 1 else count(line.sources, "source")
    return tr(_FROM, things=things, sources=origin) + (tr(", all {kind}", kind=alike) if alike else "")


def _owner(source: Citation, *, spoken: bool) -> str:
    name = source.title or ", ".join(filter(None, file_and_name(source, source.document_id)))
    said = tr("{speaker}, in {document}", speaker=speaker_in_words(source.speaker), document=name)
    return shortened(said if spoken and source.speaker else source.publisher or name)


@in_its_language
def queries_tried(answer: Answer, side: AnswerPerspective, line: model.CoverageLine) -> str:
    """Returns the queries of an uncovered side, without its statement and the question; empty for a covered side, and
    if a note above the sides lists the queries."""
    if any(note.kind == "not_found" for note in answer.notes):
        return ""
    asked = (with_focus(q, answer.focus) for q in (answer.neutral_question, answer.english_question))
    known = {side.statement, side.english, *asked}
    tried = [q for q in line.queries if q not in known]
    return queries_in_words(tried) if tried and line.status != "supported" else ""


def location_in_source(words: model.Quotation | Passage) -> str:
    """Returns 'p. 14, “Costs”'; empty if page and heading are unknown."""
    section = in_marks(shorten(words.section, LONGEST_NAME, placeholder=" …")) if words.section else ""
    return ", ".join(filter(None, (page_numbers(words), section)))


def page_numbers(words: model.Quotation | Passage) -> str:
    """Returns 'p. 14' or 'pp. 14–15'; empty without pages."""
    pages = tr("pp. {pages}", pages=f"{words.page}–{words.last_page}")
    return (pages if words.last_page > words.page else tr("p. {page}", page=words.page)) if words.page else ""


def source_kind(source: Citation | AnswerDocument, own: str = "") -> str:
    """Returns the kind, such as 'opinion (sample)'. If the kind is unknown, the file's ending gives it ('e-mail'). own:
    the document's id; if empty, an unknown kind is not replaced. A study says what was read: 'study (abstract)'."""
    file = source.file or own
    ending = PurePath(file.rpartition(", ")[0] or file).suffix.lower()
    kind = "forum post" if source.kind == "forum" else source.kind  # the word of the counts
    known = tr((_FILES.get(ending, "") if own else "") if kind == "unknown" else kind)
    known = f"{known} ({tr(source.extent)})" if source.extent in _EXTENTS else known
    return f"{known} ({tr('sample')})".strip() if getattr(source, "sample", False) else known


def file_and_name(source: Citation | AnswerDocument | Passage, own: str) -> tuple[str, str]:
    """Returns ('survey.csv', 'row 3') for a row, ('', 'letter.md') for a file, ('', address) for a web page."""
    if source.file or source.url:
        return source.file, row_name(own) if source.file else own
    if part := _PART.fullmatch(PurePath(own).name):
        return part[1], row_name(part[3]) if part[2] == "row" else tr("message {number}", number=part[3])
    return "", PurePath(own).name


def row_name(number: str) -> str:
    return tr("row {number}", number=number)


def source_line(citation: Citation) -> str:
    """Returns one line with speaker, title, publisher, kind, date and place of a source."""
    on = date_unless_in_title(citation.title, citation.date)
    about = ", ".join(filter(None, [citation.publisher, source_kind(citation, citation.document_id), on]))
    where = "; ".join(dict.fromkeys(filter(None, map(location_in_source, citation.quotations))))
    named = ", ".join(filter(None, file_and_name(citation, citation.document_id)))
    place = ", ".join(filter(None, (citation.url or named, where)))
    title = ", ".join(filter(None, (speaker_in_words(citation.speaker), citation.title.rstrip("."))))
    sentences = [part if part.endswith((".", "!", "?")) else f"{part}." for part in (title, about) if part]
    return strip_control_characters(" ".join([*sentences, place]))


def problem_line(notes: Sequence[Note]) -> str:
    """Returns one line that names each failure and omission once; empty if there are none."""
    ordered = (note for kind in model.FOOTER_NOTE_KINDS for note in notes if note.kind == kind)
    return " ".join(dict.fromkeys(_brief(note) for note in ordered))


def folded_notes(notes: Sequence[Note]) -> list[str]:
    """Returns the notes that the problem line leaves out or shortens."""
    return [
        n.text
        for n in notes
        if n.kind not in (*model.FOOTER_NOTE_KINDS, *model.LEAD_NOTE_KINDS) or _brief(n) != as_sentence(n.text)
    ]


def _brief(note: Note) -> str:
    return as_sentence(note.brief or shorten(note.text, _LONGEST_BRIEF, placeholder=" …"))


@in_its_language
def closing_line(answer: Answer, *, run: str = "", asked: str = "") -> str:
    """Returns a line with date, duration, providers and cost of the answer. run: the run's id."""
    served = sorted(provider_kinds(answer), key="embedded".__eq__) or ["embedded"]
    *names, last = (
        name.replace("embedded", tr("Steelman's built-in models")) for s in served for name in s.split(", ")
    )
    by_whom = tr(" and ").join(filter(None, (", ".join(names), last)))
    day = format_date(datetime.fromisoformat(asked).astimezone().date().isoformat()) if asked else ""
    how = tr("Answered on {day} in {seconds} s by {who}") if day else tr("Answered in {seconds} s by {who}")
    line = how.format(day=day, seconds=decimal(answer.timings["total"]), who=by_whom)
    if tokens := answer.usage.input_tokens + answer.usage.output_tokens:
        cost = answer.usage.cost_usd
        parts = tr("{number} word parts (tokens) read and written", number=grouped(tokens))
        line += f", {parts}" if spoken_language() == "fr" else f"; {parts}"
        line += "" if not cost else f", ${cost:.4f}" if cost < 0.1 else f", ${cost:.2f}"
    run_line = f" {tr('Run {id}.', id=run)}" if run else ""
    return strip_control_characters(f"{tr(REMINDER)} {line}.{run_line}")


def provider_kinds(answer: Answer) -> list[str]:
    """Returns the names of the answer's providers. Every embedded provider is called 'embedded'."""
    names = set(answer.providers.values()) - {"rules"}
    return sorted({"embedded" if "embedded" in name else provider_name(name) for name in names})


def provider_name(name: str) -> str:
    """Returns a provider's name without the versions of its prompts and weights."""
    return _VERSION.sub("", name)


def named_row(row: Any) -> str:
    """Returns 'survey.csv, row 3' for a stored row whose id is a number; otherwise the document's name."""
    name, table = str(row.shown_id), str(row.external_id).removesuffix(f"#{row.shown_id}")
    return f"{PurePath(table).name}, {row_name(name)}" if name.isdecimal() and table != row.external_id else name


def stored_document_facts(row: Any) -> list[str]:
    """Returns ['by A. Moen', '14 March 2025', '3 speakers'] for a row of `Store.documents`."""
    author, speakers = row.author and tr("by {author}", author=row.author), count(row.speakers, "speaker")
    return list(filter(None, (author, format_date(row.date), speakers if row.speakers > 1 else "")))


def format_date(iso: str) -> str:
    """Returns '12 March 2026' for '2026-03-12' and 'March 2026' for '2026-03'. Other forms stay unchanged."""
    try:
        on = date.fromisoformat(f"{iso}-01" if len(iso) == 7 else iso)
    except ValueError:
        return iso
    if (language := spoken_language()) != "en":
        from babel.dates import format_date as in_words
        from babel.dates import format_skeleton

        return format_skeleton("yMMMM", on, locale=language) if len(iso) == 7 else in_words(on, "long", language)
    return f"{on:%B %Y}" if len(iso) == 7 else f"{on.day} {on:%B %Y}"


def date_unless_in_title(title: str, iso: str) -> str:
    """Returns `format_date` of the date; empty if the title contains the date, as in 'Minutes, 20 March 2025'."""
    return "" if any(values.startswith(iso) for values in dates_in(title)) else format_date(iso)
